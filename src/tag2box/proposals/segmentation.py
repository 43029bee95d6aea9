"""Graph segmentation of Felzenszwalb and Huttenlocher (IJCV 2004), several scales for one sort.

Pixels are nodes and neighbours are joined by edges that weigh their colour distance. Edges are
taken from light to heavy; two regions merge when the edge is no heavier than the inner variation
of both, min(Int(A) + k / |A|, Int(B) + k / |B|) (their Eq. 3 and 4). The order is one counting
sort: the leading bits of a float rank it by ratio, so light edges, where it matters, stay apart.
Indexes are unsigned, because numba tests every signed one for being negative: a third of the time.
C channels, H, W height and width, E edges, S steps of weight, R regions, P pairs of neighbours.
"""

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tag2box.proposals.colour_spaces import Planes
from tag2box.proposals.compiled import compiled

# A step is one value of the exponent and leading mantissa bits of a squared distance: weights are
# told apart to 1 part in 128. Distances below 1/64 grey level are one step.
MANTISSA_BITS = 6
LOWEST_EXPONENT = -12
HIGHEST_EXPONENT = 18
SHIFT = 23 - MANTISSA_BITS
FIRST_STEP = (127 + LOWEST_EXPONENT) << MANTISSA_BITS
NUM_STEPS = (HIGHEST_EXPONENT - LOWEST_EXPONENT) << MANTISSA_BITS

Index = TypeVar("Index", np.uint32, np.int32)


class SortedEdges(NamedTuple):
    """Edges to the right, down, and both diagonals down, the lightest first."""

    edges: npt.NDArray[np.uint32]
    """(E,) 4 x index of the pixel + direction; equal weights in the order of the pixels."""
    starts: npt.NDArray[np.uint64]
    """(S + 1,) where each step of weight starts."""
    height: int
    width: int


class Regions(NamedTuple):
    """A segmentation and its graph."""

    labels: npt.NDArray[np.int32]
    """(H, W) in [0, R)."""
    total: int
    """R."""
    pairs: npt.NDArray[np.int32]
    """(P, 2) regions that touch, each pair once."""


def sort_edges(planes: Planes) -> SortedEdges:
    """The edges between the pixels of planes (C, H, W)."""
    _, height, width = planes.shape
    edges, starts = _sorted(planes)
    return SortedEdges(edges, starts, height, width)


def segment(edges: SortedEdges, *, k: float, min_size: int) -> Regions:
    """Regions at the scale k; afterwards those below `min_size` pixels join their nearest."""
    width = edges.width
    offsets = np.array([1, width, width + 1, width - 1], np.uint64)
    pixels = edges.height * width
    parents, sizes, rest = _merge_similar(
        edges.edges, edges.starts, offsets, pixels, step_weights(), np.float32(k)
    )
    _merge_small(parents, sizes, rest, offsets, min_size)
    labels, count = _label(parents)
    pairs = _touching(labels, rest, offsets)
    return Regions(labels.reshape(edges.height, width), count, pairs)


def step_weights() -> npt.NDArray[np.float32]:
    """The weight each step stands for, none at all for the first: (S,)."""
    middle = ((np.arange(NUM_STEPS, dtype=np.int32) + FIRST_STEP) << SHIFT) + (1 << (SHIFT - 1))
    weights = np.sqrt(middle.astype(np.int32).view(np.float32))
    weights[0] = 0
    return weights


@compiled
def _sorted(planes: Planes) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
    channels, height, width = planes.shape
    downs, rights = (0, 1, 1, 1), (1, 0, 1, -1)
    steps = np.empty((height, 4, width), np.uint16)
    starts = np.zeros(NUM_STEPS + 1, np.int64)
    squares = np.empty(width, np.float32)  # of the colour distance
    bits = squares.view(np.int32)
    for y in range(height):
        for d in range(4):
            first, end = max(0, -rights[d]), min(width, width - rights[d])
            if y + downs[d] >= height or first >= end:
                continue
            squares[:] = 0
            for c in range(channels):
                here = planes[c, y, first:end]
                there = planes[c, y + downs[d], first + rights[d] : end + rights[d]]
                for i in range(len(here)):
                    squares[i] += (here[i] - there[i]) * (here[i] - there[i])
            row = steps[y, d, first:end]
            for i in range(len(row)):
                row[i] = max(0, (bits[i] >> SHIFT) - FIRST_STEP)
            for i in range(len(row)):
                starts[row[i] + 1] += 1
    starts = np.cumsum(starts)
    edges = np.empty(starts[-1], np.uint32)
    place = starts.copy()
    for y in range(height):
        for d in range(4):
            if y + downs[d] < height:
                for x in range(max(0, -rights[d]), min(width, width - rights[d])):
                    step = steps[y, d, x]
                    edges[place[step]] = (y * width + x) * 4 + d
                    place[step] += 1
    return edges, starts.astype(np.uint64)


