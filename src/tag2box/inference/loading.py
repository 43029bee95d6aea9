"""Photos made ready for the network ahead of time: decoded, resized, their proposals fetched."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tag2box.data.images import read_image
from tag2box.data.transforms import resize, resized_shape
from tag2box.errors import InputError
from tag2box.proposals.sources import UnreadablePhoto
from tag2box.proposals.supply import ProposalSupply
from tag2box.structures import TaggedImage

Item = TypeVar("Item")
Loaded = TypeVar("Loaded")


@dataclass(frozen=True, eq=False)
class LoadedPhoto:
    """What the network needs of a photo."""

    photo: TaggedImage
    width: int
    """Of the photo as shown."""
    height: int
    """Of the photo as shown."""
    boxes: npt.NDArray[np.float32]
    """(R, 4) proposals, xyxy in pixels of the photo."""
    images: dict[int, Tensor]
    """By short side: the photo at that size, (3, h, w) uint8 RGB."""


@dataclass(frozen=True, eq=False)
class Loader:
    """Photo -> `LoadedPhoto`; safe to call from several threads."""

    supply: ProposalSupply
    short_sides: frozenset[int]
    long_side: int
    """Longest side of what the network sees, whatever the short side."""
    max_megapixels: float = 200.0

    def __call__(self, photo: TaggedImage) -> LoadedPhoto:
        """Raises `UnreadablePhoto` where the photo is at fault, else `InputError`."""
        try:
            pixels = read_image(photo.path, max_megapixels=self.max_megapixels)
        except InputError as error:
            raise UnreadablePhoto.from_sentence(str(error)) from None
        height, width = pixels.shape[:2]
        images = {}
        for side in self.short_sides:
            seen = resize(pixels, *resized_shape(height, width, side, self.long_side))
            images[side] = torch.from_numpy(np.ascontiguousarray(seen.transpose(2, 0, 1)))
        return LoadedPhoto(photo, width, height, self.supply.get(photo).boxes, images)


def made_ahead(
    items: Iterable[Item], make: Callable[[Item], Loaded], *, threads: int
) -> Iterator[tuple[Item, Future[Loaded]]]:
    """Each item in order, with what `make` makes of it: finished, or failed.

    Two items a thread are made ahead: enough to keep the network busy, few enough for memory.
    Without threads each is made when its turn comes.
    """
    if threads == 0:
        for item in items:
            yield item, _made_now(make, item)
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[tuple[Item, Future[Loaded]]] = deque()
    try:
        for item in items:
            waiting.append((item, pool.submit(make, item)))
            if len(waiting) > 2 * threads:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()
    finally:
        pool.shutdown(cancel_futures=True)


def _made_now(make: Callable[[Item], Loaded], item: Item) -> Future[Loaded]:
    future: Future[Loaded] = Future()
    try:
        future.set_result(make(item))
    except InputError as error:
        future.set_exception(error)
    return future
