"""Which true object each detection overlaps best.

M objects, D detections, P pairs of a detection and an object of its class and image.
"""

import numpy as np
import numpy.typing as npt

from tag2box.boxes import area
from tag2box.evaluation.detection_table import DetectionTable
from tag2box.evaluation.ground_truth import GroundTruth

_PAIRS_AT_ONCE = 1 << 20  # bounds the memory, however crowded the images are

Floats = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.int64]


def best_overlaps(truth: GroundTruth, table: DetectionTable) -> tuple[Floats, Indexes]:
    """The best IoU of each detection with an object of its class in its image, and which object.

    Both (D,). The first of equally good objects counts; where there is none the IoU is 0 and the
    object -1.
    """
    place = truth.classes * len(truth) + truth.object_image  # (M,)
    by_place = np.argsort(place, kind="stable")
    wanted = table.classes * len(truth) + table.images  # (D,)
    first = np.searchsorted(place[by_place], wanted, side="left")
    count = np.searchsorted(place[by_place], wanted, side="right") - first
    best = np.zeros(len(table))
    chosen = np.full(len(table), -1, np.int64)
    rows = np.flatnonzero(count)
    pairs = np.cumsum(count[rows])
    cuts = np.searchsorted(pairs, np.arange(_PAIRS_AT_ONCE, pairs[-1:].sum(), _PAIRS_AT_ONCE))
    for chunk in np.split(rows, cuts):
        best[chunk], candidate = _best_candidates(
            table.boxes[chunk], truth.boxes[by_place], first[chunk], count[chunk]
        )
        chosen[chunk] = by_place[candidate]
    return best, chosen


def _best_candidates(
    boxes: Floats, candidates: Floats, first: Indexes, count: Indexes
) -> tuple[Floats, Indexes]:
    """The best IoU of each box with its candidates, `count` of them from `first` on, and where."""
    start = np.cumsum(count) - count
    box = np.repeat(np.arange(len(boxes)), count)  # (P,)
    candidate = np.arange(len(box)) + np.repeat(first - start, count)  # (P,)
    overlap = paired_iou(boxes[box], candidates[candidate])
    best = np.maximum.reduceat(overlap, start)
    is_best = np.flatnonzero(overlap == best[box])
    _, first_of_box = np.unique(box[is_best], return_index=True)
    return best, candidate[is_best[first_of_box]]


def paired_iou(boxes: Floats, others: Floats) -> Floats:
    """Intersection over union of each box with the other of its row: (P, 4), (P, 4) -> (P,)."""
    sides = np.minimum(boxes[:, 2:], others[:, 2:]) - np.maximum(boxes[:, :2], others[:, :2])
    np.clip(sides, 0, None, out=sides)
    shared: Floats = sides[:, 0] * sides[:, 1]
    union = area(boxes) + area(others) - shared
    return np.divide(shared, union, out=np.zeros(len(boxes)), where=union > 0)
