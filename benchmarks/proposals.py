"""Proposals: ours against OpenCV's selective search, on the same photos in one process and thread.

    python benchmarks/proposals.py [--limit 200]
    python benchmarks/proposals.py --images VOC2007/JPEGImages --ground-truth VOC2007 --split test

Photos are those of ../shared/voc-mini when it is there, else of scikit-image (which have no true
boxes, so no recall). Both are cut at the number of boxes OpenCV has for a photo. Time is CPU
seconds, except where the table says wall. The last line is one JSON object.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
import skimage.data
from rich.console import Console
from rich.table import Table

from tag2box.boxes import iou
from tag2box.data.images import read_image
from tag2box.evaluation.ground_truth import read_ground_truth
from tag2box.evaluation.recall import proposal_statistics
from tag2box.proposals.edges import edge_boxes
from tag2box.proposals.grid import grid
from tag2box.proposals.selective_search import selective_search
from tag2box.recipe import ReadingSettings

VOC_MINI = Path(__file__).resolve().parents[2] / "shared" / "voc-mini"
SAMPLES = ("astronaut", "chelsea", "coffee", "rocket", "retina", "immunohistochemistry")
Boxes = npt.NDArray[np.float32]
Image = npt.NDArray[np.uint8]
Find = Callable[[Image], Boxes]
COLUMNS = ("boxes", "CPU ms", "recall .5", "recall .7", "best overlap")


class Photo(NamedTuple):
    """A photo and its true boxes (M, 4), which may be none."""

    image: Image
    objects: npt.NDArray[np.float64]


class Found(NamedTuple):
    """The boxes of a source on all photos, and its CPU seconds a photo."""

    boxes: list[Boxes]
    seconds: float


def opencv(image: Image, mode: str) -> Boxes:
    """OpenCV's boxes; it takes BGR and gives x, y, width, height."""
    search = cv2.ximgproc.segmentation.createSelectiveSearchSegmentation()
    search.setBaseImage(np.ascontiguousarray(image[:, :, ::-1]))
    if mode == "fast":
        search.switchToSelectiveSearchFast()
    else:
        search.switchToSelectiveSearchQuality()
    boxes = np.asarray(search.process(), np.float32)
    boxes[:, 2:] += boxes[:, :2]
    return boxes


def ours(image: Image, mode: str, **settings: Any) -> Boxes:
    """The boxes of tag2box."""
    return selective_search(image, mode=mode, **settings).boxes


def load(images: Path | None, truth: Path | None, split: str | None, limit: int) -> list[Photo]:
    """Photos spread evenly over the data set, or scikit-image's."""
    if truth is None and images is None and VOC_MINI.is_dir():
        truth, split = VOC_MINI, split or "val"
    if truth is None:
        if images is None:
            return [Photo(getattr(skimage.data, n)(), np.zeros((0, 4))) for n in SAMPLES[:limit]]
        paths = sorted(p for p in images.iterdir() if p.suffix.lower() in (".jpg", ".png"))
        return [Photo(read_image(path), np.zeros((0, 4))) for path in spread(paths, limit)]
    settings = ReadingSettings(format="voc", split=split, images=images)
    found = read_ground_truth([truth], settings)
    folder = images or truth / "JPEGImages"
    photos = []
    for index in spread(list(range(len(found.image_ids))), limit):
        own = (found.object_image == index) & ~found.difficult
        path = next(folder.glob(f"{found.image_ids[index]}.*"))
        photos.append(Photo(read_image(path), found.boxes[own]))
    return photos


def spread(things: list[Any], limit: int) -> list[Any]:
    """So many of them, evenly spaced."""
    count = min(limit, len(things))
    return [things[int(i * len(things) / count)] for i in range(count)]


def run(find: Find, photos: list[Photo]) -> Found:
    """All photos one after the other, after one to warm up."""
    find(photos[0].image)
    start = time.process_time()
    boxes = [find(photo.image) for photo in photos]
    return Found(boxes, (time.process_time() - start) / len(photos))


def recalls(boxes: list[Boxes], photos: list[Photo]) -> npt.NDArray[np.float64]:
    """Recall at IoU 0.5 and 0.7 and average best overlap, in points: (3,)."""
    objects = [photo.objects for photo in photos]
    found = proposal_statistics(boxes, objects, limits=(None,)).recalls[0]
    return 100 * np.array([found.recall_50, found.recall_70, found.average_best_overlap])


