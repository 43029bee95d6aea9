"""Selective search (Uijlings et al., IJCV 2013): regions of several segmentations, grouped.

The photo is shrunk and blurred once; every colour space sorts its edges once for all its scales;
every segmentation is described once for all its ways of grouping. N boxes of all hierarchies.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tag2box.proposals.colour_spaces import Space, blur, colour_space
from tag2box.proposals.description import describe
from tag2box.proposals.grouping import Measure, group
from tag2box.proposals.protocol import Image, Proposals, checked_image
from tag2box.proposals.segmentation import segment, sort_edges
from tag2box.proposals.working_frame import distinct, in_photo, shrunk

Mode = Literal["fast", "quality"]


@dataclass(frozen=True)
class Diversity:
    """What is varied (Sec. 4 of the paper): every combination makes a hierarchy."""

    spaces: tuple[Space, ...]
    scales: tuple[float, ...]
    """k of the segmentation, in the working frame."""
    groupings: tuple[frozenset[Measure], ...]


_ALL: frozenset[Measure] = frozenset({"colour", "texture", "size", "fill"})
MODES: dict[Mode, Diversity] = {
    "fast": Diversity(
        spaces=("hsv", "lab"),
        scales=(75.0, 150.0, 225.0),
        groupings=(_ALL, frozenset({"size", "fill"})),
    ),
    "quality": Diversity(
        spaces=("hsv", "lab", "rgi", "intensity", "hue"),
        scales=(50.0, 100.0, 200.0),
        groupings=(
            _ALL,
            _ALL - {"colour"},
            frozenset({"fill"}),
            frozenset({"size"}),
        ),
    ),
}

SHARE = 1 / 2
"""Pixels of the working frame for one of the photo; a quarter loses boxes of an IoU of 0.7."""
MOST_PIXELS = 240_000
"""Of the working frame: about 570 x 420."""
SIGMA = 0.8
"""Blur before the segmentation, in pixels of the working frame."""
MIN_SIZE = 50
"""Pixels of the working frame: smaller regions join a neighbour."""


def selective_search(
    image: Image, *, mode: Mode = "fast", seed: int = 0, most_working_pixels: int = MOST_PIXELS
) -> Proposals:
    """Regions of an RGB photo, uint8 (H, W, 3), as whole-pixel boxes of that photo, ranked.

    Works in the frame of `working_frame`; more working pixels find smaller things in large photos,
    in proportionally more time. The same photo, mode and seed give the same boxes in the
    same order; there is no random state and no thread. Always holds the box of the whole photo.
    """
    image = checked_image(image)
    working = shrunk(image, share=SHARE, most_pixels=most_working_pixels)
    hierarchies = _hierarchies(working, MODES[mode])
    ranks = np.concatenate(
        [_ranks(len(boxes), seed, number) for number, boxes in enumerate(hierarchies)]
    )  # (N,)
    boxes = np.concatenate(hierarchies)[np.argsort(ranks, kind="stable")]  # (N, 4)
    return Proposals(in_photo(boxes[distinct(boxes, working)], working, image))


def _hierarchies(image: Image, diversity: Diversity) -> list[npt.NDArray[np.int32]]:
    """The boxes of every hierarchy, leaves first, in pixels of that image."""
    rgb = blur(image, SIGMA)
    hierarchies = []
    for space in diversity.spaces:
        planes = colour_space(space, rgb)
        edges = sort_edges(planes)
        for k in diversity.scales:
            regions = segment(edges, k=k, min_size=MIN_SIZE)
            description = describe(planes, regions)
            hierarchies += [
                group(description, regions.pairs, measures) for measures in diversity.groupings
            ]
    return hierarchies


def _ranks(count: int, seed: int, hierarchy: int) -> npt.NDArray[np.float64]:
    """Randomised place in the hierarchy (Sec. 4.4): a number in [0, 1) times 1 for its top.

    The numbers are splitmix64 of (seed, hierarchy, place): no state, so no order of calls.
    """
    places = np.arange(count, 0, -1)
    with np.errstate(over="ignore"):
        stream = np.uint64(seed % 2**64) * np.uint64(0xD1342543DE82EF95)
        stream += np.uint64(hierarchy) << np.uint64(32)
        state = places.astype(np.uint64) + stream
        state = state * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    shares = (state >> np.uint64(11)).astype(np.float64) / 2**53
    return np.asarray(shares * places, dtype=np.float64)
