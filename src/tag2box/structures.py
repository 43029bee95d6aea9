"""The nouns that travel between the rooms: small, frozen, checked at birth.

No type here carries a tag and a box of the truth together: a `TaggedImage` knows what is in a
photo, and where it is only `evaluation.GroundTruth` knows, which training cannot import.
N images, D detections.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import supervision


@dataclass(frozen=True, slots=True)
class TaggedImage:
    """A photo and what is in it. No tag at all is legal: a negative."""

    id: str
    """Unique within its data set; the name detections are reported under."""
    path: Path
    """The image file."""
    tags: frozenset[int]
    """Classes present, as indexes into the data set's class names."""


@dataclass(frozen=True)
class Dataset:
    """Tagged images and the names of their classes."""

    class_names: tuple[str, ...]
    images: tuple[TaggedImage, ...]

    def __post_init__(self) -> None:
        assert len(set(self.class_names)) == len(self.class_names), "class names are unique"
        assert len({image.id for image in self.images}) == len(self.images), "ids are unique"

    def __len__(self) -> int:
        return len(self.images)

    def __iter__(self) -> Iterator[TaggedImage]:
        return iter(self.images)

    def __getitem__(self, index: int) -> TaggedImage:
        return self.images[index]

    def keep_classes(self, names: Sequence[str]) -> Dataset:
        """The same images with only the named classes, renumbered in the order of `names`."""
        new_index = {self.class_names.index(name): new for new, name in enumerate(names)}
        return Dataset(
            class_names=tuple(names),
            images=tuple(
                replace(image, tags=frozenset(new_index[t] for t in image.tags if t in new_index))
                for image in self.images
            ),
        )


@dataclass(frozen=True, eq=False)
class Detections:
    """The boxes found in one image, in pixels of the image as a viewer shows it."""

    boxes: npt.NDArray[np.float32]
    """(D, 4) xyxy."""
    scores: npt.NDArray[np.float32]
    """(D,) in [0, 1]."""
    classes: npt.NDArray[np.int64]
    """(D,) indexes into `class_names`."""
    class_names: tuple[str, ...]
    image_id: str = ""

    def __post_init__(self) -> None:
        count = len(self.scores)
        assert self.boxes.shape == (count, 4), f"boxes are ({count}, 4), not {self.boxes.shape}"
        assert self.classes.shape == (count,), f"classes are ({count},), not {self.classes.shape}"
        known = len(self.class_names)
        assert count == 0 or 0 <= self.classes.min() <= self.classes.max() < known

    @classmethod
    def empty(cls, class_names: Iterable[str], image_id: str = "") -> Detections:
        """No box at all."""
        return cls(
            boxes=np.zeros((0, 4), np.float32),
            scores=np.zeros(0, np.float32),
            classes=np.zeros(0, np.int64),
            class_names=tuple(class_names),
            image_id=image_id,
        )

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, keep: npt.NDArray[Any] | slice) -> Detections:
        """The detections a boolean mask, an index array or a slice chooses."""
        return replace(
            self,
            boxes=self.boxes[keep],
            scores=self.scores[keep],
            classes=self.classes[keep],
        )

    def to_supervision(self) -> supervision.Detections:
        """The same boxes as `supervision.Detections` (needs `pip install tag2box[supervision]`)."""
        import supervision

        names = np.array([self.class_names[c] for c in self.classes], dtype=str)
        return supervision.Detections(
            xyxy=self.boxes,
            confidence=self.scores,
            class_id=self.classes,
            data={"class_name": names},
        )
