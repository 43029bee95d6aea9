import io
from pathlib import Path

import numpy as np
from PIL import Image

from tag2box.outputs.thumbnails import thumbnail, thumbnails


def saved(path: Path, width: int, height: int, **options: object) -> Path:
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[: height // 2, :, 0] = 255  # red above
    Image.fromarray(pixels).save(path, **options)
    return path


def test_a_thumbnail_is_as_large_as_asked_and_never_larger_than_the_photo(tmp_path: Path) -> None:
    for size, expected in (((400, 200), (100, 50)), ((60, 30), (60, 30)), ((90, 900), (10, 100))):
        small = Image.open(io.BytesIO(thumbnail(saved(tmp_path / "a.jpg", *size), side=100)))
        assert (small.format, small.size) == ("JPEG", expected)


def test_it_is_turned_as_shown_and_says_nothing_else(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    exif[0x010F] = "a camera"
    path = saved(tmp_path / "a.jpg", 64, 48, exif=exif.tobytes())
    small = Image.open(io.BytesIO(thumbnail(path, side=64)))
    assert not small.getexif()
    red = np.asarray(small)[..., 0]
    assert red[40].mean() > 200 > 50 > red[8].mean()


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "b.jpg").write_bytes(b"no photo")
    paths = [saved(tmp_path / "a.jpg", 20, 10), tmp_path / "b.jpg", tmp_path / "none.jpg"]
    seen: list[int] = []
    small = thumbnails(paths, side=8, workers=2, on_photo=lambda: seen.append(1))
    assert [one is None for one in small] == [False, True, True]
    assert len(seen) == 3
    too_large = thumbnails(paths[:1], side=8, max_megapixels=1e-6)
    assert too_large == [None]
