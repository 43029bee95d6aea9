"""Boxes found as a CSV table, one box a row: for spreadsheets.

Columns: image, width, height, class, score, x1, y1, x2, y2; corners in pixels of the photo as
shown, 0-based, x2/y2 exclusive. A photo without boxes has no row.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

from tag2box.files import written_whole
from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.outputs.photo_names import file_names, refuse_unwritable

COLUMNS = ("image", "width", "height", "class", "score", "x1", "y1", "x2", "y2")


def write_csv(path: Path, photos: Sequence[PhotoBoxes], class_names: Sequence[str]) -> None:
    """A row for every box."""
    names = file_names([photo.id for photo in photos], [photo.path for photo in photos])
    refuse_unwritable([*names, *class_names], where=str(path))
    with written_whole(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(COLUMNS)
        for name, photo in zip(names, photos, strict=True):
            for found in photo.objects():
                size = photo.width, photo.height
                table.writerow((name, *size, found.name, found.score, *found.box))
