"""What a report says of a run where the true boxes are known.

N photos, D detections of a photo.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tag2box.evaluation.detection_table import tabulate
from tag2box.evaluation.errors_by_kind import (
    ErrorsByKind,
    Kind,
    balanced_score,
    count_kinds,
    kinds_of,
    to_find,
)
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.evaluation.scores import Scores, score
from tag2box.structures import Detections

Indexes = npt.NDArray[np.int64]
UNKNOWN = -1
"""Instead of a `Kind` for a detection of a class the truth does not have."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Scores of a run, and the verdict on each of its boxes and photos."""

    scores: Scores
    errors: ErrorsByKind
    """Of the boxes from `balanced_score` on."""
    kinds: tuple[Indexes, ...]
    """For each of N photos a `Kind` or UNKNOWN a detection: (D,)."""
    quality: tuple[float, ...]
    """For each photo the F1 of its boxes from `balanced_score` on."""


def judged(truth: GroundTruth, found: Sequence[Detections]) -> Judged:
    """The verdicts on one `Detections` for each image of the truth, in its order."""
    assert truth.image_ids == tuple(one.image_id for one in found), "the photos are those found in"
    table = tabulate(truth, found)
    kinds = kinds_of(truth, table)
    threshold = balanced_score(truth, kinds, table.scores)
    confident = table.scores >= threshold
    counts = kinds != Kind.IGNORED
    return Judged(
        scores=score(truth, table, metrics=("voc", "corloc", "coco")),
        errors=count_kinds(truth, kinds[confident], threshold),
        kinds=_by_photo(truth, found, kinds[np.argsort(table.images, kind="stable")]),
        quality=photo_quality(
            right=_per_photo(table.images[confident & (kinds == Kind.RIGHT)], len(truth)),
            boxes=_per_photo(table.images[confident & counts], len(truth)),
            objects=_per_photo(truth.object_image[to_find(truth)], len(truth)),
        ),
    )


def photo_quality(right: Indexes, boxes: Indexes, objects: Indexes) -> tuple[float, ...]:
    """F1 of photos by their right boxes, all boxes and objects; 1 where there is neither."""
    together = boxes + objects
    share = np.divide(2 * right, together, out=np.ones(len(right)), where=together > 0)
    return tuple(share.tolist())


def _by_photo(
    truth: GroundTruth, found: Sequence[Detections], kinds: Indexes
) -> tuple[Indexes, ...]:
    """The kinds of the detections of known classes, back in the places they came from."""
    known = [np.isin(np.array(one.class_names), truth.class_names)[one.classes] for one in found]
    places = np.concatenate([np.zeros(0, bool), *known])
    everywhere = np.full(len(places), UNKNOWN, np.int64)
    everywhere[places] = kinds
    return tuple(np.split(everywhere, np.cumsum([len(one) for one in found])[:-1]))


def _per_photo(images: Indexes, count: int) -> Indexes:
    return np.bincount(images, minlength=count)
