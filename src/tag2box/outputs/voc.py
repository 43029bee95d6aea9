"""Boxes found as a Pascal VOC folder: Annotations/x.xml and JPEGImages/x.jpg.

VOC counts pixels from 1 and includes the last, so x1, y1, x2, y2 become x1 + 1, y1 + 1, x2, y2.
Boxes keep their fractions of a pixel. The format has no place for scores.
"""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from tag2box.errors import InputError
from tag2box.inference.photo_boxes import FoundObject, PhotoBoxes
from tag2box.outputs.photo_names import file_names, flat_names, refuse_unwritable
from tag2box.outputs.whole_folder import Placing, folder_written_whole, place_photo


def write_voc(
    folder: Path,
    photos: Sequence[PhotoBoxes],
    class_names: Sequence[str],
    *,
    placing: Placing = "copy",
) -> None:
    """A folder with the photos and a file of boxes for each, also for those without a box.

    Photos of one stem in several folders get the names of their folders before it. The names of
    the classes stand in `labels.txt`, one a line.
    """
    names = file_names([photo.id for photo in photos], [photo.path for photo in photos])
    refuse_for_voc(names, class_names, where=str(folder))
    with folder_written_whole(folder) as new:
        (new / "Annotations").mkdir()
        (new / "JPEGImages").mkdir()
        for name, photo in zip(flat_names(names), photos, strict=True):
            place_photo(photo.path, new / "JPEGImages" / name, placing)
            tree = ElementTree.ElementTree(_annotation(name, photo))
            ElementTree.indent(tree)
            file = (new / "Annotations" / name).with_suffix(".xml")
            tree.write(file, encoding="utf-8", xml_declaration=True)
        (new / "labels.txt").write_text("".join(f"{n}\n" for n in class_names), encoding="utf-8")


def refuse_for_voc(names: Sequence[str], class_names: Sequence[str], *, where: str) -> None:
    """An error for names that do not come back as they were."""
    refuse_unwritable([*names, *class_names], where=where, as_lines=True)
    for name in class_names:
        if name != name.strip():
            problem = f"the class name {name!r} begins or ends with a space"
            raise InputError(where, problem, "rename it, or choose the format coco or jsonl")


def _annotation(name: str, photo: PhotoBoxes) -> Element:
    root = Element("annotation")
    SubElement(root, "folder").text = "JPEGImages"
    SubElement(root, "filename").text = name
    size = SubElement(root, "size")
    for tag, side in (("width", photo.width), ("height", photo.height), ("depth", 3)):
        SubElement(size, tag).text = str(side)
    SubElement(root, "segmented").text = "0"
    for found in photo.objects():
        _add_object(root, found)
    return root


def _add_object(root: Element, found: FoundObject) -> None:
    element = SubElement(root, "object")
    SubElement(element, "name").text = found.name
    for tag, text in (("pose", "Unspecified"), ("truncated", "0"), ("difficult", "0")):
        SubElement(element, tag).text = text
    box = SubElement(element, "bndbox")
    x1, y1, x2, y2 = found.box
    corners = {"xmin": x1 + 1, "ymin": y1 + 1, "xmax": x2, "ymax": y2}
    for tag, value in corners.items():
        SubElement(box, tag).text = f"{round(value, 4):.10g}"
