import numpy as np
import pytest

from tag2box.proposals.packing import pack, unpack
from tag2box.proposals.protocol import Proposals


@pytest.mark.parametrize("count", [0, 1, 50])
@pytest.mark.parametrize("step", [1.0, 0.3])
@pytest.mark.parametrize("scored", [False, True])
def test_nothing_is_lost(count: int, step: float, scored: bool) -> None:
    rng = np.random.default_rng(count)
    boxes = (rng.integers(0, 2**16, (count, 4)) * step).astype(np.float32)
    scores = np.sort(rng.random(count).astype(np.float32))[::-1] if scored else None
    back, width, height = unpack(pack(Proposals(boxes, scores), width=70_000, height=3))
    assert (width, height) == (70_000, 3)
    np.testing.assert_array_equal(back.boxes, boxes)
    assert back.boxes.dtype == np.float32
    if scores is None:
        assert back.scores is None
    else:
        np.testing.assert_array_equal(back.scores, scores)


@pytest.mark.parametrize("box", [[-1, 0, 5, 5], [0, 0, 65536, 5]])
def test_boxes_out_of_two_bytes_survive(box: list[int]) -> None:
    boxes = np.array([box], np.float32)
    back, _, _ = unpack(pack(Proposals(boxes), width=9, height=9))
    np.testing.assert_array_equal(back.boxes, boxes)


def test_two_thousand_boxes_take_under_eight_bytes_each() -> None:
    corners = np.sort(np.random.default_rng(0).integers(0, 500, (2000, 2, 2)), axis=1)
    boxes = corners.reshape(2000, 4).astype(np.float32)
    assert len(pack(Proposals(boxes), width=500, height=375)) < 8 * 2000
