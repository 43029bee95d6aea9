"""What stands between a generated picture and a photo: light, colour cast, lens and sensor.

Colours are float32 RGB in [0, 1] before, uint8 after. H, W pixels.
"""

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from tag2box.data.scene_textures import Image


class Camera:
    """One camera at one hour: every photo it takes has the same light, cast and softness."""

    def __init__(self, rng: np.random.Generator, *, grain: float) -> None:
        """`grain` is the standard deviation of the noise of the sensor."""
        self.lean_x, self.lean_y = rng.uniform(-0.12, 0.12, 2).tolist()
        self.cast = (rng.uniform(0.8, 1.1) * rng.normal(1, 0.03, 3)).astype(np.float32)  # (3,)
        self.softness = rng.uniform(0.3, 0.6)
        self.grain = grain

    def photo(self, rng: np.random.Generator, picture: Image) -> npt.NDArray[np.uint8]:
        """The picture as this camera takes it: (H, W, 3)."""
        height, width = picture.shape[:2]
        y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j].astype(np.float32)
        light = 1 + self.lean_x * x + self.lean_y * y - 0.1 * (x**2 + y**2)
        lit = picture * light[:, :, None] * self.cast
        blurred = ndimage.gaussian_filter(lit, (self.softness, self.softness, 0), truncate=2.0)
        noisy = blurred + self.grain * rng.standard_normal(picture.shape, dtype=np.float32)
        return np.asarray(np.round(255 * np.clip(noisy, 0, 1)), dtype=np.uint8)
