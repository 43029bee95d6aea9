"""Any photo a camera, a scanner or a program makes, as the RGB pixels a viewer shows.

H height, W width of the photo as shown, its EXIF rotation applied. Transparent parts are shown
over white. Of a file with several pictures (animation, multi-page TIFF) the first counts. Colour
profiles are not applied.
"""

import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from tag2box.errors import InputError

SUFFIXES = frozenset(
    f".{kind}"
    for kind in (
        *("jpg", "jpeg", "jpe", "jfif", "mpo", "png", "webp", "tif", "tiff"),
        *("bmp", "gif", "ppm", "pgm", "pnm", "jp2", "avif"),
    )
)
"""Names a photo may end in, in lower case."""

# Only pixels: EPS and its like would start another program to be drawn.
_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "PPM", "JPEG2000", "AVIF")
_HEAD = 65536
_ORIENTATION_TAG = 0x0112
_BITS_TAG, _PHOTOMETRIC_TAG, _WHITE_IS_ZERO = 258, 262, 0
_SAYS_ORIENTATION = (b"Exif", b"eXIf", b"Orientation", b"Raw profile type", b"XML:com.adobe.xmp")
_MOST_MISSING = 0.5
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_pillow_limit = threading.Lock()


def read_image(
    path: Path, *, max_megapixels: float = 200.0, tolerate_truncation: bool = True
) -> npt.NDArray[np.uint8]:  # (H, W, 3)
    """The photo as RGB in 0..255, as a viewer shows it.

    A JPEG that is cut off is read with a warning while at least half of its rows are there, unless
    `tolerate_truncation` is off. Safe to call from several threads.

    16-bit greys are scaled by the white level the file states (65535, or 4095 in a 12-bit TIFF).
    Floats in [0, 1] and numbers in [0, 255] keep their meaning; other ranges are stretched from
    their least to their greatest value.
    """
    pixels, missing = _read(path, max_megapixels, tolerate_truncation=tolerate_truncation)
    if missing is not None:
        warnings.warn(f"{path}: is cut off; {missing:.0%} of its rows are missing", stacklevel=2)
    return pixels


def glance(
    path: Path, *, side: int, max_megapixels: float = 200.0
) -> tuple[npt.NDArray[np.uint8], float | None]:  # (h, w, 3)
    """The photo as `read_image` gives it, but JPEGs scaled down where that is quicker.

    No side becomes shorter than `side` by that. With it comes the share of rows missing of a
    photo that is cut off, None when it is whole.
    """
    return _read(path, max_megapixels, tolerate_truncation=True, side=side)


def _read(
    path: Path, max_megapixels: float, *, tolerate_truncation: bool, side: int | None = None
) -> tuple[npt.NDArray[np.uint8], float | None]:
    with _opened(path) as (image, file):
        megapixels = image.width * image.height / 1e6
        if megapixels > max_megapixels:
            raise InputError(
                path,
                f"has {megapixels:.0f} megapixels, the limit is {max_megapixels:g}",
                "scale it down or raise images.max_megapixels",
            )
        missing = None
        try:
            _load(image, side)
        except OSError:
            if not tolerate_truncation or image.format not in ("JPEG", "MPO"):
                raise
            image, missing = _cut_off_jpeg(path, file, side)
        shown = _as_rgb(image)
        if image.format != "TIFF":  # which Pillow turns by itself
            turn = _TURNS.get(_orientation(image))
            shown = shown if turn is None else shown.transpose(turn)
        return np.asarray(shown), missing


def _load(image: Image.Image, side: int | None) -> None:
    if side is not None:
        image.draft(None, (side, side))
    image.load()


def read_image_or_skip(
    path: Path, *, unreadable: Literal["stop", "skip"], max_megapixels: float = 200.0
) -> npt.NDArray[np.uint8] | None:
    """As `read_image`; what cannot be read raises, or with `skip` warns and gives None."""
    try:
        return read_image(path, max_megapixels=max_megapixels)
    except InputError as error:
        if unreadable == "stop":
            raise
        warnings.warn(f"skipped: {error}", stacklevel=2)
        return None


def image_size(path: Path) -> tuple[int, int]:
    """Width and height as shown, from the header of the file."""
    with _opened(path) as (image, _):
        width, height = image.size
        turned_by_pillow = image.format == "TIFF"
    sideways = not turned_by_pillow and stored_orientation(path) >= 5
    return (height, width) if sideways else (width, height)


