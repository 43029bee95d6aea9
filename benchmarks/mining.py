"""How much faster is mining without loops than Algorithm 1 written down as it stands?

Times one student's lesson (MIST and the assignment, the paper's settings) on one CPU thread:
`tag2box.learning.mining` against a loop over classes and candidates in numpy, one row of overlaps
at a time, followed by the assignment by one matrix of overlaps. Both must give the same labels.
Prints a table and, as its last line, JSON with `speedup_5000` (the least over 1-5 tags).

    python benchmarks/mining.py [--quick]
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torchvision.ops import box_iou

from tag2box import boxes as geometry
from tag2box.learning.mining import build_miner
from tag2box.learning.overlap import iou

SHARE, OVERLAP, FOREGROUND = 0.15, 0.2, 0.5


def photo(
    rng: np.random.Generator, count: int, num_classes: int = 20
) -> tuple[np.ndarray, np.ndarray]:
    """Scores (R, C) and boxes (R, 4) of a 800 x 600 photo with three objects a class.

    Half of the boxes lie anywhere, half crowd around the objects. A score is the overlap with
    the nearest object of the class, and noise.
    """
    low = rng.uniform([0, 0], [700, 500], (3 * num_classes, 2))
    objects = np.concatenate([low, low + np.exp(rng.uniform(3.5, 5.5, low.shape))], axis=1)
    crowd = objects[rng.integers(0, len(objects), count // 2)]
    crowd = crowd + rng.normal(0, 0.2, crowd.shape) * np.tile(crowd[:, 2:] - crowd[:, :2], 2)
    center = rng.uniform([0, 0], [800, 600], (count - len(crowd), 2))
    side = np.exp(rng.uniform(np.log(15), np.log(400), center.shape))
    anywhere = np.concatenate([center - side / 2, center + side / 2], axis=1)
    boxes = rng.permutation(np.concatenate([crowd, anywhere]))
    boxes = np.concatenate([boxes[:, :2], np.maximum(boxes[:, 2:], boxes[:, :2] + 5)], axis=1)
    seen = geometry.iou(boxes, objects).reshape(count, num_classes, 3).max(axis=2)
    scores = seen + 0.4 * rng.random((count, num_classes))
    return scores.astype(np.float32), boxes.astype(np.float32)


def loop(scores: np.ndarray, boxes: np.ndarray, tags: list[int]) -> np.ndarray:
    """Algorithm 1 and the assignment as they are told, region by region: labels (R,)."""
    regions: list[int] = []
    classes: list[int] = []
    for c in tags:
        order = np.argsort(-scores[:, c], kind="stable")[: max(1, int(SHARE * len(boxes)))]
        candidates = boxes[order]
        for i, region in enumerate(order):
            if (row_of_overlaps(candidates[i], candidates[:i]) < OVERLAP).all():
                regions.append(region)
                classes.append(c)
    pseudo_boxes = boxes[regions]
    labels = np.zeros(len(boxes), np.int64)
    for r, box in enumerate(boxes):
        overlaps = row_of_overlaps(box, pseudo_boxes)
        best = overlaps.argmax()
        if overlaps[best] >= FOREGROUND:
            labels[r] = classes[best] + 1
    return labels


def row_of_overlaps(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """IoU of one box with many, (4,) and (N, 4) -> (N,): 12 calls of numpy."""
    low = np.maximum(box[:2], others[:, :2])
    high = np.minimum(box[2:], others[:, 2:])
    shared = np.clip(high - low, 0, None).prod(1)
    areas = (others[:, 2:] - others[:, :2]).prod(1)
    return shared / ((box[2:] - box[:2]).prod() + areas - shared)


def seconds(function: Callable[[], Any], repeats: int) -> float:
    """The least CPU time of some runs, after one to warm up."""
    function()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Print the table, then the line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="R = 500 and 5,000 only")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    mine = build_miner(conflicts="overlap")
    speedups: dict[int, list[float]] = {}
    print("regions  tags  pseudo boxes  loop ms   ours ms  times faster")
    for count in (500, 5000) if quick else (500, 1000, 2000, 5000, 8000):
        for num_tags in range(1, 6):
            rng = np.random.default_rng(count + num_tags)
            scores, boxes = photo(rng, count)
            tags = list(range(0, 4 * num_tags, 4))
            tensors = torch.from_numpy(scores), torch.from_numpy(boxes), torch.tensor(tags)
            taught = mine(*tensors)
            same = (taught.labels.numpy() == loop(scores, boxes, tags)).mean()
            assert same > 0.999, f"only {same:.4%} of the labels agree"
            slow = seconds(lambda s=scores, b=boxes, t=tags: loop(s, b, t), 2 if quick else 3)
            ours = seconds(lambda t=tensors: mine(*t), 9 if quick else 15)
            speedups.setdefault(count, []).append(slow / ours)
            print(
                f"{count:7d} {num_tags:5d} {len(taught.pseudo_boxes.kept):13d}"
                f" {slow * 1e3:8.1f} {ours * 1e3:9.2f} {slow / ours:13.1f}"
            )
    pairs = torch.from_numpy(photo(np.random.default_rng(0), 750)[1])
    lean = seconds(lambda: box_iou(pairs, pairs), 5) / seconds(lambda: iou(pairs, pairs), 5)
    print(f"overlaps of 750 x 750 boxes: {lean:.1f} times faster than torchvision.ops.box_iou")
    result = {f"speedup_{count}": round(min(values), 1) for count, values in speedups.items()}
    print(json.dumps(result | {"iou_speedup": round(lean, 1)}))


if __name__ == "__main__":
    main()
