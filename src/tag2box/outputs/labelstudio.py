"""Boxes found as Label Studio tasks with predictions, which a person accepts or corrects.

Coordinates are percent of the photo as shown, from its upper left corner.
"""

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import msgspec

from tag2box.files import write_text, written_whole
from tag2box.inference.photo_boxes import FoundObject, PhotoBoxes, xywh
from tag2box.outputs.photo_names import file_names, refuse_unwritable

LOCAL_FILES = "/data/local-files/?d="
"""What comes before a photo's name where Label Studio serves folders of its own disk."""
_IMAGE, _LABELS = "image", "label"


def write_labelstudio(
    path: Path,
    photos: Sequence[PhotoBoxes],
    class_names: Sequence[str],
    *,
    model_version: str,
) -> None:
    """A file of tasks, and beside it (.xml) the labelling interface they are made for.

    The score of a task is the mean of its boxes, so that it can be sorted by certainty.
    """
    names = file_names([photo.id for photo in photos], [photo.path for photo in photos])
    refuse_unwritable(names, where=str(path))
    refuse_unwritable(class_names, where=str(path), as_lines=True)
    tasks = [
        {
            "data": {_IMAGE: LOCAL_FILES + quote(_below_the_root(name, photo.path))},
            "predictions": [_prediction(photo, model_version)],
        }
        for name, photo in zip(names, photos, strict=True)
    ]
    write_text(path.with_suffix(".xml"), _interface(class_names))
    with written_whole(path) as temporary:
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(tasks)))


def _below_the_root(name: str, path: Path) -> str:
    """The name with the folder of photos before it.

    Label Studio's document root must be a folder above the one it serves photos of.
    """
    folder = Path(os.path.abspath(path)).parents[len(PurePosixPath(name).parts) - 1]
    return f"{folder.name}/{name}"


def _prediction(photo: PhotoBoxes, model_version: str) -> dict[str, Any]:
    found = list(photo.objects())
    return {
        "model_version": model_version,
        "score": sum(one.score for one in found) / max(1, len(found)),
        "result": [_result(number, one, photo) for number, one in enumerate(found, start=1)],
    }


def _result(number: int, found: FoundObject, photo: PhotoBoxes) -> dict[str, Any]:
    x, y, width, height = xywh(found.box)
    return {
        "id": f"box{number}",
        "type": "rectanglelabels",
        "from_name": _LABELS,
        "to_name": _IMAGE,
        "original_width": photo.width,
        "original_height": photo.height,
        "image_rotation": 0,
        "score": found.score,
        "value": {
            "x": 100 * x / photo.width,
            "y": 100 * y / photo.height,
            "width": 100 * width / photo.width,
            "height": 100 * height / photo.height,
            "rotation": 0,
            "rectanglelabels": [found.name],
        },
    }


def _interface(class_names: Sequence[str]) -> str:
    view = Element("View")
    SubElement(view, "Image", name=_IMAGE, value=f"${_IMAGE}")
    labels = SubElement(view, "RectangleLabels", name=_LABELS, toName=_IMAGE)
    for name in class_names:
        SubElement(labels, "Label", value=name)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"
