from pathlib import Path

import numpy as np
import pytest

from tag2box.data.coco import parse_coco
from tag2box.data.scene_files import write_scenes
from tag2box.errors import InputError
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.evaluation.problems import Verdict, judge, problems, read_part_boxes
from tag2box.structures import Detections

# Two objects of class 0 side by side and one of class 1 below; parts in their upper left corners.
OBJECTS = np.array([[0.0, 0, 10, 10], [10, 0, 20, 10], [0, 20, 30, 40]])
PARTS = np.array([[0.0, 0, 4, 4], [10, 0, 14, 4], [0, 20, 10, 28]])
CLASSES = np.array([0, 0, 1])
NAMES = ("cat", "dog")


def make_truth(difficult: tuple[bool, ...] = (False, False, False)) -> GroundTruth:
    return GroundTruth(
        class_names=NAMES,
        image_ids=("a", "b"),
        sizes=np.full((2, 2), 50),
        object_image=np.zeros(3, np.int64),
        boxes=OBJECTS,
        classes=CLASSES,
        difficult=np.array(difficult),
        crowd=np.zeros(3, bool),
        areas=np.ones(3),
    )


def make_detections(image_id: str, *rows: tuple[list[float], int, float]) -> Detections:
    boxes, classes, scores = zip(*rows, strict=True)
    return Detections(
        boxes=np.array(boxes, np.float32),
        scores=np.array(scores, np.float32),
        classes=np.array(classes),
        class_names=NAMES,
        image_id=image_id,
    )


@pytest.mark.parametrize(
    ("box", "class_index", "verdict"),
    [
        ([0, 0, 10, 10], 0, Verdict.OBJECT),
        ([1, 1, 11, 11], 0, Verdict.OBJECT),
        ([0, 0, 20, 10], 0, Verdict.OBJECT),  # IoU with either object is exactly 0.5
        ([0, 0, 21, 11], 0, Verdict.GROUP),
        ([0, 0, 50, 50], 0, Verdict.BACKGROUND),  # covers both, but is far from their common box
        ([0, 0, 4, 4], 0, Verdict.PART),
        ([1, 1, 3, 3], 0, Verdict.PART),  # a piece of the part
        ([0, 0, 6, 6], 0, Verdict.PART),  # a little more than the part
        ([-9, 0, 2, 4], 0, Verdict.BACKGROUND),  # touches the part from outside
        ([5, 5, 10, 10], 0, Verdict.BACKGROUND),  # a piece beside the part
        ([0, 20, 10, 28], 0, Verdict.BACKGROUND),  # the part of another class
        ([0, 20, 30, 40], 0, Verdict.WRONG_CLASS),
        ([0, 0, 21, 11], 1, Verdict.BACKGROUND),  # a group of another class
        ([40, 40, 50, 50], 1, Verdict.BACKGROUND),
        ([3, 3, 3, 3], 0, Verdict.BACKGROUND),  # empty
    ],
)
def test_verdicts_on_hand_made_cases(box: list[float], class_index: int, verdict: Verdict) -> None:
    found = judge(np.array([box], float), np.array([class_index]), OBJECTS, PARTS, CLASSES)
    assert found.tolist() == [verdict]


def slow_judge(box: np.ndarray, class_index: int, objects: list, parts: list, classes: list) -> int:
    """Counts unit pixels, object by object; coordinates are whole."""

    def pixels(b: np.ndarray) -> set[tuple[int, int]]:
        x1, y1, x2, y2 = map(int, b)
        return {(x, y) for x in range(x1, x2) for y in range(y1, y2)}

    def is_near(a: set, b: set) -> bool:
        return bool(a | b) and len(a & b) / len(a | b) >= 0.5

    mine = pixels(box)
    members, has_part, wrong = [], False, False
    for o, p, c in zip(objects, parts, classes, strict=True):
        full, part = pixels(o), pixels(p)
        if c != class_index:
            wrong = wrong or is_near(mine, full)
            continue
        if is_near(mine, full):
            return Verdict.OBJECT
        if mine & full and len(mine & full) >= 0.7 * len(full):
            members.append(o)
        if mine & part and len(mine & full) >= 0.7 * len(mine):
            has_part = has_part or len(mine & part) >= 0.5 * min(len(mine), len(part))
    if len(members) >= 2:
        xs = [x for o in members for x in (o[0], o[2])]
        ys = [y for o in members for y in (o[1], o[3])]
        if is_near(mine, pixels(np.array([min(xs), min(ys), max(xs), max(ys)]))):
            return Verdict.GROUP
    if has_part:
        return Verdict.PART
    return Verdict.WRONG_CLASS if wrong else Verdict.BACKGROUND


