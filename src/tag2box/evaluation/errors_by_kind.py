"""What each detection has found, and what is missed, where only the true boxes are known.

As `tag2box.evaluation.problems`, without boxes of discriminative parts: a part is here any box
that lies mostly inside an object of its class and is not that object.

A detection keeps its kind whatever the score threshold: whether it is the first on its object
depends on better-scored ones only. D detections, M objects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from tag2box.boxes import area, intersection
from tag2box.evaluation.detection_table import AnyDetections, DetectionTable, tabulate
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.evaluation.matching import best_overlaps
from tag2box.evaluation.problems import MOSTLY_INSIDE, SAME_OBJECT, Verdict, judge

Floats = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.int64]


class Kind(IntEnum):
    """What a detection has found; of several the first applies."""

    RIGHT = 0
    """An object of its class (IoU 0.5), and the best-scored detection that has."""
    IGNORED = 1
    """A difficult object (IoU 0.5), or 0.7 of it in a crowd: counts neither way."""
    REPEATED = 2
    """An object of its class that a better-scored detection has already found."""
    GROUP = 3
    """Two or more objects of its class, 0.7 of each, whose common box it meets by IoU 0.5."""
    PART = 4
    """0.7 of it inside an object of its class."""
    WRONG_CLASS = 5
    """An object of another class (IoU 0.5)."""
    BACKGROUND = 6
    """None of these."""


_KIND_OF = {
    Verdict.GROUP: Kind.GROUP,
    Verdict.PART: Kind.PART,
    Verdict.WRONG_CLASS: Kind.WRONG_CLASS,
    Verdict.BACKGROUND: Kind.BACKGROUND,
}
ERRORS = (Kind.REPEATED, *_KIND_OF.values())


@dataclass(frozen=True)
class ErrorsByKind:
    """How many detections of a score or more found what, and how many objects none has found."""

    min_score: float
    counts: dict[Kind, int]
    missed: int
    objects: int
    """Objects to find: neither crowd nor difficult."""

    @property
    def boxes(self) -> int:
        """Detections that count."""
        return sum(self.counts.values()) - self.counts[Kind.IGNORED]

    @property
    def precision(self) -> float:
        """Share of the boxes that are right; 0 of none."""
        return self.counts[Kind.RIGHT] / max(1, self.boxes)

    @property
    def recall(self) -> float:
        """Share of the objects that are found; 0 of none."""
        return self.counts[Kind.RIGHT] / max(1, self.objects)


def errors_by_kind(
    truth: GroundTruth, detections: AnyDetections, *, min_score: float
) -> ErrorsByKind:
    """Counts of the kinds over the detections scored `min_score` or more."""
    table = tabulate(truth, detections)
    return count_kinds(truth, kinds_of(truth, table)[table.scores >= min_score], min_score)


def count_kinds(truth: GroundTruth, kinds: Indexes, min_score: float) -> ErrorsByKind:
    """The same of kinds already known, of the detections scored `min_score` or more."""
    counts = np.bincount(kinds, minlength=len(Kind)).tolist()
    objects = int(to_find(truth).sum())
    return ErrorsByKind(
        min_score=min_score,
        counts=dict(zip(Kind, counts, strict=True)),
        missed=objects - counts[Kind.RIGHT],
        objects=objects,
    )


def to_find(truth: GroundTruth) -> npt.NDArray[np.bool_]:
    """Which objects should be found: (M,)."""
    return ~(truth.crowd | truth.difficult)


def kinds_of(truth: GroundTruth, table: DetectionTable) -> Indexes:
    """The `Kind` of each detection: (D,)."""
    kinds = np.full(len(table), Kind.BACKGROUND, np.int64)
    crowd, single = _only(truth, truth.crowd), _only(truth, ~truth.crowd)
    for image, rows in enumerate(_rows_of_images(table.images, len(truth))):
        theirs = slice(*np.searchsorted(single.object_image, [image, image + 1]))
        boxes, classes = table.boxes[rows], table.classes[rows]
        objects, object_classes = single.boxes[theirs], single.classes[theirs]
        verdicts = judge(boxes, classes, objects, objects, object_classes)
        for verdict, kind in _KIND_OF.items():
            kinds[rows[verdicts == verdict]] = kind
        crowds = slice(*np.searchsorted(crowd.object_image, [image, image + 1]))
        shared = intersection(boxes, crowd.boxes[crowds])
        inside = (shared >= MOSTLY_INSIDE * area(boxes)[:, None]) & (shared > 0)
        of_class = classes[:, None] == crowd.classes[crowds]
        kinds[rows[(inside & of_class).any(axis=1)]] = Kind.IGNORED
    _mark_found(single, table, kinds)
    return kinds


def balanced_score(truth: GroundTruth, kinds: Indexes, scores: Floats) -> float:
    """The score from which on detections balance precision and recall best: the largest F1.

    F1 is over all classes together; the highest of equally good scores. 0.5 if nothing is right.
    """
    counts = kinds != Kind.IGNORED
    order = np.argsort(-scores[counts], kind="stable")
    ranked = scores[counts][order]
    right = np.cumsum(kinds[counts][order] == Kind.RIGHT)
    if not right.size or right[-1] == 0:
        return 0.5
    f1 = 2 * right / (np.arange(1, len(right) + 1) + to_find(truth).sum())
    last_of_score = np.append(ranked[1:] != ranked[:-1], True)
    return float(ranked[np.argmax(np.where(last_of_score, f1, -1.0))])


def _mark_found(single: GroundTruth, table: DetectionTable, kinds: Indexes) -> None:
    """RIGHT, REPEATED and, on a difficult object, IGNORED, in place."""
    by_score = np.argsort(-table.scores, kind="stable")
    overlap, best = best_overlaps(single, table[by_score])
    hits = np.flatnonzero(overlap >= SAME_OBJECT)
    claimed = best[hits]
    kinds[by_score[hits]] = np.where(single.difficult[claimed], Kind.IGNORED, Kind.REPEATED)
    _, first = np.unique(claimed, return_index=True)
    first = first[~single.difficult[claimed[first]]]
    kinds[by_score[hits[first]]] = Kind.RIGHT


def _rows_of_images(images: Indexes, count: int) -> list[Indexes]:
    order = np.argsort(images, kind="stable")
    return np.split(order, np.searchsorted(images[order], np.arange(1, count)))[:count]


def _only(truth: GroundTruth, keep: npt.NDArray[np.bool_]) -> GroundTruth:
    """The same images with the objects a mask chooses."""
    return replace(
        truth,
        object_image=truth.object_image[keep],
        boxes=truth.boxes[keep],
        classes=truth.classes[keep],
        difficult=truth.difficult[keep],
        crowd=truth.crowd[keep],
        areas=truth.areas[keep],
    )
