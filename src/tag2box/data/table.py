"""CSV and TSV: `image,tags` with `;` between tags, or one column of 0 and 1 per class."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from tag2box.data.images import SUFFIXES
from tag2box.data.tag_rows import IMAGE_KEYS, TAGS_KEYS, TagRow, cleaned, dataset_from_rows
from tag2box.errors import InputError
from tag2box.structures import Dataset

_PRESENT, _ABSENT = frozenset({"1", "1.0", "true"}), frozenset({"0", "0.0", "false", ""})

Line = tuple[int, list[str]]
"""Line number, counted from 1, and the cells without the spaces around them."""


def read_table(path: Path, *, images: Path | None = None, split: str | None = None) -> Dataset:
    """The data set of a CSV or TSV file; image names are relative to `images` or to the file.

    The header may be missing: then the columns are the image and its tags. With a header, the
    image column is called image, file, filename or path, the tags column tags, labels or classes;
    without a tags column every other column is a class with 1 where it is present. `split` keeps
    the rows that state it in the column `split`.
    """
    lines = list(_lines(path))
    if not lines:
        raise InputError(path, "is empty", "write a line image,tags for each photo")
    header = lines[0][1]
    if _looks_like_an_image(header[0]):
        if split is not None:
            raise InputError(path, "has no header and so no split", "add one with a split column")
        rows = [_row(path, line, image=0, tags=1, columns=2) for line in lines]
    else:
        rows = list(_rows_below_header(path, header, lines[1:], split))
    return dataset_from_rows(rows, source=path, images=images or path.parent)


def _lines(path: Path) -> Iterator[Line]:
    text = _utf8(path)
    first = next((line for line in text.split("\n") if line.strip()), "")
    delimiter = next((mark for mark in "\t,;" if mark in first), ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}", f"is not {path.suffix} ({error})", "mend the line"
        ) from None


def _utf8(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "name a CSV file") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(
            f"{path}, line {line}", "is not UTF-8", "save the file as CSV UTF-8"
        ) from None


def _looks_like_an_image(cell: str) -> bool:
    return Path(cell).suffix.lower() in SUFFIXES


def _rows_below_header(
    path: Path, header: Sequence[str], lines: Sequence[Line], split: str | None
) -> Iterator[TagRow]:
    words = [word.lower() for word in header]
    image = _column(path, words, IMAGE_KEYS)
    tags = _column(path, words, TAGS_KEYS)
    if image is None:
        raise InputError(
            f"{path}, line 1",
            f"no column is called image (columns: {', '.join(header)})",
            "name the column with the image names `image`",
        )
    if split is not None:
        lines = _lines_of_split(path, words, lines, split)
    if tags is not None:
        return (_row(path, line, image=image, tags=tags, columns=len(header)) for line in lines)
    classes = [c for c in range(len(header)) if c != image and words[c] != "split" and words[c]]
    if not classes:
        raise InputError(f"{path}, line 1", "no column is called tags", "add the column `tags`")
    return (_row_of_flags(path, line, header, image, classes) for line in lines)


def _column(path: Path, words: Sequence[str], known: frozenset[str]) -> int | None:
    found = [number for number, word in enumerate(words) if word in known]
    if len(found) > 1:
        names = " and ".join(words[number] for number in found)
        raise InputError(f"{path}, line 1", f"the columns {names} mean the same", "keep one")
    return found[0] if found else None


def _lines_of_split(
    path: Path, words: Sequence[str], lines: Sequence[Line], split: str
) -> list[Line]:
    if "split" not in words:
        raise InputError(path, "has no column split", "add one or leave the split out")
    column = words.index("split")
    kept = [line for line in lines if len(line[1]) > column and line[1][column] == split]
    if not kept:
        there = ", ".join(sorted({line[1][column] for line in lines if len(line[1]) > column}))
        raise InputError(path, f"no line is of the split {split!r}", f"choose one of: {there}")
    return kept


def _row(path: Path, line: Line, *, image: int, tags: int, columns: int) -> TagRow:
    number, cells = line
    if len(cells) > columns:
        raise InputError(
            f"{path}, line {number}",
            f"has {len(cells)} columns where {columns} are expected",
            "write image,tags with ; between the tags",
        )
    stated = cells[tags] if len(cells) > tags else ""
    name = cells[image] if len(cells) > image else ""
    return TagRow(name, cleaned(stated.replace("|", ";").split(";")), f"line {number}")


def _row_of_flags(
    path: Path, line: Line, header: Sequence[str], image: int, classes: Sequence[int]
) -> TagRow:
    number, cells = line
    if len(cells) != len(header):
        raise InputError(
            f"{path}, line {number}",
            f"has {len(cells)} columns where the header has {len(header)}",
            "give every class a 0 or a 1",
        )
    for column in classes:
        if cells[column].lower() not in _PRESENT | _ABSENT:
            raise InputError(
                f"{path}, line {number}",
                f"{cells[column]!r} in the column {header[column]} is neither 0 nor 1",
                "name the column with the tags `tags`, or give every class column 0 or 1",
            )
    present = (header[column] for column in classes if cells[column].lower() in _PRESENT)
    return TagRow(cells[image], cleaned(present), f"line {number}")
