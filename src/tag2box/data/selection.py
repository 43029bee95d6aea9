"""Classes and images picked by name, and ids kept apart when data sets are joined.

Training picks from tags and evaluation from boxes; both ask here which.
"""

import difflib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tag2box.errors import InputError


def check_classes(wanted: Sequence[str], known: Sequence[str]) -> None:
    """Raise `InputError` for a class that is not there, naming the nearest, or named twice."""
    for name in wanted:
        if name not in known:
            by_lower = {one.lower(): one for one in known}
            close = difflib.get_close_matches(name.lower(), by_lower, n=1)
            nearest = f"perhaps {by_lower[close[0]]!r} is meant" if close else ""
            remedy = nearest or f"name one of {', '.join(known)}"
            raise InputError("--classes", f"there is no class {name!r}", remedy)
    twice = [name for name, count in Counter(wanted).items() if count > 1]
    if twice:
        raise InputError("--classes", f"{twice[0]!r} is named twice", "name it once")


def listed(image_list: Path, ids: Sequence[str], paths: Sequence[Path]) -> list[int]:
    """Which images a text file lists, in the order of the data set.

    A line is an id, a file name, its stem, or a path of which the last part is one; what follows
    the first space is passed over when the whole line names nothing (VOC's ` 1` and ` -1`).
    """
    by_name = _by_name(ids, paths)
    chosen: set[int] = set()
    for number, line in enumerate(_lines(image_list), start=1):
        words = line.strip()
        if not words:
            continue
        candidates = (words, _last(words), words.split()[0], _last(words.split()[0]))
        found = next((by_name[name] for name in candidates if name in by_name), None)
        if not found or len(found) > 1:
            problem = f"{words!r} names {len(found) if found else 'no'} images"
            remedy = "write one image id or file name a line"
            raise InputError(f"{image_list}, line {number}", problem, remedy)
        chosen |= found
    return sorted(chosen)


def ids_kept_apart(sets: Sequence[Sequence[str]], paths: Sequence[Path]) -> list[list[str]]:
    """The ids of several data sets; one that several have gets its folder's name before it."""
    counts = Counter(image_id for ids in sets for image_id in ids)
    names = [_folder_names(path, paths) for path in paths]
    return [
        [f"{name}/{image_id}" if counts[image_id] > 1 else image_id for image_id in ids]
        for ids, name in zip(sets, names, strict=True)
    ]


def _folder_names(path: Path, paths: Sequence[Path]) -> str:
    """The shortest end of the path that no other path has."""
    parts = path.absolute().parts
    for length in range(1, len(parts) + 1):
        end = parts[-length:]
        if sum(other.absolute().parts[-length:] == end for other in paths) == 1:
            return "/".join(end)
    raise InputError(path, "is named twice", "name each data set once")


def _by_name(ids: Sequence[str], paths: Sequence[Path]) -> dict[str, set[int]]:
    by_name: dict[str, set[int]] = {}
    for index, path in enumerate(paths):
        for name in {path.stem, path.name}:
            by_name.setdefault(name, set()).add(index)
    return by_name | {image_id: {index} for index, image_id in enumerate(ids)}


def _last(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    except UnicodeDecodeError:
        problem = "is not UTF-8"
    raise InputError(path, problem, "name a text file with one image id or name a line")
