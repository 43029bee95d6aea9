import json

import pytest

from oracle.scored_data import Case, make_case
from tag2box.evaluation.coco import coco_scores
from tag2box.evaluation.corloc import corloc
from tag2box.evaluation.recall import average_recall
from tag2box.evaluation.scores import METRICS, Metric, score
from tag2box.evaluation.voc import average_precision


def test_all_metrics_are_each_as_when_asked_alone() -> None:
    case = make_case(1)
    scores = score(case.truth, case.found, iou=0.4, count_difficult=True)
    assert scores.voc is not None
    assert scores.voc.mean == average_precision(case.truth, case.found, iou=0.4).mean
    assert scores.corloc == corloc(case.truth, case.found, iou=0.4, count_difficult=True)
    assert scores.coco == coco_scores(case.truth, case.found, count_difficult=True)
    assert scores.ar == average_recall(case.truth, case.found, count_difficult=True)
    assert scores.coco != coco_scores(case.truth, case.found)
    assert sum(scores.objects.values()) == len(case.objects)
    assert (scores.images, scores.detections) == (6, len(case.detections))


@pytest.mark.parametrize("metric", METRICS)
def test_only_what_is_asked_for_is_scored(metric: Metric) -> None:
    case = make_case(1)
    plain = score(case.truth, case.found, metrics=[metric]).to_plain()
    assert set(plain) == {"images", "objects", "detections", metric}


def test_plain_scores_are_json_whatever_is_unknown(case: Case, only_difficult: Case) -> None:
    for one in (case, only_difficult):
        plain = score(one.truth, one.found).to_plain()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
