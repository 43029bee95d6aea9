"""The three problems of weakly supervised detection, counted where part boxes are known.

Missing instances, grouped instances and part domination (paper, Sec. 1 and Fig. 1). Boxes are
xyxy, continuous, 0-based, x2/y2 exclusive, in pixels of the photo as a viewer shows it.
D detections and M objects, of one image or of a data set as said.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from tag2box.boxes import area, intersection, iou
from tag2box.errors import InputError
from tag2box.evaluation.detection_table import AnyDetections, tabulate
from tag2box.evaluation.ground_truth import GroundTruth

Floats = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.int64]

SAME_OBJECT = 0.5  # IoU from which a box counts as that of an object, a group or a wrong class
MOSTLY_INSIDE = 0.7  # share of a detection in an object it is part of, of an object in its group
ON_THE_PART = 0.5  # share of the smaller of detection and part that both cover


class Verdict(IntEnum):
    """What a confident detection has found; of several the first applies."""

    OBJECT = 0
    """An object of its class: IoU of 0.5 or more. A second box of the same object is one too."""
    GROUP = 1
    """Two or more objects of its class in one box, whose common box it meets by IoU 0.5."""
    PART = 2
    """The discriminative part of an object of its class, not the object."""
    WRONG_CLASS = 3
    """An object of another class."""
    BACKGROUND = 4
    """None of these; also a piece of an object beside its discriminative part."""


@dataclass(frozen=True)
class Problems:
    """How many confident detections found what, and how many objects none of them found."""

    verdicts: dict[Verdict, int]
    missed: int
    """Objects without a confident detection of their class at IoU 0.5; neither crowd nor
    difficult."""
    objects: int
    """Objects that could be missed."""

    def shares(self) -> dict[str, float]:
        """Share of the detections for each verdict, and of the objects for `missed`; 0 of none."""
        detections = sum(self.verdicts.values())
        shares = {v.name.lower(): n / max(1, detections) for v, n in self.verdicts.items()}
        return shares | {"missed": self.missed / max(1, self.objects)}


def problems(
    truth: GroundTruth, part_boxes: Floats, detections: AnyDetections, *, min_score: float
) -> Problems:
    """The verdicts on all detections of `min_score` or more, and the objects they miss.

    `part_boxes` (M, 4) holds the box of the discriminative part for each object of `truth`.
    """
    assert part_boxes.shape == truth.boxes.shape, "one part for each object"
    table = tabulate(truth, detections)
    table = table[table.scores >= min_score]
    counts = np.zeros(len(Verdict), np.int64)
    found = np.zeros(len(truth.boxes), bool)
    bounds = np.arange(1, len(truth))
    order = np.argsort(table.images, kind="stable")
    detections_of = np.split(order, np.searchsorted(table.images[order], bounds))
    objects_of = np.split(np.arange(len(found)), np.searchsorted(truth.object_image, bounds))
    for theirs, objects in zip(detections_of, objects_of, strict=True):
        boxes, classes = table.boxes[theirs], table.classes[theirs]
        near = iou(boxes, truth.boxes[objects]) >= SAME_OBJECT  # (D, M)
        found[objects] = (near & (classes[:, None] == truth.classes[objects])).any(axis=0)
        judged = judge(
            boxes, classes, truth.boxes[objects], part_boxes[objects], truth.classes[objects]
        )
        counts += np.bincount(judged, minlength=len(Verdict))
    can_be_missed = ~(truth.crowd | truth.difficult)
    return Problems(
        verdicts=dict(zip(Verdict, counts.tolist(), strict=True)),
        missed=int((can_be_missed & ~found).sum()),
        objects=int(can_be_missed.sum()),
    )


def judge(
    boxes: Floats, classes: Indexes, objects: Floats, parts: Floats, object_classes: Indexes
) -> Indexes:
    """The `Verdict` on each detection of one image.

    Detections (D, 4) and (D,); objects (M, 4), their discriminative parts (M, 4) and classes (M,).
    """
    same_class = classes[:, None] == object_classes  # (D, M)
    near = iou(boxes, objects) >= SAME_OBJECT
    shared = intersection(boxes, objects)
    on_part = intersection(boxes, parts)
    smaller = np.minimum(area(boxes)[:, None], area(parts))
    inside = (shared >= MOSTLY_INSIDE * area(boxes)[:, None]) & (on_part > 0)
    covered = (shared >= MOSTLY_INSIDE * area(objects)) & (shared > 0)
    holds = [
        (near & same_class).any(axis=1),
        _is_group(boxes, objects, covered & same_class),
        (same_class & inside & (on_part >= ON_THE_PART * smaller)).any(axis=1),
        (near & ~same_class).any(axis=1),
    ]  # in the order of Verdict
    return np.select(holds, list(Verdict)[: len(holds)], default=Verdict.BACKGROUND)


def read_part_boxes(instances: Path) -> Floats:
    """The part boxes of generated scenes (M, 4), in the order of their COCO instances file."""
    try:
        content = msgspec.json.decode(instances.read_bytes(), type=_Instances)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            instances, f"has no part boxes ({error})", "name generated scenes"
        ) from None
    boxes = np.array([a.part_bbox for a in content.annotations], dtype=np.float64).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    return boxes


def _is_group(
    boxes: Floats, objects: Floats, members: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Whether a box meets the common box of two or more members: members (D, M) -> (D,)."""
    is_group: npt.NDArray[np.bool_] = members.sum(axis=1) >= 2
    for detection in np.flatnonzero(is_group):
        together = objects[members[detection]]
        common = np.concatenate([together[:, :2].min(axis=0), together[:, 2:].max(axis=0)])
        overlap = iou(boxes[detection : detection + 1], common[None])
        is_group[detection] = overlap[0, 0] >= SAME_OBJECT
    return is_group


class _Annotation(msgspec.Struct):
    part_bbox: tuple[float, float, float, float]


class _Instances(msgspec.Struct):
    annotations: list[_Annotation]
