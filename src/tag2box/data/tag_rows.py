"""Rows of image names and tags, as every tag-only format gives them, made into a data set."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tag2box.data.paths import Folder, all_there
from tag2box.errors import InputError
from tag2box.structures import Dataset, TaggedImage

IMAGE_KEYS = frozenset(
    {"image", "images", "img", "photo", "file", "filename", "file_name", "path"}
    | {"image_path", "file_path", "filepath", "relative_path", "image_name"}
)
"""What a column or key with image names may be called, in lower case."""
TAGS_KEYS = frozenset(
    {"tag", "tags", "label", "labels", "class", "classes", "class_name", "category", "categories"}
)
"""What a column or key with tags may be called, in lower case."""


@dataclass(frozen=True, slots=True)
class TagRow:
    """One photo as a file of tags states it."""

    name: str
    """Image name relative to the image folder; it becomes the id."""
    tags: tuple[str, ...]
    where: str
    """The place in the file, for errors: `line 3`."""


def dataset_from_rows(rows: Iterable[TagRow], *, source: Path, images: Path) -> Dataset:
    """The data set of a file of tags; classes in alphabetical order.

    Raises `InputError` for an image that is missing, leaves the folder `images` or stands in two
    rows, and when there is no row or no tag at all.
    """
    rows = list(rows)
    if not rows:
        raise InputError(source, "holds no image", "add a line for each photo")
    paths = _checked_paths(rows, source, images)
    names = sorted({tag for row in rows for tag in row.tags})
    if not names:
        raise InputError(source, "holds images but not a single tag", "add tags to some photos")
    index = {name: number for number, name in enumerate(names)}
    return Dataset(
        class_names=tuple(names),
        images=tuple(
            TaggedImage(
                id=path.relative_to(images).as_posix(),
                path=path,
                tags=frozenset(index[tag] for tag in row.tags),
            )
            for row, path in zip(rows, paths, strict=True)
        ),
    )


def _checked_paths(rows: list[TagRow], source: Path, images: Path) -> tuple[Path, ...]:
    if not os.path.isdir(images):
        raise InputError(images, "is not a folder", "name the folder of the photos")
    folder = Folder(images)
    found = [folder.find(row.name, f"{source}, {row.where}") for row in rows]
    missing = next((row.where for row, path in zip(rows, found, strict=True) if path is None), "")
    paths = all_there(found, images, lambda i: rows[i].name, f"{source}, {missing}")
    seen: dict[Path, str] = {}
    for row, path in zip(rows, paths, strict=True):
        if path in seen:
            raise InputError(
                f"{source}, {row.where}",
                f"the image {row.name!r} stands already in {seen[path]}",
                "put all tags of a photo in one place, with ; between them",
            )
        seen[path] = row.where
    return paths


def cleaned(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags without the spaces around them and without empty ones."""
    return tuple(tag for tag in (tag.strip() for tag in tags) if tag)