@compiled
def root_of(parents: npt.NDArray[Index], node: int) -> int:
    """The root of a node in a forest of parents, its path halved on the way."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@compiled
def _ends(edge: np.uint32, offsets: npt.NDArray[np.uint64]) -> tuple[int, int]:
    """The two pixels of an edge."""
    first = edge >> np.uint32(2)
    return int(first), int(first + offsets[edge & np.uint32(3)])


@compiled
def _merge_similar(
    edges: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.uint64],
    offsets: npt.NDArray[np.uint64],
    pixels: int,
    weights: npt.NDArray[np.float32],
    k: np.float32,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32], npt.NDArray[np.uint32]]:
    """Parents and sizes of the pixels as a forest, and the edges that were too heavy, in order."""
    parents = np.arange(pixels).astype(np.uint32)
    sizes = np.ones(pixels, np.int32)
    limits = np.full(pixels, k)  # Int(A) + k / |A| of each root
    rest = np.empty(len(edges), np.uint32)
    num_rest = 0
    for step in range(len(weights)):
        weight = weights[step]
        for e in range(starts[step], starts[step + 1]):
            first, second = _ends(edges[e], offsets)
            a, b = parents[first], parents[second]
            if a == b:
                continue
            while parents[a] != a:
                a = parents[a]
            while parents[b] != b:
                b = parents[b]
            parents[first], parents[second] = a, b
            if a == b:
                continue
            if weight <= limits[a] and weight <= limits[b]:
                if sizes[a] < sizes[b]:
                    a, b = b, a
                parents[b] = a
                sizes[a] += sizes[b]
                limits[a] = weight + k / np.float32(sizes[a])
            else:
                rest[num_rest] = edges[e]
                num_rest += 1
    return parents, sizes, rest[:num_rest].copy()


@compiled
def _merge_small(
    parents: npt.NDArray[np.uint32],
    sizes: npt.NDArray[np.int32],
    rest: npt.NDArray[np.uint32],
    offsets: npt.NDArray[np.uint64],
    min_size: int,
) -> None:
    """Joins regions over their lightest edge while one of the two is small."""
    for edge in rest:
        first, second = _ends(edge, offsets)
        a, b = root_of(parents, first), root_of(parents, second)
        if a != b and (sizes[a] < min_size or sizes[b] < min_size):
            if sizes[a] < sizes[b]:
                a, b = b, a
            parents[b] = a
            sizes[a] += sizes[b]


@compiled
def _label(parents: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.int32], int]:
    """Regions of the pixels, numbered in the order their first pixels come, and how many."""
    labels = np.empty(len(parents), np.int32)
    numbers = np.full(len(parents), -1, np.int32)
    count = 0
    for pixel in range(len(parents)):
        root = root_of(parents, pixel)
        if numbers[root] < 0:
            numbers[root] = count
            count += 1
        labels[pixel] = numbers[root]
    return labels, count


@compiled
def _touching(
    labels: npt.NDArray[np.int32],
    rest: npt.NDArray[np.uint32],
    offsets: npt.NDArray[np.uint64],
) -> npt.NDArray[np.int32]:
    """The different pairs of regions that edges join, in the order of the edges: (P, 2)."""
    slots = 16
    while slots < 2 * len(rest):
        slots *= 2
    table = np.full(slots, np.int64(-1))  # open addressing
    pairs = np.empty((len(rest), 2), np.int32)
    count = 0
    for edge in rest:
        first, second = _ends(edge, offsets)
        a, b = labels[first], labels[second]
        if a == b:
            continue
        a, b = min(a, b), max(a, b)
        key = (np.int64(a) << 32) | np.int64(b)
        slot = ((key ^ (key >> 29)) * 0x9E3779B1) & (slots - 1)
        while table[slot] >= 0 and table[slot] != key:
            slot = (slot + 1) & (slots - 1)
        if table[slot] < 0:
            table[slot] = key
            pairs[count, 0] = a
            pairs[count, 1] = b
            count += 1
    return pairs[:count].copy()
