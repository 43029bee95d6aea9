import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
import supervision
from pycocotools.coco import COCO

from oracle.found_boxes import NAMES, found_in, found_on_disk
from tag2box.data.coco import parse_coco, read_coco
from tag2box.errors import InputError
from tag2box.evaluation.detections_file import write_results
from tag2box.outputs.coco import write_coco

HOSTILE = ("a b", "ünïcode", 'q"<&>', "nl\nx", "../up", "=cmd")


def test_pycocotools_reads_the_same_boxes_and_the_results_for_them(tmp_path: Path) -> None:
    photos = [found_in(image_id=str(n), seed=n, boxes=(5, 0, 3)[n % 3]) for n in (7, 9, 12, 40)]
    write_coco(tmp_path / "i.json", photos, NAMES)
    write_results(tmp_path / "r.json", [photo.detections for photo in photos])
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO(str(tmp_path / "i.json"))
        results = truth.loadRes(str(tmp_path / "r.json"))
    assert [one["name"] for one in truth.loadCats(truth.getCatIds())] == list(NAMES)
    assert sorted(truth.getImgIds()) == [7, 9, 12, 40]
    for photo in photos:
        for api in (truth, results):
            rows = api.loadAnns(api.getAnnIds(imgIds=int(photo.id)))
            boxes = np.array([row["bbox"] for row in rows]).reshape(-1, 4)
            boxes[:, 2:] += boxes[:, :2]
            np.testing.assert_allclose(boxes, photo.detections.boxes, atol=1e-4)
            assert [row["category_id"] - 1 for row in rows] == photo.detections.classes.tolist()
            scores = np.array([row["score"] for row in rows], np.float32)
            np.testing.assert_array_equal(scores, photo.detections.scores)


def test_our_reader_and_supervision_read_the_same_boxes(tmp_path: Path) -> None:
    files = ("a.png", "b/c d.png", "b/ü.png", "z.png")
    photos = found_on_disk(tmp_path / "photos", *files)
    write_coco(tmp_path / "i.json", photos, NAMES)
    read = parse_coco(tmp_path / "i.json", images=tmp_path / "photos")
    assert read.class_names == NAMES
    assert [path.relative_to(tmp_path / "photos").as_posix() for path in read.paths] == list(files)
    np.testing.assert_array_equal(read.sizes, [(p.width, p.height) for p in photos])
    boxes = np.concatenate([photo.detections.boxes for photo in photos])
    np.testing.assert_allclose(read.boxes, boxes, atol=1e-4)
    classes = np.concatenate([photo.detections.classes for photo in photos])
    np.testing.assert_array_equal(read.classes, classes)
    assert len(read_coco(tmp_path / "i.json", images=tmp_path / "photos")) == 4

    other = supervision.DetectionDataset.from_coco(
        str(tmp_path / "photos"), str(tmp_path / "i.json")
    )
    assert other.classes == list(NAMES)
    for photo in photos:
        found = other.annotations[str(photo.path.resolve())]
        np.testing.assert_allclose(found.xyxy, photo.detections.boxes, atol=1e-4)
        np.testing.assert_array_equal(found.class_id, photo.detections.classes)


def test_hostile_names_come_back(tmp_path: Path) -> None:
    files = [f"{name.strip('./')}.png" for name in HOSTILE]
    photos = [found_in(Path("p") / file, image_id=file, names=HOSTILE) for file in files]
    write_coco(tmp_path / "i.json", photos, HOSTILE)
    content = json.loads((tmp_path / "i.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in content["categories"]] == list(HOSTILE)
    assert [one["file_name"] for one in content["images"]] == files


def test_no_photo_and_a_name_that_is_no_text(tmp_path: Path) -> None:
    write_coco(tmp_path / "i.json", [], NAMES)
    assert json.loads((tmp_path / "i.json").read_text())["images"] == []
    with pytest.raises(InputError, match="not UTF-8"):
        write_coco(tmp_path / "j.json", [found_in()], ("cat", "dog\udcff", "owl"))
    assert not (tmp_path / "j.json").exists()
