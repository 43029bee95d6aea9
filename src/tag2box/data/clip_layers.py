"""Cut-outs that move: what a moment of a clip shows, who owns its pixels, and where they go next.

Points are (x, y) in pixels, the centre of the first pixel at (0.5, 0.5). H, W pixels of a frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from tag2box.data.scene_rendering import SOLID, Sprite
from tag2box.data.scene_textures import Image

Matrix = npt.NDArray[np.float64]
"""(3, 3) from one plane to another, for points (x, y, 1)."""
Window = tuple[slice, slice]


@dataclass(frozen=True, eq=False)
class Layer:
    """A cut-out and its path; time counts frames from the middle of the clip."""

    sprite: Sprite
    owner: int
    """What the pixels that show it are marked with."""
    place: npt.NDArray[np.float64]
    """(2,) the point of the frame its centre is at in the middle of the clip."""
    velocity: npt.NDArray[np.float64]
    """(2,) pixels a frame."""
    growth: float = 0.0
    """Logarithm of its growth a frame."""
    turn: float = 0.0
    """Radians a frame, clockwise."""

    def pose(self, time: float) -> Matrix:
        """From points of the cut-out to points of the frame."""
        height, width = self.sprite.alpha.shape
        angle, size = self.turn * time, self.size(time)
        cos, sin = size * np.cos(angle), size * np.sin(angle)
        x, y = self.place + self.velocity * time
        to_centre = np.array([[1, 0, -width / 2], [0, 1, -height / 2], [0, 0, 1]])
        return np.asarray(np.array([[cos, -sin, x], [sin, cos, y], [0, 0, 1]]) @ to_centre)

    def size(self, time: float) -> float:
        """How many times its size in the middle of the clip it has."""
        return float(np.exp(self.growth * time))


def picture_of(layers: Sequence[Layer], time: float, height: int, width: int) -> Image:
    """The layers at one moment, the last in front: (H, W, 3) in [0, 1]."""
    picture = np.zeros((height, width, 3), np.float32)
    for layer in layers:
        sprite, window = layer.sprite, _window(layer, time, height, width)
        alpha = _sampled(sprite.alpha, layer, time, window)
        for channel in range(3):
            # Colour times alpha: what lies outside the cut-out must not bleed into its edge.
            color = _sampled(sprite.color[:, :, channel] * sprite.alpha, layer, time, window)
            below = picture[window][:, :, channel]
            below += color - alpha * below
    return picture


def owners_of(
    layers: Sequence[Layer], time: float, height: int, width: int
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.bool_]]:
    """The owner of each pixel at one moment, and whether it shows a discriminative part: (H, W)."""
    owners = np.zeros((height, width), np.int8)
    parts = np.zeros((height, width), bool)
    for layer in layers:
        window = _window(layer, time, height, width)
        solid = _sampled(layer.sprite.alpha, layer, time, window) >= SOLID
        part = _sampled(layer.sprite.part.astype(np.float32), layer, time, window) >= SOLID
        owners[window][solid] = layer.owner
        parts[window][solid] = part[solid]
    return owners, parts


def flow_of(
    layers: Sequence[Layer], time: float, owners: npt.NDArray[np.int8]
) -> npt.NDArray[np.float32]:
    """How far (x, y) each pixel's owner moves it until the next frame: (H, W, 2)."""
    flow = np.zeros((*owners.shape, 2), np.float32)
    for layer in layers:
        rows, columns = np.nonzero(owners == layer.owner)
        points = np.stack([columns + 0.5, rows + 0.5, np.ones(len(rows))])  # (3, P)
        step = layer.pose(time + 1) @ np.linalg.inv(layer.pose(time)) - np.eye(3)
        flow[rows, columns] = (step @ points)[:2].T
    return flow


def _window(layer: Layer, time: float, height: int, width: int) -> Window:
    """The pixels of the frame the cut-out can reach."""
    rows, columns = layer.sprite.alpha.shape
    corners = np.array([[0, columns, 0, columns], [0, 0, rows, rows], [1, 1, 1, 1]])
    x, y = (layer.pose(time) @ corners)[:2]
    left, right = np.clip([np.floor(x.min()), np.ceil(x.max())], 0, width).astype(int)
    top, bottom = np.clip([np.floor(y.min()), np.ceil(y.max())], 0, height).astype(int)
    return slice(top, bottom), slice(left, right)


def _sampled(channel: Image, layer: Layer, time: float, window: Window) -> Image:
    """A channel of the cut-out as the window of the frame shows it, by bilinear interpolation."""
    rows, columns = window
    shape = (rows.stop - rows.start, columns.stop - columns.start)
    if 0 in shape:
        return np.zeros(shape, np.float32)
    back = np.linalg.inv(layer.pose(time))
    first = back @ np.array([columns.start + 0.5, rows.start + 0.5, 1])  # (x, y) of the first pixel
    sampled = ndimage.affine_transform(
        channel,
        back[1::-1, 1::-1],  # rows before columns
        offset=first[1::-1] - 0.5,
        output_shape=shape,
        order=1,
        mode="constant",
    )
    return np.asarray(sampled, dtype=np.float32)
