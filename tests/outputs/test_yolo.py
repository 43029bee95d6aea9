import os
from pathlib import Path

import numpy as np
import pytest
import supervision
from PIL import Image

from oracle.found_boxes import NAMES, found_in, found_on_disk
from tag2box.data.yolo import parse_yolo, read_yolo
from tag2box.errors import InputError
from tag2box.outputs.yolo import write_yolo

HOSTILE = ("no", "1", "a: b", "- x", "ünïcode", "# c", "q'\"", "{", "=cmd", " space ", "../up")


def test_our_reader_and_supervision_read_the_same_boxes(tmp_path: Path) -> None:
    photos = found_on_disk(tmp_path / "p", "a.png", "b/a.png", "b/c d.png", "z.png", "b/ü.png")
    write_yolo(tmp_path / "yolo", photos, NAMES)
    names = ["a", "b_a", "c d", "z", "ü"]
    read = parse_yolo(tmp_path / "yolo")
    assert read.class_names == NAMES
    assert sorted(read.image_ids) == sorted(f"images/{name}.png" for name in names)
    other = supervision.DetectionDataset.from_yolo(
        *(str(tmp_path / "yolo" / part) for part in ("images", "labels", "data.yaml"))
    )
    assert other.classes == list(NAMES)
    for name, photo in zip(names, photos, strict=True):
        objects = read.object_image == read.image_ids.index(f"images/{name}.png")
        np.testing.assert_allclose(read.boxes[objects], photo.detections.boxes, atol=1e-4)
        np.testing.assert_array_equal(read.classes[objects], photo.detections.classes)
        ours = other.annotations[str(tmp_path / "yolo/images" / f"{name}.png")]
        np.testing.assert_allclose(ours.xyxy, photo.detections.boxes, atol=1e-3)
        np.testing.assert_array_equal(ours.class_id, photo.detections.classes)
    for split in ("train", "val"):
        assert len(read_yolo(tmp_path / "yolo", split=split)) == len(photos)


def test_boxes_of_a_photo_turned_by_its_camera(tmp_path: Path) -> None:
    """The size is that of the photo as shown, and so YOLO's fractions are of it."""
    path = tmp_path / "p" / "a.jpg"
    path.parent.mkdir()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (48, 64)).save(path, exif=exif)
    photo = found_in(path, image_id="a.jpg")
    write_yolo(tmp_path / "yolo", [photo], NAMES)
    read = parse_yolo(tmp_path / "yolo")
    np.testing.assert_allclose(read.boxes, photo.detections.boxes, atol=1e-4)


def test_hostile_class_names_come_back(tmp_path: Path) -> None:
    photos = found_on_disk(tmp_path / "p", "a.png", names=HOSTILE, boxes=30)
    write_yolo(tmp_path / "yolo", photos, HOSTILE)
    assert parse_yolo(tmp_path / "yolo").class_names == HOSTILE
    other = supervision.DetectionDataset.from_yolo(
        *(str(tmp_path / "yolo" / part) for part in ("images", "labels", "data.yaml"))
    )
    assert other.classes == list(HOSTILE)


@pytest.mark.parametrize("name", ["nl\nx", "\x00", "half\udcff", "\x85"])
def test_names_that_would_not_come_back_are_refused(tmp_path: Path, name: str) -> None:
    names = (*NAMES[:2], name)
    with pytest.raises(InputError, match="name"):
        write_yolo(tmp_path / "yolo", [found_in(names=names)], names)
    assert not (tmp_path / "yolo").exists()


def test_photos_are_copied_or_linked(tmp_path: Path) -> None:
    photos = found_on_disk(tmp_path / "p", "a.png")
    for placing, same in (("copy", False), ("link", True)):
        write_yolo(tmp_path / placing, photos, NAMES, placing=placing)  # type: ignore[arg-type]
        placed = tmp_path / placing / "images" / "a.png"
        assert placed.read_bytes() == photos[0].path.read_bytes()
        assert os.path.samefile(placed, photos[0].path) is same
