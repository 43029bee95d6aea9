import numpy as np
import pytest

from oracle.evaluation import proposal_recall
from oracle.scored_data import Case
from tag2box.evaluation.coco import coco_scores
from tag2box.evaluation.recall import average_recall, proposal_statistics

LAST_PIXEL = np.array([0, 0, 1, 1])


def random_boxes(rng: np.random.Generator, count: int) -> np.ndarray:
    """Integer boxes with their last pixel included."""
    corners = rng.integers(0, 30, (count, 2, 2))
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


@pytest.mark.parametrize("seed", range(5))
def test_proposal_statistics_are_those_of_the_slow_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    proposals = [random_boxes(rng, n) for n in rng.integers(0, 40, 7)]
    objects = [random_boxes(rng, n) for n in rng.integers(0, 4, 7)]
    limits = (0, 1, 5, 1000, None)
    statistics = proposal_statistics(
        [(p + LAST_PIXEL).astype(np.float32) for p in proposals],
        [o + LAST_PIXEL for o in objects],
        limits=limits,
    )
    assert statistics.images == 7
    assert statistics.objects == sum(len(o) for o in objects)
    assert statistics.average == pytest.approx(np.mean([len(p) for p in proposals]))
    assert statistics.maximum == max(len(p) for p in proposals)
    for limit, recall in zip(limits, statistics.recalls, strict=True):
        np.testing.assert_allclose(
            (recall.recall_50, recall.recall_70, recall.average_best_overlap),
            proposal_recall([p.tolist() for p in proposals], [o.tolist() for o in objects], limit),
        )
        assert recall.limit == limit


def test_no_images_and_no_objects() -> None:
    statistics = proposal_statistics([], [])
    assert (statistics.images, statistics.objects, statistics.maximum) == (0, 0, 0)
    assert np.isnan(statistics.average)
    statistics = proposal_statistics([np.ones((3, 4))], [np.zeros((0, 4))])
    assert statistics.average == statistics.maximum == 3
    assert np.isnan(statistics.recalls[0].average_best_overlap)


def test_by_hand() -> None:
    proposals = [np.array([[0, 0, 10, 6], [0, 0, 10, 10]])]
    statistics = proposal_statistics(proposals, [np.array([[0, 0, 10, 10]])], limits=(1, None))
    first, every = statistics.recalls
    assert (first.recall_50, first.recall_70, first.average_best_overlap) == (1.0, 0.0, 0.6)
    assert (every.recall_50, every.recall_70, every.average_best_overlap) == (1.0, 1.0, 1.0)


def test_average_recall_is_the_recall_among_the_twelve(case: Case) -> None:
    recall, scores = average_recall(case.truth, case.found), coco_scores(case.truth, case.found)
    np.testing.assert_equal(
        [recall.overall.at_1, recall.overall.at_100, recall.overall.small],
        [scores.overall.ar_1, scores.overall.ar_100, scores.overall.ar_small],
    )
    assert list(recall.classes) == list(case.truth.class_names)
