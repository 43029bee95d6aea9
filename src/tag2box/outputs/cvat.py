"""Boxes found as "CVAT for images 1.1" XML, to be uploaded into a task with the same photos.

Corners are in pixels of the photo as shown. The score of a box is its attribute `score`, which
CVAT shows where the label has an attribute of that name.
"""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from tag2box.files import written_whole
from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.outputs.photo_names import file_names, refuse_unwritable


def write_cvat(path: Path, photos: Sequence[PhotoBoxes], class_names: Sequence[str]) -> None:
    """One XML file with an element for every photo."""
    names = file_names([photo.id for photo in photos], [photo.path for photo in photos])
    refuse_unwritable([*names, *class_names], where=str(path), as_lines=True)
    root = Element("annotations")
    SubElement(root, "version").text = "1.1"
    root.append(_meta(len(photos), class_names))
    for number, (name, photo) in enumerate(zip(names, photos, strict=True)):
        size = {"width": str(photo.width), "height": str(photo.height)}
        image = SubElement(root, "image", {"id": str(number), "name": name} | size)
        _add_boxes(image, photo)
    ElementTree.indent(root)
    with written_whole(path) as temporary:
        ElementTree.ElementTree(root).write(temporary, encoding="utf-8", xml_declaration=True)


def _meta(count: int, class_names: Sequence[str]) -> Element:
    meta = Element("meta")
    task = SubElement(meta, "task")
    for tag, text in (("name", "tag2box"), ("size", str(count)), ("mode", "annotation")):
        SubElement(task, tag).text = text
    labels = SubElement(task, "labels")
    for name in class_names:
        label = SubElement(labels, "label")
        SubElement(label, "name").text = name
        SubElement(label, "type").text = "bbox"
        attribute = SubElement(SubElement(label, "attributes"), "attribute")
        for tag, text in (
            ("name", "score"),
            ("mutable", "False"),
            ("input_type", "text"),
            ("default_value", ""),
            ("values", ""),
        ):
            SubElement(attribute, tag).text = text
    return meta


def _add_boxes(image: Element, photo: PhotoBoxes) -> None:
    for found in photo.objects():
        corners = zip(("xtl", "ytl", "xbr", "ybr"), map(str, found.box), strict=True)
        kind = {"label": found.name, "source": "auto", "occluded": "0"}
        box = SubElement(image, "box", kind | dict(corners) | {"z_order": "0"})
        SubElement(box, "attribute", name="score").text = str(found.score)
