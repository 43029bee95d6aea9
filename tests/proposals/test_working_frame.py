import numpy as np
import pytest

from tag2box.proposals.working_frame import FEWEST_PIXELS, distinct, in_photo, shrunk


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)


@pytest.mark.parametrize(
    ("size", "share", "pixels"),
    [
        ((375, 500), 1 / 2, 375 * 500 / 2),
        ((375, 500), 1 / 4, 375 * 500 / 4),
        ((200, 300), 1 / 2, FEWEST_PIXELS),
        ((1500, 2000), 1 / 2, 240_000),
        ((100, 100), 1 / 2, 100 * 100),
    ],
)
def test_a_share_of_the_pixels_within_bounds(
    size: tuple[int, int], share: float, pixels: float
) -> None:
    height, width = shrunk(noise(*size), share=share, most_pixels=240_000).shape[:2]
    assert height * width == pytest.approx(pixels, rel=0.01)
    assert width / height == pytest.approx(size[1] / size[0], rel=0.01)


def test_a_pixel_is_the_mean_of_those_it_covers() -> None:
    photo = noise(400, 400)
    working = shrunk(photo, share=1 / 4, most_pixels=240_000)
    means = photo.reshape(200, 2, 200, 2, 3).mean(axis=(1, 3))
    assert np.abs(working - means).max() <= 1  # rounded after the rows and after the columns


def test_boxes_come_back_to_the_borders_of_the_photo() -> None:
    photo = noise(375, 500)
    working = shrunk(photo, share=1 / 2, most_pixels=240_000)
    height, width = working.shape[:2]
    boxes = np.array([[0, 0, width, height], [100, 50, 101, 51]], np.int32)
    whole, small = in_photo(boxes, working, photo)
    assert whole.tolist() == [0, 0, 500, 375]
    np.testing.assert_allclose(small, np.array([100, 50, 101, 51]) * np.sqrt(2), atol=1)
    assert (small[2:] > small[:2]).all()


def test_of_equal_boxes_the_first_is_kept() -> None:
    boxes = np.array([[1, 0, 3, 3], [0, 1, 3, 3], [1, 0, 3, 3], [0, 0, 3, 3]], np.int32)
    assert distinct(boxes, noise(3, 3)).tolist() == [0, 1, 3]
