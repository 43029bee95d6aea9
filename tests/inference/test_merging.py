import dataclasses
import inspect

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import learning as slow
from tag2box.inference.merging import merge
from tag2box.recipe import MergingSettings

NAMES = ("cat", "dog", "owl")


def case(seed, regions, classes=3):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random((regions, classes)), 2 if seed % 2 else 8)
    low = rng.integers(0, 12, (regions, classes, 2))
    boxes = np.concatenate([low, low + rng.integers(1, 12, low.shape)], axis=2).astype(float)
    return torch.from_numpy(scores), torch.from_numpy(boxes)


@pytest.mark.parametrize("regions", [0, 1, 6, 60])
@pytest.mark.parametrize("threshold", [0.0, 0.5])
@pytest.mark.parametrize("top", [1, 4, 100])
def test_merging_is_nms_per_class_then_the_best(regions, threshold, top):
    for seed in range(4):
        scores, boxes = case(seed, regions)
        found = merge(
            scores, boxes, class_names=NAMES, image_id="a", score_threshold=threshold, top=top
        )
        expected = slow.merge(scores.tolist(), boxes.tolist(), threshold, 0.3, top)
        assert found.classes.tolist() == [c for _, c in expected]
        np.testing.assert_allclose(found.scores, [scores[r, c] for r, c in expected], rtol=1e-6)
        np.testing.assert_array_equal(
            found.boxes, np.reshape([boxes[r, c].numpy() for r, c in expected], (-1, 4))
        )
        assert (found.class_names, found.image_id) == (NAMES, "a")


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), regions=st.integers(1, 40))
def test_the_order_of_regions_does_not_matter(seed, regions):
    scores, boxes = (values.float() for values in case(seed * 2, regions))
    order = torch.from_numpy(np.random.default_rng(seed).permutation(regions))
    first = merge(scores, boxes, class_names=NAMES)
    second = merge(scores[order], boxes[order], class_names=NAMES)
    np.testing.assert_array_equal(first.scores, second.scores)
    np.testing.assert_array_equal(first.boxes, second.boxes)


def test_a_score_on_the_threshold_is_not_above_it():
    boxes = torch.tensor([[[0.0, 0, 9, 9]]])
    assert len(merge(torch.tensor([[0.5]]), boxes, class_names=["cat"], score_threshold=0.5)) == 0
    assert len(merge(torch.tensor([[0.0]]), boxes, class_names=["cat"])) == 0


def test_the_recipe_and_the_function_have_the_same_defaults():
    parameters = inspect.signature(merge).parameters
    for field in dataclasses.fields(MergingSettings):
        assert parameters[field.name].default == field.default


def test_many_classes_do_not_blur_the_boxes_of_float32():
    """Two boxes of every class overlap by 0.3 and a hair: the second one is always dropped."""
    one = [1000.0, 1000, 1100, 1100]
    two = [1053.8, 1000, 1153.8, 1100]
    boxes = torch.tensor([one, two]).view(2, 1, 4).expand(2, 80, 4)
    scores = torch.tensor([0.9, 0.8]).view(2, 1).expand(2, 80)
    names = [str(c) for c in range(80)]
    assert len(merge(scores, boxes, class_names=names, top=200)) == 80
