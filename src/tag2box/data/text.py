"""Small text files of a data set: lists of images, labels, class names."""

from collections.abc import Iterable
from pathlib import Path

from tag2box.errors import InputError


def read_text(file: Path, *, max_bytes: int | None = None) -> str:
    """The text of a UTF-8 file, with or without a byte order mark."""
    try:
        with file.open("rb") as opened:
            content = opened.read(-1 if max_bytes is None else max_bytes + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(file, f"cannot be read ({reason})", "name a text file") from None
    if max_bytes is not None and len(content) > max_bytes:
        raise InputError(file, f"is larger than {max_bytes} bytes", "name the right file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            file, f"is not UTF-8 text (byte {error.start})", "save it again as UTF-8"
        ) from None


def listed(file: Path, *, first_word_only: bool) -> dict[str, int]:
    """The lines of a list and their numbers, counted from 1; empty lines are skipped.

    With `first_word_only` further columns are ignored, like the -1, 0, 1 of Pascal VOC's lists by
    class. What stands twice is an error.
    """
    lines: dict[str, int] = {}
    for number, line in enumerate(read_text(file).splitlines(), start=1):
        entry = line.strip()
        if first_word_only and entry:
            entry = entry.split(maxsplit=1)[0]
        if entry and lines.setdefault(entry, number) != number:
            raise InputError(
                f"{file}:{number}", f"{entry!r} is listed twice", "remove one of the lines"
            )
    return lines


def refuse_half_characters(names: Iterable[str], where: object) -> None:
    """An error for a name that is not UTF-8, of a file or escaped in JSON: nothing can write it."""
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InputError(where, f"the name {name!r} is not UTF-8", "rename it") from None
