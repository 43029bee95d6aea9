import numpy as np
import pytest

from oracle.scored_data import Case, columns, make_case
from tag2box.evaluation.detection_table import tabulate
from tag2box.evaluation.errors_by_kind import (
    ErrorsByKind,
    Kind,
    balanced_score,
    errors_by_kind,
    kinds_of,
)
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.evaluation.voc import average_precision
from tag2box.structures import Detections

NAMES = ("cat", "dog", "cow")


def pixels(box: np.ndarray) -> set[tuple[int, int]]:
    x1, y1, x2, y2 = (int(v) for v in box)
    return {(x, y) for x in range(x1, x2) for y in range(y1, y2)}


def share(a: set, b: set) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0


def slow_kinds(truth: GroundTruth, boxes: list, classes: list, scores: list) -> list[Kind]:
    """One photo, pixel by pixel, the best-scored detection first."""
    objects = [
        (pixels(b), b, c, d, crowd)
        for b, c, d, crowd in zip(
            truth.boxes, truth.classes, truth.difficult, truth.crowd, strict=True
        )
    ]
    taken: set[int] = set()
    kinds = [Kind.BACKGROUND] * len(boxes)
    for index in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        mine = pixels(boxes[index])
        overlaps = [
            share(mine, full) if c == classes[index] and not crowd else -1.0
            for full, _, c, _, crowd in objects
        ]
        best = int(np.argmax(overlaps)) if overlaps else -1
        if overlaps and overlaps[best] >= 0.5:
            if objects[best][3]:
                kinds[index] = Kind.IGNORED
            else:
                kinds[index] = Kind.REPEATED if best in taken else Kind.RIGHT
                taken.add(best)
            continue
        kinds[index] = slow_error(mine, classes[index], objects)
    return kinds


def slow_error(mine: set, class_index: int, objects: list) -> Kind:
    own = [o for o in objects if o[2] == class_index and not o[4]]
    for full, _, c, _, crowd in objects:
        if crowd and c == class_index and mine & full and len(mine & full) >= 0.7 * len(mine):
            return Kind.IGNORED
    held = [b for full, b, *_ in own if mine & full and len(mine & full) >= 0.7 * len(full)]
    if len(held) >= 2:
        corners = np.array(held)
        common = [*corners[:, :2].min(axis=0), *corners[:, 2:].max(axis=0)]
        if share(mine, pixels(np.array(common))) >= 0.5:
            return Kind.GROUP
    for full, *_ in own:
        if mine & full and len(mine & full) >= 0.7 * len(mine):
            return Kind.PART
    others = [full for full, _, c, _, crowd in objects if c != class_index and not crowd]
    wrong = any(share(mine, full) >= 0.5 for full in others)
    return Kind.WRONG_CLASS if wrong else Kind.BACKGROUND


def random_photo(rng: np.random.Generator) -> tuple[GroundTruth, Detections]:
    def box() -> list[int]:
        x, y = rng.integers(0, 8, 2)
        return [int(x), int(y), int(x + rng.integers(0, 9)), int(y + rng.integers(0, 9))]

    rows = [
        {
            "image": 0,
            "name": NAMES[rng.integers(2)],
            "box": box(),
            "difficult": bool(rng.random() < 0.15),
            "crowd": bool(rng.random() < 0.15),
        }
        for _ in range(rng.integers(0, 6))
    ]
    count = int(rng.integers(0, 12))
    corners = np.array([box() for _ in range(count)], np.float32).reshape(-1, 4)
    found = Detections(
        boxes=corners + np.array([0, 0, 1, 1], np.float32),
        scores=rng.integers(1, 6, count).astype(np.float32) / 8,
        classes=rng.integers(0, 2, count),
        class_names=NAMES,
        image_id="photo0",
    )
    return columns(rows, images=1), found


def test_kinds_equal_those_of_a_slow_loop() -> None:
    rng = np.random.default_rng(0)
    seen: set[int] = set()
    for _ in range(250):
        truth, found = random_photo(rng)
        kinds = kinds_of(truth, tabulate(truth, [found])).tolist()
        assert kinds == slow_kinds(
            truth, list(found.boxes), found.classes.tolist(), found.scores.tolist()
        )
        seen |= set(kinds)
    assert seen == set(Kind)


def test_right_boxes_are_those_of_average_precision(case: Case) -> None:
    errors = errors_by_kind(case.truth, case.found, min_score=0.0)
    voc = average_precision(case.truth, case.found)
    right = [c.recall[-1] * c.objects for c in voc.classes if c.objects and len(c.recall)]
    assert errors.counts[Kind.RIGHT] == round(sum(right))
    assert errors.objects == sum(c.objects for c in voc.classes)
    assert errors.missed == errors.objects - errors.counts[Kind.RIGHT]
    assert errors.boxes == sum(len(c.scores) for c in voc.classes)


def test_a_kind_does_not_depend_on_the_threshold(case: Case) -> None:
    table = tabulate(case.truth, case.found)
    kinds = kinds_of(case.truth, table)
    for threshold in (0.25, 0.5, 0.75):
        confident = table.scores >= threshold
        np.testing.assert_array_equal(kinds_of(case.truth, table[confident]), kinds[confident])


def test_the_balanced_score_has_the_largest_f1() -> None:
    for seed in range(8):
        case = make_case(seed)
        table = tabulate(case.truth, case.found)
        kinds = kinds_of(case.truth, table)
        chosen = balanced_score(case.truth, kinds, table.scores)

        def f1(score: float, case: Case = case) -> float:
            errors = errors_by_kind(case.truth, case.found, min_score=score)
            return 2 * errors.counts[Kind.RIGHT] / (errors.boxes + errors.objects)

        best = max(f1(score) for score in set(table.scores.tolist()))
        assert f1(chosen) == pytest.approx(best)


def test_nothing_found_has_a_threshold_and_shares() -> None:
    case = make_case(1, detections=0)
    table = tabulate(case.truth, case.found)
    assert balanced_score(case.truth, kinds_of(case.truth, table), table.scores) == 0.5
    errors = errors_by_kind(case.truth, [], min_score=0.5)
    assert (errors.precision, errors.recall, errors.boxes) == (0.0, 0.0, 0)
    assert errors.missed == errors.objects > 0
    nobody = ErrorsByKind(0.5, dict.fromkeys(Kind, 0), missed=0, objects=0)
    assert nobody.recall == 0.0
