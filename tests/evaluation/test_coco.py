import contextlib
import io
from dataclasses import astuple, replace

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from oracle.scored_data import Case, columns, found_in, make_case
from tag2box.evaluation.coco import coco_scores
from tag2box.evaluation.detection_table import DetectionTable
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.evaluation.recall import average_recall


def xywh(boxes: np.ndarray) -> list[list[float]]:
    return [[x1, y1, x2 - x1, y2 - y1] for x1, y1, x2, y2 in boxes.tolist()]


def pycocotools_numbers(
    truth: GroundTruth, table: DetectionTable, ids: list[int] | None = None
) -> list[np.ndarray]:
    """The twelve of all classes together, then of each class; NaN where pycocotools says -1."""
    ids = ids or list(range(1, len(truth) + 1))
    objects = COCO()
    objects.dataset = {
        "images": [{"id": i} for i in ids],
        "categories": [{"id": k + 1, "name": name} for k, name in enumerate(truth.class_names)],
        "annotations": [
            {
                "id": n + 1,
                "image_id": ids[truth.object_image[n]],
                "category_id": int(truth.classes[n]) + 1,
                "bbox": box,
                "area": float(truth.areas[n]),
                "iscrowd": int(truth.crowd[n]),
            }
            for n, box in enumerate(xywh(truth.boxes))
        ],
    }
    results = [
        {
            "image_id": ids[table.images[n]],
            "category_id": int(table.classes[n]) + 1,
            "bbox": box,
            "score": float(table.scores[n]),
        }
        for n, box in enumerate(xywh(table.boxes))
    ]
    numbers = []
    with contextlib.redirect_stdout(io.StringIO()):
        objects.createIndex()
        found = objects.loadRes(results)
        for classes in [
            range(len(truth.class_names)),
            *([k] for k in range(len(truth.class_names))),
        ]:
            evaluation = COCOeval(objects, found, "bbox")
            evaluation.params.catIds = [k + 1 for k in classes]
            evaluation.evaluate()
            evaluation.accumulate()
            evaluation.summarize()
            numbers.append(np.where(evaluation.stats < 0, np.nan, evaluation.stats))
    return numbers


def random_table(rng: np.random.Generator, truth: GroundTruth, count: int) -> DetectionTable:
    """Detections near objects, with decimals and tied scores."""
    source = rng.integers(len(truth.boxes), size=count)
    boxes = truth.boxes[source] + rng.normal(0, 3, (count, 4)).round(2)
    boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 1)
    return DetectionTable(
        class_names=truth.class_names,
        image_ids=truth.image_ids,
        images=truth.object_image[source],
        boxes=boxes,
        scores=rng.random(count).round(2),
        classes=np.where(
            rng.random(count) < 0.9, truth.classes[source], rng.integers(3, size=count)
        ),
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_twelve_numbers_are_those_of_pycocotools(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = make_case(seed, images=8, objects=60, difficult=0.0).truth
    truth = replace(truth, crowd=rng.random(60) < 0.2, areas=truth.areas * rng.uniform(0.3, 1, 60))
    table = random_table(rng, truth, 1500)  # more than 100 in an image
    expected, *by_class = pycocotools_numbers(truth, table)
    scores = coco_scores(truth, table)
    np.testing.assert_allclose(astuple(scores.overall), expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        [astuple(scores.classes[name]) for name in truth.class_names], by_class, rtol=0, atol=1e-6
    )


def test_equal_scores_are_ranked_by_the_numbers_of_the_images() -> None:
    rng = np.random.default_rng(5)
    ids = [30, 4, 100, 7, 2, 55]
    truth = replace(
        make_case(5, difficult=0.0).truth, image_ids=tuple(str(number) for number in ids)
    )
    table = replace(random_table(rng, truth, 80), scores=np.full(80, 0.5))
    expected = pycocotools_numbers(truth, table, ids)[0]
    np.testing.assert_allclose(astuple(coco_scores(truth, table).overall), expected, atol=1e-9)
    assert not np.allclose(expected, pycocotools_numbers(truth, table)[0], equal_nan=True)


def one_object(difficult: bool) -> GroundTruth:
    here = {"image": 0, "name": "cat", "box": [0, 0, 9, 9], "difficult": False}
    there = {"image": 0, "name": "cat", "box": [20, 20, 29, 29], "difficult": difficult}
    return columns([here, there], 1)


def test_by_hand_a_difficult_object_counts_neither_way() -> None:
    rows = [
        {"image": 0, "name": "cat", "box": [20, 20, 29, 29], "score": 0.9},
        {"image": 0, "name": "cat", "box": [0, 0, 9, 9], "score": 0.8},
    ]
    found, missed = found_in(rows, 1), found_in(rows[1:], 1)
    assert coco_scores(one_object(True), found).overall.ap == pytest.approx(1)
    assert coco_scores(one_object(True), missed).overall.ap == pytest.approx(1)
    counted = coco_scores(one_object(True), missed, count_difficult=True).overall
    assert counted.ar_100 == pytest.approx(0.5)
    # Only detections that lie on it count neither way: a part of it is wrong.
    part = found_in([rows[0] | {"box": [20, 20, 22, 22]}, rows[1]], 1)
    assert coco_scores(one_object(True), part).overall.ap == pytest.approx(0.5)


def test_by_hand_sizes_and_counts() -> None:
    objects = [
        {"image": 0, "name": "cat", "box": [0, 0, 9, 9], "difficult": False},
        {"image": 0, "name": "cat", "box": [50, 50, 149, 149], "difficult": False},
    ]
    detections = [
        {"image": 0, "name": "cat", "box": [50, 50, 149, 149], "score": 0.9},
        {"image": 0, "name": "cat", "box": [0, 0, 9, 9], "score": 0.8},
    ]
    recall = average_recall(columns(objects, 1), found_in(detections, 1)).overall
    assert (recall.at_1, recall.at_10, recall.at_100) == (0.5, 1.0, 1.0)
    assert (recall.small, recall.large) == (1.0, 1.0)
    assert np.isnan(recall.medium)


def test_nothing_to_find_and_nothing_found(case: Case) -> None:
    scores = coco_scores(case.truth, [])
    to_find = np.any(~case.truth.difficult)
    assert scores.overall.ap == 0 if to_find else np.isnan(scores.overall.ap)
    nothing = case.truth.keep_classes([])
    assert np.isnan(coco_scores(nothing, case.found).overall.ar_100)


def test_only_difficult_objects_leave_nothing_to_score(only_difficult: Case) -> None:
    scores = coco_scores(only_difficult.truth, only_difficult.found)
    assert np.isnan(astuple(scores.overall)).all()
