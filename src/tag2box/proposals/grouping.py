"""Hierarchical grouping of regions (Uijlings et al. 2013, Alg. 1): the most similar two, again.

The graph of regions lives in arrays. The row of a node holds its neighbours when it was made and
their similarity; a pair belongs to the row of its younger node, so no number is ever changed, and a
row is searched anew only when its best neighbour has been merged away.
R regions, P pairs that touch, D columns of histograms, N = 2R - 1 nodes of the hierarchy.
"""

from collections.abc import Set
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tag2box.proposals.compiled import compiled
from tag2box.proposals.description import WHOLE, Description
from tag2box.proposals.segmentation import root_of

Measure = Literal["colour", "texture", "size", "fill"]
Value = TypeVar("Value", bound=np.generic)


class _Nodes(NamedTuple):
    """Every region and every union: the leaves, then the unions in the order they are made."""

    sizes: npt.NDArray[np.int32]  # (N,)
    boxes: npt.NDArray[np.int32]  # (N, 4)
    histograms: npt.NDArray[np.uint16]  # (N, D)


class _Graph(NamedTuple):
    """Who touches whom, and how similar they are."""

    starts: npt.NDArray[np.int64]  # (N + 1,) where the row of each node starts
    neighbours: npt.NDArray[np.int32]  # nodes; one merged away stands for the union it is in
    similarities: npt.NDArray[np.float64]  # beside `neighbours`
    parents: npt.NDArray[np.int32]  # (N,) the union a node was merged into; itself while alive
    best: npt.NDArray[np.float64]  # (N,) highest similarity in the row, -1 where none is left
    best_at: npt.NDArray[np.int64]  # (N,) where that stands
    reached_by: npt.NDArray[np.int32]  # (N,) the youngest node whose row a node was put in


class _Weights(NamedTuple):
    """Which of the measures that need no histogram count; the area of the image."""

    size: bool
    fill: bool
    area: float


def group(
    regions: Description, pairs: npt.NDArray[np.int32], measures: Set[Measure]
) -> npt.NDArray[np.int32]:
    """Boxes of all regions and of all their unions, the whole image last: (N, 4).

    The similarity is the sum of the measures named (Eq. 6); the graph must be connected.
    """
    kinds = {"colour": regions.colour, "texture": regions.texture}
    chosen = [shares for kind, shares in kinds.items() if kind in measures]
    empty = np.zeros((len(regions.sizes), 0), np.uint16)
    histograms = np.concatenate([empty, *chosen], axis=1)  # (R, D)
    nodes = _Nodes(
        _with_unions(regions.sizes), _with_unions(regions.boxes), _with_unions(histograms)
    )
    weights = _Weights("size" in measures, "fill" in measures, float(regions.sizes.sum()))
    return _group(nodes, len(histograms), pairs, weights)


def _with_unions(leaves: npt.NDArray[Value]) -> npt.NDArray[Value]:
    """Values of the regions, (R, ...), with room for those of all unions, (N, ...)."""
    values = np.empty((2 * len(leaves) - 1, *leaves.shape[1:]), leaves.dtype)
    values[: len(leaves)] = leaves
    return values


@compiled
def _group(
    nodes: _Nodes, num_leaves: int, pairs: npt.NDArray[np.int32], weights: _Weights
) -> npt.NDArray[np.int32]:
    """Fills in the unions; their boxes."""
    graph = _graph_of(pairs, nodes, num_leaves, weights)
    for node in range(num_leaves, len(nodes.sizes)):
        a = int(np.argmax(graph.best[:node]))
        b = int(graph.neighbours[graph.best_at[a]])
        graph.best[a] = graph.best[b] = -1.0
        graph.parents[a] = graph.parents[b] = node
        _unite(nodes, node, a, b)
        starts = graph.starts
        most = starts[a + 1] - starts[a] + starts[b + 1] - starts[b]
        graph = _with_room(graph, starts[node] + most)
        starts[node + 1] = starts[node]
        _take_over(graph, nodes, node, a, weights)
        _take_over(graph, nodes, node, b, weights)
        _find_best(graph, node)
    return nodes.boxes


