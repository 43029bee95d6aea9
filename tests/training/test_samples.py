"""What a step is given: pixels, and the proposals at the same place in them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from tag2box.structures import Dataset, TaggedImage
from tag2box.training.samples import Samples
from tag2box.training.views import View

WIDTH, HEIGHT = 120, 80
PAINTED = np.array([[24, 20, 60, 40]], np.float32)
"""White on black."""


class OneView:
    def __init__(self, **settings: Any) -> None:
        self.view = View(index=0, image=0, seed=3, **settings)

    def __getitem__(self, index: int) -> View:
        return self.view


def sample_of(folder: Path, *, long_side: int = 2000, light: float = 0.0, **view: Any) -> Any:
    path = folder / "photo.png"
    pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    x1, y1, x2, y2 = PAINTED[0].astype(int)
    pixels[y1:y2, x1:x2] = 255
    Image.fromarray(pixels).save(path)
    dataset = Dataset(("dog",), (TaggedImage(id="photo", path=path, tags=frozenset({0})),))
    samples = Samples(
        dataset,
        OneView(**view),  # type: ignore[arg-type]
        read=lambda photo: np.asarray(Image.open(photo.path)),
        propose=lambda _: PAINTED,
        long_side=long_side,
        light=light,
        cache=None,
    )
    return samples[0]


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("short_side", [40, 80, 160])
def test_proposals_move_with_the_pixels(tmp_path: Path, mirrored: bool, short_side: int) -> None:
    sample = sample_of(tmp_path, short_side=short_side, mirrored=mirrored)
    assert sample.image.shape == (3, short_side, short_side * WIDTH // HEIGHT)
    x1, y1, x2, y2 = sample.boxes[0].round().int().tolist()
    painted = torch.zeros(sample.image.shape[1:])
    painted[y1:y2, x1:x2] = 255
    # Resizing blurs the border of the rectangle by a pixel.
    assert ((sample.image[0].float() - painted).abs() > 128).sum() == 0
    assert (x2 - x1, y2 - y1) == (36 * short_side // 80, 20 * short_side // 80)
    assert (x1 == 24 * short_side // 80) is not mirrored


def test_the_long_side_bounds_the_view(tmp_path: Path) -> None:
    sample = sample_of(tmp_path, short_side=80, mirrored=False, long_side=60)
    assert sample.image.shape == (3, 40, 60)
    torch.testing.assert_close(sample.boxes, torch.from_numpy(PAINTED) / 2)


def test_light_reaches_the_pixels(tmp_path: Path) -> None:
    plain = sample_of(tmp_path, short_side=80, mirrored=False)
    lit = sample_of(tmp_path, short_side=80, mirrored=False, light=1.0)
    assert not torch.equal(plain.image, lit.image)
    torch.testing.assert_close(plain.boxes, lit.boxes)
