"""File names that a data set states, kept inside its image root and known to exist."""

import os
from functools import cache
from pathlib import Path

from tag2box.errors import InputError


def inside(root: Path, name: str, where: object) -> Path:
    """The file `name` below `root`; an error if the name leads anywhere else.

    Absolute names, `..` and links that leave the root are refused, because a list of photos that
    somebody sent must not choose which files of this machine are read.
    """
    remedy = f"name a file below {root}"
    parts = Path(name.replace("\\", "/")).parts
    if not parts or "\0" in name:
        raise InputError(where, f"{name!r} is not a file name", remedy)
    if parts[0].startswith("/") or ":" in parts[0]:
        raise InputError(where, f"the image path {name!r} is absolute", remedy)
    if ".." in parts:
        raise InputError(where, f"the image path {name!r} leaves the image folder", remedy)
    path = root.joinpath(*parts)
    if not _real(path.parent).is_relative_to(_real(root)) or (
        path.is_symlink() and not path.resolve().is_relative_to(_real(root))
    ):
        raise InputError(where, f"the image path {name!r} is a link out of the folder", remedy)
    return path


def existing(root: Path, name: str, where: object) -> Path:
    """As `inside`, and the file is there."""
    path = inside(root, name, where)
    if not path.is_file():
        raise InputError(
            where, f"the image {name!r} is not in {root}", "add the file or remove its entry"
        )
    return path


@cache
def _real(folder: Path) -> Path:
    """The folder with its links followed; asked for once per folder, not once per photo."""
    return Path(os.path.realpath(folder))
