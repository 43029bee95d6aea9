"""File names that a data set states, kept inside its image root and known to exist."""

import os
import re
from collections.abc import Callable, Iterable
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
    if not parts or not _can_be_a_name(name):
        raise InputError(where, f"{name!r} is not a file name", remedy)
    if parts[0].startswith("/") or re.match("[A-Za-z]:", name):
        raise InputError(where, f"the image path {name!r} is absolute", remedy)
    if ".." in parts:
        raise InputError(where, f"the image path {name!r} leaves the image folder", remedy)
    path = root.joinpath(*parts)
    if not _real(path.parent).is_relative_to(_real(root)) or (
        os.path.islink(path) and not Path(os.path.realpath(path)).is_relative_to(_real(root))
    ):
        raise InputError(where, f"the image path {name!r} is a link out of the folder", remedy)
    return path


def existing(root: Path, name: str, where: object) -> Path:
    """As `inside`, and the file is there."""
    path = inside(root, name, where)
    if not _is_file(path):
        raise _missing(root, [name], where)
    return path


class Folder:
    """The files below one folder. Each sub-folder is listed once; no file is asked for by itself.

    A data set names a hundred thousand photos: one listing is far cheaper than as many look-ups.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._listings: dict[str, tuple[Path, dict[str, bool]]] = {}
        self._by_stem: dict[tuple[str, frozenset[str]], dict[str, str]] = {}

    def find(self, name: str, where: object) -> Path | None:
        """The file `name`, or None if it is not there; a name that leads out is an error."""
        parent, _, file = name.replace("\\", "/").rpartition("/")
        if parent not in self._listings:
            folder = inside(self.root, name, where).parent
            self._listings[parent] = folder, list_files(folder)
        folder, is_link = self._listings[parent]
        if file not in is_link:
            return None
        if is_link[file]:
            path = inside(self.root, name, where)
            return path if _is_file(path) else None
        return folder / file

    def find_by_stem(self, name: str, suffixes: frozenset[str], where: object) -> Path | None:
        """The file of this name and any of the suffixes, which are in lower case."""
        parent, _, stem = name.rpartition("/")
        by_stem = self._by_stem.get((parent, suffixes))
        if by_stem is None:
            self.find(name, where)
            pairs = (os.path.splitext(file) for file in sorted(self._listings[parent][1]))
            by_stem = {first: first + last for first, last in pairs if last.lower() in suffixes}
            self._by_stem[parent, suffixes] = by_stem
        file = by_stem.get(stem)
        return None if file is None else self.find(f"{parent}/{file}" if parent else file, where)


def all_there(
    paths: Iterable[Path | None], root: Path, name: Callable[[int], str], where: object
) -> tuple[Path, ...]:
    """The paths; an error if any is None, with the first name that is missing and how many are."""
    paths = tuple(paths)
    missing = [name(index) for index, path in enumerate(paths) if path is None]
    if missing:
        raise _missing(root, missing, where)
    return tuple(path for path in paths if path is not None)


def list_files(folder: Path) -> dict[str, bool]:
    """The files of a folder and whether each is a link; none where there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            return {e.name: e.is_symlink() for e in entries if not e.is_dir(follow_symlinks=False)}
    except PermissionError as error:
        raise InputError(
            folder, f"cannot be read ({error.strerror})", "allow reading that folder"
        ) from None
    except OSError:
        return {}


def _missing(root: Path, names: list[str], where: object) -> InputError:
    others = f" nor are {len(names) - 1} others" if len(names) > 1 else ""
    return InputError(
        where,
        f"the image {names[0]!r} is not in {root}{others}",
        "add what is missing, remove its entry, or name the folder of the images",
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:  # a name too long, or a folder that may not be entered
        raise InputError(
            path, f"cannot be looked at ({error.strerror})", "mend the name or allow reading it"
        ) from None


def _can_be_a_name(name: str) -> bool:
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def _real(folder: Path) -> Path:
    """The folder with its links followed; asked for once per folder, not once per photo."""
    return _real_of_absolute(os.path.abspath(folder))


@cache
def _real_of_absolute(folder: str) -> Path:
    return Path(os.path.realpath(folder))
