import itertools

import numpy as np
import pytest

from tag2box.proposals.description import WHOLE, Description
from tag2box.proposals.grouping import group

ALL = frozenset({"colour", "texture", "size", "fill"})


def random_regions(count: int, seed: int = 0) -> tuple[Description, np.ndarray]:
    """Regions with any boxes (within 60 x 60) and histograms, and a connected graph over them."""
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 40, (count, 2))
    boxes = np.concatenate([corners, corners + rng.integers(1, 20, (count, 2))], axis=1)
    colour, texture = (rng.dirichlet(np.full(n, 0.3), count) * WHOLE for n in (12, 20))
    pairs = {(int(rng.integers(0, b)), b) for b in range(1, count)}
    pairs |= {tuple(sorted(p)) for p in rng.integers(0, count, (2 * count, 2)) if p[0] != p[1]}
    regions = Description(
        boxes.astype(np.int32),
        rng.integers(3600, 9000, count).astype(np.int32),
        np.rint(colour).astype(np.uint16),
        np.rint(texture).astype(np.uint16),
    )
    return regions, np.array(sorted(pairs), np.int32).reshape(-1, 2)


def slow_group(regions: Description, pairs: np.ndarray, measures: frozenset[str]) -> list[list]:
    """Algorithm 1 over sets: the best of all pairs is found anew for every union."""
    area = float(regions.sizes.sum())
    nodes = [
        (list(map(int, box)), int(size), colour, texture)
        for box, size, colour, texture in zip(*regions, strict=True)
    ]
    touching = {tuple(map(int, pair)) for pair in pairs}

    def similarity(pair: tuple[int, int]) -> float:
        (box_a, size_a, *hist_a), (box_b, size_b, *hist_b) = nodes[pair[0]], nodes[pair[1]]
        total = 0.0
        for kind, a, b in zip(("colour", "texture"), hist_a, hist_b, strict=True):
            if kind in measures:
                total += np.minimum(a, b).sum(dtype=int) / WHOLE
        if "size" in measures:
            total += 1 - (size_a + size_b) / area
        if "fill" in measures:
            box = union(box_a, box_b)
            hull = (box[2] - box[0]) * (box[3] - box[1])
            total += 1 - (hull - size_a - size_b) / area
        return total

    while touching:
        a, b = max(sorted(touching), key=similarity)
        (box_a, size_a, *hist_a), (box_b, size_b, *hist_b) = nodes[a], nodes[b]
        share = size_a / (size_a + size_b)
        mixed = [x * share + y * (1 - share) for x, y in zip(hist_a, hist_b, strict=True)]
        new = len(nodes)
        nodes.append((union(box_a, box_b), size_a + size_b, *(np.rint(m) for m in mixed)))
        renamed = {tuple(new if end in (a, b) else end for end in pair) for pair in touching}
        touching = {tuple(sorted(pair)) for pair in renamed if pair[0] != pair[1]}
    return [node[0] for node in nodes]


def union(a: list[int], b: list[int]) -> list[int]:
    return [min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])]


@pytest.mark.parametrize("count", [1, 2, 3, 12, 40])
@pytest.mark.parametrize("measures", [ALL, ALL - {"colour"}, frozenset({"size", "fill"})])
def test_unions_are_those_of_the_slow_loop(count: int, measures: frozenset[str]) -> None:
    regions, pairs = random_regions(count, seed=count)
    assert group(regions, pairs, measures).tolist() == slow_group(regions, pairs, measures)


def test_ties_leave_a_whole_hierarchy() -> None:
    """Equal regions in a ring: whichever go first, all become one."""
    count = 9
    regions = Description(
        np.tile(np.array([[2, 3, 5, 7]], np.int32), (count, 1)),
        np.full(count, 4, np.int32),
        np.full((count, 4), WHOLE // 4, np.uint16),
        np.full((count, 4), WHOLE // 4, np.uint16),
    )
    pairs = np.array([sorted((i, (i + 1) % count)) for i in range(count)], np.int32)
    assert group(regions, pairs, ALL).tolist() == [[2, 3, 5, 7]] * (2 * count - 1)


def test_a_hub_with_many_neighbours_outgrows_the_first_room() -> None:
    """Leaves around one large region, all pairs of neighbouring leaves touching as well."""
    count = 120
    regions, _ = random_regions(count)
    pairs = np.array(list(itertools.combinations(range(count), 2)), np.int32)
    boxes = group(regions, pairs[:: 2 if count % 2 else 1], ALL)
    lower, upper = regions.boxes[:, :2].min(axis=0), regions.boxes[:, 2:].max(axis=0)
    assert boxes[-1].tolist() == [*lower, *upper]
    star = np.array([(0, leaf) for leaf in range(1, count)], np.int32)
    assert group(regions, star, ALL)[-1].tolist() == [*lower, *upper]
