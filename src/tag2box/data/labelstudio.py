"""Label Studio's JSON export of image classification tasks (`<Choices>`)."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tag2box.data.json_tags import load_json
from tag2box.data.tag_rows import TagRow, cleaned, dataset_from_rows
from tag2box.errors import InputError
from tag2box.structures import Dataset

_UPLOAD = re.compile(r"^/?data/upload/(?:\d+/)?(?:[0-9a-f]{8}-)?")
_REMEDY = "export the project as JSON"


def read_labelstudio(path: Path, *, images: Path | None = None) -> Dataset:
    """The choices of an export as tags; a task that nobody annotated is left out.

    Image names are those of the files given to Label Studio, relative to `images` or to the
    export: an upload loses its `/data/upload/1/0a1b2c3d-`, local storage keeps what follows `?d=`.
    Of several annotations of a task the cancelled ones are passed over; those marked as ground
    truth win, else the tags of all are united.
    """
    folder = images or path.parent
    tasks = load_json(path)
    if not isinstance(tasks, list):
        raise InputError(path, "is not a list of tasks", _REMEDY)
    return dataset_from_rows(_rows(tasks, path, folder), source=path, images=folder)


def _rows(tasks: list[Any], path: Path, images: Path) -> Iterator[TagRow]:
    for number, task in enumerate(tasks, start=1):
        identity = task.get("id", number) if isinstance(task, dict) else number
        where = f"task {identity}"
        try:
            name, annotations = _local_name(_image_of(task), images), _annotations_of(task)
            tags = cleaned(tag for one in annotations for tag in _choices(one))
        except (KeyError, TypeError, AttributeError, ValueError):
            problem = "is not a Label Studio task with an image and choices"
            raise InputError(f"{path}, {where}", problem, _REMEDY) from None
        if annotations:
            yield TagRow(name, tags, where)


def _image_of(task: dict[str, Any]) -> str:
    """The image the task shows: `data.image`, else the only text there that names a file."""
    data = task["data"]
    if isinstance(data.get("image"), str):
        return str(data["image"])
    (found,) = [v for v in data.values() if isinstance(v, str) and Path(v).suffix]
    return str(found)


def _annotations_of(task: dict[str, Any]) -> list[dict[str, Any]]:
    valid = [one for one in task["annotations"] if not one.get("was_cancelled")]
    return [one for one in valid if one.get("ground_truth")] or valid


def _choices(annotation: dict[str, Any]) -> list[str]:
    tags = []
    for result in annotation["result"]:
        if result.get("type") == "choices":
            tags += result["value"]["choices"]
        elif result.get("type") == "taxonomy":
            tags += [branch[-1] for branch in result["value"]["taxonomy"]]
    return tags


def _local_name(stated: str, images: Path) -> str:
    """The file name in the user's folder of what Label Studio serves under another address."""
    address = urlsplit(stated)
    served = parse_qs(address.query).get("d")
    if served:
        return _shortened(served[0], images)
    if address.scheme in ("http", "https", "s3", "gs", "azure-blob"):
        return unquote(address.path).rpartition("/")[2]
    uploaded = _UPLOAD.match(stated)
    if not uploaded:
        return stated
    whole = unquote(stated).rpartition("/")[2]  # an export with its images keeps the hash
    return whole if os.path.isfile(images / whole) else unquote(stated[uploaded.end() :])


def _shortened(name: str, images: Path) -> str:
    """The end of a storage path that exists below the folder of the photos, the longest first."""
    parts = name.strip("/").split("/")
    ends = ("/".join(parts[start:]) for start in range(len(parts)))
    return next((end for end in ends if ".." not in end and os.path.isfile(images / end)), name)
