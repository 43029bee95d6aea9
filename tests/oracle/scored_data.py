"""Random data sets with detections, made as plain rows and as the package's columns."""

from dataclasses import dataclass

import numpy as np

from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.structures import Detections

NAMES = ("cat", "dog", "cow")
LAST_PIXEL = np.array([0, 0, 1, 1])


@dataclass
class Case:
    """The same data set twice: rows for the slow loops, columns for the package."""

    objects: list[dict]
    detections: list[dict]
    truth: GroundTruth
    found: list[Detections]


def columns(rows: list[dict], images: int) -> GroundTruth:
    rows = sorted(rows, key=lambda row: row["image"])
    boxes = np.array([row["box"] for row in rows], float).reshape(-1, 4) + LAST_PIXEL
    sides = boxes[:, 2:] - boxes[:, :2]
    return GroundTruth(
        class_names=NAMES,
        image_ids=tuple(f"photo{i}" for i in range(images)),
        sizes=np.full((images, 2), 200),
        object_image=np.array([row["image"] for row in rows], np.int64),
        boxes=boxes,
        classes=np.array([NAMES.index(row["name"]) for row in rows], np.int64),
        difficult=np.array([row["difficult"] for row in rows], bool),
        crowd=np.array([row.get("crowd", False) for row in rows], bool),
        areas=sides[:, 0] * sides[:, 1],
    )


def found_in(rows: list[dict], images: int) -> list[Detections]:
    found = []
    for image in range(images):
        here = [row for row in rows if row["image"] == image]
        found.append(
            Detections(
                boxes=np.array([row["box"] for row in here], np.float32).reshape(-1, 4)
                + LAST_PIXEL.astype(np.float32),
                scores=np.array([row["score"] for row in here], np.float32),
                classes=np.array([NAMES.index(row["name"]) for row in here], np.int64),
                class_names=NAMES,
                image_id=f"photo{image}",
            )
        )
    return found


def make_case(
    seed: int, *, images: int = 6, objects: int = 20, detections: int = 60, difficult: float = 0.2
) -> Case:
    """Integer boxes, so that overlaps are exact, and scores with many ties."""
    rng = np.random.default_rng(seed)

    def box(side: int) -> list[int]:
        x, y = rng.integers(0, side, 2)
        width, height = rng.integers(1, side, 2)
        return [int(x), int(y), int(x + width), int(y + height)]

    truth = [
        {
            "image": int(rng.integers(images)),
            "name": NAMES[rng.integers(len(NAMES))],
            "box": box(rng.choice([12, 40, 150])),
            "difficult": bool(rng.random() < difficult),
        }
        for _ in range(objects)
    ]
    truth.sort(key=lambda row: row["image"])
    found = []
    for _ in range(detections):
        row = {"image": int(rng.integers(images)), "name": NAMES[rng.integers(len(NAMES))]}
        if truth and rng.random() < 0.7:
            source = truth[rng.integers(len(truth))]
            row |= {"image": source["image"], "name": source["name"]}
            shift = rng.integers(-2, 3, 4)
            x1, y1, x2, y2 = (int(v) for v in np.array(source["box"]) + shift)
            row["box"] = [x1, y1, max(x1, x2), max(y1, y2)]
        else:
            row["box"] = box(40)
        row["score"] = float(rng.integers(1, 9)) / 8
        found.append(row)
    found.sort(key=lambda row: row["image"])
    return Case(truth, found, columns(truth, images), found_in(found, images))
