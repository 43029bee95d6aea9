"""Boxes found as a COCO instances file, the form most trainers read.

Scores stand in `score` beside the keys of COCO. A results file, the form for scoring, is written
by `evaluation.detections_file.write_results`. Boxes are in pixels of the photo as shown.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tag2box.files import written_whole
from tag2box.inference.photo_boxes import PhotoBoxes, xywh
from tag2box.outputs.photo_names import file_names, refuse_unwritable


def write_coco(path: Path, photos: Sequence[PhotoBoxes], class_names: Sequence[str]) -> None:
    """An instances file: every photo, every box, category ids 1, 2, ... in the order of the names.

    Image ids are those of the photos where all of them are plain numbers, else 1, 2, ...
    """
    names = file_names([photo.id for photo in photos], [photo.path for photo in photos])
    refuse_unwritable([*names, *class_names], where=str(path))
    category = {name: number for number, name in enumerate(class_names, start=1)}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, name, photo in zip(_numbers(photos), names, photos, strict=True):
        images.append(
            {"id": number, "file_name": name, "width": photo.width, "height": photo.height}
        )
        for found in photo.objects():
            x, y, width, height = xywh(found.box)
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": category[found.name],
                    "bbox": [x, y, width, height],
                    "area": round(width * height, 3),
                    "iscrowd": 0,
                    "score": found.score,
                }
            )
    content = {
        "info": {"description": "boxes found by tag2box"},
        "images": images,
        "annotations": annotations,
        "categories": [{"id": number, "name": name} for name, number in category.items()],
    }
    with written_whole(path) as temporary:
        temporary.write_bytes(msgspec.json.encode(content))


def _numbers(photos: Sequence[PhotoBoxes]) -> list[int]:
    if all(re.fullmatch(r"0|[1-9]\d{0,14}", photo.id, re.ASCII) for photo in photos):
        return [int(photo.id) for photo in photos]
    return list(range(1, len(photos) + 1))
