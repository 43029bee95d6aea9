"""All detections of a data set in columns, so that a metric sorts them once.

Boxes are in the frame of the ground truth: pixels of the photo as a viewer shows it.
N images, D detections, C classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tag2box.errors import InputError
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.structures import Detections


@dataclass(frozen=True, eq=False)
class DetectionTable:
    """Detections of the images and classes of one `GroundTruth`, in the order they were given."""

    class_names: tuple[str, ...]
    image_ids: tuple[str, ...]
    images: npt.NDArray[np.int64]
    """(D,) indexes into `image_ids`."""
    boxes: npt.NDArray[np.float64]
    """(D, 4) xyxy."""
    scores: npt.NDArray[np.float64]
    """(D,)."""
    classes: npt.NDArray[np.int64]
    """(D,) indexes into `class_names`."""

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, keep: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> DetectionTable:
        """The detections a boolean mask or an index array chooses."""
        return replace(
            self,
            images=self.images[keep],
            boxes=self.boxes[keep],
            scores=self.scores[keep],
            classes=self.classes[keep],
        )

    def restricted_to(self, truth: GroundTruth) -> DetectionTable:
        """Only the detections in images and of classes that a smaller ground truth has left."""
        images = _renumbering(self.image_ids, truth.image_ids)[self.images]
        classes = _renumbering(self.class_names, truth.class_names)[self.classes]
        renumbered = replace(
            self,
            class_names=truth.class_names,
            image_ids=truth.image_ids,
            images=images,
            classes=classes,
        )
        return renumbered[(images >= 0) & (classes >= 0)]

    def by_image(self) -> list[Detections]:
        """One `Detections` for every image, empty ones included."""
        order = np.argsort(self.images, kind="stable")
        ends = np.searchsorted(self.images[order], np.arange(1, len(self.image_ids)))
        return [
            Detections(
                boxes=self.boxes[rows].astype(np.float32),
                scores=self.scores[rows].astype(np.float32),
                classes=self.classes[rows],
                class_names=self.class_names,
                image_id=image_id,
            )
            for image_id, rows in zip(self.image_ids, np.split(order, ends), strict=False)
        ]


AnyDetections: TypeAlias = DetectionTable | Iterable[Detections]
"""What every metric accepts: a table already made, or the detections image by image."""


def tabulate(truth: GroundTruth, detections: AnyDetections) -> DetectionTable:
    """The detections in columns, their classes numbered as in the ground truth.

    Detections of classes the ground truth does not have are left out: a detector may know more
    than the data it is scored on. An image the ground truth does not have is an error.
    """
    if isinstance(detections, DetectionTable):
        assert detections.image_ids == truth.image_ids, "the table is of these images"
        assert detections.class_names == truth.class_names, "the table is of these classes"
        return detections
    position = {image_id: i for i, image_id in enumerate(truth.image_ids)}
    numbers: dict[tuple[str, ...], npt.NDArray[np.int64]] = {}
    images, classes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    boxes, scores = [np.zeros((0, 4), np.float32)], [np.zeros(0, np.float32)]
    for found in detections:
        if found.image_id not in position:
            raise InputError(
                "the detections",
                f"the image {found.image_id!r} is not in the ground truth",
                "score them against the data they were found in",
            )
        if found.class_names not in numbers:
            numbers[found.class_names] = _renumbering(found.class_names, truth.class_names)
        images.append(np.full(len(found), position[found.image_id], np.int64))
        boxes.append(found.boxes)
        scores.append(found.scores)
        classes.append(numbers[found.class_names][found.classes])
    table = DetectionTable(
        class_names=truth.class_names,
        image_ids=truth.image_ids,
        images=np.concatenate(images),
        boxes=np.concatenate(boxes, dtype=np.float64),
        scores=np.concatenate(scores, dtype=np.float64),
        classes=np.concatenate(classes),
    )
    return table[table.classes >= 0]


def _renumbering(old: Sequence[str], new: Sequence[str]) -> npt.NDArray[np.int64]:
    """The index of each old name among the new ones, -1 where it is not."""
    position = {name: i for i, name in enumerate(new)}
    return np.array([position.get(name, -1) for name in old], dtype=np.int64)
