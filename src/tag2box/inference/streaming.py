"""Results on disk as they come, one flushed JSON line a photo, so that no work is lost.

A job is a folder with one file a process. Its first line states what the job depends on besides
the photos; a row belongs to a photo only while its file and its tags are what they were. No torch
is loaded here. D detections.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tag2box.errors import InputError
from tag2box.inference.photo_boxes import PhotoBoxes, shortest
from tag2box.structures import Detections, TaggedImage

_REMEDY = "name another folder with --out, or delete this one"


class _Row(msgspec.Struct, gc=False):
    """One line: a photo as it was, and what was found in it."""

    id: str
    file: str
    stamp: tuple[int, int]
    """Bytes and time of change (ns)."""
    tags: list[int]
    width: int
    height: int
    boxes: list[float]
    """4 D numbers, xyxy in pixels of the photo as shown."""
    scores: list[float]
    classes: list[int]
    disagreement: float | None = None


class _Header(msgspec.Struct):
    depends_on: dict[str, Any]


class Stream:
    """The rows of a job."""

    def __init__(
        self, folder: Path, class_names: Sequence[str], depends_on: Mapping[str, Any]
    ) -> None:
        self._folder = folder
        self._class_names = tuple(class_names)
        # As it looks after a turn through JSON, to be compared with what stands in a file.
        plain = msgspec.json.encode({**depends_on, "class_names": list(class_names)})
        self._depends_on = msgspec.json.decode(plain, type=dict[str, Any])

    def found(self, photos: Collection[TaggedImage]) -> Iterator[PhotoBoxes]:
        """What is known of these photos, in no order; the newest row where there are several."""
        wanted = {photo.id: photo for photo in photos}
        states = {photo.id: (_file(photo), _stamp(photo.path)) for photo in photos}
        seen: set[str] = set()
        for row in self._rows():
            photo = wanted.get(row.id)
            if photo is None or row.id in seen:
                continue
            if (row.file, row.stamp) == states[row.id] and row.tags == sorted(photo.tags):
                seen.add(row.id)
                yield self._boxes(row, photo)

    @contextmanager
    def opened(self, process: int) -> Iterator[Callable[[TaggedImage, PhotoBoxes], None]]:
        """Something to add the result of a photo with, for one process."""
        path = self._folder / f"{process}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.truncate(_end_of_last_line(path))
            if path.stat().st_size == 0:
                file.write(msgspec.json.encode(_Header(self._depends_on)) + b"\n")

            def add(photo: TaggedImage, found: PhotoBoxes) -> None:
                file.write(_row(photo, found) + b"\n")
                file.flush()

            yield add

    def _rows(self) -> Iterator[_Row]:
        """Newest first within a file; a torn last line is passed over."""
        decoder = msgspec.json.Decoder(_Row)
        for path in sorted(self._folder.glob("*.jsonl")):
            lines = path.read_bytes().split(b"\n")[:-1]
            if lines:
                self._check_header(path, lines[0])
            for number in range(len(lines) - 1, 0, -1):
                try:
                    yield decoder.decode(lines[number])
                except (msgspec.MsgspecError, UnicodeDecodeError):
                    where = f"{path}:{number + 1}"
                    raise InputError(where, "is no row of results", _REMEDY) from None

    def _check_header(self, path: Path, line: bytes) -> None:
        try:
            before = msgspec.json.decode(line, type=_Header).depends_on
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise InputError(f"{path}:1", "is not the beginning of a job", _REMEDY) from None
        for key in sorted(before.keys() | self._depends_on.keys()):
            was, now = before.get(key), self._depends_on.get(key)
            if was != now:
                problem = f"was begun with {key} = {was!r:.80}, which is now {now!r:.80}"
                raise InputError(self._folder, problem, _REMEDY)

    def _boxes(self, row: _Row, photo: TaggedImage) -> PhotoBoxes:
        detections = Detections(
            boxes=np.array(row.boxes, np.float32).reshape(-1, 4),
            scores=np.array(row.scores, np.float32),
            classes=np.array(row.classes, np.int64),
            class_names=self._class_names,
            image_id=photo.id,
        )
        return PhotoBoxes(photo.path, row.width, row.height, detections, row.disagreement)


def _row(photo: TaggedImage, found: PhotoBoxes) -> bytes:
    return msgspec.json.encode(
        _Row(
            id=photo.id,
            file=_file(photo),
            stamp=_stamp(photo.path),
            tags=sorted(photo.tags),
            width=found.width,
            height=found.height,
            boxes=shortest(found.detections.boxes),
            scores=shortest(found.detections.scores),
            classes=found.detections.classes.tolist(),
            disagreement=found.disagreement,
        )
    )


def _file(photo: TaggedImage) -> str:
    name = str(photo.path.absolute())
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(photo.path, "has a name that is not UTF-8", "rename it") from None
    return name


def _stamp(path: Path) -> tuple[int, int]:
    try:
        stated = path.stat()
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "put the photo back") from None
    return stated.st_size, stated.st_mtime_ns


def _end_of_last_line(path: Path) -> int:
    """Bytes up to and with the last line break: what follows was torn by a kill."""
    with path.open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        while position > 0:
            step = min(position, 65536)
            position -= step
            file.seek(position)
            at = file.read(step).rfind(b"\n")
            if at >= 0:
                return position + at + 1
    return 0
