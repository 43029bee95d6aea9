"""JSON and JSON lines: `{"a.jpg": ["dog"]}`, or objects with an image and its tags."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tag2box.data.tag_rows import IMAGE_KEYS, TAGS_KEYS, TagRow, cleaned, dataset_from_rows
from tag2box.errors import InputError, printable
from tag2box.structures import Dataset

_EXAMPLE = '{"image": "a.jpg", "tags": ["dog"]}'


def read_json(path: Path, *, images: Path | None = None) -> Dataset:
    """The data set of a `.json`, `.jsonl` or `.ndjson` file.

    Image names are relative to `images` or to the file. The keys of an object may have the names
    the columns of a table may have; one tag may stand without its brackets.
    """
    rows = _rows_of_lines(path) if path.suffix.lower() != ".json" else _rows(path)
    return dataset_from_rows(rows, source=path, images=images or path.parent)


def load_json(path: Path) -> Any:
    """The content of a small JSON file; a key that stands twice in one object is an error."""
    return _loaded(_content(path), path)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "name a JSON file") from None


def _loaded(content: bytes, where: object) -> Any:
    try:
        return json.loads(content.decode(), object_pairs_hook=_without_repeats)
    except _RepeatedKeyError as error:
        problem = f"the key {error} stands twice in one object"
        raise InputError(where, problem, "put the tags of a photo in one place") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(where, f"line {line} is not UTF-8", "save it as UTF-8") from None
    except (ValueError, RecursionError) as error:
        problem = "is nested too deeply" if isinstance(error, RecursionError) else f"({error})"
        raise InputError(where, f"is not JSON that can be read: {problem}", "mend it") from None


class _RepeatedKeyError(Exception):
    pass


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        (repeated, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise _RepeatedKeyError(repr(repeated))
    return found


def _rows_of_lines(path: Path) -> Iterator[TagRow]:
    for number, line in enumerate(_content(path).split(b"\n"), start=1):
        if line.strip():
            where = f"line {number}"
            yield _row_of_object(_loaded(line, f"{path}, {where}"), path, where)


def _rows(path: Path) -> Iterator[TagRow]:
    content = load_json(path)
    if isinstance(content, dict):
        for name, tags in content.items():
            where = f"key {printable(repr(name), 80)}"
            yield TagRow(name, _tags(tags, path, where), where)
    elif isinstance(content, list):
        for number, entry in enumerate(content, start=1):
            yield _row_of_object(entry, path, f"entry {number}")
    else:
        raise InputError(path, "is neither a list nor an object", f"write a list of {_EXAMPLE}")


def _row_of_object(entry: Any, path: Path, where: str) -> TagRow:
    if not isinstance(entry, dict):
        raise InputError(f"{path}, {where}", "is not an object", f"write it like {_EXAMPLE}")
    names = [key for key in entry if key.lower() in IMAGE_KEYS]
    tags = [key for key in entry if key.lower() in TAGS_KEYS]
    for keys, wanted in ((names, "image"), (tags, "tags")):
        if len(keys) != 1:
            problem = f"has the keys {', '.join(entry)}: not one for the {wanted}"
            raise InputError(f"{path}, {where}", problem, f"write it like {_EXAMPLE}")
    name = entry[names[0]]
    if not isinstance(name, str):
        raise InputError(f"{path}, {where}", f"{name!r} is not an image name", "name a file")
    return TagRow(name, _tags(entry[tags[0]], path, where), where)


def _tags(value: Any, path: Path, where: str) -> tuple[str, ...]:
    tags = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InputError(
            f"{path}, {where}", f"the tags {value!r} are no words", 'write a list: ["dog", "cat"]'
        )
    return cleaned(tags)
