"""Places without objects: a sky, something far, a ground that recedes.

No choice here depends on the classes of a scene. Colours are float32 RGB in [0, 1]; H, W pixels.
"""

import numpy as np

from tag2box.data.scene_textures import Image, looked_up, noise

# Sky above, sky at the horizon, far things, ground near, ground far.
_PLACES = {
    "meadow": ((0.35, 0.55, 0.85), (0.8, 0.87, 0.93), (0.25, 0.38, 0.25), (0.3, 0.45, 0.16)),
    "desert": ((0.4, 0.6, 0.88), (0.92, 0.88, 0.8), (0.62, 0.45, 0.34), (0.78, 0.62, 0.42)),
    "snow": ((0.55, 0.65, 0.78), (0.88, 0.9, 0.93), (0.5, 0.56, 0.64), (0.86, 0.88, 0.92)),
    "street": ((0.5, 0.58, 0.68), (0.8, 0.8, 0.8), (0.5, 0.44, 0.4), (0.38, 0.38, 0.4)),
    "room": ((0.72, 0.66, 0.56), (0.66, 0.6, 0.52), (0.5, 0.4, 0.3), (0.5, 0.34, 0.2)),
    "shore": ((0.45, 0.65, 0.85), (0.85, 0.88, 0.9), (0.2, 0.42, 0.5), (0.8, 0.72, 0.55)),
}


def empty_place(rng: np.random.Generator, height: int, width: int) -> tuple[Image, int]:
    """A picture of nowhere in particular and the row of its horizon: (H, W, 3)."""
    name = str(rng.choice(list(_PLACES)))
    tint = rng.normal(0, 0.02, (4, 3))
    above, below, far, ground = np.clip(np.array(_PLACES[name]) + tint, 0.05, 0.97).astype(
        np.float32
    )
    horizon = int(height * rng.uniform(0.22, 0.48))
    picture = np.empty((height, width, 3), np.float32)
    share = np.linspace(0, 1, horizon, dtype=np.float32)[:, None, None]
    clouds = 0.06 * np.clip(noise(rng, "cloud", horizon, width), -0.5, 2.5)[:, :, None]
    picture[:horizon] = above + (below - above) * share + (0 if name == "room" else clouds)
    picture[horizon:] = _ground(rng, ground, below, height - horizon, width)
    if name == "street":
        _houses(rng, picture, horizon, far)
    elif name != "room":
        for nearness in (0.35, 0.7):
            _hills(rng, picture, horizon, below + (far - below) * nearness)
    return picture, horizon


def _ground(rng: np.random.Generator, near: Image, far: Image, height: int, width: int) -> Image:
    """A plane seen from eye height: its texture shrinks, and its colour fades, with distance."""
    row = np.arange(1, height + 1, dtype=np.float32)[:, None]
    distance = height / row  # (H, 1), 1 at the feet of the observer
    across = (np.arange(width)[None, :] - width / 2) * distance
    offset = rng.integers(10_000, size=2)
    rows = np.broadcast_to((200 * distance + offset[0]).astype(np.int64), across.shape)
    columns = (across + offset[1]).astype(np.int64)
    rough = 0.09 * looked_up("rough", rows, columns) + 0.07 * looked_up("grain", rows, columns)
    clear = np.clip(1.6 / distance, 0, 1)
    haze = np.exp(-row / (0.12 * height))[:, :, None]
    textured = near * (1 + (rough * clear)[:, :, None])
    return np.asarray(textured * (1 - 0.6 * haze) + far * 0.6 * haze, dtype=np.float32)


def _hills(rng: np.random.Generator, picture: Image, horizon: int, color: Image) -> None:
    width = picture.shape[1]
    line = horizon * (0.82 - 0.1 * noise(rng, "cloud", 1, width)[0])  # (W,) top of the hills
    inside = np.arange(horizon)[:, None] >= line[None, :]
    leaves = 1 + 0.1 * noise(rng, "rough", horizon, width)[:, :, None]
    picture[:horizon][inside] = (color * leaves)[inside]


def _houses(rng: np.random.Generator, picture: Image, horizon: int, color: Image) -> None:
    left = 0
    while left < picture.shape[1]:
        right = left + int(picture.shape[1] * rng.uniform(0.1, 0.25))
        top = int(horizon * rng.uniform(0.05, 0.7))
        house = picture[top : horizon + 2, left:right]
        wall = np.clip(color * rng.uniform(0.6, 1.4) + rng.normal(0, 0.05, 3), 0.1, 0.9)
        house[:] = wall * (1 + 0.05 * noise(rng, "rough", *house.shape[:2])[:, :, None])
        step = int(rng.integers(9, 16))
        for y in range(4, house.shape[0] - step // 2, step):
            for x in range(4, house.shape[1] - step // 2, step):
                house[y : y + step // 2, x : x + step // 2] = rng.uniform(0.1, 0.6) * wall
        left = right
