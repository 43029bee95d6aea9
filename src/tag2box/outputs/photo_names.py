"""What the photos are called in a file of boxes, and which names a format cannot hold."""

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from tag2box.errors import InputError


def file_names(ids: Sequence[str], paths: Sequence[Path]) -> list[str]:
    """The name of each photo below the folder they are all in, with / between folders.

    Where the ids are such names, as in most formats, they are taken.
    """
    absolute = [Path(os.path.abspath(path)) for path in paths]
    if all(f"/{path.as_posix()}".endswith(f"/{i}") for i, path in zip(ids, absolute, strict=True)):
        return list(ids)
    root = os.path.commonpath([path.parent for path in absolute])
    return [path.relative_to(root).as_posix() for path in absolute]


def flat_names(names: Sequence[str]) -> list[str]:
    """Names for one folder without sub-folders, no two of which differ only in their ending.

    A name stays as it is where its stem is the only such one; else its folders come before it.
    """
    paths = [PurePosixPath(name) for name in names]
    counts = Counter(path.stem.lower() for path in paths)
    taken: set[str] = set()
    flat = []
    for path in paths:
        alone = counts[path.stem.lower()] == 1
        stem = wanted = path.stem if alone else "_".join(path.with_suffix("").parts).strip("/_")
        number = 1
        while stem.lower() in taken:
            number += 1
            stem = f"{wanted}-{number}"
        taken.add(stem.lower())
        flat.append(stem + path.suffix)
    return flat


def refuse_unwritable(names: Iterable[str], *, where: str, as_lines: bool = False) -> None:
    """An error for a name that is not UTF-8 or, in XML and in lists of lines, not on one line."""
    for name in names:
        kinds = {unicodedata.category(character) for character in name}
        if "Cs" in kinds:
            raise InputError(where, f"the name {name!r} is not UTF-8", "rename it")
        if as_lines and ("Cc" in kinds or "\ufffe" in name or "\uffff" in name):
            remedy = "rename it, or choose the format coco or jsonl"
            raise InputError(where, f"the name {name!r} has control characters", remedy)
