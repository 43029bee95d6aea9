"""Data sets that are folders: they appear whole, and never in place of what somebody else made."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tag2box.errors import InputError

Placing = Literal["copy", "link"]
_MARK = ".made-by-tag2box"


@contextmanager
def folder_written_whole(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path` that takes its place when the block ends without an error.

    An earlier folder of ours is replaced; any other that is not empty is an error.
    """
    if os.path.lexists(path) and not _may_be_replaced(path):
        raise InputError(path, "is there already and was not made by tag2box", "name another place")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as both:
        new = Path(both) / "new"
        new.mkdir()
        (new / _MARK).touch()
        yield new
        if path.exists():
            path.rename(Path(both) / "old")
        new.rename(path)


def place_photo(photo: Path, target: Path, how: Placing) -> None:
    """A copy of the photo, or the same file under a second name where the disk allows it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if how == "link":
        try:
            os.link(os.path.realpath(photo), target)
        except OSError:  # another disk, or one without links
            pass
        else:
            return
    try:
        shutil.copyfile(photo, target)
    except OSError as error:
        raise InputError(photo, f"cannot be copied ({error.strerror})", "free some disk") from None


def _may_be_replaced(path: Path) -> bool:
    return path.is_dir() and ((path / _MARK).exists() or not any(path.iterdir()))
