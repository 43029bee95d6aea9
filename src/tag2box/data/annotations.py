"""What a boxed annotation file says, column by column.

Only the format readers and `evaluation/` may touch this: everything else asks for tags and gets a
`Dataset`, in which there is no box. N images, M objects, C classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tag2box.errors import InputError
from tag2box.structures import Dataset, TaggedImage

OVER_THE_BORDER = 1.0
"""Pixels a box may reach over the border of its image."""
_WIDEST = 1e9


@dataclass(frozen=True, eq=False)
class Annotations:
    """Images and objects of a boxed data set, in the frame the file uses, as xyxy."""

    class_names: tuple[str, ...]
    image_ids: tuple[str, ...]
    paths: tuple[Path, ...]
    sizes: npt.NDArray[np.int64]
    """(N, 2) width and height the file states; 0 where it states none."""
    object_image: npt.NDArray[np.int64]
    """(M,) which image an object is in, ascending."""
    boxes: npt.NDArray[np.float64]
    """(M, 4)."""
    classes: npt.NDArray[np.int64]
    """(M,)."""
    difficult: npt.NDArray[np.bool_]
    """(M,) Pascal VOC's flag: hard to recognise, neither rewarded nor punished."""
    crowd: npt.NDArray[np.bool_]
    """(M,) COCO's flag: a group in one box."""
    areas: npt.NDArray[np.float64]
    """(M,) of the object's mask where the file states it, else of its box."""
    category_ids: tuple[int, ...] | None = None
    """(C,) the numbers a COCO file gives its classes."""

    def __post_init__(self) -> None:
        count = len(self.classes)
        assert len(self.paths) == len(self.image_ids), "every image has a path"
        assert self.sizes.shape == (len(self.image_ids), 2)
        assert self.boxes.shape == (count, 4), f"boxes are ({count}, 4), not {self.boxes.shape}"
        for column in (self.object_image, self.difficult, self.crowd, self.areas):
            assert column.shape == (count,), f"a column is ({count},), not {column.shape}"
        assert np.all(np.diff(self.object_image) >= 0), "objects are ascending by image"

    def tags(self, *, difficult_makes_tag: bool) -> Dataset:
        """Which classes each image holds; the boxes stay behind."""
        counts = np.ones(len(self.classes), bool) if difficult_makes_tag else ~self.difficult
        num_classes = max(len(self.class_names), 1)
        pairs = np.unique(self.object_image[counts] * num_classes + self.classes[counts])
        images, classes = np.divmod(pairs, num_classes)  # (P,), ascending by image
        ends = np.searchsorted(images, np.arange(len(self.image_ids)), side="right").tolist()
        tags = classes.tolist()
        starts = [0, *ends]
        return Dataset(
            class_names=self.class_names,
            images=tuple(
                TaggedImage(id=image_id, path=path, tags=frozenset(tags[start:end]))
                for image_id, path, start, end in zip(
                    self.image_ids, self.paths, starts, ends, strict=False
                )
            ),
        )


def refuse_impossible_boxes(
    boxes: npt.NDArray[np.float64],  # (M, 4)
    sizes: npt.NDArray[np.int64],  # (M, 2)
    where: Callable[[int], object],
    *,
    tolerance: float = OVER_THE_BORDER,
) -> None:
    """An error for the first box that is not finite, inverted, or outside its image.

    `sizes` are width and height of the image each box is in, 0 where unknown; `where` names the
    place of a box. A box may be empty (COCO holds a few) and may reach `tolerance` over the border,
    one pixel unless said otherwise: real files round that way, and such boxes are left as they
    stand, so that scores are those of the official kits.
    """
    limits = np.where(sizes > 0, sizes + tolerance, _WIDEST)  # (M, 2)
    with np.errstate(invalid="ignore"):
        problems = {
            "is not finite": ~np.isfinite(boxes).all(axis=1),
            "is outside the image": (boxes[:, :2] < -tolerance).any(axis=1)
            | (boxes > np.tile(limits, 2)).any(axis=1),
            "is inverted": (boxes[:, 2:] < boxes[:, :2]).any(axis=1),
        }
    for problem, which in problems.items():
        if which.any():
            first = int(np.argmax(which))
            width, height = sizes[first]
            image = f" in an image of {width} x {height}" if width and height else ""
            corners = ", ".join(f"{value:g}" for value in boxes[first])
            problem = f"the box x1, y1, x2, y2 = {corners}{image} {problem}"
            raise InputError(where(first), problem, "mend or remove it")
