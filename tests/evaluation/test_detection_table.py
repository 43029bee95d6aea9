from dataclasses import replace

import numpy as np

from oracle.scored_data import NAMES, make_case
from tag2box.evaluation.detection_table import tabulate


def test_columns_and_back() -> None:
    case = make_case(1)
    table = tabulate(case.truth, case.found)
    assert len(table) == len(case.detections)
    assert tabulate(case.truth, table) is table
    for found, back in zip(case.found, table.by_image(), strict=True):
        assert back.image_id == found.image_id
        np.testing.assert_array_equal(back.boxes, found.boxes)
        np.testing.assert_array_equal(back.scores, found.scores)
        np.testing.assert_array_equal(back.classes, found.classes)
        assert back.boxes.dtype == found.boxes.dtype


def test_classes_are_numbered_as_in_the_truth() -> None:
    case = make_case(1)
    shuffled = [
        replace(found, class_names=("yeti", *NAMES[::-1]), classes=3 - found.classes)
        for found in case.found
    ]
    expected, table = tabulate(case.truth, case.found), tabulate(case.truth, shuffled)
    np.testing.assert_array_equal(table.classes, expected.classes)


def test_a_smaller_truth_restricts_the_table() -> None:
    case = make_case(1)
    smaller = case.truth.select(["photo4", "photo1"]).keep_classes(["cow", "cat"])
    restricted = tabulate(case.truth, case.found).restricted_to(smaller)
    wanted = [case.found[4], case.found[1]]
    np.testing.assert_array_equal(
        np.sort(restricted.scores), np.sort(tabulate(smaller, wanted).scores)
    )
    assert set(restricted.images) == {0, 1}
    assert set(restricted.classes) == {0, 1}
    for row in range(len(restricted)):
        image, name = (
            smaller.image_ids[restricted.images[row]],
            restricted.class_names[restricted.classes[row]],
        )
        source = case.found[int(image.removeprefix("photo"))]
        same = np.flatnonzero((source.boxes == restricted.boxes[row]).all(axis=1))
        assert name in {source.class_names[source.classes[i]] for i in same}


def test_nothing_found() -> None:
    table = tabulate(make_case(1).truth, [])
    assert len(table) == 0
    assert len(table.by_image()) == 6
