"""Generated clips: objects that move before a moving camera, with true boxes and optical flow.

Some frames are blurred by motion, and something in front hides an object for a while.

Boxes are xyxy, 0-based, x2/y2 exclusive, in pixels of the frame, around what is visible.
T frames, M objects, H, W pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tag2box.data.clip_layers import Layer, flow_of, owners_of, picture_of
from tag2box.data.scene_backgrounds import empty_place
from tag2box.data.scene_camera import Camera
from tag2box.data.scene_objects import CLASS_NAMES, clutter, silhouette
from tag2box.data.scene_rendering import Sprite, render
from tag2box.data.scene_textures import random_coat
from tag2box.data.scenes import Challenge, extents

BACKGROUND, OCCLUDER = -1, -2
"""Owners of pixels that show no object."""
LEAST_VISIBLE = 0.1
"""An object of which less is seen is not in the frame: it makes no tag and has no box."""
_MAX_OBJECTS, _MAX_CLASSES = 3, 2
_EXPOSURE = 1.5 * np.linspace(-0.5, 0.5, 7)  # moments whose mean is a blurred frame


@dataclass(frozen=True, eq=False)
class Clip:
    """Some frames and all that is true about them. Only evaluation may look beyond the tags."""

    images: npt.NDArray[np.uint8]
    """(T, H, W, 3) RGB."""
    classes: npt.NDArray[np.int64]
    """(M,) indexes into `CLASS_NAMES`."""
    boxes: npt.NDArray[np.float64]
    """(T, M, 4), all 0 where the object is not in the frame."""
    part_boxes: npt.NDArray[np.float64]
    """(T, M, 4) of the discriminative parts, all 0 where hidden."""
    visible: npt.NDArray[np.float64]
    """(T, M) share of the object that is seen; 0 where it is not in the frame."""
    blurred: npt.NDArray[np.bool_]
    """(T,) frames with motion blur."""
    flow: npt.NDArray[np.float32]
    """(T - 1, H, W, 2): what frame t shows at (x, y) is at (x, y) + flow in frame t + 1, unless
    it is hidden there."""
    owners: npt.NDArray[np.int8]
    """(T, H, W) the object a pixel shows, else `BACKGROUND` or `OCCLUDER`."""

    def tags(self, frame: int) -> frozenset[int]:
        """The classes that are in a frame."""
        return frozenset(self.classes[self.visible[frame] > 0].tolist())


def make_clip(
    index: int,
    *,
    seed: int = 0,
    frames: int = 15,
    width: int = 320,
    height: int = 240,
    difficulty: float = 0.5,
) -> Clip:
    """Clip `index` of a seed, the same whichever clips are made before or beside it."""
    rng = np.random.default_rng([seed, index, 1])
    challenge = Challenge(difficulty)
    blurred = rng.random(frames) < 0.1 + 0.3 * difficulty
    classes, objects, layers = _layers(rng, challenge, frames, height, width)
    camera = Camera(rng, grain=challenge.grain)
    times = (np.arange(frames) - (frames - 1) / 2).tolist()
    images = np.empty((frames, height, width, 3), np.uint8)
    for frame, time in enumerate(times):
        moments = time + (_EXPOSURE if blurred[frame] else np.zeros(1))
        pictures = [picture_of(layers, moment, height, width) for moment in moments.tolist()]
        images[frame] = camera.photo(rng, np.mean(pictures, axis=0, dtype=np.float32))
    owners, parts = zip(*(owners_of(layers, t, height, width) for t in times), strict=True)
    visible = np.array([_visible(objects, o, t) for o, t in zip(owners, times, strict=True)])
    there = (visible > 0)[:, :, None]
    shown_parts = [np.where(p, o, BACKGROUND) for o, p in zip(owners, parts, strict=True)]
    flow = [flow_of(layers, t, o) for o, t in zip(owners[:-1], times, strict=False)]
    return Clip(
        images=images,
        classes=classes,
        boxes=np.array([extents(o, len(objects)) for o in owners]) * there,
        part_boxes=np.array([extents(p, len(objects)) for p in shown_parts]) * there,
        visible=visible,
        blurred=blurred,
        flow=np.array(flow, np.float32).reshape(frames - 1, height, width, 2),
        owners=np.array(owners),
    )


def _layers(
    rng: np.random.Generator, challenge: Challenge, frames: int, height: int, width: int
) -> tuple[npt.NDArray[np.int64], list[Layer], list[Layer]]:
    """Classes (M,) and layers of the objects, the front first; and all layers, the back first."""
    pan = rng.uniform((-2, -0.5), (2, 0.5))  # of everything that stands, as the camera turns
    middle = np.array([width / 2, height / 2])
    reach = int(np.ceil(2 * (frames / 2 + 1))) + 2
    place, _ = empty_place(rng, height + 2 * reach, width + 2 * reach)
    solid = np.ones(place.shape[:2], np.float32)
    background = Layer(Sprite(place, solid, solid < 1), BACKGROUND, middle, pan)

    count = int(rng.integers(1, _MAX_OBJECTS + 1))
    chosen = rng.choice(len(CLASS_NAMES), min(count, _MAX_CLASSES), replace=False)
    classes = np.resize(chosen, count)
    sizes = np.sort([challenge.sizes(rng, count) for _ in range(count)])[::-1] * np.sqrt(
        height * width
    )
    # Each starts in a strip of its own, or one might walk behind another all the time.
    strips = 0.5 + (rng.permutation(count) + rng.uniform(0.2, 0.8, count)) / count  # 0.5 to 1.5
    places = middle * np.stack([strips, rng.uniform(0.95, 1.2, count)], axis=1)  # (M, 2)
    objects = [
        _moving_object(rng, challenge, owner, int(classes[owner]), sizes[owner], pan, place)
        for owner, place in enumerate(places)
    ]
    hidden = objects[int(rng.integers(count))]
    moment = rng.uniform(-0.3, 0.3) * frames
    sprite = render(
        clutter(rng),
        random_coat(rng, saturation=(0.1, 0.4)),
        rng,
        size=sizes[hidden.owner] * rng.uniform(0.6, 1.0),
    )
    meeting = hidden.place + (hidden.velocity - pan) * moment
    occluder = Layer(sprite, OCCLUDER, meeting, pan)
    return classes, objects, [background, *objects[::-1], occluder]


def _moving_object(
    rng: np.random.Generator,
    challenge: Challenge,
    owner: int,
    class_index: int,
    size: float,
    pan: npt.NDArray[np.float64],
    place: npt.NDArray[np.float64],
) -> Layer:
    """An object that is at its place in the middle of the clip, going to either side."""
    sprite = render(
        silhouette(rng, class_index),
        random_coat(rng, saturation=(0.05, 0.55)),
        rng,
        size=size,
        angle=rng.normal(0, challenge.tilt),
        mirrored=bool(rng.random() < 0.5),
        contrast=challenge.contrast(rng),
    )
    speed = size * rng.uniform(0.04, 0.1) * rng.choice([-1, 1])
    return Layer(
        sprite,
        owner,
        place=place,
        velocity=pan + np.array([speed, rng.uniform(-0.2, 0.2) * abs(speed)]),
        growth=rng.normal(0, 0.01),
        turn=rng.normal(0, 0.01),
    )


def _visible(
    objects: Sequence[Layer], owners: npt.NDArray[np.int8], time: float
) -> npt.NDArray[np.float64]:
    """Share of each object that a frame shows, 0 if it is less than `LEAST_VISIBLE`: (M,)."""
    seen = np.array([(owners == layer.owner).sum() for layer in objects])
    whole = np.array([layer.sprite.solid.sum() * layer.size(time) ** 2 for layer in objects])
    share = np.minimum(seen / whole, 1.0)
    return np.where(share < LEAST_VISIBLE, 0.0, share)
