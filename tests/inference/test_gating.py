from pathlib import Path

import numpy as np
import pytest
import torch

from tag2box.errors import InputError
from tag2box.inference.gating import gated, tags_known_to, with_best_of_every_tag
from tag2box.inference.merging import merge
from tag2box.structures import Dataset, TaggedImage

NAMES = ("cat", "dog", "owl")


def dataset(names: tuple[str, ...], *tags: set[int]) -> Dataset:
    images = (TaggedImage(str(i), Path(f"{i}.jpg"), frozenset(t)) for i, t in enumerate(tags))
    return Dataset(names, tuple(images))


def test_tags_are_renumbered_by_name() -> None:
    known = tags_known_to(NAMES, dataset(("owl", "cat"), {0}, {0, 1}, set()))
    assert known.class_names == NAMES
    assert [photo.tags for photo in known] == [{2}, {0, 2}, set()]


def test_a_tag_nobody_learnt_is_one_sentence_an_unused_name_is_not() -> None:
    with pytest.raises(InputError, match=r"'emu' is no class of this run.*cat, dog, owl"):
        tags_known_to(NAMES, dataset(("emu", "cat"), {0}, {1}))
    known = tags_known_to(NAMES, dataset(("emu", "cat"), {1}, set()))
    assert known[0].tags == {0}


def test_other_classes_score_nothing() -> None:
    scores = torch.rand(5, 3) + 0.1
    for tags in (set(), {1}, {0, 2}, {0, 1, 2}):
        out = gated(scores, tags)
        for c in range(3):
            assert torch.equal(out[:, c], scores[:, c] if c in tags else torch.zeros(5))


@pytest.mark.parametrize("regions", [0, 1, 8])
@pytest.mark.parametrize("threshold", [0.0, 0.6, 0.99])
@pytest.mark.parametrize("top", [1, 3, 100])
def test_every_tag_gets_its_best_box(regions: int, threshold: float, top: int) -> None:
    for seed in range(5):
        random = np.random.default_rng(seed)
        scores = torch.from_numpy(random.random((regions, 3)).astype(np.float32))
        low = random.random((regions, 3, 2)) * 20
        boxes = np.concatenate([low, low + 5 + random.random((regions, 3, 2)) * 20], axis=2)
        boxes = torch.from_numpy(boxes.astype(np.float32))
        tags = set(np.flatnonzero(random.random(3) < 0.6).tolist())
        scores = gated(scores, tags)
        before = merge(scores, boxes, class_names=NAMES, score_threshold=threshold, top=top)
        found = with_best_of_every_tag(before, scores, boxes, tags)
        expected = set(tags) if regions else set()
        assert set(found.classes.tolist()) == expected
        assert (np.diff(found.scores) <= 0).all()
        assert len(found) == len(before) + len(expected - set(before.classes.tolist()))
        for c in expected:
            best = int(scores[:, c].argmax())
            first = int(np.flatnonzero(found.classes == c)[0])
            np.testing.assert_array_equal(found.boxes[first], boxes[best, c])
