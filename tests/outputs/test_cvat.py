from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
import pytest
from defusedxml.ElementTree import parse

from oracle.found_boxes import NAMES, found_in, found_on_disk
from tag2box.errors import InputError
from tag2box.outputs.cvat import write_cvat

HOSTILE = ("a b", "ünïcode", 'q"<&>', "=cmd", "../up", "]]>", " space ")

# Of "CVAT for images 1.1": the children each element may have, and the attributes it must have.
CHILDREN = {
    "annotations": ["version", "meta", "image"],
    "meta": ["task"],
    "task": ["name", "size", "mode", "labels"],
    "labels": ["label"],
    "label": ["name", "type", "attributes"],
    "attributes": ["attribute"],
    "image": ["box"],
    "box": ["attribute"],
}
ATTRIBUTES = {
    "image": {"id", "name", "width", "height"},
    "box": {"label", "source", "occluded", "xtl", "ytl", "xbr", "ybr", "z_order"},
}


def check(element: Element, inside: str = "") -> None:
    """That an element and all below it are as the format has them, in its order."""
    if element.tag == "attribute" and inside == "attributes":
        wanted = ["name", "mutable", "input_type", "default_value", "values"]
        assert [child.tag for child in element] == wanted
        return
    order = CHILDREN.get(element.tag, [])
    places = [order.index(child.tag) for child in element]
    assert places == sorted(places)
    if inside != "box":
        assert set(element.attrib) == ATTRIBUTES.get(element.tag, set())
    for child in element:
        check(child, element.tag)


def test_the_structure_is_that_of_the_format_and_the_boxes_are_the_same(tmp_path: Path) -> None:
    photos = found_on_disk(tmp_path / "p", "a.png", "b/c d.png", "z.png", "none.png")
    write_cvat(tmp_path / "c.xml", photos, NAMES)
    root = parse(tmp_path / "c.xml").getroot()
    check(root)
    assert root.findtext("version") == "1.1"
    assert root.findtext("meta/task/mode") == "annotation"
    assert root.findtext("meta/task/size") == str(len(photos))
    labels = [label.findtext("name") for label in root.findall("meta/task/labels/label")]
    assert labels == list(NAMES)
    for number, (image, photo) in enumerate(zip(root.findall("image"), photos, strict=True)):
        size = {"width": str(photo.width), "height": str(photo.height)}
        assert image.attrib == {"id": str(number), "name": photo.id} | size
        rows = [[float(box.get(k)) for k in ("xtl", "ytl", "xbr", "ybr")] for box in image]
        boxes = np.array(rows, np.float32).reshape(-1, 4)
        np.testing.assert_array_equal(boxes, photo.detections.boxes)
        assert [box.get("label") for box in image] == [NAMES[c] for c in photo.detections.classes]
        scores = [float(box.findtext("attribute[@name='score']")) for box in image]
        np.testing.assert_array_equal(np.array(scores, np.float32), photo.detections.scores)
        assert {(box.get("source"), box.get("occluded")) for box in image} <= {("auto", "0")}


def test_hostile_names_come_back(tmp_path: Path) -> None:
    path = Path("p") / 'q"<&> ü.png'
    write_cvat(tmp_path / "c.xml", [found_in(path, image_id=path.name, names=HOSTILE)], HOSTILE)
    root = parse(tmp_path / "c.xml").getroot()
    labels = [label.findtext("name") for label in root.findall("meta/task/labels/label")]
    assert labels == list(HOSTILE)
    assert root.find("image").get("name") == path.name


@pytest.mark.parametrize("name", ["nl\nx", "\x00", "\x1b[2J", "half\udcff", "\uffff"])
def test_names_no_xml_can_hold_are_refused(tmp_path: Path, name: str) -> None:
    names = (*NAMES[:2], name)
    with pytest.raises(InputError, match="name"):
        write_cvat(tmp_path / "c.xml", [found_in(names=names)], names)
    photo = found_in(Path("p") / name, image_id=name)
    with pytest.raises(InputError, match="name"):
        write_cvat(tmp_path / "c.xml", [photo], NAMES)
    assert not (tmp_path / "c.xml").exists()
