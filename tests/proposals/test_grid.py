import numpy as np
import pytest

from tag2box.boxes import iou
from tag2box.proposals.grid import grid, windows


def test_neighbouring_windows_overlap_as_asked() -> None:
    boxes = windows(300, 500, 0.3, 1.0, 0.5)
    shared = iou(boxes, boxes)
    np.fill_diagonal(shared, 0)
    assert shared.max(axis=1).min() > 0.45
    assert boxes[:, :2].min() == 0
    assert boxes[:, 2].max() == pytest.approx(500)
    assert boxes[:, 3].max() == pytest.approx(300)


@pytest.mark.parametrize("size", [(1, 1), (1, 2), (3, 2000), (375, 500), (4000, 5000)])
def test_boxes_lie_inside_and_differ(size: tuple[int, int]) -> None:
    boxes = grid(np.zeros((*size, 3), np.uint8)).boxes
    assert boxes[0].tolist() == [0, 0, size[1], size[0]]
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2:] > boxes[:, :2]).all()
    assert (boxes[:, 2:] <= (size[1], size[0])).all()
    assert len(np.unique(boxes, axis=0)) == len(boxes) <= 3000


def test_anything_of_some_size_is_covered_half() -> None:
    rng = np.random.default_rng(0)
    side, shape = np.exp(rng.uniform(np.log([60, 0.5]), np.log([250, 2]), (300, 2))).T
    sides = np.stack([side * np.sqrt(shape), side / np.sqrt(shape)], axis=1)
    corner = rng.random((300, 2)) * ([500, 375] - sides).clip(0)
    objects = np.concatenate([corner, np.minimum(corner + sides, [500, 375])], axis=1)
    boxes = grid(np.zeros((375, 500, 3), np.uint8)).boxes
    best = iou(objects, boxes.astype(float)).max(axis=1)
    assert best.mean() > 0.68
    assert (best > 0.5).mean() > 0.97


def test_the_first_boxes_lie_all_over_the_photo() -> None:
    boxes = grid(np.zeros((375, 500, 3), np.uint8)).boxes
    covered = np.zeros((375, 500), bool)
    for x1, y1, x2, y2 in boxes[1:60].astype(int):
        covered[y1:y2, x1:x2] = True
    assert covered.mean() > 0.95
    np.testing.assert_array_equal(grid(np.ones((375, 500, 3), np.uint8)).boxes, boxes)
