"""Views of a photo: resized, mirrored, its colours stirred. Images are (H, W, 3) uint8 RGB."""

import numpy as np
import numpy.typing as npt
from PIL import Image

Pixels = npt.NDArray[np.uint8]

# Eigenvectors (columns) and square roots of the eigenvalues of the colours of ImageNet in 0..1,
# from the AlexNet paper: the directions in which photos differ by their lighting.
LIGHT_DIRECTIONS = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
)
LIGHT_STRENGTHS = np.array([0.2175, 0.0188, 0.0045])


def resized_shape(height: int, width: int, short_side: int, long_side: int) -> tuple[int, int]:
    """Height and width with the short side as asked, unless the long side would pass its limit."""
    factor = min(short_side / min(height, width), long_side / max(height, width))
    return max(1, round(height * factor)), max(1, round(width * factor))


def resize(image: Pixels, height: int, width: int) -> Pixels:
    """The image at another size, bilinear, smoothed where it shrinks."""
    if image.shape[:2] == (height, width):
        return image
    resized = Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(resized, dtype=np.uint8)


def mirror(image: Pixels) -> Pixels:
    """The image left to right."""
    return np.ascontiguousarray(image[:, ::-1])


def relight(image: Pixels, strength: float, random: np.random.Generator) -> Pixels:
    """The image under slightly other light: AlexNet's noise along the colour axes of ImageNet."""
    shift = LIGHT_DIRECTIONS @ (random.normal(0, strength, 3) * LIGHT_STRENGTHS)  # (3,) in 0..1
    return np.asarray(np.clip(np.rint(image + 255 * shift), 0, 255), dtype=np.uint8)
