import dataclasses
import inspect

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from oracle import learning as slow
from tag2box.learning.losses import losses, student_lessons, teacher_scores
from tag2box.learning.mining import build_miner
from tag2box.models.outputs import Outputs
from tag2box.recipe import LossSettings, MiningSettings

METHODS = ["mist", "oicr", "pcl"]


def grown(outputs: Outputs) -> list[torch.Tensor]:
    return [getattr(outputs, f.name).requires_grad_() for f in dataclasses.fields(outputs)]


@pytest.mark.parametrize("regions", [0, 1, 6, 7, 40])
@pytest.mark.parametrize("tags", [[], [1], [0, 1, 2]])
@pytest.mark.parametrize("method", METHODS)
def test_finite_whatever_the_image(method, regions, tags, random_boxes, random_outputs):
    rng = np.random.default_rng(regions)
    outputs = random_outputs(rng, regions, 3)
    leaves = grown(outputs)
    found = losses(outputs, random_boxes(rng, regions), tags, mine=build_miner(method))
    assert list(found) == ["loss_img"] + [
        f"loss_ref_{kind}{i}" for i in range(3) for kind in ("cls", "reg")
    ]
    total = sum(found.values())
    assert torch.isfinite(total)
    for leaf, gradient in zip(leaves, torch.autograd.grad(total, leaves), strict=True):
        assert gradient.shape == leaf.shape
        assert torch.isfinite(gradient).all()
    if not tags or not regions:
        assert all(value == 0 for name, value in found.items() if "ref" in name)


@pytest.mark.parametrize("regions", [1, 6, 30])
def test_all_losses_against_the_slow_loops(regions, random_boxes, random_outputs):
    for classes, tags in [(1, (0,)), (3, ()), (3, (0,)), (3, (1, 2)), (3, (0, 1, 2))]:
        rng = np.random.default_rng(len(tags))
        outputs, boxes = random_outputs(rng, regions, classes), random_boxes(rng, regions)
        found = losses(outputs, boxes, tags)
        both = slow.region_scores(outputs.class_logits.tolist(), outputs.detection_logits.tolist())
        phi = [sum(column) for column in zip(*both, strict=True)]
        expected = {"loss_img": slow.image_loss(phi, tags, "bce-with-background")}
        teacher = both
        for i, (logits, deltas) in enumerate(
            zip(outputs.student_logits.tolist(), outputs.student_deltas.tolist(), strict=True)
        ):
            chosen = slow.mist([row[1:] for row in teacher], boxes.tolist(), tags)
            taught = slow.assign(chosen, boxes.tolist())
            targets = [
                slow.encode(boxes[chosen[n][0]].tolist(), box) if chosen else [0.0] * 4
                for box, (_, _, n) in zip(boxes.tolist(), taught, strict=True)
            ]
            factor = 3 if i == 0 else 1
            expected[f"loss_ref_cls{i}"] = factor * slow.class_term(logits, taught)
            expected[f"loss_ref_reg{i}"] = factor * slow.box_term(deltas, taught, targets)
            teacher = [slow.softmax(row) for row in logits]
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-9, err_msg=name)


def test_one_class_is_enough(random_boxes, random_outputs):
    rng = np.random.default_rng(0)
    found = losses(random_outputs(rng, 20, 1), random_boxes(rng, 20), [0])
    assert all(value > 0 for value in found.values())


def test_wsddn_has_the_image_loss_alone_and_students_may_do_without_boxes(
    random_boxes, random_outputs
):
    rng = np.random.default_rng(0)
    outputs, boxes = random_outputs(rng, 20, 3), random_boxes(rng, 20)
    teacher_only = dataclasses.replace(
        outputs, student_logits=outputs.student_logits[:0], student_deltas=None
    )
    assert list(losses(teacher_only, boxes, [1])) == ["loss_img"]
    no_boxes = losses(dataclasses.replace(outputs, student_deltas=None), boxes, [1])
    assert list(no_boxes) == ["loss_img"] + [f"loss_ref_cls{i}" for i in range(3)]


def test_tags_as_a_list_in_any_order_or_a_tensor(random_boxes, random_outputs):
    rng = np.random.default_rng(0)
    outputs, boxes = random_outputs(rng, 20, 3), random_boxes(rng, 20)
    expected = losses(outputs, boxes, torch.tensor([0, 2]))
    for tags in ([2, 0], (0, 2, 2), frozenset({0, 2}), torch.tensor([2, 0])):
        assert losses(outputs, boxes, tags) == expected


