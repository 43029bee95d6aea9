"""The metrics as slow obvious loops, in the convention of the official kits.

Objects and detections are plain dicts: image, name, box (x1, y1, x2, y2 with the last pixel
included), difficult, score.
"""

import math

import numpy as np

Row = dict


def inclusive_iou(a: list[float], b: list[float]) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0]) + 1
    height = min(a[3], b[3]) - max(a[1], b[1]) + 1
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    areas = [(box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (a, b)]
    return shared / (areas[0] + areas[1] - shared)


def by_falling_score(detections: list[Row]) -> list[Row]:
    return sorted(detections, key=lambda d: -d["score"])  # stable


def voc_precision(
    objects: list[Row], detections: list[Row], name: str, threshold: float
) -> tuple[float, float]:
    """Average precision of a class, (area, eleven points); NaN without an object to find."""
    objects = [o for o in objects if o["name"] == name]
    to_find = sum(not o["difficult"] for o in objects)
    if not to_find:
        return math.nan, math.nan
    taken: set[int] = set()
    right = wrong = 0
    curve: list[tuple[float, float]] = []  # recall, precision
    for detection in by_falling_score([d for d in detections if d["name"] == name]):
        best, best_index = -math.inf, -1
        for index, o in enumerate(objects):
            if o["image"] == detection["image"]:
                overlap = inclusive_iou(o["box"], detection["box"])
                if overlap > best:
                    best, best_index = overlap, index
        if best < threshold:
            wrong += 1
        elif objects[best_index]["difficult"]:
            continue
        elif best_index in taken:
            wrong += 1
        else:
            taken.add(best_index)
            right += 1
        curve.append((right / to_find, right / (right + wrong)))
    area, previous = 0.0, 0.0
    for i, (recall, _) in enumerate(curve):
        area += (recall - previous) * max(p for _, p in curve[i:])
        previous = recall
    eleven = 0.0
    for least in np.arange(0.0, 1.1, 0.1):
        eleven += max([p for r, p in curve if r >= least], default=0.0) / 11
    return area, eleven


def corloc(
    objects: list[Row],
    detections: list[Row],
    name: str,
    threshold: float,
    *,
    count_difficult: bool,
) -> float:
    images = located = 0
    for image in sorted({o["image"] for o in objects}):
        here = [o for o in objects if o["image"] == image and o["name"] == name]
        if not any(count_difficult or not o["difficult"] for o in here):
            continue
        images += 1
        found = [d for d in detections if d["image"] == image and d["name"] == name]
        if found:
            first = by_falling_score(found)[0]
            located += any(inclusive_iou(o["box"], first["box"]) >= threshold for o in here)
    return located / images if images else math.nan


def proposal_recall(
    proposals: list[list[list[float]]],
    objects: list[list[list[float]]],
    limit: int | None,
) -> tuple[float, float, float]:
    """Recall at 0.5 and 0.7 and average best overlap; boxes have their last pixel included."""
    best = []
    for boxes, true_boxes in zip(proposals, objects, strict=True):
        for true_box in true_boxes:
            overlaps = [inclusive_iou(true_box, box) for box in boxes[:limit]]
            best.append(max(overlaps, default=0.0))
    if not best:
        return math.nan, math.nan, math.nan
    return (
        sum(b >= 0.5 for b in best) / len(best),
        sum(b >= 0.7 for b in best) / len(best),
        sum(best) / len(best),
    )
