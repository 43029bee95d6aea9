"""From photos to the boxes found in them.

R proposals, C classes, N students.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from tag2box.data.images import image_size
from tag2box.errors import InputError
from tag2box.inference.gating import gated, with_best_of_every_tag
from tag2box.inference.loading import LoadedPhoto, Loader, made_ahead
from tag2box.inference.merging import merge
from tag2box.inference.passes import Pass, averaged
from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.inference.scores import disagreement
from tag2box.models.detector import Detector
from tag2box.proposals.sources import UnreadablePhoto
from tag2box.proposals.supply import ProposalSupply
from tag2box.recipe import MergingSettings
from tag2box.structures import Detections, TaggedImage


@dataclass(frozen=True, eq=False)
class Predictor:
    """A detector with all it needs to look at photos."""

    detector: Detector
    """In evaluation mode, on `device`."""
    class_names: tuple[str, ...]
    supply: ProposalSupply
    passes: tuple[Pass, ...]
    """Looks at each photo, averaged; at least one."""
    long_side: int = 2000
    """Longest side of what the network sees."""
    merging: MergingSettings = field(default_factory=MergingSettings)
    gate: bool = False
    """Only classes a photo is tagged with, and of each at least the best box."""
    regions_per_batch: int = 256
    precision: torch.dtype = torch.float32
    max_megapixels: float = 200.0
    unreadable: Literal["stop", "skip"] = "stop"
    threads: int = 2
    """That make photos ready ahead of the network."""
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def __call__(self, photo: TaggedImage) -> Detections:
        """The boxes found in one photo, in pixels of the photo as shown."""
        return self._boxes(self._load(photo)).detections

    def find(self, photos: Iterable[TaggedImage]) -> Iterator[PhotoBoxes]:
        """The boxes of each photo in order, the next photos made ready meanwhile.

        A photo that cannot be read is an error or, where `unreadable` says so, skipped.
        """
        for _, loaded in made_ahead(photos, self._load, threads=self.threads):
            ready = self._ready(loaded)
            if ready is not None:
                yield self._boxes(ready)

    def _ready(self, loaded: Future[LoadedPhoto]) -> LoadedPhoto | None:
        try:
            return loaded.result()
        except UnreadablePhoto as error:
            if self.unreadable == "stop":
                raise
            warnings.warn(f"skipped: {error}", stacklevel=2)
            return None

    @property
    def _load(self) -> Callable[[TaggedImage], LoadedPhoto]:
        loader = Loader(
            self.supply,
            frozenset(one.short_side for one in self.passes),
            self.long_side,
            self.max_megapixels,
        )
        return _only_tagged(loader) if self.gate else loader

    def _boxes(self, ready: LoadedPhoto) -> PhotoBoxes:
        if self.gate and not ready.photo.tags:
            found, apart = Detections.empty(self.class_names, ready.photo.id), None
        else:
            scores, boxes = self._scores_and_boxes(ready)
            found = self._found(scores.mean(dim=0), boxes, ready.photo)
            looked_for = sorted(ready.photo.tags) if self.gate else slice(None)
            apart = disagreement(scores[:, :, looked_for])
        return PhotoBoxes(ready.photo.path, ready.width, ready.height, found, apart)

    def _found(self, scores: Tensor, boxes: Tensor, photo: TaggedImage) -> Detections:
        tags = photo.tags
        if self.gate:
            scores = gated(scores, tags)
        found = merge(
            scores,
            boxes,
            class_names=self.class_names,
            image_id=photo.id,
            score_threshold=self.merging.score_threshold,
            overlap=self.merging.overlap,
            top=self.merging.top,
        )
        return with_best_of_every_tag(found, scores, boxes, tags) if self.gate else found

    def _scores_and_boxes(self, ready: LoadedPhoto) -> tuple[Tensor, Tensor]:
        """(N, R, C) and (R, C, 4) in pixels of the photo; boxes without an area score nothing."""
        images = {side: image.to(self.device) for side, image in ready.images.items()}
        with torch.autocast(
            self.device.type, self.precision, enabled=self.precision != torch.float32
        ):
            scores, boxes = averaged(
                self.detector,
                [images[one.short_side] for one in self.passes],
                [one.mirrored for one in self.passes],
                ready.boxes,
                width=ready.width,
                height=ready.height,
                regions_per_batch=self.regions_per_batch,
            )
        has_area = (boxes[..., 2:] > boxes[..., :2]).all(dim=-1)  # (R, C)
        return scores * has_area, boxes


def _only_tagged(loader: Loader) -> Callable[[TaggedImage], LoadedPhoto]:
    """Photos without a tag are not decoded; one without proposals is a region itself."""

    def load(photo: TaggedImage) -> LoadedPhoto:
        if not photo.tags:
            nothing = np.zeros((0, 4), np.float32)
            return LoadedPhoto(photo, *_size(photo), nothing, {})
        loaded = loader(photo)
        if len(loaded.boxes):
            return loaded
        whole = np.array([[0, 0, loaded.width, loaded.height]], np.float32)
        return LoadedPhoto(photo, loaded.width, loaded.height, whole, loaded.images)

    return load


def _size(photo: TaggedImage) -> tuple[int, int]:
    try:
        return image_size(photo.path)
    except InputError as error:
        raise UnreadablePhoto.from_sentence(str(error)) from None
