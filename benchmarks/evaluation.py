"""Scoring against pycocotools in the same run: reading the files, VOC AP, COCO's twelve numbers.

Makes a data set with COCO's number of classes in a temporary folder, scores it, compares the
numbers and prints CPU seconds. The last line is one JSON object.

    python benchmarks/evaluation.py [--images 5000 --detections 500000]
"""

import argparse
import contextlib
import io
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from rich.console import Console
from rich.table import Table

from tag2box.evaluation.coco import coco_scores
from tag2box.evaluation.corloc import corloc
from tag2box.evaluation.detections_file import read_results
from tag2box.evaluation.ground_truth import read_ground_truth
from tag2box.evaluation.voc import average_precision

Result = TypeVar("Result")

CLASSES = 80
OBJECTS_AN_IMAGE = 7.4
WIDTH, HEIGHT = 640, 480


def make_files(folder: Path, images: int, detections: int, seed: int = 0) -> tuple[Path, Path]:
    """An instances file and a results file: most detections lie near an object."""
    rng = np.random.default_rng(seed)
    objects = int(images * OBJECTS_AN_IMAGE)
    object_image = np.sort(rng.integers(images, size=objects))
    sides = np.exp(rng.uniform(np.log(8), np.log(300), (objects, 2)))
    boxes = np.hstack([rng.random((objects, 2)) * ([WIDTH, HEIGHT] - sides), sides]).round(2)
    classes = rng.integers(CLASSES, size=objects)
    source = rng.integers(objects, size=detections)
    found = boxes[source] + rng.normal(0, 0.15, (detections, 4)) * boxes[source][:, [2, 3, 2, 3]]
    found[:, 2:] = np.maximum(found[:, 2:], 1)
    right_class = rng.random(detections) < 0.8
    truth = {
        "images": [
            {"id": i + 1, "file_name": f"{i + 1:012}.jpg", "width": WIDTH, "height": HEIGHT}
            for i in range(images)
        ],
        "categories": [{"id": k + 1, "name": f"class {k:02}"} for k in range(CLASSES)],
        "annotations": [
            {
                "id": n + 1,
                "image_id": i + 1,
                "category_id": k + 1,
                "bbox": b,
                "iscrowd": c,
                "area": a,
            }
            for n, (i, k, b, c, a) in enumerate(
                zip(
                    object_image.tolist(),
                    classes.tolist(),
                    boxes.tolist(),
                    (rng.random(objects) < 0.02).astype(int).tolist(),
                    (boxes[:, 2] * boxes[:, 3] * 0.7).tolist(),
                    strict=True,
                )
            )
        ],
    }
    results = [
        {"image_id": i + 1, "category_id": k + 1, "bbox": b, "score": s}
        for i, k, b, s in zip(
            object_image[source].tolist(),
            np.where(right_class, classes[source], rng.integers(CLASSES, size=detections)).tolist(),
            found.round(2).tolist(),
            rng.random(detections).round(4).tolist(),
            strict=True,
        )
    ]
    paths = folder / "instances_val.json", folder / "results.json"
    for path, content in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(content))
    return paths


def timed(function: Callable[..., Result], *arguments: Any) -> tuple[Result, float]:
    """The result and the CPU seconds of this process, all threads together."""
    start = time.process_time()
    return function(*arguments), time.process_time() - start


def pycocotools_read(truth: Path, results: Path) -> tuple[COCO, COCO]:
    """Objects and detections as pycocotools holds them."""
    with contextlib.redirect_stdout(io.StringIO()):
        objects = COCO(str(truth))
        return objects, objects.loadRes(str(results))


def pycocotools_score(objects: COCO, found: COCO) -> np.ndarray:
    """The twelve numbers."""
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation = COCOeval(objects, found, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats


def pycocotools_at_50(objects: COCO, found: COCO) -> float:
    """Average precision at the one overlap of 0.5, all sizes and detections: VOC's question."""
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation = COCOeval(objects, found, "bbox")
        evaluation.params.iouThrs = np.array([0.5])
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluation.params.maxDets = [10_000]
        evaluation.evaluate()
        evaluation.accumulate()
    return float(evaluation.eval["precision"].mean())


def measure(images: int, detections: int) -> dict[str, float]:
    """CPU seconds of each step, and the largest difference of the twelve numbers."""
    with tempfile.TemporaryDirectory() as folder:
        truth_file, results_file = make_files(Path(folder), images, detections)
        truth, truth_seconds = timed(read_ground_truth, [truth_file])
        table, table_seconds = timed(read_results, results_file, truth)
        voc, voc_seconds = timed(average_precision, truth, table)
        _, corloc_seconds = timed(corloc, truth, table)
        scores, coco_seconds = timed(coco_scores, truth, table)
        (objects, found), their_reading = timed(pycocotools_read, truth_file, results_file)
        expected, their_seconds = timed(pycocotools_score, objects, found)
        at_50, their_seconds_at_50 = timed(pycocotools_at_50, objects, found)
    return {
        "images": images,
        "detections": detections,
        "read_seconds": truth_seconds + table_seconds,
        "voc_seconds": voc_seconds,
        "corloc_seconds": corloc_seconds,
        "coco_seconds": coco_seconds,
        "pycocotools_read_seconds": their_reading,
        "pycocotools_seconds": their_seconds,
        "pycocotools_at_50_seconds": their_seconds_at_50,
        "read_speedup": their_reading / (truth_seconds + table_seconds),
        "voc_speedup": their_seconds_at_50 / voc_seconds,
        "coco_speedup": their_seconds / coco_seconds,
        "voc_mean": voc.mean,
        "pycocotools_at_50": at_50,
        "largest_difference": float(np.abs(np.array(astuple(scores.overall)) - expected).max()),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--detections", type=int, default=500_000)
    options = parser.parse_args()
    figures = measure(options.images, options.detections)
    table = Table("step", "tag2box, CPU s", "pycocotools, CPU s", "times faster")
    for step, ours, theirs, faster in (
        ("read the two files", "read_seconds", "pycocotools_read_seconds", "read_speedup"),
        ("AP at 0.5, as VOC counts", "voc_seconds", "pycocotools_at_50_seconds", "voc_speedup"),
        ("COCO's twelve numbers", "coco_seconds", "pycocotools_seconds", "coco_speedup"),
    ):
        cells = (f"{figures[ours]:.2f}", f"{figures[theirs]:.2f}", f"{figures[faster]:.0f}")
        table.add_row(step, *cells)
    table.add_row("CorLoc", f"{figures['corloc_seconds']:.2f}", "", "")
    console = Console()
    console.print(f"{options.images} images, {options.detections} detections")
    console.print(table)
    console.print(f"largest difference of the twelve: {figures['largest_difference']:.1e}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
