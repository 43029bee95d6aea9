"""A run killed at random instants ends with the same bits as one that was left alone.

    python benchmarks/resume.py [--kills 100]

A child trains on a few made-up photos with Concrete DropBlock; it is killed (SIGKILL) at a random
instant and started again until the run is finished. Weights, optimiser states and metrics are then
compared with those of an unbroken run. The last line is a JSON object.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from tag2box.proposals.protocol import Proposals
from tag2box.recipe import DropoutSettings, GameSettings, ModelSettings, Recipe, TrainingSettings
from tag2box.structures import Dataset, TaggedImage
from tag2box.training import checkpoint
from tag2box.training.metrics import TIMED, read_metrics
from tag2box.training.run import train

STEPS = 24
SIDE = 64


class FixedSupply:
    """The same few boxes for every photo of an id."""

    def get(self, image: TaggedImage) -> Proposals:
        """Twelve boxes."""
        numbers = np.random.default_rng(sum(image.id.encode())).random((12, 2, 2)) * SIDE / 2
        corners = [numbers.min(axis=1), numbers.max(axis=1) + SIDE / 2]
        return Proposals(np.concatenate(corners, axis=1).astype(np.float32))

    def fill(self, images: Any, *, progress: bool = True) -> int:  # noqa: ARG002
        """Nothing to compute."""
        return 0

    def filling(self, images: Any) -> Any:  # noqa: ARG002
        """Nothing to compute."""
        return nullcontext()


def make_photos(folder: Path, count: int = 6) -> Dataset:
    """Noise with tags; one photo has none."""
    folder.mkdir()
    for i in range(count):
        pixels = np.random.default_rng(i).integers(0, 256, (SIDE, SIDE + i, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{i}.png")
    return photos_in(folder)


def photos_in(folder: Path) -> Dataset:
    """The photos made before."""
    images = (
        TaggedImage(id=path.stem, path=path, tags=frozenset({i % 2} if i else ()))
        for i, path in enumerate(sorted(folder.iterdir()))
    )
    return Dataset(("dog", "sheep"), tuple(images))


def tiny_recipe(folder: Path) -> Recipe:
    """Everything on that has a state: the game, momentum, dropout."""
    return Recipe(
        model=ModelSettings(
            backbone="timm:test_efficientnet", weights="none", neck_width=8, frozen_stages=0
        ),
        dropout=DropoutSettings(kind="concrete"),
        game=GameSettings(weight=1.0, learning_rate=0.1),
        training=TrainingSettings(
            steps=STEPS,
            images_per_step=2,
            linear_rule_images=2,
            short_sides=(48, 64),
            regions_per_batch=5,
            workers=0,
            checkpoint_every=2,
            log_every=1,
            feature_cache=folder / "features",
        ),
    )


def run_once(dataset: Dataset, folder: Path) -> None:
    """Train from wherever the run folder stands."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    train(dataset, tiny_recipe(folder), folder / "run", FixedSupply())


def _be_the_child(dataset: Dataset, folder: Path) -> None:
    """Never returns: what the parent would clean up is not this process's to clean."""
    code = 1
    try:
        os.dup2(os.open(folder.with_suffix(".log"), os.O_WRONLY | os.O_CREAT, 0o666), 2)
        run_once(dataset, folder)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def in_a_child(dataset: Dataset, folder: Path, kill_after: float | None) -> bool:
    """Whether the run finished before it was killed."""
    child = os.fork()
    if child == 0:
        _be_the_child(dataset, folder)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and status:
        raise RuntimeError(folder.with_suffix(".log").read_text())
    return status == 0


def state_of(folder: Path) -> tuple[dict[str, Any], list[dict[str, float]]]:
    """All that should be equal: the last checkpoint and the untimed metrics."""
    newest = checkpoint.load_newest(folder / "run")
    assert newest is not None
    assert newest.step == STEPS
    metrics = read_metrics(folder / "run")
    untimed = [{k: v for k, v in line.items() if k not in TIMED} for line in metrics]
    return {"weights": dict(newest.weights), "optimizers": newest.state["optimizers"]}, untimed


def equal(one: Any, other: Any) -> bool:
    """To the bit, at any depth."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


def main() -> int:
    """Kill, continue, compare."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    asked = options.parse_args()
    chance = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dataset = make_photos(folder / "photos")
        started = time.perf_counter()
        assert in_a_child(dataset, folder / "whole", None)
        whole_seconds = time.perf_counter() - started
        whole = state_of(folder / "whole")
        kills = runs = unequal = 0
        while kills < asked.kills:
            broken = folder / f"broken{runs}"
            runs += 1
            while True:
                # A run takes several lives: short enough that most end in the middle of it.
                wait = chance.uniform(0.1, 0.8) * whole_seconds if kills < asked.kills else None
                if in_a_child(dataset, broken, wait):
                    break
                kills += 1
            unequal += not equal(whole, state_of(broken))
    print(f"{'kills':>8} {'runs':>8} {'unequal':>8} {'unbroken run, s':>16}")
    print(f"{kills:>8} {runs:>8} {unequal:>8} {whole_seconds:>16.1f}")
    print(json.dumps({"kills": kills, "runs": runs, "unequal": unequal}))
    return int(unequal > 0)


if __name__ == "__main__":
    sys.exit(main())
