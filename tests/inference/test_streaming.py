import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest

from oracle.found_boxes import NAMES, found_on_disk
from tag2box.errors import InputError
from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.inference.streaming import Stream
from tag2box.structures import TaggedImage

SETTINGS = {"passes": [[480, False]], "merging.top": 100, "cache": None}


def same(one: PhotoBoxes, other: PhotoBoxes) -> bool:
    return (
        (one.path, one.width, one.height, one.id)
        == (other.path, other.width, other.height, other.id)
        and np.array_equal(one.detections.boxes, other.detections.boxes)
        and np.array_equal(one.detections.scores, other.detections.scores)
        and np.array_equal(one.detections.classes, other.detections.classes)
        and one.disagreement == other.disagreement
    )


@pytest.fixture
def found(tmp_path: Path) -> list[PhotoBoxes]:
    return found_on_disk(tmp_path, "a.png", "b/ü 1.png", "b/c,\n.png", "d.png", "e.png")


def photos_of(found: list[PhotoBoxes]) -> list[TaggedImage]:
    return [TaggedImage(one.id, one.path, frozenset({1})) for one in found]


def fill(stream: Stream, found: list[PhotoBoxes], process: int = 0) -> None:
    with stream.opened(process) as add:
        for photo, one in zip(photos_of(found), found, strict=True):
            add(photo, one)


def ids(stream: Stream, photos: list[TaggedImage]) -> list[str]:
    return sorted(one.id for one in stream.found(photos))


def test_rows_come_back_to_the_last_bit(tmp_path: Path, found: list[PhotoBoxes]) -> None:
    stream = Stream(tmp_path / "s", NAMES, SETTINGS)
    found[1] = dataclasses.replace(found[1], disagreement=1 / 3)
    assert list(stream.found(photos_of(found))) == []
    fill(stream, found[:2], process=0)
    fill(stream, found[2:], process=1)
    back = {one.id: one for one in Stream(tmp_path / "s", NAMES, SETTINGS).found(photos_of(found))}
    assert len(back) == len(found)
    assert all(same(back[one.id], one) for one in found)


def test_every_row_is_on_disk_at_once(tmp_path: Path, found: list[PhotoBoxes]) -> None:
    stream = Stream(tmp_path / "s", NAMES, SETTINGS)
    with stream.opened(0) as add:
        for count, (photo, one) in enumerate(zip(photos_of(found), found, strict=True), start=1):
            add(photo, one)
            assert len(ids(stream, photos_of(found))) == count


def test_a_file_cut_anywhere_keeps_its_whole_lines_and_goes_on(
    tmp_path: Path, found: list[PhotoBoxes]
) -> None:
    photos = photos_of(found)
    fill(Stream(tmp_path / "s", NAMES, SETTINGS), found)
    file = tmp_path / "s" / "0.jsonl"
    whole = file.read_bytes()
    for end in {0, 1, len(whole) - 1, *range(0, len(whole), 97)}:
        file.write_bytes(whole[:end])
        stream = Stream(tmp_path / "s", NAMES, SETTINGS)
        kept = max(0, whole[:end].count(b"\n") - 1)
        assert len(ids(stream, photos)) == kept
        fill(stream, found[kept:])
        assert file.read_bytes() == whole


def test_a_photo_that_changed_is_looked_at_again(tmp_path: Path, found: list[PhotoBoxes]) -> None:
    stream = Stream(tmp_path / "s", NAMES, SETTINGS)
    photos = photos_of(found)
    fill(stream, found)
    os.utime(photos[0].path, ns=(1, 1))
    photos[1] = dataclasses.replace(photos[1], tags=frozenset({0, 1}))
    other_file = tmp_path / "other.png"
    other_file.write_bytes(photos[2].path.read_bytes())
    photos[2] = dataclasses.replace(photos[2], path=other_file)
    assert ids(stream, photos) == ["d.png", "e.png"]
    newer = [dataclasses.replace(one, width=999) for one in found[:1]]
    with stream.opened(0) as add:
        add(photos[0], newer[0])
    assert {one.id: one.width for one in stream.found(photos)}["a.png"] == 999


@pytest.mark.parametrize(
    ("names", "settings", "words"),
    [
        (NAMES, SETTINGS | {"merging.top": 5}, "was begun with merging.top = 100, which is now 5"),
        (NAMES, SETTINGS | {"passes": []}, r"passes = \[\[480, False\]\]"),
        (("cat", "owl", "dog"), SETTINGS, "class_names"),
    ],
)
def test_other_settings_are_another_job(
    tmp_path: Path, found: list[PhotoBoxes], names: tuple[str, ...], settings: dict, words: str
) -> None:
    fill(Stream(tmp_path / "s", NAMES, SETTINGS), found)
    with pytest.raises(InputError, match=words):
        list(Stream(tmp_path / "s", names, settings).found(photos_of(found)))


@pytest.mark.parametrize(
    "damage", [b"{}\n", b"nonsense\n", b"\xff\xfe\n", b'{"id": 3}\n', b"[]\n" * 3]
)
def test_a_damaged_file_is_one_sentence(
    tmp_path: Path, found: list[PhotoBoxes], damage: bytes
) -> None:
    stream = Stream(tmp_path / "s", NAMES, SETTINGS)
    fill(stream, found)
    file = tmp_path / "s" / "0.jsonl"
    whole = file.read_bytes()
    for broken in (whole + damage, damage + whole):
        file.write_bytes(broken)
        with pytest.raises(InputError, match=r"0\.jsonl:\d+"):
            list(stream.found(photos_of(found)))


def test_a_name_that_is_no_text_and_a_photo_that_went(tmp_path: Path) -> None:
    stream = Stream(tmp_path / "s", NAMES, SETTINGS)
    with pytest.raises(InputError, match="not UTF-8"):
        list(stream.found([TaggedImage("x", Path("bad\udcff.png"), frozenset())]))
    with pytest.raises(InputError, match="cannot be read"):
        list(stream.found([TaggedImage("x", tmp_path / "gone.png", frozenset())]))