def random_boxes(rng: np.random.Generator, count: int, side: int) -> np.ndarray:
    corners = np.sort(rng.integers(0, side + 1, (count, 2, 2)), axis=1).astype(float)
    return corners.reshape(count, 4)


def test_verdicts_equal_those_of_a_slow_loop() -> None:
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(150):
        detections, count = rng.integers(0, 12), rng.integers(0, 5)
        objects = random_boxes(rng, count, 12)
        sides = objects[:, 2:] - objects[:, :2]
        parts = np.concatenate([objects[:, :2], objects[:, :2] + np.floor(0.6 * sides)], axis=1)
        boxes = random_boxes(rng, detections, 12)
        object_classes, classes = rng.integers(0, 2, count), rng.integers(0, 2, detections)
        expected = [
            slow_judge(b, c, list(objects), list(parts), list(object_classes))
            for b, c in zip(boxes, classes, strict=True)
        ]
        found = judge(boxes, classes, objects, parts, object_classes).tolist()
        assert found == expected
        seen |= set(found)
    assert seen == set(Verdict)


def test_problems_counts_confident_detections_and_missed_objects() -> None:
    detections = [
        make_detections(
            "a",
            ([0, 0, 10, 10], 0, 0.9),
            ([10, 0, 14, 4], 0, 0.8),
            ([0, 20, 30, 40], 1, 0.2),  # right, but not confident
        ),
        make_detections("b", ([0, 0, 10, 10], 0, 0.7)),  # where there is no object
    ]
    result = problems(make_truth(), PARTS, detections, min_score=0.5)
    assert result.verdicts == {
        Verdict.OBJECT: 1,
        Verdict.GROUP: 0,
        Verdict.PART: 1,
        Verdict.WRONG_CLASS: 0,
        Verdict.BACKGROUND: 1,
    }
    assert (result.missed, result.objects) == (2, 3)
    shares = result.shares()
    assert shares["part"] == pytest.approx(1 / 3)
    assert shares["missed"] == pytest.approx(2 / 3)
    assert problems(make_truth(), PARTS, detections, min_score=0.1).missed == 1


def test_difficult_objects_cannot_be_missed() -> None:
    result = problems(make_truth((True, False, False)), PARTS, [], min_score=0.0)
    assert (result.missed, result.objects) == (2, 2)
    assert set(result.shares().values()) == {0.0, 1.0}


def test_perfect_and_part_detectors_of_scenes(tmp_path: Path) -> None:
    write_scenes(tmp_path, train=0, val=6, width=160, height=120)
    truth = GroundTruth.from_annotations(parse_coco(tmp_path, split="val"))
    parts = read_part_boxes(tmp_path / "annotations" / "instances_val.json")
    assert parts.shape == truth.boxes.shape

    def detector(boxes: np.ndarray) -> list[Detections]:
        return [
            Detections(
                boxes=boxes[truth.object_image == i].astype(np.float32),
                scores=np.ones((truth.object_image == i).sum(), np.float32),
                classes=truth.classes[truth.object_image == i],
                class_names=truth.class_names,
                image_id=image_id,
            )
            for i, image_id in enumerate(truth.image_ids)
        ]

    perfect = problems(truth, parts, detector(truth.boxes), min_score=0.5).shares()
    assert (perfect["object"], perfect["missed"]) == (1.0, 0.0)
    tempted = problems(truth, parts, detector(parts), min_score=0.5).shares()
    assert tempted["part"] > 0.9
    assert tempted["missed"] > 0.9


@pytest.mark.parametrize("content", ["", "[]", '{"annotations": [{"bbox": [0, 0, 1, 1]}]}'])
def test_a_file_without_part_boxes_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "instances.json").write_text(content)
    with pytest.raises(InputError, match="has no part boxes"):
        read_part_boxes(tmp_path / "instances.json")
