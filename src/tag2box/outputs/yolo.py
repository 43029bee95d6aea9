"""Boxes found as a YOLO data set: images/x.jpg, labels/x.txt and data.yaml.

A line is `class cx cy w h` in fractions of the photo as shown; a photo without boxes has an empty
file. Trainers find labels by the place of the photo, so the photos come into the folder. The
format has no place for scores.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.outputs.photo_names import file_names, flat_names, refuse_unwritable
from tag2box.outputs.whole_folder import Placing, folder_written_whole, place_photo


def write_yolo(
    folder: Path,
    photos: Sequence[PhotoBoxes],
    class_names: Sequence[str],
    *,
    placing: Placing = "copy",
) -> None:
    """A folder that trains as it is; train and val both name all photos: split them as you need.

    Photos of one stem in several folders get the names of their folders before it.
    """
    names = file_names([photo.id for photo in photos], [photo.path for photo in photos])
    refuse_unwritable([*names, *class_names], where=str(folder), as_lines=True)
    index = {name: number for number, name in enumerate(class_names)}
    with folder_written_whole(folder) as new:
        (new / "images").mkdir()
        (new / "labels").mkdir()
        for name, photo in zip(flat_names(names), photos, strict=True):
            place_photo(photo.path, new / "images" / name, placing)
            file = (new / "labels" / name).with_suffix(".txt")
            file.write_text("".join(_lines(photo, index)), encoding="utf-8")
        content = {
            "train": "images",
            "val": "images",
            "nc": len(index),
            "names": {number: name for name, number in index.items()},
        }
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
        (new / "data.yaml").write_text(text, encoding="utf-8")


def _lines(photo: PhotoBoxes, index: dict[str, int]) -> Iterator[str]:
    for found in photo.objects():
        x1, y1, x2, y2 = found.box
        fractions = (
            (x1 + x2) / 2 / photo.width,
            (y1 + y2) / 2 / photo.height,
            (x2 - x1) / photo.width,
            (y2 - y1) / photo.height,
        )
        yield f"{index[found.name]} {' '.join(f'{value:.8f}' for value in fractions)}\n"
