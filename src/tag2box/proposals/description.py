"""What selective search knows of a region: its box, its size, histograms of colour and texture.

As in the paper (Uijlings et al. 2013, Sec. 3.2) with coarser histograms: 16 bins of colour for
25, 4 of texture for 10. Shares are whole numbers, so that similarities are exact sums in any order.
C channels, H, W height and width, R regions, D columns of histograms.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tag2box.proposals.colour_spaces import Planes
from tag2box.proposals.compiled import compiled
from tag2box.proposals.segmentation import Regions

COLOUR_BINS = 16
DIRECTIONS = 8
TEXTURE_BINS = 4
TEXTURE_STEP = 6.0
"""Grey levels over two pixels that make a texture bin."""
WHOLE = 1 << 15
"""A histogram of one kind sums to this (up to rounding)."""


class Description(NamedTuple):
    """Of every region, in pixels of the image that was segmented."""

    boxes: npt.NDArray[np.int32]
    """(R, 4) xyxy."""
    sizes: npt.NDArray[np.int32]
    """(R,) pixels."""
    colour: npt.NDArray[np.uint16]
    """(R, 16 C) shares in units of 1 / `WHOLE`."""
    texture: npt.NDArray[np.uint16]
    """(R, 32 C) likewise."""


def describe(planes: Planes, regions: Regions) -> Description:
    """Boxes, sizes and histograms of all regions in one pass over the pixels."""
    boxes, sizes, colour, texture = _count(planes, regions.labels, regions.total)
    return Description(boxes, sizes, _shares(colour), _shares(texture))


def _shares(counts: npt.NDArray[np.int32]) -> npt.NDArray[np.uint16]:
    """Counts (R, D) as shares of their row."""
    scale = np.float32(WHOLE) / counts.sum(axis=1, keepdims=True).astype(np.float32)
    return np.asarray(np.rint(counts * scale), dtype=np.uint16)


@compiled
def _count(
    planes: Planes, labels: npt.NDArray[np.int32], count: int
) -> tuple[
    npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]
]:
    """Boxes, sizes, counts of colours and counts of textures of each region."""
    channels, height, width = planes.shape
    boxes, sizes = np.empty((count, 4), np.int32), np.zeros(count, np.int32)
    boxes[:, 0], boxes[:, 1], boxes[:, 2], boxes[:, 3] = width, height, 0, 0
    colour = np.zeros((count, channels * COLOUR_BINS), np.int32)
    texture = np.zeros((count, channels * DIRECTIONS * TEXTURE_BINS), np.int32)
    colour_step, step = np.float32(COLOUR_BINS / 256), np.float32(1 / TEXTURE_STEP)
    diagonal = np.float32(np.sqrt(0.5))
    for y in range(height):
        up, down = max(y - 1, 0), min(y + 1, height - 1)
        for x in range(width):
            region = labels[y, x]
            left, right = max(x - 1, 0), min(x + 1, width - 1)
            sizes[region] += 1
            box = boxes[region]
            box[0], box[1] = min(box[0], x), min(box[1], y)
            box[2], box[3] = max(box[2], x + 1), max(box[3], y + 1)
            for c in range(channels):
                colour[region, c * COLOUR_BINS + int(planes[c, y, x] * colour_step)] += 1
                dx = (planes[c, y, right] - planes[c, y, left]) * step
                dy = (planes[c, down, x] - planes[c, up, x]) * step
                slopes = (dx, dy, (dx + dy) * diagonal, (dx - dy) * diagonal)
                for d in range(4):
                    bin = int(min(abs(slopes[d]), np.float32(TEXTURE_BINS - 1)))
                    direction = (c * 4 + d) * 2 + (slopes[d] > 0)
                    texture[region, direction * TEXTURE_BINS + bin] += 1
    # What is in no steeper bin is flat in that direction, also where the slope goes the other way.
    for region in range(count):
        for first in range(0, texture.shape[1], TEXTURE_BINS):
            flat = sizes[region] - texture[region, first + 1 : first + TEXTURE_BINS].sum()
            texture[region, first] = flat
    return boxes, sizes, colour, texture
