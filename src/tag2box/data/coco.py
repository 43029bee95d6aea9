"""COCO instances JSON: tags for everybody, boxes for evaluation.

N images, M objects.
"""

import re
import warnings
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tag2box.data.annotations import Annotations, refuse_impossible_boxes
from tag2box.data.coco_json import CocoImage, CocoObject, decode_instances
from tag2box.data.paths import Folder, all_there
from tag2box.errors import InputError
from tag2box.structures import Dataset

Key = TypeVar("Key")


def read_coco(
    path: Path,
    *,
    split: str | None = None,
    images: Path | None = None,
    difficult_makes_tag: bool = False,
) -> Dataset:
    """The tags of an instances file, or of the split of a COCO folder; the images must exist.

    COCO knows no `difficult`; a crowd makes a tag, because its class is in the image.
    """
    annotations = _parse(path, split, images, images_must_exist=True)
    return annotations.tags(difficult_makes_tag=difficult_makes_tag)


def parse_coco(path: Path, *, split: str | None = None, images: Path | None = None) -> Annotations:
    """The boxes of an instances file, or of the split of a COCO folder.

    Frame: the pixels of an image of the width and height the file states; (x, y, w, h) becomes
    (x, y, x + w, y + h). Image ids are those of the file as text; classes are ascending by
    category id. Images may be missing: scoring needs none.
    """
    return _parse(path, split, images, images_must_exist=False)


def _parse(
    path: Path, split: str | None, images: Path | None, *, images_must_exist: bool
) -> Annotations:
    file = _instances_file(path, split)
    content = decode_instances(file)
    if not content.images:
        raise InputError(file, "lists no image", "name a file that does")
    categories = sorted(content.categories, key=lambda category: category.id)
    class_index = _index((c.id for c in categories), file, "category id")
    class_names = tuple(_index((c.name for c in categories), file, "category name"))
    image_ids = tuple(_index((str(image.id) for image in content.images), file, "image id"))
    image_index = {image.id: i for i, image in enumerate(content.images)}
    _index((o.id for o in content.annotations if o.id is not None), file, "annotation id")
    sizes = np.array([(i.width or 0, i.height or 0) for i in content.images], np.int64)  # (N, 2)
    objects = content.annotations
    object_image = _positions((o.image_id for o in objects), image_index, file, "image_id")
    classes = _positions((o.category_id for o in objects), class_index, file, "category_id")
    boxes = _corners(objects)
    refuse_impossible_boxes(boxes, sizes[object_image], lambda i: f"{file}: annotations[{i}]")
    sides = boxes[:, 2:] - boxes[:, :2]
    areas = np.array([np.nan if o.area is None else o.area for o in objects], np.float64)
    order = np.argsort(object_image, kind="stable")
    return Annotations(
        class_names=class_names,
        image_ids=image_ids,
        paths=_image_files(file, images, content.images, must_exist=images_must_exist),
        sizes=sizes,
        object_image=object_image[order],
        boxes=boxes[order],
        classes=classes[order],
        difficult=np.zeros(len(objects), bool),
        crowd=np.array([bool(o.iscrowd) for o in objects], bool)[order],
        areas=np.where(np.isnan(areas), sides[:, 0] * sides[:, 1], areas)[order],
        category_ids=tuple(class_index),
    )


def _corners(objects: list[CocoObject]) -> npt.NDArray[np.float64]:
    """(x, y, w, h) as (x1, y1, x2, y2): (M, 4)."""
    numbers = chain.from_iterable(o.bbox for o in objects)
    boxes = np.fromiter(numbers, np.float64, count=4 * len(objects)).reshape(-1, 4)
    with np.errstate(over="ignore"):
        boxes[:, 2:] += boxes[:, :2]
    return boxes


def _index(keys: Iterable[Key], file: Path, what: str) -> dict[Key, int]:
    """Where each key stands; an error if one stands twice."""
    index: dict[Key, int] = {}
    for position, key in enumerate(keys):
        if index.setdefault(key, position) != position:
            raise InputError(file, f"the {what} {key!r} is used twice", "make them unique")
    return index


def _positions(
    keys: Iterable[Key], index: dict[Key, int], file: Path, field: str
) -> npt.NDArray[np.int64]:
    """Where the key of each annotation stands: (M,)."""
    keys = list(keys)
    positions = np.array([index.get(key, -1) for key in keys], np.int64)
    if (positions < 0).any():
        first = int(np.argmin(positions))
        raise InputError(
            f"{file}: annotations[{first}]",
            f"the {field} {keys[first]!r} is not in the file",
            "add what it names or remove the annotation",
        )
    return positions


def _image_files(
    file: Path, images: Path | None, entries: list[CocoImage], *, must_exist: bool
) -> tuple[Path, ...]:
    """The path of each image, in the first of the usual folders that holds any of them."""
    split = _split_name(file)
    bases = [images] if images else [file.parent, file.parent.parent]
    places = [base / place for base in bases for place in (split, f"images/{split}", "images", "")]
    folders = [Folder(place) for place in places if place.is_dir()] or [Folder(bases[0])]
    names = [entry.file_name for entry in entries]
    stated = [(name, f"{file}: images[{i}]") for i, name in enumerate(names)]
    folder = next((f for f in folders if any(f.find(*one) for one in stated[:100])), folders[0])
    found = [folder.find(*one) for one in stated]
    if must_exist:
        return all_there(found, folder.root, names.__getitem__, file)
    return tuple(path or folder.root / name for path, name in zip(found, names, strict=True))


def _instances_file(path: Path, split: str | None) -> Path:
    """The file of a split in a COCO folder; a file stands for itself."""
    if not path.is_dir():
        if split is not None:
            warnings.warn(f"{path} is one split; split {split} is not looked at", stacklevel=4)
        return path
    patterns = ("*.json", "annotations/*.json", "*/_annotations.coco.json")
    files = sorted(file for pattern in patterns for file in path.glob(pattern))
    files = [f for f in files if f.stem.startswith("instances_")] or files
    splits = [_split_name(file) for file in files]
    chosen = [
        file
        for file, name in zip(files, splits, strict=True)
        if split is None or re.fullmatch(rf"{re.escape(split)}(20\d\d)?", name)
    ]
    if len(chosen) != 1:
        wanted = "of a COCO data set" if split is None else f"of the split {split}"
        raise InputError(
            path,
            f"holds {len(chosen) or 'no'} files {wanted}",
            f"name the file, or a split of {', '.join(splits)}" if splits else "name the file",
        )
    return chosen[0]


def _split_name(file: Path) -> str:
    """`train2017` of annotations/instances_train2017.json, `train` of train/_annotations…json."""
    if file.name == "_annotations.coco.json":
        return file.parent.name
    return file.stem.removeprefix("instances_")
