"""The colour spaces selective search looks through, all made from one blurred copy of the photo.

Converting after the blur spares a blur a space. Every plane is on the scale 0 to 255, so that one
threshold serves all. C channels, H, W height and width, T taps of the blur.
"""

from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from tag2box.proposals.compiled import compiled

Planes = npt.NDArray[np.float32]
"""(C, H, W), each in [0, 255]."""

Space = Literal["lab", "hsv", "rgi", "intensity", "hue"]
"""CIE Lab; hue, saturation, value; shares of red and green with intensity; two single planes."""

CURVE_STEPS = 4096


def blur(image: npt.NDArray[np.uint8], sigma: float) -> Planes:
    """Gaussian blur of an image (H, W, 3) into planes (3, H, W); the border is repeated."""
    radius = int(np.ceil(3 * sigma))
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)  # (T,)
    return _blur(np.array(image, order="C"), (taps / taps.sum()).astype(np.float32))


def colour_space(space: Space, rgb: Planes) -> Planes:
    """That space from planes (3, H, W) of sRGB."""
    if space == "lab":
        return _lab(rgb, *_curves())
    if space == "hsv":
        return _hsv(rgb)
    if space == "hue":
        return np.asarray(_hsv(rgb)[:1])
    total = rgb.sum(axis=0, keepdims=True)  # (1, H, W)
    intensity = np.minimum(total / np.float32(3), np.float32(255))
    if space == "intensity":
        return np.asarray(intensity)
    shares = rgb[:2] * (np.float32(255) / np.maximum(total, np.float32(1)))
    return np.concatenate([np.minimum(shares, np.float32(255)), intensity])


@cache
def _curves() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Tables of the sRGB curve and of CIE's cube root, over [0, 1]."""
    steps = np.linspace(0, 1, CURVE_STEPS)
    linear = np.where(steps > 0.04045, ((steps + 0.055) / 1.055) ** 2.4, steps / 12.92)
    root = np.where(steps > 0.008856, np.cbrt(steps), 7.787 * steps + 16 / 116)
    return linear.astype(np.float32), root.astype(np.float32)


@compiled
def _blur(image: npt.NDArray[np.uint8], taps: npt.NDArray[np.float32]) -> Planes:
    height, width, channels = image.shape
    radius = len(taps) // 2
    planes = np.empty((channels, height, width), np.float32)
    padded = np.empty((width + 2 * radius) * channels, np.float32)
    down = padded[radius * channels : (radius + width) * channels]
    across = np.empty(width * channels, np.float32)
    for y in range(height):
        down[:] = 0
        for t in range(len(taps)):
            row = image[min(max(y + t - radius, 0), height - 1)].reshape(-1)
            for i in range(len(row)):
                down[i] += taps[t] * row[i]
        for pad in range(radius):
            for c in range(channels):
                padded[pad * channels + c] = down[c]
                padded[(radius + width + pad) * channels + c] = down[(width - 1) * channels + c]
        across[:] = 0
        for t in range(len(taps)):
            shifted = padded[t * channels : t * channels + len(across)]
            for i in range(len(across)):
                across[i] += taps[t] * shifted[i]
        for c in range(channels):
            for x in range(width):
                planes[c, y, x] = min(across[x * channels + c], np.float32(255))
    return planes


@compiled
def _lab(rgb: Planes, linear: npt.NDArray[np.float32], root: npt.NDArray[np.float32]) -> Planes:
    """CIE Lab of the white point D65, as L x 2.55, a + 128, b + 128."""
    _, height, width = rgb.shape
    planes = np.empty_like(rgb)
    last = np.float32(len(linear) - 1)
    step = last / np.float32(255)
    half = np.float32(0.5)
    for y in range(height):
        for x in range(width):
            r = linear[int(rgb[0, y, x] * step + half)] * last
            g = linear[int(rgb[1, y, x] * step + half)] * last
            b = linear[int(rgb[2, y, x] * step + half)] * last
            u = np.float32(0.433953) * r + np.float32(0.376219) * g + np.float32(0.189828) * b
            v = np.float32(0.212671) * r + np.float32(0.715160) * g + np.float32(0.072169) * b
            w = np.float32(0.017758) * r + np.float32(0.109477) * g + np.float32(0.872765) * b
            middle = root[int(v)]
            planes[0, y, x] = (np.float32(116) * middle - np.float32(16)) * np.float32(2.55)
            planes[1, y, x] = np.float32(500) * (root[int(u)] - middle) + np.float32(128)
            planes[2, y, x] = np.float32(200) * (middle - root[int(w)]) + np.float32(128)
    return planes


@compiled
def _hsv(rgb: Planes) -> Planes:
    """Hue x 255 / 360 degrees, saturation x 255, value."""
    _, height, width = rgb.shape
    planes = np.empty_like(rgb)
    sixth = np.float32(255 / 6)
    for y in range(height):
        for x in range(width):
            r, g, b = rgb[0, y, x], rgb[1, y, x], rgb[2, y, x]
            value = max(r, g, b)
            spread = value - min(r, g, b)
            hue = np.float32(0)
            if spread > 0:
                if value == r:
                    hue = (g - b) / spread
                    if hue < 0:
                        hue += np.float32(6)
                elif value == g:
                    hue = np.float32(2) + (b - r) / spread
                else:
                    hue = np.float32(4) + (r - g) / spread
            planes[0, y, x] = hue * sixth
            planes[1, y, x] = np.float32(255) * spread / value if value > 0 else np.float32(0)
            planes[2, y, x] = value
    return planes
