"""The noun the readers of proposal files share: boxes of many photos, by the photos' names.

n boxes of one photo.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tag2box.errors import InputError
from tag2box.proposals.protocol import Proposals

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Listing:
    """What a file lists. Boxes are converted when they are asked for, one photo at a time."""

    where: Path
    names: Sequence[str]
    """Names or numbers of the photos, as the file writes them."""
    proposals: Callable[[int], Proposals]
    """The proposals of the i-th photo: 0-based, x2/y2 exclusive."""


def four_columns(boxes: object, where: Path, name: str) -> FloatArray:
    """The raw boxes of a photo as (n, 4), in the convention of the file."""
    array = np.asarray(boxes)
    if array.size == 0:
        return np.zeros((0, 4), np.float32)
    if array.dtype.kind not in "iuf" or array.ndim != 2 or array.shape[1] < 4:
        problem = f"has for {name} an array {array.dtype} of shape {array.shape}"
        raise InputError(where, problem, "give numbers of shape (n, 4)")
    return array[:, :4].astype(np.float32)


def from_yxyx_inclusive(boxes: FloatArray) -> FloatArray:
    """MATLAB's boxes, 1-based y1, x1, y2, x2 with the last pixel included, in our frame."""
    return boxes[:, [1, 0, 3, 2]] - np.array([1, 1, 0, 0], np.float32)


def from_xyxy_inclusive(boxes: FloatArray) -> FloatArray:
    """Boxes x1, y1, x2, y2, 0-based with the last pixel included, in our frame."""
    return boxes + np.array([0, 0, 1, 1], np.float32)


def ranked(boxes: FloatArray, scores: object) -> Proposals:
    """Boxes with the best first, where there is one finite score a box; else as they stand."""
    if scores is not None:
        values = np.asarray(scores)
        if values.dtype.kind in "iuf" and values.size == len(boxes) and np.isfinite(values).all():
            values = values.astype(np.float32).ravel()
            order = np.argsort(-values, kind="stable")
            return Proposals(boxes[order], values[order])
    return Proposals(boxes)
