import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from oracle import learning as slow
from tag2box.learning.image_loss import image_loss
from tag2box.learning.image_scores import image_scores, region_scores

KINDS = ["bce-with-background", "bce", "paper"]


@pytest.mark.parametrize("regions", [0, 1, 2, 6, 30])
@pytest.mark.parametrize("classes", [1, 4])
def test_region_scores_are_equation_1(regions, classes):
    logits = np.random.default_rng(regions).normal(size=(2, regions, classes + 1))
    found = region_scores(torch.from_numpy(logits[0]), torch.from_numpy(logits[1]))
    expected = np.reshape(slow.region_scores(*logits.tolist()), (regions, classes + 1))
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(image_scores(found), expected.sum(axis=0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("classes", "tags"), [(1, ()), (1, (0,)), (3, (1,)), (3, (0, 1, 2))])
def test_image_loss_is_equation_2_or_its_binary_form(kind, classes, tags):
    phi = np.random.default_rng(len(tags)).random(classes + 1)
    found = image_loss(torch.from_numpy(phi), torch.tensor(tags, dtype=torch.int64), kind=kind)
    np.testing.assert_allclose(found, slow.image_loss(phi.tolist(), tags, kind), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sure", [0.0, 1.0, 1.0000002])
def test_certainty_is_finite_right_or_wrong(kind, sure):
    phi = torch.full((4,), sure, requires_grad=True)
    loss = image_loss(phi, torch.tensor([1]), kind=kind)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(phi.grad).all()


def test_a_sure_right_answer_costs_nothing():
    assert image_loss(torch.tensor([0.0, 1, 0]), torch.tensor([0])).item() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_from_loss_to_logits(kind):
    logits = [torch.randn(6, 4, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    tags = torch.tensor([0, 2])
    assert gradcheck(
        lambda f, g: image_loss(image_scores(region_scores(f, g)), tags, kind=kind), logits
    )
