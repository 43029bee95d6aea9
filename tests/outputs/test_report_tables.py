import math

import numpy as np
import pytest

from oracle.scored_data import make_case
from tag2box.evaluation.scores import score
from tag2box.outputs.report_tables import class_table, extremes, loss_charts, precision_charts


def test_cells_are_the_scores_and_their_difference() -> None:
    case = make_case(3)
    first = score(case.truth, case.found, metrics=("voc", "corloc", "coco"))
    second = score(case.truth, case.found[:3], metrics=("voc", "corloc", "coco"))
    table = class_table([first, second])
    assert table is not None
    assert table["headings"] == ["AP at 0.5", "CorLoc", "AP .5:.95"]
    assert first.voc
    assert second.voc
    for row, one, other in zip(table["rows"], first.voc.classes, second.voc.classes, strict=True):
        cell = row["cells"][0]
        assert cell.values == (one.average_precision, other.average_precision)
        assert cell.gain == pytest.approx(other.average_precision - one.average_precision)
    assert table["means"][0].values == (first.voc.mean, second.voc.mean)
    alone = class_table([first])
    assert alone is not None
    assert alone["means"][0].gain is None
    assert class_table([]) is None


def test_classes_without_objects_have_no_curve() -> None:
    case = make_case(0, objects=0)
    scores = score(case.truth, case.found, metrics=("voc", "corloc", "coco"))
    assert precision_charts([scores], ["run"]) == []
    table = class_table([scores])
    assert table is not None
    assert math.isnan(table["means"][0].values[0])
    case = make_case(5)
    scores = score(case.truth, case.found, metrics=("voc", "corloc", "coco"))
    assert [name for name, _ in precision_charts([scores] * 2, ["a", "b"])] == ["cat", "dog", "cow"]


def test_extremes_are_few_and_apart() -> None:
    assert extremes([]) is None
    assert extremes([None, None]) is None
    assert extremes([0.5]) == {"best": [], "worst": []}
    assert extremes([0.1, 0.9, 0.5]) == {"best": [1], "worst": [0]}
    found = extremes(np.linspace(0, 1, 50).tolist())
    assert found == {"best": [49, 48, 47, 46, 45, 44], "worst": [0, 1, 2, 3, 4, 5]}


def test_losses_come_first_and_measurements_last() -> None:
    lines = [{"step": n, "waited": 0.1, "student_1": 1 / n, "loss": 2 / n} for n in (1, 2, 3)]
    assert [name for name, _ in loss_charts([lines, []], ["a", "b"])] == [
        "loss",
        "student 1",
        "waited",
    ]
    assert loss_charts([[]], ["a"]) == []
