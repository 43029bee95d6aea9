"""Which format a data set is in, told from what lies there.

One answer serves training, which reads the tags, and evaluation, which parses the boxes.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from tag2box.data.folder import SPLITS, class_folders
from tag2box.data.paths import list_files
from tag2box.errors import InputError
from tag2box.recipe import Format, ReadingSettings

_NAMES = {
    "folder": "one folder per class",
    "table": "a table of tags",
    "json": "JSON tags",
    "coco": "COCO instances",
    "voc": "Pascal VOC",
    "yolo": "YOLO",
    "labelstudio": "a Label Studio export",
    "imagenet-vid": "ImageNet VID",
}
BOXED = frozenset({"coco", "voc", "yolo", "imagenet-vid"})
"""Formats that state boxes."""
_WITH_SPLITS = BOXED | {"folder", "table"}

_TAG_FILE = re.compile(r"(_?classes|tags|labels|metadata|annotations)\.(csv|tsv|jsonl?|ndjson)")
_HEAD = 65536


@dataclass(frozen=True, slots=True)
class Source:
    """A data set to be read: what kind it is, where it lies, and the keywords of its reader."""

    format: str
    path: Path
    split: str | None = None
    images: Path | None = None

    def describe(self) -> str:
        """One line for the user: what was found and how it is read."""
        split = f", split {self.split}" if self.split else ""
        images = f", photos in {self.images}" if self.images else ""
        return f"{self.path}: {_NAMES[self.format]}{split}{images}"


def sources_of(paths: Sequence[Path], settings: ReadingSettings) -> list[Source]:
    """How each of the data sets is to be read. Raises `InputError` if it cannot be told."""
    if not paths:
        raise InputError("DATA", "no data set is named", "name a folder or file of tagged photos")
    if settings.tags is not None:
        if len(paths) != 1:
            raise InputError("--tags", f"{len(paths)} folders of photos", "name one with --tags")
        return [_source(settings.tags, settings, images=settings.images or paths[0])]
    return [_source(path, settings, images=settings.images) for path in paths]


def _source(path: Path, settings: ReadingSettings, images: Path | None) -> Source:
    if not os.path.exists(path):  # which, unlike Path.exists, never raises
        raise InputError(path, "is not there", "name a folder or file that exists")
    kind = detect_format(path) if settings.format == "auto" else settings.format
    if kind not in _WITH_SPLITS and settings.split is not None:
        raise InputError(path, f"{_NAMES[kind]} has no splits", "leave out --split")
    if kind == "folder" and images is not None:
        raise InputError(images, "class folders hold their photos", "leave out --images")
    if kind in ("table", "json", "labelstudio") and path.is_dir():
        path = _tag_file(path) or path
    return Source(kind, path, settings.split, images)


def detect_format(path: Path) -> Format:
    """The format of what lies at `path`. Raises `InputError` if nothing known does."""
    return _format_of_folder(path) if path.is_dir() else _format_of_file(path)


def _format_of_file(path: Path) -> Format:
    match path.suffix.lower():
        case ".csv" | ".tsv" | ".txt":
            return "table"
        case ".yaml" | ".yml":
            return "yolo"
        case ".jsonl" | ".ndjson":
            return "json"
        case ".json":
            return _format_of_json(path)
    remedy = "name a folder, or a .csv, .tsv, .json, .jsonl or .yaml file"
    raise InputError(path, "is of no known format", remedy)


def _format_of_json(path: Path) -> Format:
    """Told from the beginning of the file, because a COCO file may be large."""
    head = _head(path).decode("utf-8-sig", "replace").lstrip()
    if re.match(r'\{\s*"(images|annotations|categories|licenses|info|type)"\s*:\s*[\[{"]', head):
        return "coco"
    if head.startswith("[") and '"annotations"' in head and '"data"' in head:
        return "labelstudio"
    return "json"


def _format_of_folder(path: Path) -> Format:
    folders = class_folders(path)
    if (path / "Annotations" / "VID").is_dir():
        return "imagenet-vid"
    if _is_voc(path):
        return "voc"
    if {"images", "labels"} <= set(folders) or any(_is_yolo(file) for file in path.glob("*.y*ml")):
        return "yolo"
    tag_file = _tag_file(path)
    if tag_file is not None:
        return _format_of_file(tag_file)
    if any(path.glob("annotations/*.json")) or any(path.glob("*/_annotations.coco.json")):
        return "coco"
    if any(_format_of_json(file) == "coco" for file in path.glob("*.json")):
        return "coco"
    if folders:
        return "folder"
    remedy = "sort the photos into one folder per class, or name a file of tags with --tags"
    raise InputError(path, "holds no tags", remedy)


def _is_voc(path: Path) -> bool:
    """Annotations beside the images, a devkit of several years, or XML files among the photos."""
    patterns = ("Annotations/*.xml", "annotations/*.xml", "*.xml", *(f"{s}/*.xml" for s in SPLITS))
    devkit = any((path / name).is_dir() for name in ("VOCdevkit", "VOC2007", "VOC2012"))
    return devkit or any(any(path.glob(pattern)) for pattern in patterns)


def _is_yolo(path: Path) -> bool:
    """A YAML file that lists the names of classes."""
    return re.search(rb"^names\s*:", _head(path), re.MULTILINE) is not None


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "allow reading it") from None


def _tag_file(folder: Path) -> Path | None:
    """The one file of tags that lies in a folder of photos under a usual name."""
    found = [name for name in list_files(folder) if _TAG_FILE.fullmatch(name.lower())]
    return folder / found[0] if len(found) == 1 else None


assert set(_NAMES) == set(get_args(Format)) - {"auto"}
