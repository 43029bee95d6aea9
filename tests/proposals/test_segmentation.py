import numpy as np
import pytest

from tag2box.proposals.segmentation import segment, sort_edges, step_weights

SIZES = [(1, 1), (1, 7), (7, 1), (2, 2), (9, 13), (24, 17)]


def random_planes(channels: int, height: int, width: int) -> np.ndarray:
    """Smooth fields with a little noise and, in the corner, a flat patch full of ties."""
    rng = np.random.default_rng(height * width + channels)
    planes = rng.integers(0, 3, (channels, height, width)).cumsum(axis=1).cumsum(axis=2) * 4.0
    planes += rng.random(planes.shape) * 3
    planes[:, : height // 2, : width // 2] = 5
    return (planes % 256).astype(np.float32)


def slow_edges(planes: np.ndarray) -> list[tuple[float, int, int]]:
    """(weight, pixel, pixel) of all 8-neighbours, in the order of the pixels."""
    _, height, width = planes.shape
    edges = []
    for y in range(height):
        for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
            for x in range(width):
                if y + dy < height and 0 <= x + dx < width:
                    distance = np.linalg.norm(planes[:, y, x] - planes[:, y + dy, x + dx])
                    edges.append((float(distance), y * width + x, (y + dy) * width + x + dx))
    return edges


def ends(edge: int, width: int) -> tuple[int, int]:
    y, x = divmod(edge // 4, width)
    dy, dx = ((0, 1), (1, 0), (1, 1), (1, -1))[edge % 4]
    return edge // 4, (y + dy) * width + x + dx


def slow_segments(
    edges: list[tuple[float, int, int]], pixels: int, k: float, min_size: int
) -> np.ndarray:
    """Felzenszwalb and Huttenlocher by relabelling whole arrays; edges come sorted."""
    labels = np.arange(pixels)
    inner = np.zeros(pixels)
    for weight, first, second in edges:
        a, b = labels[first], labels[second]
        size_a, size_b = (labels == a).sum(), (labels == b).sum()
        if a != b and weight <= min(inner[a] + k / size_a, inner[b] + k / size_b):
            labels[labels == b] = a
            inner[a] = weight
    for _, first, second in edges:
        a, b = labels[first], labels[second]
        if a != b and min((labels == a).sum(), (labels == b).sum()) < min_size:
            labels[labels == b] = a
    return labels


def slow_order(planes: np.ndarray) -> list[tuple[float, int, int]]:
    edges = sort_edges(planes)
    steps = np.repeat(step_weights(), np.diff(edges.starts.astype(int)))
    return [(float(w), *ends(int(e), edges.width)) for w, e in zip(steps, edges.edges, strict=True)]


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [1, 3])
def test_edges_are_all_there_in_the_order_of_their_weights(
    channels: int, height: int, width: int
) -> None:
    planes = random_planes(channels, height, width)
    expected = {(first, second): weight for weight, first, second in slow_edges(planes)}
    ours = slow_order(planes)
    assert {(first, second) for _, first, second in ours} == set(expected)
    assert len(ours) == len(expected)
    weights = np.array([weight for weight, _, _ in ours])
    exact = np.array([expected[first, second] for _, first, second in ours])
    assert (np.diff(weights) >= 0).all()
    np.testing.assert_allclose(weights, exact, rtol=1 / 128, atol=1 / 63)


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize(("k", "min_size"), [(20, 1), (100, 1), (40, 6), (2, 10)])
def test_segments_are_those_of_the_slow_loop(
    height: int, width: int, k: float, min_size: int
) -> None:
    planes = random_planes(3, height, width)
    regions = segment(sort_edges(planes), k=k, min_size=min_size)
    slow = slow_segments(slow_order(planes), height * width, k, min_size)
    labels = regions.labels.reshape(-1)
    assert len(set(zip(labels, slow, strict=True))) == len(set(labels)) == len(set(slow))
    assert regions.total == labels.max() + 1


def test_pairs_are_the_regions_that_touch() -> None:
    planes = random_planes(3, 24, 17)
    regions = segment(sort_edges(planes), k=10, min_size=4)
    flat = regions.labels.reshape(-1)
    touching = {
        (min(flat[a], flat[b]), max(flat[a], flat[b]))
        for _, a, b in slow_edges(planes)
        if flat[a] != flat[b]
    }
    assert regions.total > 3
    assert {tuple(pair) for pair in regions.pairs.tolist()} == touching
    assert len(regions.pairs) == len(touching)


def test_a_flat_image_is_one_region() -> None:
    regions = segment(sort_edges(np.full((1, 9, 9), 7, np.float32)), k=1, min_size=1)
    assert regions.total == 1
    assert len(regions.pairs) == 0
