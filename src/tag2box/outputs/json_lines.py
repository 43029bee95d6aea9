"""Boxes found as JSON lines, one photo a line: for programs that read as they go.

`{"image": id, "file": name, "width": W, "height": H, "objects": [{"class": name, "score": 0.9,
"box": [x1, y1, x2, y2]}]}`, in pixels of the photo as shown, 0-based, x2/y2 exclusive.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tag2box.files import written_whole
from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.outputs.photo_names import file_names, refuse_unwritable


def write_json_lines(path: Path, photos: Sequence[PhotoBoxes], class_names: Sequence[str]) -> None:
    """A line for every photo, also for one without boxes."""
    names = file_names([photo.id for photo in photos], [photo.path for photo in photos])
    refuse_unwritable([*names, *class_names], where=str(path))
    rows = (
        {
            "image": photo.id,
            "file": name,
            "width": photo.width,
            "height": photo.height,
            "objects": [
                {"class": found.name, "score": found.score, "box": found.box}
                for found in photo.objects()
            ],
        }
        for name, photo in zip(names, photos, strict=True)
    )
    with written_whole(path) as temporary, temporary.open("wb") as file:
        file.writelines(msgspec.json.encode(row) + b"\n" for row in rows)
