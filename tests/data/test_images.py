import io
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from tag2box.data.images import image_size, read_image, read_image_or_skip, stored_orientation
from tag2box.errors import InputError

PHOTOS = Path(__file__).parents[2].parent / "shared" / "voc-mini" / "JPEGImages"


def smooth(height: int = 40, width: int = 64) -> np.ndarray:
    """Soft colours, so that a JPEG of them is near the original."""
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([3 * x, 5 * y, 255 - 2 * x], axis=2).astype(np.uint8)


def saved(path: Path, image: Image.Image | np.ndarray, **options: object) -> Path:
    if isinstance(image, np.ndarray):
        image = Image.fromarray(image)
    image.save(path, **options)
    return path


def exif(orientation: int) -> Image.Exif:
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags


@pytest.mark.parametrize("suffix", ["png", "bmp", "ppm", "tif", "webp", "jp2"])
def test_lossless_kinds_are_read_to_the_pixel(tmp_path: Path, suffix: str) -> None:
    options = {"webp": {"lossless": True}, "jp2": {"irreversible": False}}.get(suffix, {})
    path = saved(tmp_path / f"a.{suffix}", smooth(), **options)
    np.testing.assert_array_equal(read_image(path), smooth())
    assert image_size(path) == (64, 40)


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}])
def test_jpegs_are_read(tmp_path: Path, options: dict[str, object]) -> None:
    path = saved(tmp_path / "a.jpg", smooth(), quality=95, **options)
    assert np.abs(read_image(path).astype(int) - smooth()).mean() < 3


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "webp"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_photos_are_turned_as_a_viewer_turns_them(
    tmp_path: Path, suffix: str, orientation: int
) -> None:
    path = saved(tmp_path / f"a.{suffix}", smooth(), exif=exif(orientation))
    expected = np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))
    np.testing.assert_array_equal(read_image(path), expected)
    assert image_size(path) == expected.shape[1::-1]
    assert stored_orientation(path) == orientation


def test_an_orientation_behind_the_pixels_of_a_png_counts(tmp_path: Path) -> None:
    plain = saved(tmp_path / "plain.png", smooth()).read_bytes()
    turned = saved(tmp_path / "turned.png", smooth(), exif=exif(6)).read_bytes()
    start = turned.index(b"eXIf") - 4
    chunk = turned[start : start + 12 + int.from_bytes(turned[start : start + 4])]
    end = plain.index(b"IEND") - 4
    path = tmp_path / "behind.png"
    path.write_bytes(plain[:end] + chunk + plain[end:])
    assert stored_orientation(path) == 6
    assert image_size(path) == (40, 64)
    assert read_image(path).shape == (64, 40, 3)


@pytest.mark.parametrize("bad", [b"Exif\0\0garbage", b"Exif\0\0II*\0\xff\xff\xff\xff"])
def test_broken_exif_does_not_lose_the_photo(tmp_path: Path, bad: bytes) -> None:
    path = saved(tmp_path / "a.jpg", smooth(), exif=bad)
    assert stored_orientation(path) == 1
    assert read_image(path).shape == (40, 64, 3)


