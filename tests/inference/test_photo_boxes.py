import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from oracle.found_boxes import found_in
from tag2box.inference.photo_boxes import shortest, xywh


@settings(max_examples=50, deadline=None)
@given(
    arrays.arrays(
        np.float32, st.integers(0, 20), elements=st.floats(0, 1e5, width=32, allow_nan=False)
    )
)
def test_decimals_are_the_same_float32_again(values: np.ndarray) -> None:
    np.testing.assert_array_equal(np.array(shortest(values), np.float32), values)
    assert all(len(repr(value)) <= 20 for value in shortest(values))


def test_objects_are_the_detections_in_plain_numbers() -> None:
    photo = found_in(boxes=20)
    rows = list(photo.objects())
    found = photo.detections
    assert [row.name for row in rows] == [found.class_names[c] for c in found.classes]
    np.testing.assert_array_equal(np.array([row.box for row in rows], np.float32), found.boxes)
    np.testing.assert_array_equal(np.array([row.score for row in rows], np.float32), found.scores)
    for row in rows:
        x, y, width, height = xywh(row.box)
        np.testing.assert_allclose((x, y, x + width, y + height), row.box, atol=1e-4)


def test_only_the_sure_ones_and_the_best_of_each_class() -> None:
    photo = found_in(boxes=30)
    found = photo.detections
    for least in (0.0, 0.5, 0.9, 1.0):
        sure = photo.confident(least).detections
        np.testing.assert_array_equal(sure.scores, found.scores[found.scores >= least])
        with_best = photo.confident(least, best_of_class=True).detections
        assert set(with_best.classes.tolist()) == set(found.classes.tolist())
        for c in set(found.classes.tolist()):
            mine = found.scores[found.classes == c]
            kept = with_best.scores[with_best.classes == c]
            np.testing.assert_array_equal(kept, mine[: max(1, int((mine >= least).sum()))])
    assert len(found_in(boxes=0).confident(0.5, best_of_class=True).detections) == 0
