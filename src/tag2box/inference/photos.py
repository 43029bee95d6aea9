"""The photos a person names: files, folders and patterns, without tags."""

import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tag2box.data.folder import photos_in
from tag2box.errors import InputError
from tag2box.structures import TaggedImage


def photos_named(places: Sequence[Path]) -> tuple[TaggedImage, ...]:
    """Every photo once, in the order named; a folder stands for all photos below it.

    The id of a photo is its path below the folder that holds all that is named.
    """
    words = [str(place) for place in places]
    if not words:
        raise InputError("PHOTOS", "no photo is named", "name photos, folders or patterns")
    found = {
        Path(os.path.abspath(path)): path for word in words for path in _photos_of(word)
    }  # not resolved: a link is a photo of its own name
    root = _root(words, list(found))
    return tuple(
        TaggedImage(absolute.relative_to(root).as_posix(), path, frozenset())
        for absolute, path in found.items()
    )


def _photos_of(word: str) -> Iterator[Path]:
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", word):  # of :// a path keeps one /
        raise InputError(word, "is an address and photos are not fetched", "download it first")
    if os.path.lexists(word):
        places = [word]
    else:
        places = sorted(glob.glob(os.path.expanduser(word), recursive=True))
        if not places:
            raise InputError(word, "is not there", "name a photo, a folder or a pattern like *.jpg")
    count = 0
    for place in places:
        paths = photos_in(Path(place)) if os.path.isdir(place) else [Path(place)]
        count += len(paths)
        yield from paths
    if count == 0:
        raise InputError(word, "holds no photo", "name a folder that does")


def _root(words: Sequence[str], paths: list[Path]) -> Path:
    """The one folder that is named, else the deepest folder that holds all photos."""
    if len(words) == 1 and os.path.isdir(words[0]):
        return Path(os.path.abspath(words[0]))
    try:
        return Path(os.path.commonpath([path.parent for path in paths]))
    except ValueError:
        remedy = "name them in two commands"
        raise InputError(", ".join(words), "lie on different drives", remedy) from None