def stored_orientation(path: Path) -> int:
    """The EXIF orientation, 1 to 8: how the stored pixels must be turned to be shown."""
    with _opened_file(path) as file:
        head = file.read(_HEAD)
        if head.startswith(b"\x89PNG"):
            head += file.read()  # a PNG may say it after its pixels
        whole_header = head.startswith(b"\x89PNG") or (
            head.startswith(b"\xff\xd8") and b"\xff\xda" in head
        )
        if whole_header and not any(mark in head for mark in _SAYS_ORIENTATION):
            return 1  # without the cost of opening the image
    with _opened(path) as (image, _):
        return _orientation(image)


def _orientation(image: Image.Image) -> int:
    try:
        stated = image.getexif().get(_ORIENTATION_TAG, 1)
    except Exception:  # broken EXIF data is no reason to refuse the pixels; viewers ignore it too
        return 1
    return stated if isinstance(stated, int) and 1 <= stated <= 8 else 1


@contextmanager
def _opened_file(path: Path) -> Iterator[IO[bytes]]:
    """The open file; whatever goes wrong with it or within the block is said as an input error."""
    try:
        with path.open("rb") as file:
            yield file
    except InputError:
        raise
    except UnidentifiedImageError:
        raise InputError(
            path, "is not a photo of a kind that can be read", "convert it to JPEG or remove it"
        ) from None
    except Exception as error:  # a broken file makes a decoder raise almost anything
        strerror = getattr(error, "strerror", None)
        problem = f"cannot be read ({strerror})" if strerror else f"cannot be decoded ({error})"
        raise InputError(path, problem, "replace the file or remove it") from None


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Image.Image, IO[bytes]]]:
    with _opened_file(path) as file:
        yield _identified(file), file


def _identified(file: IO[bytes]) -> Image.Image:
    """The image with its header read.

    Pillow's fixed limit of pixels is lifted meanwhile, under a lock, because ours is a setting.
    """
    with _pillow_limit:
        limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            return Image.open(file, formats=_FORMATS)
        finally:
            Image.MAX_IMAGE_PIXELS = limit


def _cut_off_jpeg(path: Path, file: IO[bytes], side: int | None) -> tuple[Image.Image, float]:
    """What is there of a JPEG that ends too early, and the share of rows that is grey instead."""
    file.seek(0)
    end_of_image = b"\xff\xd9"
    image = _identified(io.BytesIO(file.read() + end_of_image))
    _load(image, side)
    stored = np.asarray(image).reshape(image.height, image.width, -1)
    blank = (stored == stored[-1, -1]).all(axis=(1, 2))  # (H,)
    missing = 1.0 if blank.all() else float(np.argmin(blank[::-1])) / image.height
    if missing > _MOST_MISSING:
        raise InputError(
            path, f"is cut off: {missing:.0%} of its rows are missing", "replace it or remove it"
        )
    return image, missing


def _as_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith(("I", "F")):
        return Image.fromarray(_grey_levels(image)).convert("RGB")
    if image.has_transparency_data:
        ground = Image.new("RGBA", image.size, "white")
        ground.alpha_composite(image.convert("RGBA"))
        image = ground
    return image.convert("RGB")


def _grey_levels(image: Image.Image) -> npt.NDArray[np.uint8]:
    """Greys of more than 8 bits as 0..255."""
    values = np.asarray(image).astype(np.float64)
    known = np.isfinite(values)
    low, high = (values[known].min(), values[known].max()) if known.any() else (0.0, 1.0)
    values = np.where(known, values, low)
    tags: dict[int, Any] = dict(getattr(image, "tag_v2", {}))
    if image.mode.startswith("I;16") or image.format == "PPM":
        bits = tags.get(_BITS_TAG, (16,))[0]
        values *= 255.0 / (2.0**bits - 1)
    elif image.mode == "F" and low >= 0 and high <= 1:
        values *= 255.0
    elif low < 0 or high > 255:
        values = (values - low) / ((high - low) or 1.0) * 255.0
    levels = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return 255 - levels if tags.get(_PHOTOMETRIC_TAG) == _WHITE_IS_ZERO else levels
