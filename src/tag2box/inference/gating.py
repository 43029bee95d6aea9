"""The tags of a photo as a gate: only classes it is tagged with, and each of them at least once.

R proposals, C classes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tag2box.errors import InputError
from tag2box.structures import Dataset, Detections


def tags_known_to(class_names: Sequence[str], photos: Dataset) -> Dataset:
    """The photos with their tags numbered as the detector numbers its classes.

    Raises `InputError` for a tag that the detector has not learnt.
    """
    index = {name: number for number, name in enumerate(class_names)}
    used = {tag for photo in photos for tag in photo.tags}
    unknown = sorted(
        photos.class_names[tag] for tag in used if photos.class_names[tag] not in index
    )
    if unknown:
        known = ", ".join(class_names)
        raise InputError(
            "the tags",
            f"{unknown[0]!r} is no class of this run",
            f"leave it out with --classes; the run knows {known}",
        )
    new = [index.get(name, -1) for name in photos.class_names]
    images = (replace(photo, tags=frozenset(new[t] for t in photo.tags)) for photo in photos)
    return Dataset(class_names=tuple(class_names), images=tuple(images))


def gated(scores: Tensor, tags: Collection[int]) -> Tensor:
    """Scores (R, C) with those of every class that is no tag set to zero."""
    gate = torch.zeros_like(scores[:1])
    gate[:, sorted(tags)] = 1
    return scores * gate


def with_best_of_every_tag(
    found: Detections, scores: Tensor, boxes: Tensor, tags: Collection[int]
) -> Detections:
    """The detections and, of each tag that has none, its best-scored box; best first.

    Args:
        found: detections of one photo.
        scores: (R, C).
        boxes: (R, C, 4) in the frame of the detections.
        tags: classes of the photo.
    """
    missing = sorted(set(tags) - set(found.classes.tolist()))
    if not missing or len(scores) == 0:
        return found
    best, rows = scores[:, missing].max(dim=0)  # (M,), (M,)
    more = boxes[rows, missing]  # (M, 4)
    all_scores = np.concatenate([found.scores, best.float().cpu().numpy()])
    order = np.argsort(-all_scores, kind="stable")
    return replace(
        found,
        boxes=np.concatenate([found.boxes, more.float().cpu().numpy()])[order],
        scores=all_scores[order],
        classes=np.concatenate([found.classes, np.array(missing, np.int64)])[order],
    )
