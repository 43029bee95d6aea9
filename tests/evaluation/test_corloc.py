from dataclasses import replace

import numpy as np
import pytest

from oracle.evaluation import corloc as slow_corloc
from oracle.scored_data import NAMES, Case, columns, found_in
from tag2box.evaluation.corloc import corloc


@pytest.mark.parametrize("count_difficult", [False, True])
@pytest.mark.parametrize("iou", [0.5, 0.7])
def test_corloc_is_that_of_the_slow_loop(case: Case, iou: float, count_difficult: bool) -> None:
    result = corloc(case.truth, case.found, iou=iou, count_difficult=count_difficult)
    expected = [
        slow_corloc(case.objects, case.detections, name, iou, count_difficult=count_difficult)
        for name in NAMES
    ]
    np.testing.assert_allclose([c.corloc for c in result.classes], expected)
    known = [e for e in expected if not np.isnan(e)]
    np.testing.assert_allclose(result.mean, np.mean(known) if known else np.nan)


def test_only_difficult_objects_leave_nothing_to_score(only_difficult: Case) -> None:
    assert np.isnan(corloc(only_difficult.truth, only_difficult.found).mean)
    assert corloc(only_difficult.truth, only_difficult.found, count_difficult=True).mean >= 0


def test_by_hand() -> None:
    here, there = [0, 0, 9, 9], [20, 20, 29, 29]
    truth = columns(
        [
            {"image": 0, "name": "cat", "box": here, "difficult": False},
            {"image": 0, "name": "cat", "box": there, "difficult": True},
            {"image": 1, "name": "cat", "box": here, "difficult": False},
            {"image": 2, "name": "cat", "box": here, "difficult": False},
            {"image": 3, "name": "cat", "box": here, "difficult": True},
        ],
        4,
    )
    found = [
        {"image": 0, "name": "cat", "box": there, "score": 0.9},  # a hit, of a difficult one
        {"image": 1, "name": "cat", "box": there, "score": 0.9},  # a miss; the next is too late
        {"image": 1, "name": "cat", "box": here, "score": 0.8},
        {"image": 2, "name": "dog", "box": here, "score": 0.9},  # nothing of the class: a miss
        {"image": 3, "name": "cat", "box": here, "score": 0.9},  # only difficult: left out
    ]
    cat = corloc(truth, found_in(found, 4)).classes[0]
    assert (cat.images, cat.located) == (3, 1)
    cat = corloc(truth, found_in(found, 4), count_difficult=True).classes[0]
    assert (cat.images, cat.located) == (4, 2)


def test_an_image_with_only_a_crowd_is_left_out() -> None:
    truth = columns([{"image": 0, "name": "cat", "box": [0, 0, 9, 9], "difficult": False}], 1)
    truth = replace(truth, crowd=np.array([True]))
    assert corloc(truth, []).classes[0].images == 0
