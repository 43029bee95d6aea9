"""A folder for each class, the photos in it."""

import filecmp
import os
import warnings
from collections import defaultdict
from pathlib import Path

from tag2box.data.images import SUFFIXES
from tag2box.data.paths import inside
from tag2box.errors import InputError
from tag2box.structures import Dataset, TaggedImage

SPLITS = frozenset({"train", "val", "valid", "validation", "test", "trainval"})
"""Sub-folders of these names are splits, not classes, when all are."""
_OTHER_PHOTOS = frozenset({".heic", ".heif", ".dng", ".cr2", ".cr3", ".nef", ".arw", ".raw"})


def read_folder(path: Path, *, split: str | None = None) -> Dataset:
    """The photos below each sub-folder of `path`, or of `path/split`, tagged with its name.

    Photos directly in the folder are negatives. A photo that lies in several class folders, the
    same name and the same content, is one photo with all their tags.
    """
    root = _root(path, split)
    classes = class_folders(root)
    if not classes:
        remedy = "put the photos in one folder per class, or name a file of tags with --tags"
        raise InputError(root, "has no class folders", remedy)
    photos = {name: _photos(root, inside(root, name, root)) for name in classes}
    negatives = [(name, frozenset[int]()) for name in _photos(root, root, deep=False)]
    tagged = negatives + _tagged(root, classes, photos)
    if not tagged:
        raise InputError(root, "holds no photo", f"add photos ({', '.join(sorted(SUFFIXES))})")
    return Dataset(
        class_names=tuple(classes),
        images=tuple(TaggedImage(id=name, path=root / name, tags=tags) for name, tags in tagged),
    )


def class_folders(root: Path) -> list[str]:
    """Names of the visible sub-folders, in alphabetical order."""
    visible = (entry for entry in _entries(root) if _visible(entry.name))
    return sorted(e.name for e in visible if os.path.isdir(e.path))  # False where links go round


def photos_in(root: Path) -> list[Path]:
    """Every photo below a folder, in alphabetical order."""
    return [root / name for name in _photos(root, root)]


def _root(path: Path, split: str | None) -> Path:
    if not os.path.isdir(path):
        raise InputError(path, "is not a folder", "name a folder with one sub-folder per class")
    folders = class_folders(path)
    if split is not None:
        if split not in folders:
            there = ", ".join(folders) or "no folder"
            raise InputError(
                path, f"has no split {split!r}", f"choose one of what is there: {there}"
            )
        return path / split
    if folders and SPLITS.issuperset(folders):
        remedy = f"choose one with --split {folders[0]}"
        raise InputError(path, f"holds the splits {', '.join(folders)}", remedy)
    return path


def _photos(root: Path, folder: Path, *, deep: bool = True) -> list[str]:
    """Names relative to `root` of the photos in a folder, and below it if `deep`."""
    found, passed_over = [], 0
    for entry in _entries(folder):
        name = (folder / entry.name).relative_to(root).as_posix()
        suffix = os.path.splitext(entry.name)[1].lower()
        if not _visible(entry.name):
            continue
        if entry.is_dir(follow_symlinks=False):
            found += _photos(root, folder / entry.name) if deep else []
        elif suffix in SUFFIXES:
            found.append(name)
            if entry.is_symlink():
                inside(root, name, root)
        passed_over += suffix in _OTHER_PHOTOS
    if passed_over:
        message = f"{folder}: {passed_over} photos of a kind that cannot be read were passed over"
        warnings.warn(f"{message}; convert HEIC and raw photos to JPEG", stacklevel=2)
    return sorted(found)


def _tagged(
    root: Path, classes: list[str], photos: dict[str, list[str]]
) -> list[tuple[str, frozenset[int]]]:
    """Each photo once, with the numbers of the classes it lies in."""
    tags: dict[str, set[int]] = {}
    firsts: dict[str, list[str]] = defaultdict(list)  # by the name below the class folder
    for number, folder in enumerate(classes):
        for name in photos[folder]:
            below = name.partition("/")[2]
            same = (first for first in firsts[below] if _same_content(root / first, root / name))
            first = next(same, name)
            if first == name:
                firsts[below].append(name)
            tags.setdefault(first, set()).add(number)
    return [(name, frozenset(numbers)) for name, numbers in tags.items()]


def _same_content(first: Path, second: Path) -> bool:
    try:
        return filecmp.cmp(first, second, shallow=False)
    except OSError as error:
        raise InputError(second, f"cannot be read ({error.strerror})", "mend the file") from None


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise InputError(
            folder, f"cannot be read ({error.strerror})", "name a folder you may read"
        ) from None


def _visible(name: str) -> bool:
    return not name.startswith((".", "__"))
