import dataclasses

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from oracle import learning as slow
from tag2box.learning.mining import build_miner
from tag2box.learning.student_loss import classification_loss, regression_loss


def lesson(rng, random_boxes, regions, tags, method="mist", answers="method"):
    scores = torch.from_numpy(rng.random((regions, 3)))
    mine = build_miner(method, top_share=0.3, answers=answers)
    taught = mine(scores, random_boxes(rng, regions), torch.tensor(tags, dtype=torch.int64))
    triples = (taught.labels.tolist(), taught.weights.tolist(), taught.followed.tolist())
    return taught, list(zip(*triples, strict=True))


@pytest.mark.parametrize("regions", [0, 1, 6, 30])
@pytest.mark.parametrize("tags", [(), (1,), (0, 1, 2)])
def test_both_terms_are_equation_4(regions, tags, random_boxes):
    rng = np.random.default_rng(regions)
    taught, triples = lesson(rng, random_boxes, regions, tags)
    logits = rng.normal(size=(regions, 4))
    deltas = rng.normal(size=(regions, 16)) * 3
    np.testing.assert_allclose(
        classification_loss(torch.from_numpy(logits), taught),
        slow.class_term(logits.tolist(), triples),
    )
    np.testing.assert_allclose(
        regression_loss(torch.from_numpy(deltas), taught),
        slow.box_term(deltas.tolist(), triples, taught.targets.tolist()),
    )


@pytest.mark.parametrize("regions", [0, 1, 6, 30])
@pytest.mark.parametrize("tags", [(), (1,), (0, 1, 2)])
def test_regions_of_a_pcl_cluster_answer_together(regions, tags, random_boxes):
    rng = np.random.default_rng(regions)
    taught, triples = lesson(rng, random_boxes, regions, tags, method="pcl")
    assert taught.as_clusters
    logits = rng.normal(size=(regions, 4))
    found = classification_loss(torch.from_numpy(logits), taught)
    np.testing.assert_allclose(found, slow.cluster_class_term(logits.tolist(), triples))
    alone = classification_loss(
        torch.from_numpy(logits), dataclasses.replace(taught, as_clusters=False)
    )
    assert found <= alone + 1e-12  # the logarithm is concave
    assert (found < alone - 1e-6) == (regions == 30 and len(tags) > 0)


@pytest.mark.parametrize("regions", [0, 1, 6, 30])
@pytest.mark.parametrize("tags", [(), (1,), (0, 1, 2)])
@pytest.mark.parametrize("method", ["mist", "oicr"])
def test_regions_of_any_pseudo_box_may_answer_together(regions, tags, method, random_boxes):
    rng = np.random.default_rng(regions)
    taught, triples = lesson(rng, random_boxes, regions, tags, method, answers="together")
    logits = rng.normal(size=(regions, 4))
    np.testing.assert_allclose(
        classification_loss(torch.from_numpy(logits), taught),
        slow.cluster_class_term(logits.tolist(), triples),
    )


def test_who_answers_how(random_boxes):
    for method, answers, together in (
        *(("mist", "method", False), ("oicr", "method", False), ("pcl", "method", True)),
        *(("mist", "together", True), ("mist", "each", False), ("pcl", "each", False)),
    ):
        rng = np.random.default_rng(0)
        taught, _ = lesson(rng, random_boxes, 6, (1,), method, answers)
        assert taught.as_clusters == together


@pytest.mark.parametrize("method", ["mist", "oicr", "pcl"])
def test_gradients(method, random_boxes):
    rng = np.random.default_rng(1)
    taught, _ = lesson(rng, random_boxes, 12, (0, 2), method)
    logits = torch.randn(12, 4, dtype=torch.float64, requires_grad=True)
    deltas = torch.randn(12, 16, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: classification_loss(x, taught), [logits])
    assert gradcheck(lambda x: regression_loss(x, taught), [deltas])
