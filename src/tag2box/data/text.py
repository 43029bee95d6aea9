"""Small text files of a data set: lists of images, labels, class names."""

from pathlib import Path

from tag2box.errors import InputError


def read_text(file: Path) -> str:
    """The text of a UTF-8 file, with or without a byte order mark."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(file, f"cannot be read ({error.strerror})", "name a text file") from None
    except UnicodeDecodeError as error:
        raise InputError(
            file, f"is not UTF-8 text (byte {error.start})", "save it again as UTF-8"
        ) from None


def first_words(file: Path) -> dict[str, int]:
    """The first word of each line that has one, and the number of the line, counted from 1.

    So image lists are read with or without further columns, like the -1, 0, 1 of Pascal VOC's
    lists by class. A word that stands twice is an error.
    """
    words: dict[str, int] = {}
    for number, line in enumerate(read_text(file).splitlines(), start=1):
        word = line.split(maxsplit=1)[0] if line.strip() else ""
        if word and words.setdefault(word, number) != number:
            raise InputError(
                f"{file}:{number}", f"{word!r} is listed twice", "remove one of the lines"
            )
    return words
