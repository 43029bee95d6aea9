"""How many of the true objects are found at all: by detections, and by proposals.

N images, R proposals and M objects of one image.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tag2box.boxes import iou
from tag2box.evaluation.coco import CocoNumbers, CocoScores, coco_scores
from tag2box.evaluation.detection_table import AnyDetections
from tag2box.evaluation.ground_truth import GroundTruth

LIMITS = (100, 500, 1000, None)


@dataclass(frozen=True)
class RecallNumbers:
    """Average recall (Tab. 6 of the paper), shares in [0, 1]; NaN where nothing is to be found."""

    at_1: float
    """With the most confident detection of each class in an image."""
    at_10: float
    at_100: float
    small: float
    """Objects below 32 x 32 pixels; sizes are with 100 detections an image."""
    medium: float
    large: float
    """Objects from 96 x 96 pixels on."""


@dataclass(frozen=True)
class AverageRecall:
    """Average recall of all classes together and of each."""

    overall: RecallNumbers
    classes: dict[str, RecallNumbers]


def average_recall(
    truth: GroundTruth, detections: AnyDetections, *, count_difficult: bool = False
) -> AverageRecall:
    """Largest recall with 1, 10 and 100 detections an image, mean over IoU .50:.05:.95.

    Difficult objects and crowds need not be found, as `coco_scores` says.
    """
    return recalls_among(coco_scores(truth, detections, count_difficult=count_difficult))


def recalls_among(scores: CocoScores) -> AverageRecall:
    """The recalls among COCO's twelve numbers."""
    return AverageRecall(
        overall=_recalls(scores.overall),
        classes={name: _recalls(numbers) for name, numbers in scores.classes.items()},
    )


def _recalls(numbers: CocoNumbers) -> RecallNumbers:
    return RecallNumbers(
        at_1=numbers.ar_1,
        at_10=numbers.ar_10,
        at_100=numbers.ar_100,
        small=numbers.ar_small,
        medium=numbers.ar_medium,
        large=numbers.ar_large,
    )


@dataclass(frozen=True)
class ProposalRecall:
    """How well the first proposals of each image cover the objects; NaN without objects."""

    limit: int | None
    """So many of each image's proposals, best first; all of them when None."""
    recall_50: float
    """Share of the objects that some proposal overlaps by an IoU of 0.5 or more."""
    recall_70: float
    average_best_overlap: float
    """Mean over the objects of the best IoU with a proposal."""


@dataclass(frozen=True)
class ProposalStatistics:
    """What a source of proposals offers on a data set."""

    images: int
    objects: int
    average: float
    """Proposals an image; NaN without images."""
    maximum: int
    recalls: tuple[ProposalRecall, ...]


def proposal_statistics(
    proposals: Iterable[npt.NDArray[np.floating]],
    objects: Iterable[npt.NDArray[np.floating]],
    *,
    limits: Sequence[int | None] = LIMITS,
) -> ProposalStatistics:
    """Count and recall of proposals.

    For each image the proposals (R, 4), best first, and the true boxes (M, 4), both xyxy in the
    same frame. The classes of the objects play no part.
    """
    counts: list[int] = []
    best = [np.zeros((len(limits), 0))]  # of each object at each limit
    for boxes, true_boxes in zip(proposals, objects, strict=True):
        counts.append(len(boxes))
        best.append(_best_overlaps(boxes, true_boxes, limits))
    overlaps = np.concatenate(best, axis=1)  # (limits, all objects)
    return ProposalStatistics(
        images=len(counts),
        objects=overlaps.shape[1],
        average=float(np.mean(counts)) if counts else float("nan"),
        maximum=max(counts, default=0),
        recalls=tuple(
            ProposalRecall(
                limit=limit,
                recall_50=_mean(row >= 0.5),
                recall_70=_mean(row >= 0.7),
                average_best_overlap=_mean(row),
            )
            for limit, row in zip(limits, overlaps, strict=True)
        ),
    )


def _best_overlaps(
    boxes: npt.NDArray[np.floating],
    true_boxes: npt.NDArray[np.floating],
    limits: Sequence[int | None],
) -> npt.NDArray[np.float64]:
    overlaps = iou(true_boxes.astype(np.float64), boxes.astype(np.float64))  # (M, R)
    return np.stack([overlaps[:, :limit].max(axis=1, initial=0.0) for limit in limits])


def _mean(values: npt.NDArray[np.bool_] | npt.NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else float("nan")
