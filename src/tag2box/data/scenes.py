"""Generated photos in which every box is known, to make the three problems of the paper measurable.

Each object has a small part that surely tells its class and a rest that tells it less surely, as
some objects wear any coat, so a detector is tempted to box the part; instances of one class touch,
so it is tempted to box the group; and there are several of them in all sizes, so it is tempted to
miss some.

Boxes are xyxy, 0-based, x2/y2 exclusive, in pixels of the scene, around what is visible.
M objects, H, W pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tag2box.data.scene_backgrounds import empty_place
from tag2box.data.scene_camera import Camera
from tag2box.data.scene_objects import CLASS_NAMES, COATS, clutter, plain_rest, silhouette
from tag2box.data.scene_rendering import Sprite, overlap, paste, render, shadow
from tag2box.data.scene_textures import Coat, Image, random_coat, varied

MAX_CLASSES, MAX_OBJECTS = 3, 5
_TRIES = 12  # places tried for an object before the scene does without it
_NOBODY = -1


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture and all that is true about it. Only evaluation may look at more than the tags."""

    image: npt.NDArray[np.uint8]
    """(H, W, 3) RGB."""
    classes: npt.NDArray[np.int64]
    """(M,) indexes into `CLASS_NAMES`."""
    boxes: npt.NDArray[np.float64]
    """(M, 4) around the visible pixels of each object."""
    part_boxes: npt.NDArray[np.float64]
    """(M, 4) around the visible pixels of the part that tells its class."""
    clusters: npt.NDArray[np.int64]
    """(M,) touching objects of one class share a number."""
    owners: npt.NDArray[np.int8]
    """(H, W) the object a pixel shows, -1 where none."""
    parts: npt.NDArray[np.bool_]
    """(H, W) whether the pixel shows the discriminative part of its owner."""

    @property
    def tags(self) -> frozenset[int]:
        """The classes present: what a person would have written under the photo."""
        return frozenset(self.classes.tolist())


@dataclass(frozen=True)
class Challenge:
    """What a difficulty from 0 to 1 means for the objects of a scene."""

    difficulty: float

    def __post_init__(self) -> None:
        assert 0 <= self.difficulty <= 1, f"difficulty is from 0 to 1, not {self.difficulty}"

    def sizes(self, rng: np.random.Generator, count: int) -> float:
        """Length of a body, as a share of the side of the picture; less where there are many."""
        low, high = 0.38 - 0.24 * self.difficulty, min(0.58, 0.95 / np.sqrt(count))
        return float(np.exp(rng.uniform(np.log(low), np.log(max(low, high)))))

    @property
    def least_visible(self) -> float:
        """Share of an object, and of its part, that the others and the border leave to be seen."""
        return 0.95 - 0.5 * self.difficulty

    @property
    def clustered(self) -> float:
        """How often instances of one class stand together."""
        return 0.3 + 0.5 * self.difficulty

    @property
    def tilt(self) -> float:
        """Standard deviation of the angle of an object, in radians."""
        return 0.05 + 0.15 * self.difficulty

    @property
    def disguised(self) -> float:
        """How likely an object wears any coat instead of that of its class."""
        return self.difficulty**2

    @property
    def decoy(self) -> float:
        """How likely each of two bodies without a telling part is."""
        return 0.6 * self.difficulty

    @property
    def clutter(self) -> int:
        """Most bushes, rocks, crates and posts."""
        return 2 + round(6 * self.difficulty)

    @property
    def grain(self) -> float:
        """Standard deviation of the noise of the sensor."""
        return 0.006 + 0.02 * self.difficulty

    def contrast(self, rng: np.random.Generator) -> float:
        """How much of its own colour a part keeps."""
        return float(1 - 0.6 * self.difficulty * rng.random())


