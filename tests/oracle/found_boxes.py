"""Photos with random boxes found in them."""

from pathlib import Path

import numpy as np
from PIL import Image

from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.structures import Detections

NAMES = ("cat", "dog", "owl")


def found_in(
    path: Path = Path("a.png"),
    *,
    image_id: str = "a",
    names: tuple[str, ...] = NAMES,
    boxes: int = 5,
    width: int = 64,
    height: int = 48,
    seed: int = 0,
) -> PhotoBoxes:
    """A photo with so many boxes of random classes, best first."""
    random = np.random.default_rng((seed, boxes))
    low = random.random((boxes, 2)) * [width - 2, height - 2]
    high = low + 1 + random.random((boxes, 2)) * ([width - 1, height - 1] - low)
    corners = np.concatenate([low, high], axis=1)
    detections = Detections(
        boxes=corners.astype(np.float32),
        scores=np.sort(random.random(boxes).astype(np.float32))[::-1].copy(),
        classes=random.integers(0, len(names), boxes),
        class_names=names,
        image_id=image_id,
    )
    return PhotoBoxes(path, width, height, detections)


def found_on_disk(
    root: Path, *files: str, names: tuple[str, ...] = NAMES, boxes: int = 5
) -> list[PhotoBoxes]:
    """Photos below `root`, their names as ids, of which every fourth has no box."""
    found = []
    for number, file in enumerate(files):
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        width, height = 64 + 7 * number, 48 + 5 * number
        Image.new("RGB", (width, height), (number, 0, 0)).save(path, format="PNG")
        count = 0 if number % 4 == 3 else boxes
        found.append(
            found_in(
                path,
                image_id=file,
                names=names,
                boxes=count,
                width=width,
                height=height,
                seed=number,
            )
        )
    return found
