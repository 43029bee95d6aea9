"""The data.yaml of a YOLO data set, or the classes.txt of one that has none."""

import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tag2box.data.paths import inside, list_files
from tag2box.data.text import listed, read_text
from tag2box.errors import InputError

SPLITS = ("train", "val", "test")

_MAX_BYTES = 1_000_000
_DEEPEST = 20
_YAML = (".yaml", ".yml")
_CLASS_LISTS = ("classes.txt", "obj.names", "labels/classes.txt")


@dataclass(frozen=True)
class YoloFile:
    """Class names, and where the images of each split are."""

    file: Path
    root: Path
    """The folder that everything is named relative to."""
    class_names: tuple[str, ...]
    entries: dict[str, list[str]]
    """By split: folders of images, or text files that list images."""
    has_keypoints: bool = False
    """Whether label lines go on after the box with the points of a pose."""


def read_yolo_file(path: Path, images: Path | None) -> YoloFile:
    """What data.yaml says; `images` stands for the folder its `path` names.

    Every plain value is taken as the text it is, so classes may be called `no` or `1`.
    """
    file = _description(path) if path.is_dir() else path
    if file.suffix in (".txt", ".names"):
        return _without_yaml(file, images or path)
    content = _loaded(file)
    entries = {
        split: _as_list(content[split], split, file) for split in SPLITS if content.get(split)
    }
    if "valid" in content and "val" not in entries:
        entries["val"] = _as_list(content["valid"], "valid", file)
    if not entries:
        raise InputError(file, "names no images", "add train: and val: with folders of images")
    return YoloFile(
        file=file,
        root=images or _root(file, content.get("path")),
        class_names=_class_names(content, file),
        entries=entries,
        has_keypoints="kpt_shape" in content,
    )


def _description(folder: Path) -> Path:
    """The file in a folder that names the classes."""
    names = sorted(name for name in list_files(folder) if name.endswith(_YAML))
    usual = [name for name in names if name in ("data.yaml", "dataset.yaml", "data.yml")]
    if usual or len(names) == 1:
        return folder / (usual or names)[0]
    for name in _CLASS_LISTS:
        if (folder / name).is_file():
            return folder / name
    raise InputError(
        folder, "holds neither data.yaml nor classes.txt", "name the data.yaml of the data set"
    )


def _without_yaml(file: Path, root: Path) -> YoloFile:
    """A folder with classes.txt: images/, with a folder for each split or none, or the root."""
    root = file.parent if root == file else root
    images = "images" if (root / "images").is_dir() else "."
    splits = [*SPLITS, "valid"]
    entries = {s: [f"{images}/{s}"] for s in splits if (root / images / s).is_dir()}
    names = tuple(listed(file, first_word_only=False))
    if not names:
        raise InputError(file, "names no class", "write the name of a class on each line")
    return YoloFile(file=file, root=root, class_names=names, entries=entries or {"train": [images]})


def _loaded(file: Path) -> dict[str, Any]:
    text = read_text(file, max_bytes=_MAX_BYTES)
    try:
        multiplies = _multiplies(yaml.parse(text, Loader=yaml.BaseLoader))
        content = None if multiplies else yaml.load(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or error
        where = f"{file}:{mark.line + 1}" if mark else file
        raise InputError(where, f"is not YAML ({problem})", "mend that line") from None
    if multiplies:
        raise InputError(file, "uses aliases (*name) or is nested too deeply", "write it plainly")
    if not isinstance(content, dict):
        raise InputError(file, "is not a table of keys", "add names: and train:")
    return content


def _multiplies(events: Iterable[yaml.Event]) -> bool:
    """Whether a small file may cost much: by aliases, or by lists in lists in lists."""
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > _DEEPEST:
            return True
    return False


def _as_list(value: Any, split: str, file: Path) -> list[str]:
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, str) and entry for entry in values):
        raise InputError(
            file, f"{split} is not a path or a list of paths", "name folders or text files"
        )
    return values


def _root(file: Path, stated: Any) -> Path:
    """The folder `path` names below the file's own; what names another machine's is passed over."""
    if not isinstance(stated, str) or not stated:
        return file.parent
    try:
        root = inside(file.parent, stated, file)
    except InputError:
        return file.parent
    return root if os.path.isdir(root) else file.parent


def _class_names(content: dict[str, Any], file: Path) -> tuple[str, ...]:
    stated = content.get("names")
    if isinstance(stated, dict):
        stated = _in_order(stated, file)
    if not isinstance(stated, list) or not stated or not all(map(_is_name, stated)):
        raise InputError(file, "names is not a list of class names", "list them under names:")
    name, times = Counter(stated).most_common(1)[0]
    if times > 1:
        raise InputError(file, f"the class name {name!r} is used twice", "make the names unique")
    count = content.get("nc", len(stated))
    if str(count) != str(len(stated)):
        raise InputError(
            file, f"nc is {count!r:.50}, but names holds {len(stated)}", "make them agree"
        )
    return tuple(stated)


def _is_name(value: Any) -> bool:
    """Whether it is text that can be written down: an escape can make half a character."""
    return isinstance(value, str) and value != "" and not re.search("[\ud800-\udfff]", value)


def _in_order(names: dict[str, Any], file: Path) -> list[Any]:
    """The names of a table 0: a, 1: b ... as a list."""
    by_index = {str(index): index for index in range(len(names))}
    for key in names:
        if key not in by_index:
            raise InputError(
                file,
                f"the key {key!r:.50} of names is not a number from 0 to {len(names) - 1}",
                "number the names from 0",
            )
    return [names[key] for key in by_index]