def make_scene(
    index: int, *, seed: int = 0, width: int = 320, height: int = 240, difficulty: float = 0.5
) -> Scene:
    """Scene `index` of a seed, the same whichever scenes are made before or beside it.

    Difficulty runs from 0 (large objects, apart, little else) to 1 (small, hidden, faint parts,
    many distractors).
    """
    rng = np.random.default_rng([seed, index])
    challenge = Challenge(difficulty)
    light = (float(rng.uniform(-0.7, 0.7)), -0.85)
    picture, horizon = empty_place(rng, height, width)
    stage = _Stage(rng, challenge, light, picture, horizon)
    stage.scatter_clutter()
    for class_index, count, together in _cast(rng, challenge):
        stage.add_instances(class_index, count, together=together)
    for _ in range(2):
        if rng.random() < challenge.decoy:
            stage.add_decoy()
    stage.paint()
    return Scene(
        image=Camera(rng, grain=challenge.grain).photo(rng, picture),
        classes=np.array([o.class_index for o in stage.objects], dtype=np.int64),
        boxes=extents(stage.owners, len(stage.objects)),
        part_boxes=extents(np.where(stage.parts, stage.owners, _NOBODY), len(stage.objects)),
        clusters=np.array([o.cluster for o in stage.objects], dtype=np.int64),
        owners=stage.owners,
        parts=stage.parts,
    )


def extents(owners: npt.NDArray[np.int8], count: int) -> npt.NDArray[np.float64]:
    """The box around the pixels of each owner, all 0 for one without pixels: (H, W) -> (M, 4)."""
    boxes = np.zeros((count, 4))
    for owner in range(count):
        rows, columns = (np.flatnonzero((owners == owner).any(axis=axis)) for axis in (1, 0))
        if len(rows):
            boxes[owner] = columns[0], rows[0], columns[-1] + 1, rows[-1] + 1
    return boxes


