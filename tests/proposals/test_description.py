import numpy as np
import pytest

from tag2box.proposals.description import (
    COLOUR_BINS,
    DIRECTIONS,
    TEXTURE_BINS,
    TEXTURE_STEP,
    WHOLE,
    describe,
)
from tag2box.proposals.segmentation import Regions


def slow_histograms(planes: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares of colours and textures of the pixels of a mask, one pixel after the other."""
    channels, height, width = planes.shape
    colour = np.zeros((channels, COLOUR_BINS))
    texture = np.zeros((channels, DIRECTIONS, TEXTURE_BINS))
    for y, x in np.argwhere(mask):
        for c in range(channels):
            plane = planes[c].astype(float)
            colour[c, int(plane[y, x] * COLOUR_BINS / 256)] += 1
            dx = plane[y, min(x + 1, width - 1)] - plane[y, max(x - 1, 0)]
            dy = plane[min(y + 1, height - 1), x] - plane[max(y - 1, 0), x]
            for d, slope in enumerate((dx, dy, (dx + dy) / 2**0.5, (dx - dy) / 2**0.5)):
                for side in range(2):
                    rise = max(0, slope if side else -slope)
                    texture[c, 2 * d + side, int(min(rise / TEXTURE_STEP, TEXTURE_BINS - 1))] += 1
    return colour.ravel() / colour.sum(), texture.ravel() / texture.sum()


@pytest.mark.parametrize(("height", "width", "regions"), [(1, 1, 1), (1, 8, 3), (14, 11, 4)])
def test_descriptions_are_those_of_the_slow_loop(height: int, width: int, regions: int) -> None:
    rng = np.random.default_rng(regions)
    planes = (rng.integers(0, 64, (2, height, width)) * 3.99).astype(np.float32)
    labels = rng.integers(0, regions, (height, width)).astype(np.int32)
    labels.flat[:regions] = np.arange(regions)
    found = describe(planes, Regions(labels, regions, np.zeros((0, 2), np.int32)))
    for region in range(regions):
        ys, xs = np.nonzero(labels == region)
        box = [xs.min(), ys.min(), xs.max() + 1, ys.max() + 1]
        np.testing.assert_array_equal(found.boxes[region], box)
        assert found.sizes[region] == len(xs)
        colour, texture = slow_histograms(planes, labels == region)
        np.testing.assert_allclose(found.colour[region] / WHOLE, colour, atol=1 / WHOLE)
        np.testing.assert_allclose(found.texture[region] / WHOLE, texture, atol=1 / WHOLE)
