from dataclasses import replace

import numpy as np
import pytest

from oracle.evaluation import voc_precision
from oracle.scored_data import NAMES, Case, columns, found_in
from tag2box.errors import InputError
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.evaluation.voc import average_precision
from tag2box.structures import Detections


@pytest.mark.parametrize("iou", [0.3, 0.5, 0.75])
def test_average_precision_is_that_of_the_official_loop(case: Case, iou: float) -> None:
    result = average_precision(case.truth, case.found, iou=iou)
    expected = [voc_precision(case.objects, case.detections, name, iou) for name in NAMES]
    np.testing.assert_allclose(
        [(c.average_precision, c.average_precision_07) for c in result.classes],
        expected,
        atol=1e-12,
    )
    for mean, column in ((result.mean, 0), (result.mean_07, 1)):
        known = [e[column] for e in expected if not np.isnan(e[column])]
        np.testing.assert_allclose(mean, np.mean(known) if known else np.nan, atol=1e-12)


def test_only_difficult_objects_leave_nothing_to_score(only_difficult: Case) -> None:
    result = average_precision(only_difficult.truth, only_difficult.found)
    assert np.isnan(result.mean)
    assert np.isnan(result.mean_07)
    assert [c.objects for c in result.classes] == [0, 0, 0]


def one_class(
    boxes: list[list[float]], difficult: list[bool], found: list[tuple[list[float], float]]
) -> tuple[GroundTruth, list[Detections]]:
    """One image of cats; boxes with their last pixel included."""
    objects = [
        {"image": 0, "name": "cat", "box": box, "difficult": flag}
        for box, flag in zip(boxes, difficult, strict=True)
    ]
    detections = [{"image": 0, "name": "cat", "box": box, "score": s} for box, s in found]
    return columns(objects, 1), found_in(detections, 1)


HERE, THERE, NOWHERE = [0, 0, 9, 9], [20, 20, 29, 29], [50, 50, 59, 59]


def test_by_hand_a_right_a_wrong_and_a_right_one() -> None:
    truth, found = one_class(
        [HERE, THERE], [False, False], [(HERE, 0.9), (NOWHERE, 0.8), (THERE, 0.7)]
    )
    cat = average_precision(truth, found).classes[0]
    np.testing.assert_allclose(cat.recall, [0.5, 0.5, 1.0])
    np.testing.assert_allclose(cat.precision, [1.0, 0.5, 2 / 3])
    np.testing.assert_allclose(cat.scores, [0.9, 0.8, 0.7], rtol=1e-6)
    # Precision 1 up to recall 0.5, then 2/3: six of the eleven recalls lie in the first part.
    assert cat.average_precision == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)
    assert cat.average_precision_07 == pytest.approx((6 * 1 + 5 * 2 / 3) / 11)


def test_by_hand_a_second_detection_of_an_object_is_wrong() -> None:
    truth, found = one_class(
        [HERE, THERE], [False, False], [(HERE, 0.9), (HERE, 0.8), (THERE, 0.7)]
    )
    np.testing.assert_allclose(
        average_precision(truth, found).classes[0].precision, [1, 1 / 2, 2 / 3]
    )


def test_by_hand_detections_of_a_difficult_object_count_neither_way() -> None:
    truth, found = one_class(
        [HERE, THERE], [False, True], [(THERE, 0.9), (THERE, 0.8), (HERE, 0.7)]
    )
    cat = average_precision(truth, found).classes[0]
    assert cat.objects == 1
    assert cat.precision.tolist() == [1.0]
    assert cat.average_precision == cat.average_precision_07 == 1.0


def test_by_hand_a_crowd_counts_neither_way() -> None:
    truth, found = one_class([HERE, THERE], [False, False], [(THERE, 0.9), (HERE, 0.7)])
    truth = replace(truth, crowd=np.array([False, True]))
    assert average_precision(truth, found).classes[0].average_precision == 1.0


def test_by_hand_a_detection_is_compared_with_the_object_it_overlaps_best_only() -> None:
    # Both overlap the first object best; the second object, also above the threshold, stays free.
    first, second = [0, 0, 9, 9], [0, 0, 9, 6]
    truth, found = one_class([first, second], [False, False], [(first, 0.9), ([0, 0, 9, 8], 0.8)])
    assert average_precision(truth, found).classes[0].precision.tolist() == [1.0, 0.5]


def test_equal_scores_keep_the_order_they_were_given_in() -> None:
    for order, expected in (([NOWHERE, HERE], 0.5), ([HERE, NOWHERE], 1.0)):
        truth, found = one_class([HERE], [False], [(box, 0.5) for box in order])
        assert average_precision(truth, found).mean == expected


def test_an_overlap_of_exactly_the_threshold_is_a_hit() -> None:
    truth, found = one_class([HERE], [False], [([0, 0, 9, 4], 0.9)])
    assert average_precision(truth, found, iou=0.5).mean == 1.0


def test_eleven_points_compare_recalls_in_floating_point_as_the_kit_does() -> None:
    # Three of ten found: the kit's fourth recall is 0.30000000000000004, just out of reach.
    boxes = [[20 * i, 0, 20 * i + 9, 9] for i in range(10)]
    truth, found = one_class(boxes, [False] * 10, [(box, 0.9) for box in boxes[:3]])
    assert average_precision(truth, found).mean_07 == pytest.approx(3 / 11)


def test_a_class_only_the_detector_knows_is_left_out() -> None:
    truth, found = one_class([HERE], [False], [(HERE, 0.9)])
    found = [replace(found[0], class_names=("yeti", "cat", "dog"), classes=np.array([1]))]
    assert average_precision(truth, found).mean == 1.0
    found = [replace(found[0], classes=np.array([0]))]
    assert average_precision(truth, found).mean == 0.0


def test_an_image_the_truth_does_not_have_is_an_error() -> None:
    truth, found = one_class([HERE], [False], [(HERE, 0.9)])
    with pytest.raises(InputError, match="'other' is not in the ground truth"):
        average_precision(truth, [replace(found[0], image_id="other")])


@pytest.mark.parametrize("iou", [0.0, -1.0, 1.5, float("nan")])
def test_a_threshold_that_is_no_overlap_is_an_error(iou: float) -> None:
    truth, found = one_class([HERE], [False], [])
    with pytest.raises(InputError, match="is not an overlap"):
        average_precision(truth, found, iou=iou)
