"""YOLO: one text file of normalised boxes an image. Tags for everybody, boxes for evaluation.

Understood: data.yaml (or a folder with one) whose train, val, test name folders, lists of folders
or text files of images; a folder with classes.txt, images/ and labels/; images, labels and
classes.txt in one folder. N images, M objects.
"""

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from tag2box.data.annotations import Annotations, refuse_impossible_boxes
from tag2box.data.images import SUFFIXES, image_size
from tag2box.data.paths import Folder, inside, list_files
from tag2box.data.text import listed, read_text
from tag2box.data.yolo_yaml import YoloFile, read_yolo_file
from tag2box.errors import InputError
from tag2box.structures import Dataset

_ROUNDING = 0.01


def read_yolo(
    path: Path,
    *,
    split: str | None = None,
    images: Path | None = None,
    difficult_makes_tag: bool = False,
) -> Dataset:
    """The tags of a YOLO data set; an image without a label file is a negative."""
    return _normalised(path, split, images).tags(difficult_makes_tag=difficult_makes_tag)


def parse_yolo(path: Path, *, split: str | None = None, images: Path | None = None) -> Annotations:
    """The boxes of a YOLO data set.

    Frame: the image as a viewer shows it (EXIF orientation applied), as the YOLO trainers read
    it. The files state fractions of width and height, so every image must be there for its size;
    `sizes` stays 0, because the data set states none. Image ids are paths below the data set's
    folder. The box of a polygon is the smallest around its points.
    """
    found = _normalised(path, split, images)
    shown = np.array([image_size(file) for file in found.paths], np.float64).reshape(-1, 2)
    boxes = found.boxes * np.tile(shown, 2)[found.object_image]  # (M, 4)
    sides = boxes[:, 2:] - boxes[:, :2]
    return replace(found, boxes=boxes, areas=sides[:, 0] * sides[:, 1])


def _normalised(path: Path, split: str | None, images: Path | None) -> Annotations:
    """Everything but the pixels: boxes in fractions of width and height."""
    described = read_yolo_file(path, images)
    folder = Folder(described.root)
    names = list(dict.fromkeys(_image_names(described, split, folder)))
    if not names:
        raise InputError(described.file, "names folders without images", "put the images there")
    labels = [_label_file(name, folder) for name in names]
    if not any(labels):
        raise InputError(
            described.root,
            "holds no label file for any image",
            "put labels/x.txt beside images/x.jpg",
        )
    lines = [
        (image, file, *line)
        for image, file in enumerate(labels)
        if file is not None
        for line in _lines(file, described)
    ]
    boxes = np.array([box for *_, box in lines], np.float64).reshape(-1, 4)
    refuse_impossible_boxes(
        boxes,
        np.ones((len(lines), 2), np.int64),
        lambda index: f"{lines[index][1]}:{lines[index][2]}",
        tolerance=_ROUNDING,
    )
    return Annotations(
        class_names=described.class_names,
        image_ids=tuple(names),
        paths=tuple(described.root / name for name in names),
        sizes=np.zeros((len(names), 2), np.int64),
        object_image=np.array([image for image, *_ in lines], np.int64),
        boxes=boxes,
        classes=np.array([class_index for *_, class_index, _ in lines], np.int64),
        difficult=np.zeros(len(lines), bool),
        crowd=np.zeros(len(lines), bool),
        areas=np.prod(boxes[:, 2:] - boxes[:, :2], axis=1),
    )


def _image_names(described: YoloFile, split: str | None, folder: Folder) -> Iterator[str]:
    """The images of a split, or of all, as paths below the root."""
    known = described.entries
    if split is not None and split not in known:
        raise InputError(
            described.file, f"has no split {split!r}", f"name one of {', '.join(known)}"
        )
    for name, entries in known.items():
        if split in (None, name):
            for entry in entries:
                yield from _entry(entry, name, described, folder)


def _entry(entry: str, split: str, described: YoloFile, folder: Folder) -> Iterator[str]:
    """The images of one folder or list file.

    Roboflow writes ../train/images for the folder train/images beside data.yaml.
    """
    root, file = described.root, described.file
    stripped = entry
    while stripped.startswith(("./", "../")):
        stripped = stripped.partition("/")[2]
    place = inside(root, stripped, file) if stripped not in ("", ".") else root
    if place.suffix == ".txt" and os.path.isfile(place):
        yield from _listed_images(place, root, folder)
    elif os.path.isdir(place):
        yield from _images_below(place, root, folder)
    else:
        raise InputError(
            file,
            f"{split} names {entry!r}, which is not in {root}",
            "mend the path, or name the folder of the data set as images",
        )


def _images_below(place: Path, root: Path, folder: Folder) -> Iterator[str]:
    for parent, folders, _ in os.walk(place):
        folders.sort()
        for file in sorted(list_files(Path(parent))):
            if not file.startswith(".") and os.path.splitext(file)[1].lower() in SUFFIXES:
                name = Path(parent, file).relative_to(root).as_posix()
                if folder.find(name, place):
                    yield name


def _listed_images(file: Path, root: Path, folder: Folder) -> Iterator[str]:
    """The images of a list: relative to the data set, or to the list itself."""
    beside = file.parent.relative_to(root).as_posix()
    for line, number in listed(file, first_word_only=False).items():
        name = Path(line.replace("\\", "/")).as_posix()
        where = f"{file}:{number}"
        if folder.find(name, where) is None:
            name = Path(beside, name).as_posix()
            if folder.find(name, where) is None:
                raise InputError(
                    where, f"the image {line!r} is not in {root}", "add it or remove the line"
                )
        yield name


def _label_file(name: str, folder: Folder) -> Path | None:
    """labels/…/x.txt for images/…/x.jpg, else x.txt beside x.jpg, else None."""
    parts = os.path.splitext(name)[0].split("/")
    if "images" in parts[:-1]:
        last = len(parts) - 2 - parts[-2::-1].index("images")
        swapped = "/".join([*parts[:last], "labels", *parts[last + 1 :]])
        found = folder.find(f"{swapped}.txt", folder.root / name)
        if found:
            return found
    return folder.find("/".join(parts) + ".txt", folder.root / name)


def _lines(
    file: Path, described: YoloFile
) -> Iterator[tuple[int, int, tuple[float, float, float, float]]]:
    """Number, class and box of each line; the box as x1, y1, x2, y2 in fractions."""
    for number, line in enumerate(read_text(file).splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        try:
            class_number, *values = (_finite(word) for word in words)
        except ValueError:
            raise InputError(
                f"{file}:{number}", f"{line[:80]!r} is not a row of numbers", "mend that line"
            ) from None
        if described.has_keypoints:
            values = values[:4]
        known = len(described.class_names)
        if class_number not in range(known):
            raise InputError(
                f"{file}:{number}",
                f"the class {words[0][:50]} is not one of the {known} of {described.file}",
                "add its name or mend that line",
            )
        yield number, int(class_number), _corners(values, f"{file}:{number}")


def _finite(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        raise ValueError
    return value


def _corners(values: list[float], where: str) -> tuple[float, float, float, float]:
    """The corners of a box cx, cy, w, h, or around a polygon x1, y1, x2, y2, x3, y3 ..."""
    if len(values) == 4:
        x, y, width, height = values
        return x - width / 2, y - height / 2, x + width / 2, y + height / 2
    if len(values) < 6 or len(values) % 2:
        raise InputError(
            where,
            f"has {len(values) + 1} numbers",
            "write class cx cy w h, or class and the x y of three points or more",
        )
    return min(values[::2]), min(values[1::2]), max(values[::2]), max(values[1::2])
