"""The smaller copy of a photo in which regions are looked for, and the way back.

A part of the pixels loses little of what a box can say, and takes that part of the time. Larger
photos are brought to one size, so that the time and the number of boxes stay bounded. H, W height
and width.
"""

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from tag2box.proposals.protocol import Image

FEWEST_PIXELS = 40_000
"""Photos are shrunk, but not below this, where regions of a few pixels would decide."""


def shrunk(image: Image, *, share: float, most_pixels: int) -> Image:
    """That share of the pixels of a photo (H, W, 3): each the mean of those it covers."""
    height, width = image.shape[:2]
    pixels = min(max(height * width * share, FEWEST_PIXELS), most_pixels)
    factor = float(np.sqrt(height * width / pixels))
    if factor <= 1:
        return image
    size = max(1, round(width / factor)), max(1, round(height / factor))
    return np.asarray(PillowImage.fromarray(image).resize(size, PillowImage.Resampling.BOX))


def in_photo(boxes: npt.NDArray[np.int32], working: Image, photo: Image) -> npt.NDArray[np.float32]:
    """Boxes (n, 4) of the working frame in whole pixels of the photo."""
    (height, width), (to_height, to_width) = working.shape[:2], photo.shape[:2]
    scale = np.array([to_width / width, to_height / height] * 2)
    return np.asarray(np.rint(boxes * scale), dtype=np.float32)


def distinct(boxes: npt.NDArray[np.int32], working: Image) -> npt.NDArray[np.intp]:
    """Indexes of the boxes (n, 4) without repetition, each where it first stands."""
    height, width = working.shape[:2]
    x1, y1, x2, y2 = boxes.astype(np.int64).T
    keys = ((x1 * (width + 1) + x2) * (height + 1) + y1) * (height + 1) + y2
    _, first = np.unique(keys, return_index=True)
    return np.sort(first)
