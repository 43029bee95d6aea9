"""What one forward pass trains on: a view of a photo, its proposals and its tags.

Never a box of the truth: a sample is made from a `TaggedImage`, which has none.
R proposals, h, w height and width of the view.
"""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from tag2box import boxes as geometry
from tag2box.data import transforms
from tag2box.errors import InputError
from tag2box.structures import Dataset, TaggedImage
from tag2box.training.feature_cache import FeatureCache
from tag2box.training.views import View, Views

Read = Callable[[TaggedImage], npt.NDArray[np.uint8]]
"""A photo as (H, W, 3) RGB."""
Propose = Callable[[TaggedImage], npt.NDArray[np.float32]]
"""The proposals of a photo, (R, 4) xyxy in its pixels."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A view of a photo: its pixels or, where the cache has them, the frozen part's features."""

    view: View
    photo: TaggedImage
    photo_size: tuple[int, int]
    """Width and height of the photo itself."""
    boxes: Tensor
    """(R, 4) float32 xyxy in pixels of the view."""
    image: Tensor | None
    """(3, h, w) uint8 RGB."""
    features: Tensor | None
    """Base features (1, K, h', w') or, where the neck is frozen too, neck outputs (R, D)."""
    cache_key: bytes | None
    """What features computed from the pixels may be kept under."""


@dataclass(frozen=True)
class Samples:
    """The views of a data set made into samples; indexed by the number of the view."""

    dataset: Dataset
    views: Views
    read: Read
    propose: Propose
    long_side: int
    light: float
    cache: FeatureCache | None
    skip_unreadable: bool = False

    def __getitem__(self, index: int) -> Sample:
        view = self.views[index]
        tries = len(self.dataset) if self.skip_unreadable else 1
        for _ in range(1, tries):
            try:
                return self._sample(view)
            except InputError as error:
                warnings.warn(f"skipped: {error}", stacklevel=2)
                view = replace(view, image=(view.image + 1) % len(self.dataset))
        return self._sample(view)

    def _sample(self, view: View) -> Sample:
        photo = self.dataset[view.image]
        boxes = self.propose(photo)  # (R, 4)
        key = self.cache.key(photo.path, view, boxes) if self.cache else None
        cached = self.cache.get(key) if self.cache and key else None
        pixels = None if cached else self.read(photo)
        width, height = cached.photo_size if cached else _size(pixels)
        new_height, new_width = self._shape(height, width, view)
        boxes = geometry.scale(boxes, new_width / width, new_height / height)
        if view.mirrored:
            boxes = geometry.flip(boxes, new_width)
        return Sample(
            view=view,
            photo=photo,
            photo_size=(width, height),
            boxes=torch.from_numpy(boxes.astype(np.float32)),
            image=None if pixels is None else self._view(pixels, new_height, new_width, view),
            features=cached.features if cached else None,
            cache_key=key,
        )

    def _shape(self, height: int, width: int, view: View) -> tuple[int, int]:
        return transforms.resized_shape(height, width, view.short_side, self.long_side)

    def _view(self, pixels: npt.NDArray[np.uint8], height: int, width: int, view: View) -> Tensor:
        pixels = transforms.resize(pixels, height, width)
        if view.mirrored:
            pixels = transforms.mirror(pixels)
        if self.light:
            random = np.random.default_rng((view.seed, 1))
            pixels = transforms.relight(pixels, self.light, random)
        return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))


def loaded_ahead(samples: Samples, indexes: Iterator[int], workers: int) -> Iterator[Sample]:
    """The samples of the indexes in their order, made ahead of time by worker processes."""
    loader: DataLoader[Sample | str] = DataLoader(
        _Told(samples),  # type: ignore[arg-type]  # anything that can be indexed will do
        sampler=indexes,
        batch_size=None,
        num_workers=workers,
        prefetch_factor=4 if workers else None,
        worker_init_fn=_prepare,
    )
    for sample in loader:
        if isinstance(sample, str):
            raise InputError.from_sentence(sample)
        yield sample


@dataclass(frozen=True)
class _Told:
    """The samples, or the sentence of the error: torch does not carry our errors over."""

    samples: Samples

    def __getitem__(self, index: int) -> Sample | str:
        try:
            return self.samples[index]
        except InputError as error:
            return str(error)


def _size(pixels: npt.NDArray[np.uint8] | None) -> tuple[int, int]:
    assert pixels is not None
    return pixels.shape[1], pixels.shape[0]


def _prepare(_worker: int) -> None:
    """Ctrl-C reaches every process of a terminal; the step it interrupts still needs its photos."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
