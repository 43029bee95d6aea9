import numpy as np
import pytest

from oracle.scored_data import make_case
from tag2box.boxes import iou
from tag2box.evaluation import matching
from tag2box.evaluation.detection_table import tabulate


@pytest.mark.parametrize("pairs_at_once", [1, 7, 1 << 20])
@pytest.mark.parametrize("sizes", [(0, 4), (4, 0), (1, 1), (40, 200)])
def test_best_overlaps_in_chunks_are_those_of_the_slow_loop(
    monkeypatch: pytest.MonkeyPatch, pairs_at_once: int, sizes: tuple[int, int]
) -> None:
    monkeypatch.setattr(matching, "_PAIRS_AT_ONCE", pairs_at_once)
    case = make_case(3, objects=sizes[0], detections=sizes[1])
    truth, table = case.truth, tabulate(case.truth, case.found)
    best, chosen = matching.best_overlaps(truth, table)
    for d in range(len(table)):
        same = (truth.object_image == table.images[d]) & (truth.classes == table.classes[d])
        candidates = np.flatnonzero(same)
        if not len(candidates):
            assert (best[d], chosen[d]) == (0, -1)
            continue
        overlaps = iou(table.boxes[[d]], truth.boxes[candidates])[0]
        assert best[d] == overlaps.max()
        assert chosen[d] == candidates[overlaps.argmax()]


def test_empty_boxes_overlap_nothing() -> None:
    boxes = np.array([[3.0, 3, 3, 3], [0, 0, 2, 2]])
    np.testing.assert_array_equal(matching.paired_iou(boxes, boxes), [0, 1])
