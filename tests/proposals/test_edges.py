import numpy as np
import pytest

from tag2box.boxes import iou
from tag2box.proposals.edges import _apart, _score, contours, edge_boxes


def disc(height: int, width: int, x: int, y: int, radius: int) -> np.ndarray:
    ys, xs = np.mgrid[:height, :width]
    image = np.full((height, width, 3), 60, np.uint8)
    image[(ys - y) ** 2 + (xs - x) ** 2 < radius**2] = (200, 120, 40)
    return image


def test_the_best_box_holds_the_closed_contour() -> None:
    proposals = edge_boxes(disc(180, 220, 90, 100, 50))
    truth = np.array([[40.0, 50, 140, 150]])
    assert iou(truth, proposals.boxes[:1].astype(float)).item() > 0.85
    assert proposals.scores is not None
    assert (np.diff(proposals.scores) <= 0).all()


def test_the_score_is_that_of_the_slow_sum() -> None:
    rng = np.random.default_rng(0)
    magnitudes = rng.random((30, 40)) * (rng.random((30, 40)) < 0.2)
    sums = np.pad(magnitudes.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    corners = rng.integers(0, [30, 20], (50, 2))
    groups = np.concatenate([corners, corners + rng.integers(1, 10, (50, 2))], axis=1)
    masses = rng.random(50).astype(np.float32)
    for x1, y1, x2, y2 in [(0, 0, 40, 30), (3, 4, 20, 17), (5, 5, 6, 6)]:
        held = [
            mass
            for (a, b, c, d), mass in zip(groups, masses, strict=True)
            if a >= x1 and b >= y1 and c <= x2 and d <= y2
        ]
        across, down = (x2 - x1) // 4, (y2 - y1) // 4
        middle = magnitudes[y1 + down : y2 - down, x1 + across : x2 - across].sum()
        expected = (sum(held) - middle) / (2 * (x2 - x1 + y2 - y1)) ** 1.5
        ours = _score(x1, y1, x2, y2, groups.astype(np.int32), masses, sums)
        assert ours == pytest.approx(expected)


def test_contours_are_thin_and_count_every_edge_once() -> None:
    found = contours(disc(80, 90, 40, 40, 20).transpose(2, 0, 1).astype(np.float32))
    assert found.masses.sum() == pytest.approx(found.sums[-1, -1], rel=1e-5)
    edges = np.diff(np.diff(found.sums, axis=0), axis=1) > 1e-6
    assert 100 < edges.sum() < 300  # the circle is 126 pixels long


def test_taken_boxes_are_those_of_the_slow_loop() -> None:
    rng = np.random.default_rng(1)
    corners = rng.integers(0, 20, (200, 2))
    boxes = np.concatenate([corners, corners + rng.integers(1, 20, (200, 2))], axis=1)
    taken: list[int] = []
    shared = iou(boxes.astype(float), boxes.astype(float))
    for n in range(len(boxes)):
        if all(shared[n, t] <= 0.4 for t in taken):
            taken.append(n)
    assert 10 < len(taken) < 190
    for maximum in (1, 10, 500):
        ours = _apart(boxes.astype(np.int32), 0.4, maximum)
        np.testing.assert_array_equal(ours, boxes[taken[:maximum]])


@pytest.mark.parametrize("size", [(1, 1), (1, 2), (3, 2000), (50, 60)])
@pytest.mark.parametrize("kind", ["constant", "noise"])
def test_odd_sizes(size: tuple[int, int], kind: str) -> None:
    image = np.full((*size, 3), 7, np.uint8)
    if kind == "noise":
        image = np.random.default_rng(0).integers(0, 256, image.shape, np.uint8)
    boxes = edge_boxes(image, maximum=50).boxes
    assert 1 <= len(boxes) <= 50
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2:] > boxes[:, :2]).all()
    assert (boxes[:, 2:] <= (size[1], size[0])).all()
    assert len(np.unique(boxes, axis=0)) == len(boxes)