def _cast(rng: np.random.Generator, challenge: Challenge) -> list[tuple[int, int, bool]]:
    """Who appears: class, how many, and whether they stand together; 1 to 5 objects in all."""
    objects = int(rng.integers(1, MAX_OBJECTS + 1))
    kinds = int(rng.integers(1, min(MAX_CLASSES, objects) + 1))
    counts = 1 + rng.multinomial(objects - kinds, np.full(kinds, 1 / kinds))
    chosen = rng.choice(len(CLASS_NAMES), kinds, replace=False)
    together = rng.random(kinds) < challenge.clustered
    return list(zip(chosen.tolist(), counts.tolist(), together.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class _Placed:
    sprite: Sprite
    x: int
    y: int
    class_index: int
    cluster: int


class _Stage:
    """A scene being set, from the front to the back: who comes later stands behind."""

    def __init__(
        self,
        rng: np.random.Generator,
        challenge: Challenge,
        light: tuple[float, float],
        picture: Image,
        horizon: int,
    ) -> None:
        self.rng, self.challenge, self.light = rng, challenge, light
        self.picture, self.horizon = picture, horizon
        self.side = float(np.sqrt(picture.shape[0] * picture.shape[1]))
        self.owners = np.full(picture.shape[:2], _NOBODY, np.int8)
        self.parts = np.zeros(picture.shape[:2], bool)
        self.objects: list[_Placed] = []
        self.decoys: list[_Placed] = []

    def add_instances(self, class_index: int, count: int, *, together: bool) -> None:
        """Objects of one class, anywhere or side by side, as many as find a place."""
        size = self.challenge.sizes(self.rng, count)
        neighbour: _Placed | None = None
        for _ in range(count):
            sprite = self._sprite(class_index, size * self.rng.uniform(0.9, 1.1))
            placed = self._find_place(sprite, class_index, neighbour)
            if placed is not None:
                self._take(placed)
                neighbour = placed if together else None
            if not together:
                size = self.challenge.sizes(self.rng, count)

    def add_decoy(self) -> None:
        """A plain rest of no class, behind everyone."""
        sprite = self._sprite(None, self.challenge.sizes(self.rng, 3))
        x, y = self._anywhere(sprite)
        self.decoys.append(_Placed(sprite, x, y, _NOBODY, _NOBODY))

    def scatter_clutter(self) -> None:
        """Things of no interest, painted at once because everybody stands before them."""
        for _ in range(self.rng.integers(self.challenge.clutter + 1)):
            green = Coat(
                np.array(self.rng.uniform((0.1, 0.15, 0.05), (0.45, 0.45, 0.4)), np.float32),
                np.array(self.rng.uniform(0.1, 0.5, 3), np.float32),
                "streaks",
            )
            size = self.side * self.rng.uniform(0.06, 0.3)
            sprite = render(clutter(self.rng), green, self.rng, size=size, light=self.light)
            x, y = self._anywhere(sprite)
            shadow(self.picture, sprite, x, y, 0.35)
            paste(self.picture, sprite, x, y)

    def paint(self) -> None:
        """Everyone into the picture, the last first."""
        for placed in reversed([*self.objects, *self.decoys]):
            shadow(self.picture, placed.sprite, placed.x, placed.y, 0.45)
            paste(self.picture, placed.sprite, placed.x, placed.y)

    def _sprite(self, class_index: int | None, size: float) -> Sprite:
        rng = self.rng
        shapes = plain_rest(rng) if class_index is None else silhouette(rng, class_index)
        return render(
            shapes,
            self._coat(class_index),
            rng,
            size=size * self.side,
            angle=rng.normal(0, self.challenge.tilt),
            mirrored=bool(rng.random() < 0.5),
            light=self.light,
            contrast=self.challenge.contrast(rng),
        )

    def _coat(self, class_index: int | None) -> Coat:
        if class_index is None or self.rng.random() < self.challenge.disguised:
            return random_coat(self.rng, saturation=(0.05, 0.55))
        return varied(self.rng, COATS[CLASS_NAMES[class_index]])

    def _find_place(
        self, sprite: Sprite, class_index: int, neighbour: _Placed | None
    ) -> _Placed | None:
        for _ in range(_TRIES):
            x, y = self._beside(sprite, neighbour) if neighbour else self._anywhere(sprite)
            body, part = self._visible(sprite.solid, x, y), self._visible(sprite.part, x, y)
            if min(body, part) >= self.challenge.least_visible:
                cluster = neighbour.cluster if neighbour else len(self.objects)
                return _Placed(sprite, x, y, class_index, cluster)
        return None

    def _anywhere(self, sprite: Sprite) -> tuple[int, int]:
        """Standing on the ground, mostly inside the picture."""
        height, width = sprite.alpha.shape
        bottom, right = self.picture.shape[:2]
        feet = self.rng.uniform(max(self.horizon + 0.15 * bottom, 0.95 * height), 1.02 * bottom)
        x = self.rng.uniform(-0.1 * width, right - 0.9 * width)
        return int(x), int(feet - height)

    def _beside(self, sprite: Sprite, neighbour: _Placed) -> tuple[int, int]:
        """Touching the neighbour, a little further back."""
        height, width = sprite.alpha.shape
        other_height, other_width = neighbour.sprite.alpha.shape
        share = self.rng.uniform(0.6, 0.95)
        x = neighbour.x + share * (other_width if self.rng.random() < 0.5 else -width)
        feet = neighbour.y + other_height - self.rng.uniform(-0.05, 0.2) * height
        return int(x), int(feet - height)

    def _visible(self, pixels: npt.NDArray[np.bool_], x: int, y: int) -> float:
        """Share of the pixels that fall into the picture and on nobody."""
        into, of = overlap(self.owners.shape, pixels.shape, x, y)
        return float((pixels[of] & (self.owners[into] == _NOBODY)).sum() / pixels.sum())

    def _take(self, placed: _Placed) -> None:
        into, of = overlap(self.owners.shape, placed.sprite.alpha.shape, placed.x, placed.y)
        free = placed.sprite.solid[of] & (self.owners[into] == _NOBODY)
        self.owners[into][free] = len(self.objects)
        self.parts[into] |= free & placed.sprite.part[of]
        self.objects.append(placed)
