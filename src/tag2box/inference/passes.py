"""Test-time augmentation: the same photo at several sizes and mirrored, the answers averaged.

R proposals, C classes, N students.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tag2box import boxes as geometry
from tag2box.inference.scores import class_boxes, student_scores
from tag2box.models.detector import Detector
from tag2box.models.sequential import sequential


@dataclass(frozen=True)
class Pass:
    """One look at a photo."""

    short_side: int
    """In pixels, of what the network sees."""
    mirrored: bool = False


def passes_of(short_sides: Sequence[int], *, every: bool, mirror: bool) -> tuple[Pass, ...]:
    """All sizes, each plain and mirrored, as in the paper; else the middle size alone.

    Args:
        short_sides: those trained with.
        every: average over all of them.
        mirror: whether each then also counts mirrored.
    """
    sides = sorted(set(short_sides))
    if not every:
        return (Pass(sides[(len(sides) - 1) // 2]),)
    return tuple(Pass(side, flag) for side in sides for flag in ((False, True)[: 1 + mirror]))


@torch.no_grad()
def averaged(
    detector: Detector,
    images: Sequence[Tensor],
    mirrored: Sequence[bool],
    boxes: npt.NDArray[np.float32],
    *,
    width: int,
    height: int,
    regions_per_batch: int,
) -> tuple[Tensor, Tensor]:
    """Mean over the passes of the scores of each student and of the boxes of each class.

    Args:
        detector: in evaluation mode.
        images: of each pass, uint8 RGB (3, h, w), not mirrored, on the detector's device.
        mirrored: whether a pass sees its image mirrored.
        boxes: (R, 4) proposals, xyxy in pixels of the photo.
        width: of the photo.
        height: of the photo.
        regions_per_batch: regions evaluated at once.

    Returns:
        Scores (N, R, C) and boxes (R, C, 4) in pixels of the photo.
    """
    score_sum: Tensor | float = 0.0
    box_sum: Tensor | float = 0.0
    for image, flag in zip(images, mirrored, strict=True):
        scores, found = _one_pass(detector, image, boxes, width, height, flag, regions_per_batch)
        score_sum, box_sum = score_sum + scores, box_sum + found
    assert isinstance(score_sum, Tensor), "there is a pass"
    assert isinstance(box_sum, Tensor), "there is a pass"
    return score_sum / len(images), box_sum / len(images)


def _one_pass(
    detector: Detector,
    image: Tensor,
    boxes: npt.NDArray[np.float32],
    width: int,
    height: int,
    mirrored: bool,
    regions_per_batch: int,
) -> tuple[Tensor, Tensor]:
    """Scores (N, R, C) and boxes (R, C, 4) in pixels of the photo, of one look at it."""
    seen_height, seen_width = image.shape[1:]
    x, y = seen_width / width, seen_height / height
    seen = geometry.scale(boxes, x, y)
    if mirrored:
        image, seen = image.flip(2), geometry.flip(seen, seen_width)
    regions = torch.from_numpy(np.ascontiguousarray(seen)).to(image.device)  # (R, 4)
    features = detector.base(detector.pixels.normalise(image))
    neck = sequential(
        detector.neck, features, regions, None, regions_per_batch=regions_per_batch
    )  # (R, D)
    outputs = detector.outputs(features, regions, neck)
    found = class_boxes(outputs, regions, width=seen_width, height=seen_height)  # (R, C, 4)
    if mirrored:
        x1, y1, x2, y2 = found.unbind(-1)
        found = torch.stack([seen_width - x2, y1, seen_width - x1, y2], dim=-1)
    return student_scores(outputs), found / found.new_tensor([x, y, x, y])
