"""What `predict` and `label` share: the boxes found are written in some formats, and said so."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console

from tag2box.errors import printable
from tag2box.outputs.box_files import write_boxes
from tag2box.outputs.whole_folder import Placing
from tag2box.verbs.looking import Looked, Looking, said_in_one_sentence

if TYPE_CHECKING:
    from tag2box.inference.photo_boxes import PhotoBoxes


@dataclass(frozen=True, eq=False)
class Written:
    """The boxes that were sure enough, and the files they are in."""

    photos: list[PhotoBoxes]
    skipped: int
    """Photos that could not be read."""
    files: list[Path]


def write_found(
    looked: Looked, how: Looking, formats: tuple[str, ...], placing: Placing
) -> Written:
    """Write the boxes that are sure enough in every format asked for."""
    best = how.gate and how.inference.every_tag
    sure = [one.confident(how.inference.least_score, best_of_class=best) for one in looked.found]
    with said_in_one_sentence(how.out):
        files = [
            file
            for name in dict.fromkeys(formats)
            for file in write_boxes(
                name,
                how.out,
                sure,
                looked.class_names,
                model_version=f"tag2box {how.run.absolute().name}",
                placing=placing,
            )
        ]
    return Written(sure, looked.skipped, files)


def say(written: Written, how: Looking, *, as_json: bool) -> None:
    """Print how much was found and where it is."""
    boxes = sum(len(one.detections) for one in written.photos)
    if as_json:
        plain = {
            "photos": len(written.photos),
            "boxes": boxes,
            "files": [str(file) for file in written.files],
            "skipped": written.skipped,
        }
        sys.stdout.write(msgspec.json.encode(plain).decode() + "\n")
        return
    console = Console(highlight=False, markup=False, soft_wrap=True)
    unread = f", {written.skipped} could not be read" if written.skipped else ""
    and_best = ", or the best of a tag" if how.gate and how.inference.every_tag else ""
    console.print(
        f"{len(written.photos)} photos{unread}, {boxes} boxes "
        f"scored {how.inference.least_score:g} or better{and_best}"
    )
    for file in written.files:
        console.print(printable(file))