def agreement(boxes: list[Boxes], others: list[Boxes]) -> float:
    """Share of the boxes that some box of the others overlaps by an IoU of 0.7, mean of photos."""
    shares = []
    for a, b in zip(boxes, others, strict=True):
        parts = np.array_split(a.astype(np.float64), len(a) // 500 + 1)  # all at once take GB
        near = [iou(part, b.astype(np.float64)).max(axis=1) >= 0.7 for part in parts]
        shares.append(np.concatenate(near).mean())
    return float(np.mean(shares))


def first(boxes: list[Boxes], counts: list[int]) -> list[Boxes]:
    """So many of each photo."""
    return [b[:count] for b, count in zip(boxes, counts, strict=True)]


def row(table: Table, name: str, boxes: list[Boxes], seconds: float, photos: list[Photo]) -> None:
    """One line of the comparison."""
    numbers = [f"{number:.1f}" for number in recalls(boxes, photos)]
    average = f"{np.mean([len(b) for b in boxes]):.0f}"
    table.add_row(name, average, f"{1000 * seconds:.1f}", *numbers)


def compare(photos: list[Photo], console: Console) -> dict[str, float | None]:
    """Ours and OpenCV's in both modes, then the grid and the edges."""
    table = Table("source", *COLUMNS, title=f"{len(photos)} photos")
    result: dict[str, float | None] = {}
    deltas = []
    for mode in ("fast", "quality"):
        theirs = run(partial(opencv, mode=mode), photos)
        mine = run(partial(ours, mode=mode), photos)
        counts = [len(boxes) for boxes in theirs.boxes]
        cut = first(mine.boxes, counts)
        row(table, f"OpenCV {mode}", theirs.boxes, theirs.seconds, photos)
        row(table, f"tag2box {mode}, as many", cut, mine.seconds, photos)
        row(table, f"tag2box {mode}, all", mine.boxes, mine.seconds, photos)
        for limit in (500, 1000):
            few = [limit] * len(photos)
            row(table, f"OpenCV {mode}, {limit}", first(theirs.boxes, few), theirs.seconds, photos)
            row(table, f"tag2box {mode}, {limit}", first(mine.boxes, few), mine.seconds, photos)
        delta = recalls(cut, photos) - recalls(theirs.boxes, photos)
        deltas.append(delta)
        result[f"{mode}_speedup"] = round(theirs.seconds / mine.seconds, 1)
        result[f"{mode}_agreement_of_opencv"] = round(agreement(theirs.boxes, mine.boxes), 3)
        result[f"{mode}_agreement_of_ours"] = round(agreement(mine.boxes, theirs.boxes), 3)
        for key, number in zip(("recall50", "recall70", "abo"), delta, strict=True):
            result[f"{mode}_{key}_delta"] = rounded(number)
    for name, find in (("edges", edge_boxes), ("grid", grid)):
        found = run(lambda image, find=find: find(image).boxes, photos)
        row(table, name, found.boxes, found.seconds, photos)
    console.print(table)
    for key, number in zip(("recall50", "recall70", "abo"), np.min(deltas, axis=0), strict=True):
        result[f"{key}_delta"] = rounded(number)
    return result


def rounded(number: float) -> float | None:
    """Two decimals; None where there is nothing to be found."""
    return None if np.isnan(number) else round(float(number), 2)


def mosaic(photos: list[Photo], height: int, width: int) -> Image:
    """One image of that size, tiled with photos, so that its detail is that of photos."""
    rows: list[Image] = []
    number = 0
    while sum(len(r) for r in rows) < height:
        tiles: list[Image] = []
        while sum(t.shape[1] for t in tiles) < width:
            image = photos[number % len(photos)].image
            tiles.append(np.pad(image[:300], ((0, max(0, 300 - len(image))), (0, 0), (0, 0))))
            number += 1
        rows.append(np.concatenate(tiles, axis=1)[:, :width])
    return np.concatenate(rows)[:height]


def grow(photos: list[Photo], console: Console) -> dict[str, float]:
    """CPU time against pixels, in the working frame as it is and without its upper bound."""
    table = Table("megapixels", "ms", "boxes", "ms, not bounded", "ms/MP, not bounded")
    sides = [(387, 516), (775, 1033), (1225, 1633), (1732, 2309), (2449, 3266)]
    bounded, full = [], []
    for height, width in sides:
        image = mosaic(photos, height, width)
        sizes = [run(partial(ours, mode="fast"), [Photo(image, np.zeros((0, 4)))] * 3)]
        unbounded = partial(ours, mode="fast", most_working_pixels=image.size)
        sizes.append(run(unbounded, [Photo(image, np.zeros((0, 4)))] * 2))
        bounded.append(sizes[0].seconds)
        full.append(sizes[1].seconds / (height * width / 1e6))
        table.add_row(
            f"{height * width / 1e6:.1f}",
            f"{1000 * bounded[-1]:.0f}",
            str(len(sizes[0].boxes[0])),
            f"{1000 * sizes[1].seconds:.0f}",
            f"{1000 * full[-1]:.0f}",
        )
    console.print(table)
    pixels = sides[-1][0] * sides[-1][1] / (sides[0][0] * sides[0][1])
    return {
        "growth_8mp_over_linear": round(bounded[-1] / bounded[0] / pixels, 3),
        "growth_8mp_over_linear_not_bounded": round(full[-1] / full[0], 3),
    }


def count_boxes(image: Image) -> int:
    """What a worker does, with little to send back."""
    return len(selective_search(image))


def share_out(photos: list[Photo], console: Console) -> dict[str, float]:
    """Wall time of one and of two processes for the same photos."""
    images = [photo.image for photo in photos[:100]] * 3
    walls = []
    for processes in (1, 2):
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            list(pool.map(count_boxes, images[: 8 * processes], chunksize=4))
            start = time.perf_counter()
            list(pool.map(count_boxes, images, chunksize=4))
            walls.append(time.perf_counter() - start)
    load = os.getloadavg()[0]
    console.print(
        f"{len(images)} photos: {walls[0]:.2f} s wall in one process, {walls[1]:.2f} s in two "
        f"({walls[0] / walls[1]:.2f} x; load average of the machine {load:.1f})"
    )
    return {"two_processes_speedup": round(walls[0] / walls[1], 2), "load_average": round(load, 1)}


WORKER = """
import sys, time
start, cpu = time.perf_counter(), time.process_time()
import numpy as np
from tag2box.proposals.selective_search import selective_search
height, width, *modes = sys.argv[1:]
image = np.random.default_rng(0).integers(0, 256, (int(height), int(width), 3), np.uint8)
for mode in modes:
    selective_search(image, mode=mode)
wall, cpu = time.perf_counter() - start, time.process_time() - cpu
peak = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(wall, cpu, int(peak[0]) / 1024)
"""


def worker(height: int, width: int, *modes: str, **environment: str) -> tuple[float, ...]:
    """A fresh process that makes the boxes of noise: wall seconds, CPU seconds, MB at most."""
    command = [sys.executable, "-c", WORKER, str(height), str(width), *modes]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=os.environ | environment
    )
    return tuple(float(number) for number in done.stdout.split())


