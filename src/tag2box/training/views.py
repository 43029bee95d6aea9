"""Which photo is seen when, at which size, mirrored or not: a pure function of (seed, index).

Because nothing else decides, a run that was stopped goes on as if it had not been, and any number
of processes and workers sees the same views.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class View:
    """One look at one photo."""

    index: int
    """Number of the view since the run began, over all processes."""
    image: int
    """Index of the photo in the data set."""
    short_side: int
    mirrored: bool
    seed: int
    """Of all that is random about this view: light, dropout."""


@dataclass(frozen=True)
class Views:
    """The endless sequence of views: each epoch every photo once, in a new order."""

    images: int
    short_sides: Sequence[int]
    mirror: bool
    seed: int

    def __getitem__(self, index: int) -> View:
        epoch, position = divmod(index, self.images)
        random = np.random.default_rng((self.seed, 1, index))
        return View(
            index=index,
            image=int(_order(self.seed, epoch, self.images)[position]),
            short_side=int(random.choice(self.short_sides)),
            mirrored=bool(random.random() < 0.5) and self.mirror,
            seed=int(random.integers(2**31)),
        )


def indexes_of_step(step: int, images_per_step: int, rank: int, processes: int) -> range:
    """The views of one step that are one process's share."""
    start = step * images_per_step
    return range(start + rank, start + images_per_step, processes)


@lru_cache(maxsize=2)
def _order(seed: int, epoch: int, images: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng((seed, 0, epoch)).permutation(images)
