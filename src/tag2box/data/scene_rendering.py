"""From outlines to pixels: shaded sprites with soft edges, and pasting them into a picture.

Colours are float32 RGB in [0, 1]. H, W pixels of a sprite or a picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage
from PIL import ImageDraw
from scipy import ndimage

from tag2box.data.scene_objects import Points, Shape
from tag2box.data.scene_textures import Coat, Image, noise, painted

OVERSAMPLING = 3
SOLID = 0.5
"""A pixel belongs to what covers at least this much of it."""
_MARGIN = 2  # pixels around a sprite, so that its soft edge is not cut


@dataclass(frozen=True, eq=False)
class Sprite:
    """One object cut out of everything else."""

    color: Image
    """(H, W, 3)."""
    alpha: Image
    """(H, W) how much of a pixel the object covers."""
    part: npt.NDArray[np.bool_]
    """(H, W) whether the pixel shows the part that tells the class."""

    @property
    def solid(self) -> npt.NDArray[np.bool_]:
        """(H, W) whether the pixel belongs to the object."""
        return self.alpha >= SOLID


def render(
    shapes: Sequence[Shape],
    coat: Coat,
    rng: np.random.Generator,
    *,
    size: float,
    angle: float = 0.0,
    mirrored: bool = False,
    light: tuple[float, float] = (-0.5, -0.85),
    contrast: float = 1.0,
) -> Sprite:
    """The shapes as a sprite, one unit of theirs `size` pixels long.

    `angle` turns the object (radians, clockwise), `light` points to the sun (x, y), and `contrast`
    below 1 fades the colours of the discriminative part into the coat.
    """
    matrix = size * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    if mirrored:
        matrix[0] *= -1
    outlines = [shape.outline @ matrix for shape in shapes]
    low = np.min([outline.min(axis=0) for outline in outlines], axis=0) - _MARGIN
    high = np.max([outline.max(axis=0) for outline in outlines], axis=0) + _MARGIN
    width, height = np.ceil(high - low).astype(int).tolist()
    sheet = painted(coat, rng, height, width, size)
    grain = 1 + 0.05 * noise(rng, "grain", height, width)[:, :, None]
    sprite = Sprite(
        np.zeros((height, width, 3), np.float32),
        np.zeros((height, width), np.float32),
        np.zeros((height, width), bool),
    )
    for shape, outline in zip(shapes, outlines, strict=True):
        if shape.color is None:
            layer = sheet
        else:
            own = contrast if shape.is_part else 1.0
            color = np.array(shape.color, np.float32)
            layer = (own * color + (1 - own) * coat.color) * grain
        _paint(sprite, layer, outline - low, is_part=shape.is_part, light=light)
    return sprite


def coverage(outline: Points, width: int, height: int) -> Image:
    """How much of each pixel lies inside the outline, a sixth of a pixel wide: (P, 2) -> (H, W)."""
    fine = PillowImage.new("L", (width * OVERSAMPLING, height * OVERSAMPLING))
    corners = [(x - 0.5, y - 0.5) for x, y in (outline * OVERSAMPLING).tolist()]
    ImageDraw.Draw(fine).polygon(corners, fill=255)
    return np.asarray(fine.reduce(OVERSAMPLING), dtype=np.float32) / np.float32(255)


def paste(picture: Image, sprite: Sprite, x: int, y: int) -> None:
    """The sprite over the picture, its left upper corner at (x, y), cut at the borders."""
    into, of = overlap(picture.shape[:2], sprite.alpha.shape, x, y)
    alpha = sprite.alpha[of][:, :, None]
    picture[into] += alpha * (sprite.color[of] - picture[into])


def shadow(picture: Image, sprite: Sprite, x: int, y: int, strength: float) -> None:
    """A soft shadow on the ground below a sprite that stands at (x, y)."""
    height, width = sprite.alpha.shape
    across, down = np.linspace(-1.1, 1.1, width), np.linspace(-1, 1, max(4, height // 5))
    depth = np.exp(-3 * (across[None, :] ** 4 + down[:, None] ** 2)).astype(np.float32)
    into, of = overlap(picture.shape[:2], depth.shape, x, y + height - depth.shape[0] // 2 - 3)
    picture[into] *= 1 - strength * depth[of][:, :, None]


def overlap(
    picture: tuple[int, ...], sprite: tuple[int, ...], x: int, y: int
) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Where a sprite at (x, y) lands in the picture, and which of its pixels land there."""
    height, width = sprite
    top, left = max(y, 0), max(x, 0)
    bottom, right = max(top, min(y + height, picture[0])), max(left, min(x + width, picture[1]))
    return (
        (slice(top, bottom), slice(left, right)),
        (slice(top - y, bottom - y), slice(left - x, right - x)),
    )


def _paint(
    sprite: Sprite, layer: Image, outline: Points, *, is_part: bool, light: tuple[float, float]
) -> None:
    """One shape over the sprite, rounded by the light."""
    left, top = np.floor(outline.min(axis=0)).astype(int) - 1
    right, bottom = np.ceil(outline.max(axis=0)).astype(int) + 1
    window = (slice(top, bottom), slice(left, right))
    alpha = coverage(outline - (left, top), right - left, bottom - top)
    lit = layer[window] * (1 + _relief(alpha, light))[:, :, None]
    below = sprite.alpha[window]
    # A half covered pixel of the outer edge keeps the colour of the object: alpha alone fades it.
    weight = np.where((below < SOLID) & (alpha > 0), 1, alpha)[:, :, None]
    sprite.color[window] += weight * (lit - sprite.color[window])
    sprite.part[window] = np.where(alpha >= SOLID, is_part, sprite.part[window])
    sprite.alpha[window] = np.maximum(below, alpha)


def _relief(alpha: Image, light: tuple[float, float]) -> Image:
    """Brighter where a rounded body would face the light, darker where it would not: (H, W)."""
    reach = min(alpha.shape) // 3
    if reach < 2:
        return np.zeros_like(alpha)
    height, width = alpha.shape
    body = np.pad(ndimage.uniform_filter(alpha, reach, mode="constant"), reach)
    inner = (slice(reach, reach + height), slice(reach, reach + width))
    down = body[2 * reach :, inner[1]] - body[: -2 * reach, inner[1]]
    across = body[inner[0], 2 * reach :] - body[inner[0], : -2 * reach]
    return np.asarray(-0.35 * (light[0] * across + light[1] * down), dtype=np.float32)