def start_up(console: Console) -> dict[str, float]:
    """The first compile, the start of a worker afterwards, and the memory of a large photo."""
    with tempfile.TemporaryDirectory() as folder:
        _, compile_cpu, _ = worker(60, 80, "fast", "quality", NUMBA_CACHE_DIR=folder)
        wall, cpu, _ = worker(60, 80, "fast", "quality", NUMBA_CACHE_DIR=folder)
        *_, memory = worker(1500, 2000, "fast", "quality", NUMBA_CACHE_DIR=folder)
    console.print(
        f"first compile {compile_cpu:.1f} s CPU, once; start of a worker {cpu:.1f} s CPU, "
        f"{wall:.1f} s wall; a worker with noise of 2000 x 1500: {memory:.0f} MB"
    )
    return {
        "first_compile_seconds": round(compile_cpu, 1),
        "start_up_seconds": round(cpu, 1),
        "worker_megabytes": round(memory),
    }


def main() -> None:
    """Print the tables, then the line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--images", type=Path, help="folder of photos")
    parser.add_argument("--ground-truth", type=Path, help="VOC layout, or a folder of XML files")
    parser.add_argument("--split", help="of the VOC layout")
    parser.add_argument("--limit", type=int, default=200, help="photos")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    console = Console(width=100)
    photos = load(options.images, options.ground_truth, options.split, options.limit)
    result: dict[str, float | None] = {"photos": len(photos), **compare(photos, console)}
    result |= grow(photos, console) | share_out(photos, console) | start_up(console)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
