"""Photos looked at once: can they be read, how large are they, which are the same.

N photos.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from tag2box.data.images import glance, image_size
from tag2box.errors import InputError

_GLANCE = 128
_GRID = 16
_BYTES = _GRID * _GRID // 8
_MOST_BITS_APART = 15  # of 256; of 960 photos of VOC no two that differ are nearer than 24
_BAND = 2  # bytes; photos at most 15 bits apart agree in one of 16 bands
_FLAT = 2.0


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a photo told."""

    problem: str | None = None
    """Why it cannot be read."""
    width: int = 0
    height: int = 0
    missing: float | None = None
    """Share of its rows missing where it is cut off."""
    contrast: float | None = None
    """Standard deviation of its greys; None after a quick look."""
    print: bytes | None = None
    """Whether each cell of a 16 x 16 grid is brighter than its left neighbour."""


def look_at(
    paths: Sequence[Path],
    *,
    quick: bool,
    max_megapixels: float,
    workers: int,
    on_photo: Callable[[], object] = lambda: None,
) -> list[Look]:
    """A look at each photo, in threads; a quick one reads headers only."""

    def one(path: Path) -> Look:
        look = _quick_look(path) if quick else _look(path, max_megapixels)
        on_photo()
        return look

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, paths))


def _quick_look(path: Path) -> Look:
    try:
        width, height = image_size(path)
    except InputError as error:
        return Look(problem=str(error))
    return Look(width=width, height=height)


def _look(path: Path, max_megapixels: float) -> Look:
    look = _quick_look(path)
    if look.problem is not None:
        return look
    try:
        pixels, missing = glance(path, side=_GLANCE, max_megapixels=max_megapixels)
    except InputError as error:
        return Look(problem=str(error))
    grey = Image.fromarray(pixels).convert("L")
    cells = np.asarray(grey.resize((_GRID + 1, _GRID), Image.Resampling.BOX))  # (16, 17)
    contrast = float(np.asarray(grey).std())
    bits = np.packbits(cells[:, 1:] > cells[:, :-1]).tobytes()
    flat = contrast < _FLAT  # a flat photo looks like every other one
    return Look(None, look.width, look.height, missing, contrast, None if flat else bits)


def same_content(paths: Sequence[Path]) -> list[list[int]]:
    """Groups of files that are the same byte for byte; only those of equal size are read."""
    sizes = [_size(path) for path in paths]
    counts = Counter(sizes)
    groups: dict[bytes, list[int]] = defaultdict(list)
    for index, (path, size) in enumerate(zip(paths, sizes, strict=True)):
        if size is not None and counts[size] > 1:
            with path.open("rb") as file:
                groups[hashlib.file_digest(file, "blake2b").digest()].append(index)
    return [group for group in groups.values() if len(group) > 1]


def _size(path: Path) -> int | None:
    try:
        with path.open("rb"):
            return path.stat().st_size
    except OSError:
        return None  # among the unreadable ones already


def nearly_same(prints: Sequence[bytes | None]) -> list[list[int]]:
    """Groups of photos whose prints hardly differ: one is another scaled or saved again."""
    known = [index for index, one in enumerate(prints) if one is not None]
    bits = np.frombuffer(b"".join(prints[index] or b"" for index in known), np.uint8)
    bits = bits.reshape(-1, _BYTES)  # (N, 32)
    links = [
        link
        for start in range(0, _BYTES, _BAND)
        for members in _groups(bits[:, start : start + _BAND])
        for link in _links(members, bits)
    ]
    groups: dict[int, list[int]] = defaultdict(list)
    for index, group in _joined(links).items():
        groups[group].append(known[index])
    return list(groups.values())


def _joined(links: Sequence[tuple[int, int]]) -> dict[int, int]:
    """The group of each linked index, named by its first member."""
    earlier: dict[int, int] = {}

    def first_of(index: int) -> int:
        while earlier.setdefault(index, index) != index:
            earlier[index] = index = earlier[earlier[index]]
        return index

    for one, other in links:
        low, high = sorted((first_of(one), first_of(other)))
        earlier[high] = low
    return {index: first_of(index) for index in sorted(earlier)}


def _groups(band: npt.NDArray[np.uint8]) -> list[npt.NDArray[np.int64]]:
    """Indexes of the rows that are equal, for each row that occurs more than once."""
    keys = np.ascontiguousarray(band).view(np.uint16).ravel()  # (N,)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order])) + 1
    return [group for group in np.split(order, starts) if len(group) > 1]


def _links(
    members: npt.NDArray[np.int64], bits: npt.NDArray[np.uint8]
) -> Iterator[tuple[int, int]]:
    """Links from one of each cluster to the rest of it: never more than there are members."""
    while len(members) > 1:
        first, others = members[0], members[1:]
        near = np.bitwise_count(bits[others] ^ bits[first]).sum(axis=1) <= _MOST_BITS_APART
        yield from ((int(first), int(other)) for other in others[near])
        members = others[~near]
