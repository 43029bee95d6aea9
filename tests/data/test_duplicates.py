from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tag2box.data.duplicates import look_at, nearly_same, same_content

PHOTOS = Path(__file__).parents[2].parent / "shared" / "voc-mini" / "JPEGImages"


def slow_groups(prints: list[bytes | None], most: int) -> set[frozenset[int]]:
    """Grows each group photo by photo, comparing all with all."""
    known = [index for index, one in enumerate(prints) if one is not None]
    groups = [{index} for index in known]
    for a in known:
        for b in known:
            apart = sum((x ^ y).bit_count() for x, y in zip(prints[a], prints[b], strict=True))
            if apart <= most:
                joined = next(g for g in groups if a in g) | next(g for g in groups if b in g)
                groups = [g for g in groups if not g & joined] + [joined]
    return {frozenset(group) for group in groups if len(group) > 1}


@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_near_prints_are_grouped_as_by_comparing_all(count: int) -> None:
    rng = np.random.default_rng(count)
    prints: list[bytes | None] = []
    for number in range(count):
        bits = rng.integers(0, 2, 256, dtype=np.uint8)
        if number % 3 and prints[-1] is not None:
            bits = np.unpackbits(np.frombuffer(prints[-1], np.uint8))
            bits[rng.choice(256, rng.integers(0, 31), replace=False)] ^= 1
        prints.append(None if number % 10 == 9 else np.packbits(bits).tobytes())
    found = {frozenset(group) for group in nearly_same(prints)}
    assert found == slow_groups(prints, most=15)


def test_many_equal_prints_are_one_group_quickly() -> None:
    (group,) = nearly_same([b"\x55" * 32] * 5000)
    assert group == list(range(5000))


def test_equal_files_are_grouped(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abcde"]
    for path, content in zip(paths, ["one", "two", "one", "other", "two"], strict=True):
        path.write_text(content)
    assert sorted(same_content([*paths, tmp_path / "absent"])) == [[0, 2], [1, 4]]


def test_a_look_tells_what_there_is(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (90, 120, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    Image.new("L", (50, 40), 7).save(tmp_path / "flat.png")
    (tmp_path / "broken.jpg").write_bytes(b"no photo")
    paths = [tmp_path / name for name in ("a.png", "flat.png", "broken.jpg")]
    calls: list[None] = []
    good, flat, broken = look_at(
        paths, quick=False, max_megapixels=1, workers=2, on_photo=lambda: calls.append(None)
    )
    assert (good.width, good.height, good.problem, good.missing) == (120, 90, None, None)
    assert good.contrast is not None
    assert good.contrast > 20
    assert flat.contrast == 0
    assert flat.print is None
    assert "not a photo" in (broken.problem or "")
    assert len(calls) == 3
    (quick, *_) = look_at(paths, quick=True, max_megapixels=1, workers=1)
    assert (quick.width, quick.print) == (120, None)
    (huge, *_) = look_at(paths, quick=False, max_megapixels=0.001, workers=1)
    assert "max_megapixels" in (huge.problem or "")


@pytest.mark.skipif(not PHOTOS.is_dir(), reason="the shared photos are not beside this checkout")
def test_real_photos_saved_again_are_found_and_others_are_not(tmp_path: Path) -> None:
    originals = sorted(PHOTOS.glob("*.jpg"))[:60]
    again = []
    for path in originals[:20]:
        again.append(tmp_path / path.name)
        Image.open(path).save(again[-1], quality=85)
    looks = look_at([*originals, *again], quick=False, max_megapixels=200, workers=2)
    groups = nearly_same([look.print for look in looks])
    assert sorted(groups) == [[index, 60 + index] for index in range(20)]
