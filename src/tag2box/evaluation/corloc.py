"""Correct localisation: is the most confident box of a class on an object of it?

"The percentage of training images of a class for which the most confident predicted box has at
least 50% IoU with at least one ground-truth box" (Sec. 4 of the paper).
"""

from dataclasses import dataclass

import numpy as np

from tag2box.errors import InputError
from tag2box.evaluation.detection_table import AnyDetections, tabulate
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.evaluation.matching import best_overlaps


@dataclass(frozen=True)
class ClassLocalization:
    """How often one class is located."""

    name: str
    images: int
    """Images that hold the class."""
    located: int
    """Those whose most confident box of the class is on an object of it."""

    @property
    def corloc(self) -> float:
        """Share of the images in [0, 1]; NaN for a class in no image."""
        return self.located / self.images if self.images else float("nan")


@dataclass(frozen=True)
class CorrectLocalization:
    """CorLoc of every class."""

    iou: float
    classes: tuple[ClassLocalization, ...]

    @property
    def mean(self) -> float:
        """Mean over the classes that are in some image; NaN if none is."""
        known = [c.corloc for c in self.classes if c.images]
        return float(np.mean(known)) if known else float("nan")


def corloc(
    truth: GroundTruth,
    detections: AnyDetections,
    *,
    iou: float = 0.5,
    count_difficult: bool = False,
) -> CorrectLocalization:
    """Share of the images of each class whose most confident box of it is on an object of it.

    An image that holds a class only as `difficult` or as a COCO `crowd` is left out, unless
    `count_difficult`; in the others any object of the class may be hit, difficult ones too. An
    image without a detection of the class is a miss. The first of equally confident boxes counts.
    """
    if not 0 < iou <= 1:
        raise InputError("iou", f"{iou} is not an overlap", "give a number above 0, up to 1")
    table = tabulate(truth, detections)
    table = table[np.argsort(-table.scores, kind="stable")]
    _, most_confident = np.unique(table.classes * len(truth) + table.images, return_index=True)
    table = table[most_confident]
    overlap, _ = best_overlaps(truth, table)

    holds = np.zeros((len(truth.class_names), len(truth)), bool)  # class by image
    counts = np.ones_like(truth.difficult) if count_difficult else ~(truth.difficult | truth.crowd)
    holds[truth.classes[counts], truth.object_image[counts]] = True
    located = np.zeros_like(holds)
    located[table.classes, table.images] = overlap >= iou
    return CorrectLocalization(
        iou=iou,
        classes=tuple(
            ClassLocalization(name, images=int(h.sum()), located=int((h & hit).sum()))
            for name, h, hit in zip(truth.class_names, holds, located, strict=True)
        ),
    )
