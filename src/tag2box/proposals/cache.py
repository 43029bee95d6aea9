"""A store of computed proposals that several processes fill at once, whatever kills them.

A store is a folder. Every process that writes owns a pair of files in it, which nobody else ever
writes to: `NAME.boxes` holds the entries one after the other, `NAME.index` a record of fixed size
for each (key, place, checksums). An entry is appended first and its record after it, so a process
that dies in between leaves bytes nobody refers to. Whatever does not match its checksum counts as
absent and is computed again. There are no locks, and nothing is ever changed or moved.
"""

import hashlib
import os
import struct
import threading
import uuid
import zlib
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from tag2box.errors import InputError

KEY_BYTES = 32
_PLACE = struct.Struct(f"<{KEY_BYTES}sQII")  # key, offset, length, checksum of the entry
_CHECK = struct.Struct("<I")  # checksum of the record itself
_RECORD_BYTES = _PLACE.size + _CHECK.size


def content_key(path: Path) -> bytes:
    """The key of a photo: its content, whatever its name."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
        raise InputError(path, problem, "replace the file or remove it") from None


class _Place(NamedTuple):
    """Where an entry lies."""

    file: Path
    offset: int
    length: int
    checksum: int


class Store:
    """Byte strings by key, in a folder. Safe for several threads, processes and machines."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._places: dict[bytes, tuple[_Place, ...]] = {}
        self._indexed: dict[Path, int] = {}  # bytes read of each index
        self._own: _Segment | None = None
        self._lock = threading.Lock()
        self._refresh()

    def __reduce__(self) -> tuple[type["Store"], tuple[Path]]:
        return Store, (self.folder,)

    def __len__(self) -> int:
        with self._alone():
            self._refresh()
            return len(self._places)

    def bytes_on_disk(self) -> int:
        """Size of all entries, of every process."""
        return sum(path.stat().st_size for path in self.folder.glob("*.boxes"))

    def __contains__(self, key: bytes) -> bool:
        return self.get(key) is not None

    def get(self, key: bytes) -> bytes | None:
        """The entry, or None where it is absent or damaged."""
        with self._alone():
            if key not in self._places:
                self._refresh()
            for place in self._places.get(key, ()):
                entry = _read(place)
                if entry is not None:
                    return entry
            self._places.pop(key, None)
            return None

    def put(self, key: bytes, entry: bytes) -> None:
        """Add the entry; a second one under the same key serves when the first is damaged."""
        assert len(key) == KEY_BYTES
        with self._alone():
            try:
                self._own = self._own or _Segment(self.folder)
                place = self._own.append(key, entry)
            except OSError as error:
                self._own = None  # its files may end in half a record: never append to them again
                problem = f"cannot be written ({error.strerror})"
                raise InputError(self.folder, problem, "free space or set another cache") from None
            self._places[key] = (*self._places.get(key, ()), place)

    def _alone(self) -> threading.Lock:
        """Keeps the other threads out.

        A forked child begins anew, with files and a lock of its own: the lock it was born with may
        have been held by a thread it does not have.
        """
        if self._process != os.getpid():
            self._begin()
        return self._lock

    def _refresh(self) -> None:
        """Learn what other processes have added."""
        for index in sorted(self.folder.glob("*.index")):
            if self._own is None or index != self._own.index_path:
                for key, place in self._new_records(index):
                    self._places[key] = (*self._places.get(key, ()), place)

    def _new_records(self, index: Path) -> Iterator[tuple[bytes, _Place]]:
        start = self._indexed.get(index, 0)
        try:
            with index.open("rb") as file:
                file.seek(start)
                records = file.read()
        except OSError:
            return  # somebody has emptied the cache
        whole = len(records) - len(records) % _RECORD_BYTES
        self._indexed[index] = start + whole
        for at in range(0, whole, _RECORD_BYTES):
            record = records[at : at + _PLACE.size]
            if zlib.crc32(record) == _CHECK.unpack_from(records, at + _PLACE.size)[0]:
                key, *place = _PLACE.unpack(record)
                yield key, _Place(index.with_suffix(".boxes"), *place)


class _Segment:
    """The pair of files one process appends to; unbuffered, so that a fork copies no bytes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = uuid.uuid4().hex
        self.index_path = folder / f"{name}.index"
        self._path = folder / f"{name}.boxes"
        self._entries = self._path.open("xb", buffering=0)
        self._index = self.index_path.open("xb", buffering=0)

    def __del__(self) -> None:
        for file in (getattr(self, "_entries", None), getattr(self, "_index", None)):
            if file is not None:
                file.close()

    def append(self, key: bytes, entry: bytes) -> _Place:
        place = _Place(self._path, self._entries.tell(), len(entry), zlib.crc32(entry))
        _write(self._entries, entry)
        record = _PLACE.pack(key, *place[1:])
        _write(self._index, record + _CHECK.pack(zlib.crc32(record)))
        return place


def _write(file: FileIO, content: bytes) -> None:
    """All of the content, where the system may take a part at a time."""
    written = 0
    while written < len(content):
        written += file.write(content[written:])


def _read(place: _Place) -> bytes | None:
    try:
        with place.file.open("rb") as file:
            file.seek(place.offset)
            entry = file.read(place.length)
    except OSError:
        return None
    return entry if zlib.crc32(entry) == place.checksum else None
