"""Average precision as Pascal VOC counts it.

As in the official kit: the best-scored detection comes first, each detection is compared with the
object of its class it overlaps best, and that one only. It is right if the overlap reaches the
threshold and no better-scored detection has taken the object; a second detection of an object is
wrong. A detection whose object is `difficult` counts neither way, and no more does one of a COCO
`crowd`. Detections of equal score keep the order they were given in.

The kit writes boxes with their last pixel included and adds 1 to every width; here x2/y2 are
exclusive, which gives the same overlaps without the 1.

M objects, D detections of one class.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tag2box.errors import InputError
from tag2box.evaluation.detection_table import AnyDetections, DetectionTable, tabulate
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.evaluation.matching import best_overlaps

Floats = npt.NDArray[np.float64]

# i * 0.1 in floating point, as the kit and its followers count: 0.3 is a hair above 3 / 10.
ELEVEN_RECALLS = np.arange(11) * 0.1


@dataclass(frozen=True, eq=False)
class ClassPrecision:
    """How well one class is found. Shares in [0, 1]; NaN for a class with no object to find."""

    name: str
    objects: int
    """True objects, without those that count neither way."""
    average_precision: float
    """Area under the precision-recall curve, as VOC counts since 2010."""
    average_precision_07: float
    """Mean of the best precision at eleven recalls, as VOC counted until 2009."""
    scores: Floats
    """(D,) descending: the points of the curve, one a detection."""
    recall: Floats
    """(D,) of all detections scored as high or higher."""
    precision: Floats
    """(D,) of the same."""


@dataclass(frozen=True, eq=False)
class VocPrecision:
    """Average precision at one overlap threshold."""

    iou: float
    classes: tuple[ClassPrecision, ...]

    @property
    def mean(self) -> float:
        """The mAP since 2010, over the classes that have an object; NaN if none has."""
        return _mean([c.average_precision for c in self.classes])

    @property
    def mean_07(self) -> float:
        """The mAP until 2009, the metric of VOC 2007."""
        return _mean([c.average_precision_07 for c in self.classes])


def average_precision(
    truth: GroundTruth, detections: AnyDetections, *, iou: float = 0.5
) -> VocPrecision:
    """Average precision of every class at an overlap of `iou`, by both of VOC's formulas."""
    if not 0 < iou <= 1:
        raise InputError("iou", f"{iou} is not an overlap", "give a number above 0, up to 1")
    table = tabulate(truth, detections)
    table = table[np.argsort(-table.scores, kind="stable")]
    right, counts = _verdicts(truth, table, iou)
    curves = []
    for index, name in enumerate(truth.class_names):
        rows = np.flatnonzero(counts & (table.classes == index))
        to_find = (truth.classes == index) & ~truth.difficult & ~truth.crowd
        curves.append(_curve(name, int(to_find.sum()), table.scores[rows], right[rows]))
    return VocPrecision(iou=iou, classes=tuple(curves))


def _verdicts(
    truth: GroundTruth, table: DetectionTable, iou: float
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Whether each detection is right, and whether it counts at all. The best-scored come first."""
    overlap, best = best_overlaps(truth, table)
    hits = overlap >= iou
    neutral = (truth.difficult | truth.crowd)[best] if len(truth.boxes) else hits
    claims = np.flatnonzero(hits & ~neutral)
    _, first_claim = np.unique(best[claims], return_index=True)
    right = np.zeros(len(table), bool)
    right[claims[first_claim]] = True
    return right, ~(hits & neutral)


def _curve(name: str, objects: int, scores: Floats, right: npt.NDArray[np.bool_]) -> ClassPrecision:
    found = np.cumsum(right)
    precision = found / np.arange(1, len(right) + 1)
    recall = found / objects if objects else np.full(len(right), np.nan)
    return ClassPrecision(
        name=name,
        objects=objects,
        average_precision=area_under(recall, precision) if objects else np.nan,
        average_precision_07=eleven_points(recall, precision) if objects else np.nan,
        scores=scores,
        recall=recall,
        precision=precision,
    )


def area_under(recall: Floats, precision: Floats) -> float:
    """Area under the curve whose precision is made to fall: at a recall, the best from it on."""
    best_from_here = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.sum(np.diff(recall, prepend=0.0) * best_from_here))


def eleven_points(recall: Floats, precision: Floats) -> float:
    """Mean over the recalls 0, 0.1, ... 1 of the best precision from that recall on."""
    best = [precision[recall >= least].max(initial=0.0) for least in ELEVEN_RECALLS]
    return float(np.mean(best))


def _mean(values: list[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")