@pytest.mark.parametrize("method", METHODS)
def test_no_gradient_flows_through_mining(method, random_boxes, random_outputs):
    rng = np.random.default_rng(2)
    outputs, boxes = random_outputs(rng, 9, 2), random_boxes(rng, 9)
    mine = build_miner(method)
    leaves = grown(outputs)
    for taught in student_lessons(outputs, boxes, torch.tensor([0, 1]), mine):
        assert not taught.weights.requires_grad
    frozen = iter(student_lessons(outputs, boxes, torch.tensor([0, 1]), mine))

    def total(*tensors: torch.Tensor) -> torch.Tensor:
        frozen = iter(lessons)
        named = losses(Outputs(*tensors), boxes, [0, 1], mine=lambda *_: next(frozen))
        return sum(named.values())

    lessons = list(frozen)
    assert gradcheck(total, leaves)
    through = torch.autograd.grad(sum(losses(outputs, boxes, [0, 1], mine=mine).values()), leaves)
    for gradient, expected in zip(
        through, torch.autograd.grad(total(*leaves), leaves), strict=True
    ):
        assert torch.equal(gradient, expected)


def test_each_student_teaches_the_next(random_outputs):
    outputs = random_outputs(np.random.default_rng(0), 5, 2)
    found = teacher_scores(outputs)
    first = slow.region_scores(outputs.class_logits.tolist(), outputs.detection_logits.tolist())
    np.testing.assert_allclose(found[0], np.array(first)[:, 1:])
    for i in (0, 1):
        np.testing.assert_allclose(
            found[i + 1], [slow.softmax(row)[1:] for row in outputs.student_logits[i].tolist()]
        )


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), method=st.sampled_from(METHODS))
def test_the_order_of_regions_does_not_matter(seed, method):
    rng = np.random.default_rng(seed)
    low = rng.random((25, 2)) * 50
    boxes = torch.from_numpy(np.concatenate([low, low + 5 + rng.random((25, 2)) * 40], axis=1))
    outputs = Outputs(
        torch.from_numpy(rng.normal(size=(25, 4))),
        torch.from_numpy(rng.normal(size=(25, 4))),
        torch.from_numpy(rng.normal(size=(3, 25, 4))),
        torch.from_numpy(rng.normal(size=(3, 25, 16))),
    )
    order = torch.from_numpy(rng.permutation(25))
    shuffled = Outputs(
        outputs.class_logits[order],
        outputs.detection_logits[order],
        outputs.student_logits[:, order],
        outputs.student_deltas[:, order],
    )
    mine = build_miner(method)
    torch.testing.assert_close(
        losses(shuffled, boxes[order], [0, 2], mine=mine),
        losses(outputs, boxes, [0, 2], mine=mine),
    )


@pytest.mark.parametrize("method", METHODS)
def test_bf16_logits_are_reduced_in_float32(method, random_boxes, random_outputs):
    rng = np.random.default_rng(0)
    wide, boxes = random_outputs(rng, 40, 3), random_boxes(rng, 40).float()
    narrow = Outputs(*(getattr(wide, f.name).bfloat16() for f in dataclasses.fields(wide)))
    rounded = Outputs(*(getattr(narrow, f.name).float() for f in dataclasses.fields(wide)))
    expected = losses(rounded, boxes, [0, 2], mine=build_miner(method))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = losses(narrow, boxes, [0, 2], mine=build_miner(method))
    for name, value in found.items():
        assert value.dtype == torch.float32, name
        assert value == expected[name], name


def test_a_step_does_not_wait_for_the_device():
    """On the meta device nothing has a value, so whoever asks for one fails."""

    def on_device(*shape: int) -> torch.Tensor:
        return torch.zeros(shape, device="meta", requires_grad=True)

    outputs = Outputs(on_device(50, 5), on_device(50, 5), on_device(3, 50, 5), on_device(3, 50, 20))
    boxes = torch.zeros(50, 4, device="meta")
    tags = torch.zeros(2, dtype=torch.int64, device="meta")
    sum(losses(outputs, boxes, tags).values()).backward()
    assert outputs.student_deltas.grad.shape == (3, 50, 20)


def test_the_recipe_and_the_functions_have_the_same_defaults():
    for settings_type, function in ((MiningSettings, build_miner), (LossSettings, losses)):
        parameters = inspect.signature(function).parameters
        for field in dataclasses.fields(settings_type):
            assert parameters[field.name].default == field.default, field.name
