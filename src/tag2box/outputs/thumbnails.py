"""Small JPEGs of photos, to be carried inside a page."""

import io
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from PIL import Image

from tag2box.data.images import glance
from tag2box.errors import InputError

_QUALITY = 72


def thumbnails(
    paths: Sequence[Path],
    *,
    side: int,
    max_megapixels: float = 200.0,
    workers: int = 4,
    on_photo: Callable[[], object] = lambda: None,
) -> list[bytes | None]:
    """A JPEG of each photo as a viewer shows it, None where it cannot be read.

    `side` is the longest in pixels. What the file says besides its pixels (place, camera) stays
    behind. `on_photo` is called once a photo, from several threads.
    """

    def made(path: Path) -> bytes | None:
        try:
            return thumbnail(path, side=side, max_megapixels=max_megapixels)
        except InputError:
            return None
        finally:
            on_photo()

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(made, paths))


def thumbnail(path: Path, *, side: int, max_megapixels: float = 200.0) -> bytes:
    """The JPEG of one photo, no larger than the photo itself."""
    pixels, _ = glance(path, side=side, max_megapixels=max_megapixels)
    small = Image.fromarray(pixels)
    small.thumbnail((side, side), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    small.save(file, "JPEG", quality=_QUALITY, optimize=True)
    return file.getvalue()
