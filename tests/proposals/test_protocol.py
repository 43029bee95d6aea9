import numpy as np
import pytest

from tag2box.errors import InputError
from tag2box.proposals.protocol import Proposals, as_proposals


def test_plain_boxes_keep_their_order() -> None:
    proposals = as_proposals([(5, 6, 9, 9), (0, 0, 30, 20)], 20, 30, "mine:propose")
    np.testing.assert_array_equal(proposals.boxes, [[5, 6, 9, 9], [0, 0, 30, 20]])
    assert proposals.boxes.dtype == np.float32
    assert proposals.scores is None


def test_scored_boxes_come_best_first_and_ties_keep_their_order() -> None:
    boxes = np.array([[0, 0, 1, 1], [0, 0, 2, 2], [0, 0, 3, 3]])
    proposals = as_proposals((boxes, [0.5, 0.9, 0.5]), 20, 30, "mine:propose")
    np.testing.assert_array_equal(proposals.boxes[:, 2], [2, 1, 3])
    assert proposals.scores is not None
    np.testing.assert_allclose(proposals.scores, [0.9, 0.5, 0.5])


def test_two_plain_boxes_in_a_tuple_are_no_pair() -> None:
    assert len(as_proposals(((0, 0, 9, 9), (1, 1, 9, 9)), 20, 30, "mine:propose")) == 2


@pytest.mark.parametrize("nothing", [[], np.zeros((0, 4)), ([], []), np.zeros((0, 4), np.int64)])
def test_no_box_is_an_answer(nothing: object) -> None:
    assert as_proposals(nothing, 20, 30, "mine:propose").boxes.shape == (0, 4)


def test_our_own_proposals_pass_through() -> None:
    some = Proposals(np.array([[0, 0, 4, 4]], np.float32), np.array([0.5], np.float32))
    again = as_proposals(some, 20, 30, "mine:propose")
    np.testing.assert_array_equal(again.boxes, some.boxes)
    assert len(again[:0]) == 0


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (np.zeros((3, 20, 30), bool), "shape (3, 20, 30)"),
        ([(0, 0, 9)], "shape (1, 3)"),
        ([(9, 9, 4, 4)], "end is before its start"),
        ([(0, 0, float("nan"), 4)], "not finite"),
        ([(0, 0, 9, 9), (100, 0, 200, 9)], "30 x 20 pixels"),
        ([(0.1, 0.1, 0.4, 0.5), (0, 0, 1, 1)], "within one pixel"),
        (([(0, 0, 9, 9)], [0.5, 0.4]), "for 1 boxes"),
        ("boxes", "no numbers"),
        ([(0, 0, 9, 9), (1, 2)], "no numbers"),
        (None, "returned nothing"),
        (3.5, "shape ()"),
    ],
)
def test_another_format_or_frame_is_named(result: object, sentence: str) -> None:
    with pytest.raises(InputError, match="mine:propose") as caught:
        as_proposals(result, 20, 30, "mine:propose")
    assert sentence in str(caught.value)
