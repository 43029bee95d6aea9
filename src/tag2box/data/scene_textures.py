"""Noise tiles and the coats painted from them: why a generated picture looks taken, not drawn.

Colours are float32 RGB in [0, 1]. H, W pixels of the piece asked for.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.float32]
"""(H, W, 3) in [0, 1], or one number a pixel (H, W)."""
Noise = Literal["cloud", "rough", "grain", "streak", "blob"]
Pattern = Literal["plain", "streaks", "patches", "spots", "stripes"]

TILE = 512
PATTERNS: tuple[Pattern, ...] = ("plain", "streaks", "patches", "spots", "stripes")
# The fall of the spectrum (natural images fall with about 1) and the stretch of either axis.
_SPECTRA: dict[Noise, tuple[float, float, float, float]] = {
    # falls with, longest wave (cycles a tile), stretch in x, in y
    "cloud": (1.8, 1, 1, 2),
    "rough": (1.2, 4, 1, 1),
    "grain": (0.6, 24, 1, 1),
    "streak": (0.9, 20, 3, 1),
    "blob": (3.0, 14, 1, 1),
}


@dataclass(frozen=True)
class Coat:
    """Fur or paint of one object."""

    color: Image
    """(3,)."""
    second: Image
    """(3,) of the spots, stripes or patches."""
    pattern: Pattern


@cache
def _tile(kind: Noise) -> Image:
    """Periodic noise of mean 0 and deviation 1, the same in every run: (TILE, TILE)."""
    fall, longest, stretch_x, stretch_y = _SPECTRA[kind]
    rng = np.random.default_rng([sum(kind.encode()), TILE])
    y = np.fft.fftfreq(TILE)[:, None] * TILE / stretch_y
    x = np.fft.rfftfreq(TILE)[None, :] * TILE / stretch_x
    frequency = np.hypot(x, y)
    strength = np.where(frequency >= longest, np.maximum(frequency, 1) ** -(fall + 0.5), 0.0)
    phase = np.exp(2j * np.pi * rng.random(frequency.shape))
    tile = np.fft.irfft2(strength * phase, s=(TILE, TILE))
    return np.asarray(tile / tile.std(), dtype=np.float32)


def noise(rng: np.random.Generator, kind: Noise, height: int, width: int) -> Image:
    """A window at a random place of a tile, mean about 0, deviation about 1: (H, W)."""
    top, left = rng.integers(TILE, size=2)
    rows = np.arange(top, top + height) % TILE
    columns = np.arange(left, left + width) % TILE
    return np.asarray(_tile(kind)[rows[:, None], columns])


def looked_up(kind: Noise, rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64]) -> Image:
    """The tile read at any coordinates, which wrap around: (H, W), (H, W) -> (H, W)."""
    return _tile(kind)[rows % TILE, columns % TILE]


def random_color(rng: np.random.Generator, *, saturation: tuple[float, float]) -> Image:
    """Any hue, neither black nor white: (3,)."""
    value = rng.uniform(0.3, 0.9)
    hue = rng.random() + np.array([0.0, 1 / 3, 2 / 3])
    pure = np.clip(np.abs(hue % 1.0 * 6 - 3) - 1, 0, 1)
    return np.asarray(value * (1 - rng.uniform(*saturation) * (1 - pure)), dtype=np.float32)


def random_coat(rng: np.random.Generator, *, saturation: tuple[float, float]) -> Coat:
    """Colours and pattern that do not depend on the class of whoever wears them."""
    color = random_color(rng, saturation=saturation)
    second = random_color(rng, saturation=saturation)
    return Coat(color, second, PATTERNS[rng.integers(len(PATTERNS))])


def varied(rng: np.random.Generator, coat: Coat) -> Coat:
    """The same coat as another one of its kind would wear it: of another light and tone."""
    light = rng.uniform(0.7, 1.1)
    color, second = (
        np.asarray(np.clip(light * one + rng.normal(0, 0.04, 3), 0, 1), dtype=np.float32)
        for one in (coat.color, coat.second)
    )
    return Coat(color, second, coat.pattern)


def painted(coat: Coat, rng: np.random.Generator, height: int, width: int, size: float) -> Image:
    """A sheet of the coat for an object `size` pixels long: (H, W, 3)."""
    wave = 2 * np.pi / (size * rng.uniform(0.06, 0.14))
    share: npt.NDArray[np.bool_]
    match coat.pattern:
        case "patches":
            share = noise(rng, "blob", height, width) > 0.5
        case "spots":
            rows, columns = np.indices((height, width))
            wobble = 0.6 * noise(rng, "rough", height, width)
            share = np.sin(rows * wave + wobble) * np.sin(columns * wave + wobble) > 0.45
        case "stripes":
            columns = np.broadcast_to(np.arange(width), (height, width))
            share = np.sin(columns * wave + 1.2 * noise(rng, "rough", height, width)) > 0.2
        case "plain" | "streaks":
            share = np.zeros((height, width), bool)
    kind: Noise = "streak" if coat.pattern == "streaks" else "grain"
    depth = 0.16 if coat.pattern == "streaks" else 0.07
    sheet = coat.color + (coat.second - coat.color) * share[:, :, None]
    grained = sheet * (1 + depth * noise(rng, kind, height, width)[:, :, None])
    return np.asarray(grained, dtype=np.float32)
