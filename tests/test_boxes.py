import numpy as np
import pytest
from PIL import Image, ImageOps

from tag2box import boxes


def random_boxes(rng: np.random.Generator, count: int) -> np.ndarray:
    corners = rng.integers(0, 20, (count, 2, 2)).astype(float)
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def slow_iou(a: np.ndarray, b: np.ndarray) -> float:
    """Counts the unit pixels the boxes share."""
    pixels = [
        {(x, y) for x in range(int(x1), int(x2)) for y in range(int(y1), int(y2))}
        for x1, y1, x2, y2 in (a, b)
    ]
    union = len(pixels[0] | pixels[1])
    return len(pixels[0] & pixels[1]) / union if union else 0.0


@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 3), (1, 1), (4, 7), (9, 1)])
def test_iou_counts_shared_pixels(n: int, m: int) -> None:
    rng = np.random.default_rng(n * 10 + m)
    first, second = random_boxes(rng, n), random_boxes(rng, m)
    expected = np.array([[slow_iou(a, b) for b in second] for a in first]).reshape(n, m)
    np.testing.assert_allclose(boxes.iou(first, second), expected)


def test_flipping_twice_and_scaling_back_change_nothing() -> None:
    some = random_boxes(np.random.default_rng(0), 5)
    np.testing.assert_array_equal(boxes.flip(boxes.flip(some, 30), 30), some)
    np.testing.assert_allclose(boxes.scale(boxes.scale(some, 2, 3), 1 / 2, 1 / 3), some)


def test_clip_keeps_boxes_inside() -> None:
    clipped = boxes.clip(np.array([[-3.0, 2, 40, 50]]), 30, 20)
    np.testing.assert_array_equal(clipped, [[0, 2, 30, 20]])


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orient_moves_a_box_with_its_pixels(orientation: int) -> None:
    stored = np.zeros((7, 11), np.uint8)
    stored[2:4, 3:8] = 255
    image = Image.fromarray(stored)
    exif = Image.Exif()
    exif[0x0112] = orientation
    image.info["exif"] = exif.tobytes()
    shown = np.asarray(ImageOps.exif_transpose(image))
    ys, xs = np.nonzero(shown)
    expected = [[xs.min(), ys.min(), xs.max() + 1, ys.max() + 1]]
    moved = boxes.orient(np.array([[3.0, 2, 8, 4]]), orientation, width=11, height=7)
    np.testing.assert_array_equal(moved, expected)
