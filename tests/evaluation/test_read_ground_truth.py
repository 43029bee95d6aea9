"""`read_ground_truth`: the same images, ids and classes as the reading of the tags."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tag2box.data.reading import read_dataset
from tag2box.errors import InputError
from tag2box.evaluation.detections_file import read_results
from tag2box.evaluation.ground_truth import read_ground_truth
from tag2box.recipe import ReadingSettings

OBJECT = """<object><name>{name}</name><difficult>{difficult}</difficult>
<bndbox><xmin>1</xmin><ymin>3</ymin><xmax>10</xmax><ymax>20</ymax></bndbox></object>"""


def voc(root: Path, objects: dict[str, list[tuple[str, int]]], orientation: int = 1) -> Path:
    for folder in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (root / folder).mkdir(parents=True)
    exif = Image.Exif()
    exif[0x0112] = orientation
    for name, here in objects.items():
        Image.new("RGB", (40, 30)).save(root / "JPEGImages" / f"{name}.jpg", exif=exif)
        body = "".join(OBJECT.format(name=n, difficult=d) for n, d in here)
        size = "<size><width>40</width><height>30</height><depth>3</depth></size>"
        xml = f"<annotation><filename>{name}.jpg</filename>{size}{body}</annotation>"
        (root / "Annotations" / f"{name}.xml").write_text(xml)
    (root / "ImageSets" / "Main" / "val.txt").write_text("\n".join([*objects][:1]) + "\n")
    return root


def coco(folder: Path) -> Path:
    folder.mkdir()
    path = folder / "instances_val.json"
    Image.new("RGB", (40, 30)).save(folder / "a.jpg")
    content = {
        "images": [{"id": 5, "file_name": "a.jpg", "width": 40, "height": 30}],
        "categories": [{"id": 3, "name": "cat"}, {"id": 9, "name": "cow"}],
        "annotations": [{"id": 1, "image_id": 5, "category_id": 9, "bbox": [1, 2, 3, 4]}],
    }
    path.write_text(json.dumps(content))
    return path


def test_one_data_set(tmp_path: Path) -> None:
    root = voc(tmp_path / "VOC", {"b": [("dog", 0), ("cat", 1)], "a": []})
    truth = read_ground_truth([root])
    assert truth.image_ids == tuple(image.id for image in read_dataset([root]))
    assert truth.class_names == ("cat", "dog")
    np.testing.assert_array_equal(truth.boxes, [[0, 2, 10, 20]] * 2)
    assert truth.difficult.tolist() == [False, True]
    assert truth.numbers() == {"cat": 1, "dog": 2}
    assert len(read_ground_truth([root], ReadingSettings(split="val"))) == 1


def test_boxes_are_in_the_frame_of_a_viewer(tmp_path: Path) -> None:
    truth = read_ground_truth([voc(tmp_path / "VOC", {"a": [("dog", 0)]}, orientation=6)])
    np.testing.assert_array_equal(truth.boxes, [[10, 0, 28, 10]])
    np.testing.assert_array_equal(truth.sizes, [[30, 40]])


def test_several_data_sets_join_as_their_tags_do(tmp_path: Path) -> None:
    paths = [
        voc(tmp_path / "VOC2007", {"a": [("dog", 0)], "b": [("cat", 0)]}),
        voc(tmp_path / "VOC2012", {"a": [("cat", 0)], "c": [("cow", 0)]}),
        coco(tmp_path / "coco"),
    ]
    truth, data = read_ground_truth(paths), read_dataset(paths)
    assert truth.class_names == data.class_names
    assert truth.image_ids == tuple(image.id for image in data)
    assert truth.image_ids[0] == "VOC2007/a"
    for index, image in enumerate(data):
        assert set(truth.classes[truth.object_image == index]) == image.tags


def test_a_coco_file_keeps_its_numbers(tmp_path: Path) -> None:
    path = coco(tmp_path / "coco")
    assert read_ground_truth([path]).numbers() == {"cat": 3, "cow": 9}
    settings = ReadingSettings(classes=("cow",))
    assert read_ground_truth([path], settings).numbers() == {"cow": 9}


def test_classes_and_an_image_list_choose(tmp_path: Path) -> None:
    root = voc(tmp_path / "VOC", {"a": [("dog", 0)], "b": [("cat", 0)], "c": [("cow", 0)]})
    listed = tmp_path / "list.txt"
    listed.write_text("c.jpg\na.jpg\n")
    settings = ReadingSettings(classes=("cow", "cat"), image_list=listed)
    truth, data = read_ground_truth([root], settings), read_dataset([root], settings)
    assert truth.class_names == data.class_names == ("cow", "cat")
    assert truth.image_ids == tuple(image.id for image in data) == ("a", "c")
    assert truth.classes.tolist() == [0]
    assert truth.object_image.tolist() == [1]
    with pytest.raises(InputError, match="there is no class 'cwo'"):
        read_ground_truth([root], ReadingSettings(classes=("cwo",)))


def test_photos_need_not_be_there_for_coco(tmp_path: Path) -> None:
    path = coco(tmp_path / "coco")
    (path.parent / "a.jpg").unlink()
    np.testing.assert_array_equal(read_ground_truth([path]).boxes, [[1, 2, 4, 6]])


def test_yolo_boxes_stay_in_the_frame_of_a_viewer(tmp_path: Path) -> None:
    for folder in ("images/val", "labels/val"):
        (tmp_path / folder).mkdir(parents=True)
    exif = Image.Exif()
    exif[0x0112] = 3  # a half turn, which no size can tell
    Image.new("RGB", (40, 30)).save(tmp_path / "images/val/a.jpg", exif=exif)
    (tmp_path / "labels/val/a.txt").write_text("0 0.25 0.5 0.5 0.2\n")
    (tmp_path / "data.yaml").write_text("names: [dog]\nval: images/val\n")
    results = tmp_path / "results.json"
    entry = {"image_id": "a", "category_id": 1, "bbox": [0, 12, 20, 6], "score": 1}
    results.write_text(json.dumps([entry]))
    truth = read_ground_truth([tmp_path], ReadingSettings(split="val"))
    np.testing.assert_allclose(truth.boxes, [[0, 12, 20, 18]])
    np.testing.assert_allclose(read_results(results, truth).boxes, truth.boxes)


def test_key_frames_of_clips_are_those_of_the_tags(tmp_path: Path) -> None:
    for kind in ("Data", "Annotations"):
        (tmp_path / kind / "VID" / "val" / "clip").mkdir(parents=True)
    item = OBJECT.format(name="n02084071", difficult=0)
    size = "<size><width>40</width><height>30</height></size>"
    for frame in range(5):
        Image.new("RGB", (40, 30)).save(tmp_path / f"Data/VID/val/clip/{frame:06}.JPEG")
        xml = f"<annotation>{size}{item}</annotation>"
        (tmp_path / f"Annotations/VID/val/clip/{frame:06}.xml").write_text(xml)
    for key_frames, count in ((2, 2), (0, 5)):
        settings = ReadingSettings(split="val", key_frames=key_frames)
        truth, data = read_ground_truth([tmp_path], settings), read_dataset([tmp_path], settings)
        assert truth.image_ids == tuple(image.id for image in data)
        assert len(truth) == len(truth.boxes) == count
        assert "dog" in truth.class_names
