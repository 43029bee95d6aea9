"""How much of the time of inference is not the network, what passes cost, how processes scale.

    python benchmarks/inference.py

Generated scenes, an untrained detector of the default backbone, random proposals from a file.
The last line is JSON. Without a GPU every process computes with one thread, so that two processes
on two cores can be told from one, and shares are of processor time, in which decoding ahead counts
although it is hidden; with a GPU they are of time on the clock.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import tag2box.inference.predictor as predictor_file
from tag2box.data.images import image_size
from tag2box.data.scene_files import write_scenes
from tag2box.data.scene_objects import CLASS_NAMES
from tag2box.inference.passes import Pass
from tag2box.inference.photos import photos_named
from tag2box.inference.predictor import Predictor
from tag2box.models.build import detector_from
from tag2box.proposals.npz import write_npz
from tag2box.proposals.protocol import Proposals
from tag2box.proposals.supply import open_supply
from tag2box.recipe import DropoutSettings, ModelSettings, ProposalSettings
from tag2box.structures import TaggedImage
from tag2box.training.distributed import Processes, processes

SIDES = (240, 320)
PROPOSALS = 300


def main() -> None:
    """Make the scenes, run this file in one and in two processes, print what they measure."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--photos", type=int, default=8)
    options.add_argument("--in", dest="folder", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.folder is not None:
        with processes("auto") as ours:
            measure(chosen.folder, ours)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_scenes(Path(folder), train=0, val=chosen.photos, width=640, height=480)
        write_proposals(Path(folder))
        one, two = measured(folder, processes=1), measured(folder, processes=2)
    report(one, two)


def write_proposals(folder: Path) -> None:
    """Random boxes of an eighth to the whole of a photo's sides."""
    random = np.random.default_rng(0)
    photos = photos_named([folder / "images" / "val"])
    proposals = []
    for photo in photos:
        size = np.array(image_size(photo.path))
        low = random.random((PROPOSALS, 2)) * 0.6
        high = low + 0.125 + random.random((PROPOSALS, 2)) * (0.875 - low)
        boxes = np.concatenate([low * size, high * size], axis=1)
        proposals.append(Proposals(boxes.astype(np.float32)))
    write_npz(folder / "proposals.npz", [photo.id for photo in photos], proposals)


def measured(folder: str, *, processes: int) -> dict[str, float]:
    """What the first of so many processes says."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [sys.executable, *(launcher if processes > 1 else []), __file__, "--in", folder]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=environment, timeout=600
    )
    numbers: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return numbers


def measure(folder: Path, ours: Processes) -> None:
    """Look at this process's share of the photos; the first process prints its numbers."""
    torch.manual_seed(0)
    detector = detector_from(ModelSettings(), DropoutSettings(), len(CLASS_NAMES)).eval()
    source = ProposalSettings(source=f"file:{folder / 'proposals.npz'}")
    photos = photos_named([folder / "images" / "val"])
    every = tuple(Pass(side, flag) for side in SIDES for flag in (False, True))
    predictor = Predictor(
        detector.to(ours.device),
        tuple(CLASS_NAMES),
        open_supply(source),
        passes=(Pass(SIDES[-1]),),
        device=ours.device,
    )
    predictor(photos[0])  # warm
    ours.wait()
    share = photos[ours.rank :: ours.count]
    seconds, outside = looked_at(predictor, share)
    ours.wait()
    if not ours.writes:
        return
    numbers = {
        "photos_per_second": len(share) * ours.count / seconds,
        "outside_network_share": outside,
    }
    if ours.count == 1:
        numbers["passes_over_their_sum"] = passes_over_their_sum(predictor, photos[:3], every)
    print(json.dumps(numbers))


def looked_at(predictor: Predictor, photos: Sequence[TaggedImage]) -> tuple[float, float]:
    """Seconds on the clock, and the share of the time spent outside the network."""
    gpu = predictor.device.type == "cuda"
    whole_clock = time.perf_counter if gpu else time.process_time
    network_clock = time.perf_counter if gpu else time.thread_time  # torch has but this thread
    inside = 0.0
    averaged = predictor_file.averaged

    def timed(*arguments, **keywords):
        nonlocal inside
        start = network_clock()
        result = averaged(*arguments, **keywords)
        if gpu:
            torch.cuda.synchronize()
        inside += network_clock() - start
        return result

    predictor_file.averaged = timed
    start, whole_start = time.perf_counter(), whole_clock()
    count = sum(1 for _ in predictor.find(photos))
    whole, seconds = whole_clock() - whole_start, time.perf_counter() - start
    predictor_file.averaged = averaged
    assert count == len(photos)
    return seconds, (whole - inside) / whole


def passes_over_their_sum(
    predictor: Predictor, photos: Sequence[TaggedImage], every: Sequence[Pass]
) -> float:
    """Processor time of all passes together over that of each alone, the better of two goes."""

    def cost(passes: tuple[Pass, ...]) -> float:
        looking = dataclasses.replace(predictor, passes=passes)
        start = time.process_time()
        for _ in looking.find(photos):
            pass
        return time.process_time() - start

    ratios = [cost(tuple(every)) / sum(cost((one,)) for one in every) for _ in range(2)]
    return min(ratios)


def report(one: dict[str, float], two: dict[str, float]) -> None:
    """The tables and the last line."""
    table = Table("", "one process", "two processes", title="Inference", title_justify="left")
    rows = (
        ("photos a second", "photos_per_second", "{:.2f}"),
        ("share of time outside the network", "outside_network_share", "{:.1%}"),
        ("all passes over the sum of each", "passes_over_their_sum", "{:.2f}"),
    )
    for words, key, form in rows:
        cells = [form.format(numbers[key]) if key in numbers else "" for numbers in (one, two)]
        table.add_row(words, *cells)
    console = Console(width=100)
    console.print(table)
    speed_up = two["photos_per_second"] / one["photos_per_second"]
    console.print(f"two processes are {speed_up:.2f} times as fast as one ({os.cpu_count()} cores)")
    print(
        json.dumps(
            {
                "outside_network_share": round(one["outside_network_share"], 4),
                "photos_per_second": round(one["photos_per_second"], 3),
                "photos_per_second_two_processes": round(two["photos_per_second"], 3),
                "passes_over_their_sum": round(one["passes_over_their_sum"], 3),
            }
        )
    )


if __name__ == "__main__":
    main()
