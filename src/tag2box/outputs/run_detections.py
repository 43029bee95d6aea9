"""What a run has found, from either of two files of JSON lines. Further keys are passed over.

`detections.jsonl`, which any detector can write, a photo a line: `{"image_id": "7", "path":
"photos/7.jpg", "width": 640, "height": 480, "boxes": [[x1, y1, x2, y2], ...], "scores": [...],
"classes": ["cat", ...], "disagreement": 0.3}`.

`stream/*.jsonl`, which `predict` and `label` fill while they go: first `{"depends_on":
{"class_names": [...]}}`, then `{"id": "7", "file": ..., "width": ..., "height": ..., "boxes":
[x1, y1, x2, y2, ...], "scores": [...], "classes": [0, ...], "disagreement": 0.3}`.

Boxes are xyxy, 0-based, x2/y2 exclusive, in pixels of the photo as a viewer shows it;
`disagreement` may be absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

from tag2box.data.paths import inside
from tag2box.data.text import read_text
from tag2box.errors import InputError
from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.structures import Detections

DETECTIONS, STREAM = "detections.jsonl", "stream"

Kind = TypeVar("Kind")
_Side = Annotated[int, Meta(ge=1)]
_Number = Annotated[float, Meta(ge=-1e9, le=1e9)]
_Score = Annotated[float, Meta(ge=0, le=1)]
_Index = Annotated[int, Meta(ge=0)]


class _Row(msgspec.Struct, gc=False):
    """A line of `detections.jsonl`."""

    image_id: str
    path: str
    width: _Side
    height: _Side
    boxes: list[tuple[_Number, _Number, _Number, _Number]]
    scores: list[_Score]
    classes: list[str]
    disagreement: float | None = None


class _StreamRow(msgspec.Struct, gc=False):
    """A line of a stream."""

    id: str
    file: str
    width: _Side
    height: _Side
    boxes: list[_Number]
    scores: list[_Score]
    classes: list[_Index]
    disagreement: float | None = None


class _DependsOn(msgspec.Struct):
    class_names: list[str]


class _StreamHead(msgspec.Struct):
    depends_on: _DependsOn


def read_detections(path: Path, *, images: Path | None = None) -> tuple[PhotoBoxes, ...]:
    """The photos of `detections.jsonl` or of a stream.

    Photos lie where the file says, or below `images`. Raises `InputError`.
    """
    rows = _stream_rows(path) if path.is_dir() else _named_rows(path)
    photos: dict[str, PhotoBoxes] = {}
    for where, row, class_names in rows:
        file = Path(row.path) if images is None else inside(images, row.path, where)
        photos[row.image_id] = _photo(where, row, file, class_names)  # the last of a photo counts
    if not photos:
        raise InputError(path, "holds no photo", "let the run predict some")
    return tuple(photos.values())


def lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """The lines with something on them. A last one without its end is torn, and left out."""
    whole, _, _ = read_text(path).rpartition("\n")
    for number, line in enumerate(whole.split("\n"), start=1):
        if line.strip():
            yield f"{path}:{number}", line


def decoded(text: str, kind: type[Kind], where: object) -> Kind:
    """JSON as a value of the kind; what is not is an `InputError`."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise InputError(where, f"cannot be used ({error})", "write that file again") from None


def _named_rows(path: Path) -> Iterator[tuple[str, _Row, tuple[str, ...]]]:
    rows = [(where, decoded(line, _Row, where)) for where, line in lines_of(path)]
    class_names = tuple(sorted(set(chain.from_iterable(row.classes for _, row in rows))))
    return ((where, row, class_names) for where, row in rows)


def _stream_rows(folder: Path) -> Iterator[tuple[str, _Row, tuple[str, ...]]]:
    for path in sorted(folder.glob("*.jsonl")):
        lines = lines_of(path)
        for where, line in lines:
            class_names = tuple(decoded(line, _StreamHead, where).depends_on.class_names)
            break
        for where, line in lines:
            yield where, _named(decoded(line, _StreamRow, where), class_names, where), class_names


def _named(row: _StreamRow, class_names: tuple[str, ...], where: str) -> _Row:
    if len(row.boxes) % 4 or max(row.classes, default=0) >= len(class_names):
        raise InputError(where, "is no row of results", "predict these photos again")
    numbers = iter(row.boxes)
    return _Row(
        image_id=row.id,
        path=row.file,
        width=row.width,
        height=row.height,
        boxes=list(zip(numbers, numbers, numbers, numbers, strict=True)),
        scores=row.scores,
        classes=[class_names[index] for index in row.classes],
        disagreement=row.disagreement,
    )


def _photo(where: str, row: _Row, file: Path, class_names: tuple[str, ...]) -> PhotoBoxes:
    if not len(row.boxes) == len(row.scores) == len(row.classes):
        remedy = "give every box a score and a class"
        raise InputError(where, "boxes, scores and classes differ in number", remedy)
    index = {name: number for number, name in enumerate(class_names)}
    found = Detections(
        boxes=np.array(row.boxes, np.float32).reshape(-1, 4),
        scores=np.array(row.scores, np.float32),
        classes=np.array([index[name] for name in row.classes], np.int64),
        class_names=class_names,
        image_id=row.image_id,
    )
    return PhotoBoxes(file, row.width, row.height, found, row.disagreement)
