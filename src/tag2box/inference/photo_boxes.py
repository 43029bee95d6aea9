"""A photo and the boxes found in it: the noun that is streamed to disk and written in any format.

No torch is loaded here: writing a format needs no network. D detections.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tag2box.structures import Detections


class FoundObject(NamedTuple):
    """One detection in plain numbers, as a file states it."""

    name: str
    """Of its class."""
    score: float
    box: tuple[float, float, float, float]
    """xyxy in pixels of the photo as shown."""


@dataclass(frozen=True, eq=False)
class PhotoBoxes:
    """The boxes found in a photo, in pixels of the photo as a viewer shows it."""

    path: Path
    width: int
    """Of the photo as shown."""
    height: int
    """Of the photo as shown."""
    detections: Detections
    """Best first; `image_id` is the id of the photo in its data set."""
    disagreement: float | None = None
    """How far apart the students are, 0 to 1; None where there are not two."""

    @property
    def id(self) -> str:
        """Of the photo in its data set."""
        return self.detections.image_id

    def objects(self) -> Iterator[FoundObject]:
        """The detections one by one, in decimals that are float32 again to the last bit."""
        found = self.detections
        boxes, scores = shortest(found.boxes), shortest(found.scores)
        for number, (score, index) in enumerate(zip(scores, found.classes.tolist(), strict=True)):
            x1, y1, x2, y2 = boxes[4 * number : 4 * number + 4]
            yield FoundObject(found.class_names[index], score, (x1, y1, x2, y2))

    def confident(self, least_score: float, *, best_of_class: bool = False) -> "PhotoBoxes":
        """Only boxes scored at least so; with `best_of_class` also the best one of each class."""
        scores, classes = self.detections.scores, self.detections.classes
        keep = scores >= least_score  # (D,)
        if best_of_class:
            keep[np.unique(classes, return_index=True)[1]] = True  # the first is the best
        return replace(self, detections=self.detections[keep])


def shortest(values: npt.NDArray[np.float32]) -> list[float]:
    """The values, flattened, as the numbers with the fewest digits that mean the same float32."""
    return [float(str(value)) for value in values.ravel()]


def xywh(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """x, y, width, height; differences are cut where float32 has no digits left."""
    x1, y1, x2, y2 = box
    return x1, y1, round(x2 - x1, 5), round(y2 - y1, 5)
