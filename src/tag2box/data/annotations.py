"""What a boxed annotation file says, column by column.

Only the format readers and `evaluation/` may touch this: everything else asks for tags and gets a
`Dataset`, in which there is no box. N images, M objects, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tag2box.structures import Dataset, TaggedImage


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

    def tags(self, *, difficult_makes_tag: bool) -> Dataset:
        """Which classes each image holds; the boxes stay behind."""
        counts = np.ones(len(self.classes), bool) if difficult_makes_tag else ~self.difficult
        pairs = np.unique(
            np.stack([self.object_image[counts], self.classes[counts]], axis=1), axis=0
        )  # (P, 2), ascending by image
        ends = np.searchsorted(pairs[:, 0], np.arange(len(self.image_ids)), side="right").tolist()
        tags = pairs[:, 1].tolist()
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