def test_greys_and_bilevel_become_rgb(tmp_path: Path) -> None:
    grey = smooth()[:, :, 0]
    shown = read_image(saved(tmp_path / "grey.png", grey))
    np.testing.assert_array_equal(shown, np.repeat(grey[:, :, None], 3, axis=2))
    bilevel = read_image(saved(tmp_path / "b.png", Image.fromarray(grey > 90)))
    np.testing.assert_array_equal(bilevel[:, :, 1], np.where(grey > 90, 255, 0))


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bit_greys_are_scaled(tmp_path: Path, suffix: str) -> None:
    levels = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    shown = read_image(saved(tmp_path / f"a.{suffix}", levels))
    np.testing.assert_array_equal(shown[:, :, 0], np.rint(levels / 257.0))


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (np.array([[0.0, 0.5, 1.0]]), [0, 128, 255]),
        (np.array([[0.0, 17.0, 200.0]]), [0, 17, 200]),
        (np.array([[-100.0, 0.0, 100.0]]), [0, 128, 255]),
        (np.array([[0.0, np.nan, 1.0]]), [0, 0, 255]),
        (np.array([[700.0, np.nan, 900.0]]), [0, 0, 255]),
        (np.array([[700.0, 700.0, 700.0]]), [0, 0, 0]),
        (np.array([[0, 5001, 10000]], dtype=np.int32), [0, 128, 255]),
    ],
)
def test_wide_numbers_are_brought_to_bytes(
    tmp_path: Path, stored: np.ndarray, expected: list[int]
) -> None:
    stored = stored if stored.dtype == np.int32 else stored.astype(np.float32)
    shown = read_image(saved(tmp_path / "a.tif", stored))
    assert shown[0, :, 0].tolist() == expected


@pytest.mark.parametrize("white_is_zero", [False, True])
def test_the_white_level_of_a_tiff_is_honoured(tmp_path: Path, white_is_zero: bool) -> None:
    """Twelve bits in each sample, packed, or sixteen with white as zero."""
    if white_is_zero:
        path = saved(tmp_path / "a.tif", np.array([[0, 65535]], np.uint16))
        content = path.read_bytes()
        stated = (262).to_bytes(2, "little") + (3).to_bytes(2, "little") + (1).to_bytes(4, "little")
        assert content.count(stated) == 1
        value = content.index(stated) + len(stated)
        path.write_bytes(content[:value] + b"\0\0" + content[value + 2 :])
        assert read_image(path)[0, :, 0].tolist() == [255, 0]
        return
    path = tmp_path / "a.tif"
    tags = {256: 2, 257: 1, 258: 12, 259: 1, 262: 1, 273: 122, 277: 1, 278: 1, 279: 3}
    entries = b"".join(
        tag.to_bytes(2, "little") + b"\3\0\1\0\0\0" + value.to_bytes(4, "little")
        for tag, value in tags.items()
    )
    header = b"II*\0\x08\0\0\0" + len(tags).to_bytes(2, "little") + entries + b"\0\0\0\0"
    path.write_bytes(header + bytes([0x80, 0x0F, 0xFF]))  # 0x800 and 0xFFF
    assert len(header) == 122
    assert read_image(path)[0, :, 0].tolist() == [128, 255]


def test_a_sixteen_bit_pgm_is_scaled(tmp_path: Path) -> None:
    path = tmp_path / "a.pgm"
    path.write_bytes(b"P5 2 1 65535\n" + np.array([257, 65535], ">u2").tobytes())
    assert read_image(path)[0, :, 0].tolist() == [1, 255]


def test_transparent_parts_are_white(tmp_path: Path) -> None:
    rgba = np.zeros((2, 2, 4), np.uint8)
    rgba[0, 0] = [200, 10, 10, 255]
    rgba[0, 1] = [0, 0, 0, 128]
    shown = read_image(saved(tmp_path / "rgba.png", rgba))
    assert shown[0, 0].tolist() == [200, 10, 10]
    assert shown[0, 1].tolist() == [127, 127, 127]
    assert shown[1, 1].tolist() == [255, 255, 255]

    palette = Image.new("P", (2, 1), 0)
    palette.putpalette([9, 8, 7, 50, 60, 70])
    palette.putpixel((1, 0), 1)
    shown = read_image(saved(tmp_path / "p.png", palette, transparency=0))
    assert shown[0].tolist() == [[255, 255, 255], [50, 60, 70]]


def test_cmyk_and_its_inversion_by_adobe(tmp_path: Path) -> None:
    cmyk = Image.fromarray(smooth()).convert("CMYK")
    for path in (saved(tmp_path / "a.jpg", cmyk, quality=95), saved(tmp_path / "a.tif", cmyk)):
        assert np.abs(read_image(path).astype(int) - smooth()).mean() < 4, path.name


