from typing import get_args

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from skimage import color

from tag2box.proposals.colour_spaces import Space, blur, colour_space


def random_image(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(height).integers(0, 256, (height, width, 3), np.uint8)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 9), (2, 3), (20, 31)])
def test_blur_is_a_gaussian_with_the_border_repeated(height: int, width: int) -> None:
    image = random_image(height, width)
    sigmas = (0.8, 0.8, 0)
    expected = gaussian_filter(image.astype(float), sigmas, mode="nearest", radius=(3, 3, 0))
    np.testing.assert_allclose(blur(image, 0.8), expected.transpose(2, 0, 1), atol=1e-3)


def test_lab_and_hsv_are_those_of_scikit_image_on_the_scale_to_255() -> None:
    image = random_image(30, 40)
    rgb = image.transpose(2, 0, 1).astype(np.float32)
    lab = color.rgb2lab(image, illuminant="D65").transpose(2, 0, 1)
    ours = colour_space("lab", rgb)
    np.testing.assert_allclose(ours[0], lab[0] * 2.55, atol=1)
    np.testing.assert_allclose(ours[1:], lab[1:] + 128, atol=1)
    hsv = color.rgb2hsv(image).transpose(2, 0, 1)
    np.testing.assert_allclose(colour_space("hsv", rgb), hsv * 255, atol=1e-3)


@pytest.mark.parametrize("space", get_args(Space))
def test_every_plane_lies_on_the_scale(space: str) -> None:
    corners = np.array(np.meshgrid([0, 255], [0, 255], [0, 255])).reshape(3, 1, 8)
    planes = colour_space(space, corners.astype(np.float32))
    assert planes.shape[1:] == (1, 8)
    assert planes.dtype == np.float32
    assert planes.flags.c_contiguous
    assert planes.min() >= 0
    assert planes.max() <= 255.01