@compiled
def _similarity(nodes: _Nodes, a: int, b: int, weights: _Weights) -> float:
    """Eq. 2 and 3 (the same sum), 4 and 5."""
    first, second = nodes.histograms[a], nodes.histograms[b]
    shared = np.uint32(0)
    for i in range(len(first)):
        shared += np.uint32(min(first[i], second[i]))
    total = np.float64(shared) / WHOLE
    joint = np.float64(nodes.sizes[a]) + np.float64(nodes.sizes[b])
    if weights.size:
        total += 1 - joint / weights.area
    if weights.fill:
        one, other = nodes.boxes[a], nodes.boxes[b]
        width = np.float64(max(one[2], other[2]) - min(one[0], other[0]))
        height = np.float64(max(one[3], other[3]) - min(one[1], other[1]))
        total += 1 - (width * height - joint) / weights.area
    return total


@compiled
def _unite(nodes: _Nodes, node: int, a: int, b: int) -> None:
    """Size, box and histograms of a node that is the union of two."""
    sizes, boxes, histograms = nodes.sizes, nodes.boxes, nodes.histograms
    sizes[node] = sizes[a] + sizes[b]
    for i in range(2):
        boxes[node, i] = min(boxes[a, i], boxes[b, i])
        boxes[node, i + 2] = max(boxes[a, i + 2], boxes[b, i + 2])
    share = np.float32(sizes[a]) / np.float32(sizes[node])
    rest = np.float32(1) - share
    of_a, of_b, of_node = histograms[a], histograms[b], histograms[node]
    for i in range(len(of_node)):
        of_node[i] = np.uint16(share * of_a[i] + rest * of_b[i] + np.float32(0.5))


@compiled
def _graph_of(
    pairs: npt.NDArray[np.int32], nodes: _Nodes, num_leaves: int, weights: _Weights
) -> _Graph:
    """The rows of the leaves, each pair in both rows."""
    count = len(nodes.sizes)
    starts = np.zeros(count + 1, np.int64)
    for p in range(len(pairs)):
        starts[pairs[p, 0] + 1] += 1
        starts[pairs[p, 1] + 1] += 1
    for leaf in range(num_leaves):
        starts[leaf + 1] += starts[leaf]
    room = 8 * len(pairs)
    neighbours, similarities = np.empty(room, np.int32), np.empty(room, np.float64)
    place = starts[:num_leaves].copy()
    for p in range(len(pairs)):
        similarity = _similarity(nodes, pairs[p, 0], pairs[p, 1], weights)
        for end in range(2):
            leaf = pairs[p, end]
            neighbours[place[leaf]] = pairs[p, 1 - end]
            similarities[place[leaf]] = similarity
            place[leaf] += 1
    parents = np.arange(count).astype(np.int32)
    best, best_at = np.full(count, -1.0), np.zeros(count, np.int64)
    reached_by = np.zeros(count, np.int32)
    graph = _Graph(starts, neighbours, similarities, parents, best, best_at, reached_by)
    for leaf in range(num_leaves):
        _find_best(graph, leaf)
    return graph


@compiled
def _with_room(graph: _Graph, end: int) -> _Graph:
    """The graph with rows that may reach to `end`."""
    room = len(graph.neighbours)
    if end <= room:
        return graph
    neighbours, similarities = np.empty(2 * end, np.int32), np.empty(2 * end, np.float64)
    for i in range(room):
        neighbours[i] = graph.neighbours[i]
        similarities[i] = graph.similarities[i]
    _, _, _, parents, best, best_at, reached_by = graph
    return _Graph(graph.starts, neighbours, similarities, parents, best, best_at, reached_by)


@compiled
def _take_over(graph: _Graph, nodes: _Nodes, node: int, part: int, weights: _Weights) -> None:
    """Adds to the row of a new node, the last, the neighbours of a part of it."""
    starts, neighbours = graph.starts, graph.neighbours
    for i in range(starts[part], starts[part + 1]):
        other = root_of(graph.parents, neighbours[i])
        if other == node or graph.reached_by[other] == node:
            continue
        graph.reached_by[other] = node
        neighbours[starts[node + 1]] = other
        graph.similarities[starts[node + 1]] = _similarity(nodes, other, node, weights)
        starts[node + 1] += 1
        if graph.best[other] >= 0 and graph.parents[neighbours[graph.best_at[other]]] == node:
            _find_best(graph, other)


@compiled
def _find_best(graph: _Graph, node: int) -> None:
    """Searches the row of a node for its best neighbour that is not merged away."""
    graph.best[node] = -1.0
    for i in range(graph.starts[node], graph.starts[node + 1]):
        alive = graph.parents[graph.neighbours[i]] == graph.neighbours[i]
        if alive and graph.similarities[i] > graph.best[node]:
            graph.best[node] = graph.similarities[i]
            graph.best_at[node] = i