@pytest.mark.parametrize("suffix", ["gif", "tif", "webp"])
def test_the_first_of_several_pictures_counts(tmp_path: Path, suffix: str) -> None:
    first, second = Image.new("RGB", (8, 6), (250, 0, 0)), Image.new("RGB", (8, 6), (0, 0, 250))
    path = saved(tmp_path / f"a.{suffix}", first, save_all=True, append_images=[second])
    assert np.abs(read_image(path)[0, 0].astype(int) - [250, 0, 0]).max() < 8


@pytest.mark.parametrize("progressive", [False, True])
def test_a_jpeg_cut_off_a_little_is_read_with_a_warning(tmp_path: Path, progressive: bool) -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (200, 80, 3), dtype=np.uint8)
    path = saved(tmp_path / "a.jpg", noise, progressive=progressive)
    whole = read_image(path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * 0.8)])
    with pytest.warns(UserWarning, match=r"a\.jpg: is cut off"):
        cut = read_image(path)
    assert cut.shape == whole.shape
    if not progressive:
        np.testing.assert_array_equal(cut[:120], whole[:120])
    with pytest.raises(InputError, match=r"a\.jpg.*truncated"):
        read_image(path, tolerate_truncation=False)


def test_a_jpeg_of_which_most_is_missing_is_refused(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (200, 80, 3), dtype=np.uint8)
    path = saved(tmp_path / "a.jpg", noise)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * 0.3)])
    with pytest.raises(InputError, match=r"cut off: [67].% of its rows"):
        read_image(path)


def test_a_huge_photo_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.png", Image.new("1", (20000, 11000)))
    with pytest.raises(InputError, match=r"220 megapixels.*images\.max_megapixels"):
        read_image(path)
    with pytest.raises(InputError, match=r"limit is 0\.001"):
        read_image(saved(tmp_path / "b.png", smooth()), max_megapixels=0.001)
    assert image_size(path) == (20000, 11000)
    assert Image.MAX_IMAGE_PIXELS is not None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not a photo"),
        (b"hello", "not a photo"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a photo"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "not a photo|cannot be decoded"),
        (None, "No such file"),
    ],
)
def test_what_is_no_photo_is_said(tmp_path: Path, content: bytes | None, problem: str) -> None:
    path = tmp_path / "a.jpg"
    if content is not None:
        path.write_bytes(content)
    for read in (read_image, image_size):
        with pytest.raises(InputError, match=rf"a\.jpg: .*({problem})"):
            read(path)
    with pytest.warns(UserWarning, match="skipped"):
        assert read_image_or_skip(path, unreadable="skip") is None
    with pytest.raises(InputError):
        read_image_or_skip(path, unreadable="stop")


def test_mutated_photos_are_read_or_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "a"
    for suffix in ("jpeg", "png", "tiff", "webp", "gif"):
        kept = io.BytesIO()
        Image.fromarray(smooth()).save(kept, suffix)
        for _ in range(60):
            content = bytearray(kept.getvalue())
            for place in rng.integers(0, len(content), 3):
                content[place] = rng.integers(0, 256)
            path.write_bytes(content[: rng.integers(1, len(content) + 1)])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    shown = read_image(path, max_megapixels=1)
                except InputError:
                    continue
            assert shown.dtype == np.uint8
            assert shown.shape[2] == 3


@pytest.mark.skipif(not PHOTOS.is_dir(), reason="the shared photos are not beside this checkout")
def test_real_photos_are_read_alike_in_threads() -> None:
    paths = sorted(PHOTOS.glob("*.jpg"))[:24]
    alone = [read_image(path) for path in paths]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(read_image, paths))
    for path, one, other in zip(paths, alone, together, strict=True):
        np.testing.assert_array_equal(one, other)
        expected = np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))
        np.testing.assert_array_equal(one, expected)
        assert image_size(path) == one.shape[1::-1]
