"""Mining, losses and gradients against what the reference implementation gave (see method.md)."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from tag2box.learning.image_loss import image_loss
from tag2box.learning.image_scores import image_scores, region_scores
from tag2box.learning.losses import losses
from tag2box.learning.mining import build_miner
from tag2box.models.outputs import Outputs

BESIDE = Path(__file__).parents[2].parent / "shared" / "golden"
FOLDER = Path(os.environ.get("TAG2BOX_GOLDEN", BESIDE))
CASES = sorted(FOLDER.glob("case*.npz"))

pytestmark = pytest.mark.skipif(not CASES, reason="no golden cases: set TAG2BOX_GOLDEN")

INPUTS = ("cls_logits", "det_logits", "ref_logits", "ref_deltas")


@pytest.fixture(params=CASES, ids=lambda path: path.stem)
def case(request):
    with np.load(request.param) as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays if name != "losses"} | {
            "labels": torch.from_numpy(arrays["labels"]).long(),  # an empty list is float64
            "losses": json.loads(str(arrays["losses"])),
        }


def assert_close(found, expected):
    """Within 1e-5 relative, each number."""
    expected = torch.as_tensor(expected, dtype=found.dtype)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)


def assert_gradients_close(found, expected, cancelling):
    """Within 1e-5 relative, where float32 allows it.

    A number of the gradient may be what is left of numbers that cancel. Against those, which may
    be thousands of times larger, it agrees within 5e-7, and the whole gradient within 1e-6:
    float64 differs from the reference as much.
    """
    atol = 5e-7 * float(cancelling.abs().max())
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=atol)
    assert (found - expected).norm() <= 1e-6 * cancelling.norm()


def cancelling_in_softmax(case):
    """What the gradient of a softmax is the difference of: each score times the slope of its class.

    Logits of one size, as those of a new detector, leave a hundredth of it and less.
    """
    scores = region_scores(case["cls_logits"], case["det_logits"])
    evidence = image_scores(scores).requires_grad_()
    (slopes,) = torch.autograd.grad(image_loss(evidence, case["labels"]), evidence)
    return scores * slopes


def test_mil_scores(case):
    scores = region_scores(case["cls_logits"], case["det_logits"])[:, 1:]
    assert_close(scores, case["mil_scores"])


def test_mist(case):
    mine = build_miner("mist", conflicts="overlap")
    taught = mine(case["mil_scores"], case["boxes"], case["labels"])
    assert torch.equal(taught.labels, case["mist_label"])
    assert_close(taught.weights, case["mist_weight"])
    assert_close(taught.targets, case["mist_target"])


def test_oicr(case):
    mine = build_miner("oicr", conflicts="overlap")
    taught = mine(case["mil_scores"], case["boxes"], case["labels"])
    assert torch.equal(taught.labels, case["oicr_label"])
    assert_close(taught.weights, case["oicr_weight"])


def test_losses_and_gradients(case):
    inputs = [case[name].clone().requires_grad_() for name in INPUTS]
    found = losses(
        Outputs(*inputs),
        case["boxes"],
        case["labels"],
        mine=build_miner("mist", conflicts="overlap"),
    )
    assert found.keys() == case["losses"].keys()
    for name, value in case["losses"].items():
        assert_close(found[name].detach(), value)
    gradients = torch.autograd.grad(sum(found.values()), inputs)
    of_image_loss = cancelling_in_softmax(case)
    for gradient, name, cancelling in zip(
        gradients,
        ("grad_cls", "grad_det", "grad_ref", "grad_delta"),
        (of_image_loss, of_image_loss, case["grad_ref"], case["grad_delta"]),
        strict=True,
    ):
        assert_gradients_close(gradient, case[name], cancelling)


def test_wsddn_loss(case):
    evidence = image_scores(region_scores(case["cls_logits"], case["det_logits"]))
    assert_close(image_loss(evidence, case["labels"]), case["wsddn_loss"])
