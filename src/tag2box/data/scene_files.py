"""Generated scenes as a data set on disk, for every reader and every verb.

    images/train/00001.jpg …                the photos
    images/tags.csv                         image,tags,split
    annotations/instances_train.json …      the true boxes, for evaluation only

The boxes are COCO instances with two more keys an annotation: `part_bbox` and `cluster`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from tag2box.data.scene_objects import CLASS_NAMES
from tag2box.data.scenes import Scene, make_scene
from tag2box.errors import InputError
from tag2box.files import write_text, written_whole

FIRST_VAL = 1_000_000  # so that more train scenes leave the val scenes as they are
_LEAST_SIDE = 64
_JPEG_QUALITY = 92


def write_scenes(
    folder: Path,
    *,
    train: int = 200,
    val: int = 100,
    seed: int = 0,
    width: int = 320,
    height: int = 240,
    difficulty: float = 0.5,
    on_scene: Callable[[], object] = lambda: None,
) -> None:
    """A data set of generated scenes in `folder`: photos first, the tags that name them last.

    `on_scene` is called after each scene.
    """
    _refuse_unusable(train, val, seed, width, height, difficulty)
    lines = ["image,tags,split"]
    for split, first, count in (("train", 0, train), ("val", FIRST_VAL, val)):
        scenes = (
            make_scene(first + i, seed=seed, width=width, height=height, difficulty=difficulty)
            for i in range(count)
        )
        rows, instances = _write_photos(folder / "images" / split, scenes, on_scene)
        lines += [f"{split}/{name},{tags},{split}" for name, tags in rows]
        write_text(folder / "annotations" / f"instances_{split}.json", json.dumps(instances))
    write_text(folder / "images" / "tags.csv", "\n".join(lines) + "\n")


def _write_photos(
    folder: Path, scenes: Iterable[Scene], on_scene: Callable[[], object]
) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """Names and tags of the photos written, and what a COCO file says of them."""
    rows: list[tuple[str, str]] = []
    images: list[dict[str, Any]] = []
    objects: list[dict[str, Any]] = []
    for number, scene in enumerate(scenes, start=1):
        name = f"{number:05d}.jpg"
        with written_whole(folder / name) as temporary:
            Image.fromarray(scene.image).save(temporary, "JPEG", quality=_JPEG_QUALITY)
        rows.append((name, ";".join(CLASS_NAMES[tag] for tag in sorted(scene.tags))))
        height, width = scene.image.shape[:2]
        images.append({"id": number, "file_name": name, "width": width, "height": height})
        objects.extend(_annotations(scene, number, first_id=len(objects) + 1))
        on_scene()
    categories = [{"id": i, "name": name} for i, name in enumerate(CLASS_NAMES, start=1)]
    return rows, {"images": images, "annotations": objects, "categories": categories}


def _annotations(scene: Scene, image_id: int, first_id: int) -> list[dict[str, Any]]:
    areas = np.bincount(scene.owners[scene.owners >= 0], minlength=len(scene.classes))
    return [
        {
            "id": first_id + i,
            "image_id": image_id,
            "category_id": int(scene.classes[i]) + 1,
            "bbox": _xywh(scene.boxes[i]),
            "area": int(areas[i]),
            "iscrowd": 0,
            "part_bbox": _xywh(scene.part_boxes[i]),
            "cluster": int(scene.clusters[i]),
        }
        for i in range(len(scene.classes))
    ]


def _xywh(box: npt.NDArray[np.float64]) -> list[float]:
    x1, y1, x2, y2 = box.tolist()
    return [x1, y1, x2 - x1, y2 - y1]


def _refuse_unusable(
    train: int, val: int, seed: int, width: int, height: int, difficulty: float
) -> None:
    if not 0 <= difficulty <= 1:
        raise InputError("scenes.difficulty", f"{difficulty} is no difficulty", "give 0 to 1")
    for name, value, least in (
        ("train", train, 0),
        ("val", val, 0),
        ("seed", seed, 0),
        ("width", width, _LEAST_SIDE),
        ("height", height, _LEAST_SIDE),
    ):
        if value < least:
            raise InputError(f"scenes.{name}", f"{value} is too small", f"give {least} or more")
    if max(train, val) > FIRST_VAL:
        raise InputError("scenes", "too many scenes are asked for", f"give {FIRST_VAL} at most")
