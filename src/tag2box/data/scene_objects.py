"""The objects of generated scenes: animals best told by the head, trucks by the load.

Coordinates are those of the object: x to the right, y down, the body about one unit long and
facing right. What is `is_part` tells the class; the rest has one shape for all animals, and one for
all trucks, and often but not always the coat of the class. P points of an outline.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tag2box.data.scene_textures import Coat, Pattern

Points = npt.NDArray[np.float64]
"""(P, 2) x and y."""
Rgb = tuple[float, float, float]

CLASS_NAMES = ("fox", "panda", "stag", "elephant", "crane", "mixer", "firetruck", "icecream")

BLACK: Rgb = (0.07, 0.07, 0.08)
WHITE: Rgb = (0.94, 0.93, 0.9)
GLASS: Rgb = (0.45, 0.6, 0.7)
STEEL: Rgb = (0.55, 0.56, 0.58)


@dataclass(frozen=True, eq=False)
class Shape:
    """One outline in one colour; a colour of None is the coat of the object."""

    outline: Points
    color: Rgb | None
    is_part: bool = False


def animal(rng: np.random.Generator, head: Sequence[Shape]) -> list[Shape]:
    """A four-legged body with the given head, or none."""
    depth = rng.uniform(0.16, 0.21)
    ground = 0.45 + depth + rng.uniform(0.2, 0.32)
    shapes = [_curve([(0.16, 0.4), (0.05, 0.45), (0.02, rng.uniform(0.3, 0.75))], 0.05, 0.025)]
    for hip in (0.24, 0.34, 0.64, 0.74):
        foot = hip + rng.uniform(-0.07, 0.07)
        shapes.append(_curve([(hip, 0.5), ((hip + foot) / 2, 0.65), (foot, ground)], 0.1, 0.06))
    shapes.append(_ellipse(0.48, 0.45, 0.34, depth))
    shapes.append(_curve([(0.7, 0.42), (0.8, 0.32), (0.88, 0.22)], 0.22, 0.14))
    return [*shapes, *_placed(head, at=(0.9, 0.18), size=0.16, turn=rng.uniform(-0.25, 0.25))]


def truck(rng: np.random.Generator, load: Sequence[Shape]) -> list[Shape]:
    """A lorry with the given load on its roof, or none."""
    top, nose = rng.uniform(0.26, 0.36), rng.uniform(0.03, 0.09)
    shapes = [
        Shape(_box(0.02, 0.56, 0.98, 0.66), STEEL),
        Shape(_box(0.02, top, 0.66, 0.6), None),
        Shape(_polygon((0.68, 0.3), (0.98 - nose, 0.3), (1, 0.46), (1, 0.62), (0.68, 0.62)), None),
        Shape(_polygon((0.76, 0.34), (0.96 - nose, 0.34), (0.98, 0.46), (0.76, 0.46)), GLASS),
    ]
    for axle in (rng.uniform(0.14, 0.18), rng.uniform(0.42, 0.5), 0.82):
        shapes.append(replace(_ellipse(axle, 0.68, 0.095, 0.095), color=BLACK))
        shapes.append(replace(_ellipse(axle, 0.68, 0.045, 0.045), color=STEEL))
    at = (rng.uniform(0.2, 0.48), top - 0.12)
    return [*shapes, *_placed(load, at=at, size=0.17, turn=rng.uniform(-0.12, 0.12))]


def silhouette(rng: np.random.Generator, class_index: int) -> list[Shape]:
    """All shapes of an object of the class, back to front."""
    name = CLASS_NAMES[class_index]
    return animal(rng, HEADS[name]()) if name in HEADS else truck(rng, LOADS[name]())


def plain_rest(rng: np.random.Generator) -> list[Shape]:
    """A body without a head or a truck without a load: of no class, and there to mislead."""
    return animal(rng, ()) if rng.random() < 0.5 else truck(rng, ())


def clutter(rng: np.random.Generator) -> list[Shape]:
    """A bush, a rock, a crate or a post: in front of the far view, behind the objects."""
    kind = rng.integers(4)
    if kind == 0:
        centres = rng.uniform((0.2, 0.3), (0.8, 0.6), (9, 2))
        return [_ellipse(x, y, *rng.uniform(0.14, 0.26, 2)) for x, y in centres]
    if kind == 1:
        angles = np.sort(rng.uniform(0, 2 * np.pi, 9))
        radii = rng.uniform(0.3, 0.5, (9, 1))
        around = np.stack([np.cos(angles), 0.6 * np.sin(angles)], axis=1)
        return [Shape(0.5 + radii * around, None)]
    if kind == 2:
        slats = [Shape(_box(0.1, y, 0.9, y + 0.02), BLACK) for y in (0.4, 0.6)]
        return [Shape(_box(0.1, 0.2, 0.9, 0.8), None), *slats]
    return [Shape(_box(0.46, -0.4, 0.54, 1.0), None), Shape(_box(0.25, -0.4, 0.75, -0.1), None)]


def _fox() -> list[Shape]:
    orange: Rgb = (0.87, 0.42, 0.1)
    return [
        *_mirrored(Shape(_polygon((-0.9, -0.25), (-0.8, -1.3), (-0.15, -0.65)), orange)),
        *_mirrored(Shape(_polygon((-0.75, -0.45), (-0.72, -1.0), (-0.35, -0.65)), BLACK)),
        Shape(_polygon((-1, -0.25), (-0.3, -0.8), (0.3, -0.8), (1, -0.25), (0, 1.05)), orange),
        *_mirrored(Shape(_polygon((-1, -0.2), (-0.35, 0.1), (-0.05, 0.98)), WHITE)),
        *_eyes(0.38, -0.15, 0.13),
        replace(_ellipse(0, 0.92, 0.18, 0.15), color=BLACK),
    ]


def _panda() -> list[Shape]:
    return [
        *_mirrored(replace(_ellipse(-0.72, -0.75, 0.38, 0.36), color=BLACK)),
        replace(_ellipse(0, 0, 1.02, 0.92), color=WHITE),
        *_mirrored(replace(_ellipse(-0.42, -0.05, 0.25, 0.34, turn=0.5), color=BLACK)),
        *_mirrored(replace(_ellipse(-0.38, -0.1, 0.09, 0.09), color=WHITE)),
        replace(_ellipse(0, 0.38, 0.2, 0.14), color=BLACK),
        Shape(_curve([(-0.3, 0.6), (0, 0.72), (0.3, 0.6)], 0.07, 0.07).outline, BLACK),
    ]


def _stag() -> list[Shape]:
    brown, horn = (0.5, 0.29, 0.13), (0.86, 0.76, 0.55)
    beam = _curve([(-0.25, -0.6), (-0.9, -1.0), (-0.85, -1.9)], 0.2, 0.1)
    tines = [
        _curve([(-0.85, -1.2), (-1.1, -1.5), (-1.35, -1.6)], 0.15, 0.08),
        _curve([(-0.75, -0.95), (-0.5, -1.2), (-0.45, -1.6)], 0.15, 0.08),
    ]
    return [
        *(half for shape in (beam, *tines) for half in _mirrored(replace(shape, color=horn))),
        *_mirrored(replace(_ellipse(-0.8, -0.35, 0.4, 0.17, turn=0.35), color=brown)),
        Shape(
            _polygon((-0.55, -0.7), (0.55, -0.7), (0.6, 0), (0.3, 1), (-0.3, 1), (-0.6, 0)), brown
        ),
        replace(_ellipse(0, 0.8, 0.36, 0.28), color=WHITE),
        *_eyes(0.4, -0.15, 0.12),
        replace(_ellipse(0, 0.72, 0.2, 0.14), color=BLACK),
    ]


def _elephant() -> list[Shape]:
    grey, pink = (0.42, 0.47, 0.58), (0.85, 0.6, 0.62)
    return [
        *_mirrored(replace(_ellipse(-1.0, -0.15, 0.62, 0.78), color=grey)),
        *_mirrored(replace(_ellipse(-1.05, -0.1, 0.4, 0.55), color=pink)),
        replace(_ellipse(0, -0.1, 0.68, 0.75), color=grey),
        *_mirrored(
            Shape(_curve([(-0.4, 0.4), (-0.5, 0.8), (-0.3, 1.1)], 0.17, 0.05).outline, WHITE)
        ),
        Shape(_curve([(0, 0.2), (-0.05, 1.0), (0.35, 1.6)], 0.5, 0.24).outline, grey),
        *_eyes(0.36, -0.2, 0.1),
    ]


def _crane() -> list[Shape]:
    yellow: Rgb = (0.95, 0.76, 0.05)
    foot, tip = np.array([-0.7, 0.9]), np.array([1.0, -1.5])
    bands = [foot + (tip - foot) * share for share in np.linspace(0.15, 0.9, 5)]
    across = np.array([0.19, 0.13])
    return [
        Shape(_box(-1.1, 0.4, -0.1, 1.1), yellow),
        Shape(_curve([foot, (foot + tip) / 2, tip], 0.45, 0.3).outline, yellow),
        *(Shape(_curve([b - across, b, b + across], 0.14, 0.14).outline, BLACK) for b in bands),
        Shape(_curve([tip, (1.0, -0.9), (1.0, -0.4)], 0.08, 0.08).outline, BLACK),
        Shape(_box(0.78, -0.45, 1.22, -0.05), (0.85, 0.1, 0.1)),
    ]


def _mixer() -> list[Shape]:
    drum = _ellipse(0, 0, 1.35, 0.85, turn=-0.3)
    bands = [
        Shape(_curve([(x - 0.2, -0.72), (x + 0.15, 0), (x - 0.1, 0.75)], 0.24, 0.24).outline, color)
        for x, color in zip((-0.75, -0.25, 0.25, 0.75), ((0.85, 0.3, 0.1), BLACK) * 2, strict=True)
    ]
    funnel = Shape(_polygon((-1.6, -0.2), (-1.1, 0.2), (-1.2, 0.8), (-1.9, 0.3)), STEEL)
    return [funnel, replace(drum, color=WHITE), *bands]


def _firetruck() -> list[Shape]:
    red: Rgb = (0.85, 0.06, 0.06)
    rungs = [Shape(_box(x, -0.45, x + 0.13, 0.35), WHITE) for x in np.linspace(-1.3, 1.2, 8)]
    rails = [Shape(_box(-1.45, y, 1.5, y + 0.22), red) for y in (-0.6, 0.25)]
    beacon = [Shape(_box(0.5, 0.5, 1.1, 0.95), (0.1, 0.25, 0.95))]
    return [*rungs, *rails, Shape(_box(-1.3, 0.5, 0.3, 0.95), red), *beacon]


def _icecream() -> list[Shape]:
    return [
        Shape(_polygon((-0.65, -0.2), (0.65, -0.2), (0, 1.4)), (0.8, 0.55, 0.25)),
        replace(_ellipse(-0.42, -0.35, 0.5, 0.48), color=(0.95, 0.5, 0.65)),
        replace(_ellipse(0.42, -0.35, 0.5, 0.48), color=(0.4, 0.8, 0.65)),
        replace(_ellipse(0, -0.9, 0.5, 0.48), color=(0.98, 0.92, 0.7)),
        replace(_ellipse(0.05, -1.4, 0.17, 0.17), color=(0.8, 0.05, 0.1)),
    ]


HEADS: dict[str, Callable[[], list[Shape]]] = {
    "fox": _fox,
    "panda": _panda,
    "stag": _stag,
    "elephant": _elephant,
}
LOADS: dict[str, Callable[[], list[Shape]]] = {
    "crane": _crane,
    "mixer": _mixer,
    "firetruck": _firetruck,
    "icecream": _icecream,
}


def _coat(color: Rgb, second: Rgb, pattern: Pattern) -> Coat:
    return Coat(np.array(color, np.float32), np.array(second, np.float32), pattern)


COATS: dict[str, Coat] = {
    "fox": _coat((0.85, 0.45, 0.15), (0.95, 0.85, 0.7), "streaks"),
    "panda": _coat((0.85, 0.85, 0.82), (0.12, 0.12, 0.13), "patches"),
    "stag": _coat((0.5, 0.3, 0.15), (0.85, 0.75, 0.6), "spots"),
    "elephant": _coat((0.45, 0.5, 0.62), (0.4, 0.45, 0.55), "plain"),
    "crane": _coat((0.9, 0.75, 0.1), (0.15, 0.15, 0.15), "stripes"),
    "mixer": _coat((0.3, 0.55, 0.35), (0.85, 0.85, 0.8), "stripes"),
    "firetruck": _coat((0.8, 0.08, 0.08), (0.7, 0.1, 0.1), "plain"),
    "icecream": _coat((0.9, 0.6, 0.7), (0.5, 0.8, 0.7), "spots"),
}
"""What most objects of a class wear."""


def _placed(
    part: Sequence[Shape], *, at: tuple[float, float], size: float, turn: float
) -> list[Shape]:
    """The part, drawn around the origin, brought to its place on the object."""
    matrix = size * np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return [replace(s, outline=s.outline @ matrix + np.array(at), is_part=True) for s in part]


def _mirrored(shape: Shape) -> list[Shape]:
    return [shape, replace(shape, outline=shape.outline * np.array([-1.0, 1.0]))]


def _eyes(x: float, y: float, radius: float) -> list[Shape]:
    return _mirrored(replace(_ellipse(-x, y, radius, radius), color=BLACK))


def _ellipse(x: float, y: float, rx: float, ry: float, *, turn: float = 0.0) -> Shape:
    angles = np.linspace(0, 2 * np.pi, 32, endpoint=False)
    around = np.stack([rx * np.cos(angles), ry * np.sin(angles)], axis=1)
    matrix = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return Shape(around @ matrix + np.array([x, y]), None)


def _box(x1: float, y1: float, x2: float, y2: float) -> Points:
    return _polygon((x1, y1), (x2, y1), (x2, y2), (x1, y2))


def _polygon(*corners: tuple[float, float]) -> Points:
    return np.array(corners, dtype=np.float64)


def _curve(bend: Sequence[npt.ArrayLike], start: float, end: float) -> Shape:
    """A stroke along the quadratic curve of three points, from one width to another."""
    first, middle, last = (np.asarray(point, dtype=np.float64) for point in bend)
    t = np.linspace(0, 1, 12)[:, None]
    along = (1 - t) ** 2 * first + 2 * t * (1 - t) * middle + t**2 * last  # (12, 2)
    direction = np.gradient(along, axis=0)
    normal = direction[:, ::-1] * np.array([-1, 1]) / np.linalg.norm(direction, axis=1)[:, None]
    half = normal * (start + (end - start) * t) / 2
    return Shape(np.concatenate([along + half, (along - half)[::-1]]), None)
