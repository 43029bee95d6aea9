from pathlib import Path

import numpy as np
import pytest
import supervision

from oracle.found_boxes import NAMES, found_in, found_on_disk
from tag2box.data.voc import parse_voc
from tag2box.errors import InputError
from tag2box.outputs.voc import write_voc

HOSTILE = ("a b", "ünïcode", 'q"<&>', "=cmd", "../up", "]]>")


@pytest.mark.parametrize("placing", ["copy", "link"])
def test_our_reader_and_supervision_read_the_same_boxes(tmp_path: Path, placing: str) -> None:
    photos = found_on_disk(tmp_path / "p", "a.png", "b/a.png", "b/c d.png", "z.png", "b/ü.png")
    write_voc(tmp_path / "voc", photos, NAMES, placing=placing)  # type: ignore[arg-type]
    names = ["a", "b_a", "c d", "z", "ü"]
    read = parse_voc(tmp_path / "voc")
    assert sorted(read.image_ids) == sorted(names)
    assert all(path.is_file() for path in read.paths)
    for name, photo in zip(names, photos, strict=True):
        index = read.image_ids.index(name)
        objects = read.object_image == index
        assert tuple(read.sizes[index]) == (photo.width, photo.height)
        np.testing.assert_allclose(read.boxes[objects], photo.detections.boxes, atol=1e-3)
        found = [read.class_names[c] for c in read.classes[objects]]
        assert found == [NAMES[c] for c in photo.detections.classes]

    other = supervision.DetectionDataset.from_pascal_voc(
        str(tmp_path / "voc/JPEGImages"), str(tmp_path / "voc/Annotations")
    )
    for name, photo in zip(names, photos, strict=True):
        ours = other.annotations[str(tmp_path / "voc/JPEGImages" / f"{name}.png")]
        np.testing.assert_allclose(ours.xyxy, photo.detections.boxes, atol=1e-3)
        found = [other.classes[c] for c in ours.class_id]
        assert found == [NAMES[c] for c in photo.detections.classes]
    assert (tmp_path / "voc/labels.txt").read_text().split() == list(NAMES)


def test_hostile_class_names_come_back(tmp_path: Path) -> None:
    photos = found_on_disk(tmp_path / "p", 'q"<&>.png', names=HOSTILE, boxes=30)
    write_voc(tmp_path / "voc", photos, HOSTILE)
    read = parse_voc(tmp_path / "voc")
    assert read.image_ids == ('q"<&>',)
    assert [read.class_names[c] for c in read.classes] == [
        HOSTILE[c] for c in photos[0].detections.classes
    ]


@pytest.mark.parametrize("name", ["nl\nx", "tab\t", " cat", "cat ", "\x00", "half\udcff", "\ufffe"])
def test_names_that_would_not_come_back_are_refused(tmp_path: Path, name: str) -> None:
    names = (*NAMES[:2], name)
    with pytest.raises(InputError, match="name"):
        write_voc(tmp_path / "voc", [found_in(names=names)], names)
    assert not (tmp_path / "voc").exists()


def test_a_photo_that_went_leaves_no_half_folder(tmp_path: Path) -> None:
    photos = found_on_disk(tmp_path / "p", "a.png", "b.png")
    photos[1].path.unlink()
    with pytest.raises(InputError, match=r"b\.png.*cannot be copied"):
        write_voc(tmp_path / "out" / "voc", photos, NAMES)
    assert list((tmp_path / "out").iterdir()) == []
