"""Detections as a COCO results file, which every tool writes and reads.

A list of `{"image_id": 7, "category_id": 3, "bbox": [x, y, width, height], "score": 0.9}`, the box
in pixels of the photo as a viewer shows it, 0-based. D detections.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from tag2box.data.images import SUFFIXES
from tag2box.errors import InputError
from tag2box.evaluation.detection_table import DetectionTable
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.files import written_whole
from tag2box.structures import Detections

_WIDEST = 1e9
_KIND = "a list of {image_id, category_id, bbox: [x, y, width, height], score}"


class Result(msgspec.Struct, gc=False):
    """One detection of the file; what else an entry holds is passed over.

    Some tools write whole numbers as 7.0.
    """

    image_id: int | str | float
    category_id: int | str | float
    bbox: tuple[float, float, float, float]
    score: float


def read_results(
    path: Path, truth: GroundTruth, *, other_images: Literal["stop", "skip"] = "stop"
) -> DetectionTable:
    """The detections of a COCO results file.

    `image_id` is the image's number or name in the ground truth: of an image `2008_000002` also
    2008000002 or the name of its file. `category_id` is the number the COCO file gives the class,
    where the ground truth is none 1, 2, ... in the order of its class names; or the name of the
    class. Detections in images the ground truth does not have are an error, or skipped if
    `other_images` says so. Raises `InputError` naming the first wrong entry.
    """
    results = _decode(path)
    images = _positions(_image_keys(results, truth), image_index(truth))
    numbers = truth.numbers()
    class_index: dict[int | str, int] = {
        key: index for index, item in enumerate(numbers.items()) for key in item
    }
    classes = _positions([r.category_id for r in results], class_index)
    flat = chain.from_iterable(r.bbox for r in results)
    boxes = np.fromiter(flat, np.float64, count=4 * len(results)).reshape(-1, 4)
    known = ", ".join(f"{number} {name}" for name, number in numbers.items())
    _refuse(path, results, classes < 0, "category_id", "is unknown", f"the classes are {known}")
    if other_images == "stop":
        remedy = f"name an image like {truth.image_ids[0]!r}, or pass other_images skip"
        _refuse(path, results, images < 0, "image_id", "is not in the ground truth", remedy)
    for bad, problem in (
        (boxes[:, 2:].min(axis=1) < 0, "has a negative size"),
        (np.abs(boxes).max(axis=1) > _WIDEST, "is outside any image"),
    ):
        _refuse(path, results, bad, "bbox", problem, "write x, y, width, height in pixels")
    boxes[:, 2:] += boxes[:, :2]
    table = DetectionTable(
        class_names=truth.class_names,
        image_ids=truth.image_ids,
        images=images,
        boxes=boxes,
        scores=np.array([r.score for r in results], np.float64),
        classes=classes,
    )
    return table[images >= 0]


def write_results(
    path: Path, detections: Iterable[Detections], *, numbers: Mapping[str, int] | None = None
) -> None:
    """Write detections as a COCO results file, whole or not at all.

    `numbers` gives the category id of each class name (`GroundTruth.numbers()` of the data they
    are to be scored on); without it they are 1, 2, ... in the order of the class names. An image
    id that is a plain number is written as one.
    """
    results: list[Result] = []
    for found in detections:
        of_class = numbers or {name: i for i, name in enumerate(found.class_names, start=1)}
        category_ids = [of_class[name] for name in found.class_names]
        plain = re.fullmatch(r"0|[1-9]\d{0,15}", found.image_id, re.ASCII)
        boxes = found.boxes.astype(np.float64)
        boxes[:, 2:] -= boxes[:, :2]
        rows = zip(boxes.tolist(), found.scores.tolist(), found.classes.tolist(), strict=True)
        results += [
            Result(
                image_id=int(found.image_id) if plain else found.image_id,
                category_id=category_ids[index],
                bbox=tuple(box),
                score=score,
            )
            for box, score, index in rows
        ]
    with written_whole(path) as temporary:
        temporary.write_bytes(msgspec.json.encode(results))


def _decode(path: Path) -> list[Result]:
    remedy = f"give {_KIND}"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", remedy) from None
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        return msgspec.json.decode(content, type=list[Result])
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        where = f"{path}: result {place.rstrip('`')}" if place else path
        raise InputError(where, f"{problem}{_entry(content, place)}", remedy) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _refuse_not_finite(path, content)
        raise InputError(path, f"is not JSON ({error})", remedy) from None
    except RecursionError:
        raise InputError(path, "is nested too deeply", remedy) from None


def _entry(content: bytes, place: str) -> str:
    """The text of the entry in which an error was found."""
    match = re.match(r"\[(\d+)\]", place)
    if match is None:
        return ""
    try:
        entry = msgspec.json.decode(content, type=list[msgspec.Raw])[int(match[1])]
    except (msgspec.DecodeError, RecursionError):
        return ""  # further on the file is damaged too
    return f" in {bytes(entry)[:150].decode('utf-8', 'replace')}"


def _refuse_not_finite(path: Path, content: bytes) -> None:
    """An error for the first NaN or Infinity, which are not JSON but which Python writes."""
    try:
        rows: Any = json.loads(content)
    except (ValueError, RecursionError):
        return
    for index, row in enumerate(rows if isinstance(rows, list) else []):
        for key in ("bbox", "score"):
            value = row.get(key) if isinstance(row, dict) else None
            for number in value if isinstance(value, list) else [value]:
                if isinstance(number, float) and not math.isfinite(number):
                    where = f"{path}: result [{index}].{key}"
                    raise InputError(where, f"{value} is not finite", "write finite numbers")


def image_index(truth: GroundTruth) -> dict[int | str, int]:
    """Where each image stands, by its id and by every other name that only it has."""
    other_names: defaultdict[int | str, set[int]] = defaultdict(set)
    for index, image_id in enumerate(truth.image_ids):
        file = PurePosixPath(image_id)
        digits = file.stem.replace("_", "")
        number = int(digits) if re.fullmatch(r"\d{1,18}", digits, re.ASCII) else None
        names: set[int | str] = {file.name, file.stem}
        for name in names if number is None else names | {number}:
            other_names[name].add(index)
    index_of: dict[int | str, int] = {
        name: min(indexes) for name, indexes in other_names.items() if len(indexes) == 1
    }
    for index, image_id in enumerate(truth.image_ids):
        index_of[image_id] = index
        if re.fullmatch(r"0|-?[1-9]\d{0,17}", image_id, re.ASCII):
            index_of[int(image_id)] = index
    return index_of


def _image_keys(results: list[Result], truth: GroundTruth) -> list[int | str | float]:
    """What the results call their images; without suffix where the truth's ids have none (VOC)."""
    keys = [r.image_id for r in results]
    if any(_is_file_name(image_id) for image_id in truth.image_ids):
        return keys
    return [PurePosixPath(k).stem if isinstance(k, str) and _is_file_name(k) else k for k in keys]


def _is_file_name(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in SUFFIXES


def _positions(
    keys: Sequence[int | str | float], index: Mapping[Any, int]
) -> npt.NDArray[np.int64]:
    """Where each key stands, -1 for an unknown one: (D,)."""
    return np.fromiter((index.get(key, -1) for key in keys), np.int64, count=len(keys))


def _refuse(
    path: Path,
    results: list[Result],
    bad: npt.NDArray[np.bool_],
    field: str,
    problem: str,
    remedy: str,
) -> None:
    """An error for the first bad entry."""
    if bad.any():
        first = int(np.argmax(bad))
        value = getattr(results[first], field)
        raise InputError(f"{path}: result [{first}]", f"the {field} {value!r} {problem}", remedy)
