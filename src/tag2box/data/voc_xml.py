"""One XML file in the style of Pascal VOC, and many of them as columns.

Shared by the Pascal VOC and the ImageNet VID readers, whose files differ only in where pixels are
counted from. N images, M objects.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError

import numpy as np
import numpy.typing as npt
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from tag2box.data.annotations import Annotations, refuse_impossible_boxes
from tag2box.errors import InputError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_SIDES = ("xmin", "ymin", "xmax", "ymax")
_WIDEST = 1_000_000_000


@dataclass(frozen=True, slots=True)
class XmlAnnotation:
    """The content of one file; boxes are xmin, ymin, xmax, ymax as they stand there."""

    file: Path
    folder: str
    filename: str
    size: tuple[int, int]
    """Width and height, 0 where not stated."""
    names: list[str]
    boxes: list[tuple[float, ...]]
    difficult: list[bool]


def read_annotation(file: Path) -> XmlAnnotation:
    """The content of one XML file; entities are refused."""
    root = _parsed(file)
    if root.tag != "annotation":
        raise InputError(file, f"holds <{root.tag[:50]}>, not <annotation>", "name VOC XML files")
    objects = root.findall("object")  # not their <part> elements, which have boxes too
    where = [f"{file}: object {index}" for index in range(1, len(objects) + 1)]
    return XmlAnnotation(
        file=file,
        folder=_text(root, "folder"),
        filename=_text(root, "filename"),
        size=(_side(root, "width", file), _side(root, "height", file)),
        names=[_name(element, place) for element, place in zip(objects, where, strict=True)],
        boxes=[_box(element, place) for element, place in zip(objects, where, strict=True)],
        difficult=[_flag(element, place) for element, place in zip(objects, where, strict=True)],
    )


def as_annotations(
    files: Sequence[XmlAnnotation],
    *,
    class_names: tuple[str, ...],
    image_ids: tuple[str, ...],
    paths: tuple[Path, ...],
    to_corners: Callable[[npt.NDArray[np.float64], npt.NDArray[np.int64]], npt.NDArray[np.float64]],
) -> Annotations:
    """The files as columns, one image each.

    `to_corners` turns (M, 4) boxes as they stand in the files, and (M, 2) width and height of
    their images, into xyxy, 0-based, x2/y2 exclusive.
    """
    counts = [len(file.names) for file in files]
    object_image = np.repeat(np.arange(len(files)), counts)
    sizes = np.array([file.size for file in files], np.int64).reshape(-1, 2)
    stated = [box for file in files for box in file.boxes]
    boxes = np.array(stated, np.float64).reshape(-1, 4)
    boxes = to_corners(boxes, sizes[object_image])
    first = np.cumsum([0, *counts])

    def where(index: int) -> str:
        image = int(object_image[index])
        return f"{files[image].file}: object {index - first[image] + 1}"

    refuse_impossible_boxes(boxes, sizes[object_image], where)
    index = {name: i for i, name in enumerate(class_names)}
    sides = boxes[:, 2:] - boxes[:, :2]
    return Annotations(
        class_names=class_names,
        image_ids=image_ids,
        paths=paths,
        sizes=sizes,
        object_image=object_image,
        boxes=boxes,
        classes=np.array([index[name] for file in files for name in file.names], np.int64),
        difficult=np.array([flag for file in files for flag in file.difficult], bool),
        crowd=np.zeros(len(boxes), bool),
        areas=sides[:, 0] * sides[:, 1],
    )


def _parsed(file: Path) -> "Element":
    try:
        root: Element = fromstring(file.read_bytes())
    except OSError as error:
        raise InputError(file, f"cannot be read ({error.strerror})", "name VOC XML files") from None
    except DefusedXmlException:
        raise InputError(
            file, "declares entities or refers to other files", "remove that: it can be an attack"
        ) from None
    except (ParseError, LookupError, ValueError) as error:  # the latter two: odd encodings
        raise InputError(file, f"is not XML ({error})", "mend or remove it") from None
    return root


def _text(element: "Element", tag: str) -> str:
    return (element.findtext(tag) or "").strip()


def _side(root: "Element", tag: str, file: Path) -> int:
    size = root.find("size")
    if size is None or not _text(size, tag):
        return 0
    value = _number(size, tag, f"{file}: size")
    if not 0 <= value <= _WIDEST:
        raise InputError(f"{file}: size", f"<{tag}> is {value:g}", "give it in pixels")
    return int(value)


def _name(element: "Element", where: str) -> str:
    name = _text(element, "name")
    if not name:
        raise InputError(where, "has no <name>", "name its class or remove it")
    return name


def _box(element: "Element", where: str) -> tuple[float, ...]:
    box = element.find("bndbox")
    if box is None:
        raise InputError(where, "has no <bndbox>", "add the box or remove the object")
    return tuple([_number(box, side, where) for side in _SIDES])


def _number(element: "Element", tag: str, where: str) -> float:
    text = _text(element, tag)
    try:
        return float(text)
    except ValueError:
        problem = f"<{tag}> is {text[:50]!r}, not a number" if text else f"has no <{tag}>"
        raise InputError(where, problem, "mend or remove it") from None


def _flag(element: "Element", where: str) -> bool:
    text = _text(element, "difficult") or "0"
    if text not in ("0", "1"):
        raise InputError(where, f"<difficult> is {text[:50]!r}", "make it 0 or 1")
    return text == "1"
