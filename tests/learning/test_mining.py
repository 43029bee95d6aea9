import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import learning as slow
from tag2box.errors import InputError
from tag2box.learning.mining import build_miner
from tag2box.learning.mist import mist
from tag2box.learning.oicr import oicr
from tag2box.learning.pcl import pcl

SIZES = [0, 1, 2, 6, 7, 40]
TAGS = [(), (1,), (0, 2), (0, 1, 2)]


def case(seed, count, ties, random_boxes):
    rng = np.random.default_rng(seed)
    scores = rng.random((count, 3))
    if ties:
        scores = np.round(scores, 1)
    return torch.from_numpy(scores), random_boxes(rng, count)


def found(pseudo_boxes):
    return [
        (region, c, score)
        for region, c, score, kept in zip(
            pseudo_boxes.regions.tolist(),
            pseudo_boxes.classes.tolist(),
            pseudo_boxes.scores.tolist(),
            pseudo_boxes.kept.tolist(),
            strict=True,
        )
        if kept
    ]


@pytest.mark.parametrize("tags", TAGS)
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("ties", [False, True])
def test_mist_is_algorithm_1(count, tags, ties, random_boxes):
    for seed in range(5):
        scores, boxes = case(seed, count, ties, random_boxes)
        for share, greedy in ((0.15, False), (0.15, True), (0.9, False), (0.9, True)):
            chosen = mist(
                scores,
                boxes,
                torch.tensor(tags, dtype=torch.int64),
                top_share=share,
                suppression="greedy" if greedy else "strict",
            )
            assert found(chosen) == (
                slow.mist(scores.tolist(), boxes.tolist(), tags, share, greedy=greedy)
                if count
                else []
            )


@pytest.mark.parametrize("tags", TAGS)
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("ties", [False, True])
def test_oicr_takes_the_best_free_region(count, tags, ties, random_boxes):
    for seed in range(8):
        scores, _ = case(seed, count, ties, random_boxes)
        chosen = oicr(scores, torch.tensor(tags, dtype=torch.int64))
        assert found(chosen) == slow.oicr(scores.tolist(), tags)


@pytest.mark.parametrize("tags", TAGS)
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("ties", [False, True])
def test_pcl_centres(count, tags, ties, random_boxes):
    for seed in range(4):
        scores, boxes = case(seed, count, ties, random_boxes)
        if not ties:
            scores = scores**3  # few high ones, as a detector has
        for most in (2, 5):
            chosen = pcl(
                scores, boxes, torch.tensor(tags, dtype=torch.int64), clusters_per_tag=most
            )
            expected = slow.pcl(scores.tolist(), boxes.tolist(), tags, clusters_per_tag=most)
            assert found(chosen) == expected


@pytest.mark.parametrize("method", ["mist", "oicr", "pcl"])
@pytest.mark.parametrize("conflicts", ["score", "overlap"])
@pytest.mark.parametrize("foreground_from", ["at-least", "above", "method"])
@pytest.mark.parametrize("tags", TAGS)
def test_every_region_follows_a_pseudo_box(method, conflicts, foreground_from, tags, random_boxes):
    mine = build_miner(method, conflicts=conflicts, foreground_from=foreground_from)
    above = method == "oicr" if foreground_from == "method" else foreground_from == "above"
    for count in SIZES:
        for seed in range(3):
            scores, boxes = case(seed, count, seed == 0, random_boxes)
            taught = mine(scores, boxes, torch.tensor(tags, dtype=torch.int64))
            chosen = found(taught.pseudo_boxes)
            expected = slow.assign(
                chosen, boxes.tolist(), strictly_above=above, conflicts=conflicts
            )
            triples = zip(
                taught.labels.tolist(),
                taught.weights.tolist(),
                taught.followed.tolist(),
                strict=True,
            )
            assert list(triples) == expected
            targets = [
                slow.encode(boxes[chosen[n][0]].tolist(), box) if chosen else [0.0] * 4
                for box, (_, _, n) in zip(boxes.tolist(), expected, strict=True)
            ]
            np.testing.assert_allclose(taught.targets, np.reshape(targets, (-1, 4)), atol=1e-12)


def test_the_paper_lets_the_higher_score_win_and_the_reference_the_lower_class():
    scores = torch.tensor([[0.2, 0.9], [0.1, 0.1]])
    boxes = torch.tensor([[0.0, 0, 10, 10], [50, 50, 60, 60]])
    tags = torch.tensor([0, 1])
    assert build_miner(conflicts="score")(scores, boxes, tags).labels.tolist() == [2, 0]
    assert build_miner(conflicts="overlap")(scores, boxes, tags).labels.tolist() == [1, 0]


def test_candidates_that_are_not_kept_claim_nothing_on_an_accelerator_either(
    monkeypatch, random_boxes
):
    scores, boxes = case(0, 60, False, random_boxes)
    tags = torch.tensor([0, 2])
    for conflicts in ("score", "overlap"):
        compact = build_miner(top_share=0.5, conflicts=conflicts)(scores, boxes, tags)
        with monkeypatch.context() as accelerator:
            accelerator.setattr(
                "tag2box.learning.pseudo_boxes.PseudoBoxes.without_dropped", lambda self: self
            )
            padded = build_miner(top_share=0.5, conflicts=conflicts)(scores, boxes, tags)
        assert len(padded.pseudo_boxes.kept) == 60 > len(compact.pseudo_boxes.kept)
        assert torch.equal(padded.labels, compact.labels)
        assert torch.equal(padded.weights, compact.weights)
        assert torch.equal(padded.targets, compact.targets)
        assert torch.equal(padded.pseudo_boxes.mask(3, 60), compact.pseudo_boxes.mask(3, 60))


def test_mask_says_which_proposals_were_taken(random_boxes):
    scores, boxes = case(3, 30, False, random_boxes)
    chosen = mist(scores, boxes, torch.tensor([0, 2]))
    expected = np.zeros((3, 30), bool)
    for region, c, _ in slow.mist(scores.tolist(), boxes.tolist(), (0, 2)):
        expected[c, region] = True
    np.testing.assert_array_equal(chosen.mask(3, 30), expected)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 30),
    method=st.sampled_from(["mist", "oicr", "pcl"]),
    conflicts=st.sampled_from(["score", "overlap"]),
)
def test_order_and_scale_and_mirror_do_not_matter(seed, count, method, conflicts):
    rng = np.random.default_rng(seed)
    scores = torch.from_numpy(rng.random((count, 3)))
    low = rng.integers(0, 50, (count, 2))
    boxes = torch.from_numpy(
        np.concatenate([low, low + rng.integers(5, 40, (count, 2))], axis=1).astype(float)
    )
    tags = torch.tensor([0, 2])
    mine = build_miner(method, conflicts=conflicts)
    taught = mine(scores, boxes, tags)
    chosen = taught.pseudo_boxes.mask(3, count)

    order = torch.from_numpy(rng.permutation(count))
    shuffled = mine(scores[order], boxes[order], tags)
    assert torch.equal(shuffled.pseudo_boxes.mask(3, count), chosen[:, order])
    assert torch.equal(shuffled.labels, taught.labels[order])
    assert torch.equal(shuffled.weights, taught.weights[order])
    assert torch.equal(shuffled.targets, taught.targets[order])

    scaled = mine(scores * 2.0 ** rng.integers(-20, 5), boxes, tags)
    assert torch.equal(scaled.pseudo_boxes.mask(3, count), chosen)
    assert torch.equal(scaled.labels, taught.labels)

    mirrored = mine(
        scores,
        torch.stack([100 - boxes[:, 2], boxes[:, 1], 100 - boxes[:, 0], boxes[:, 3]], 1),
        tags,
    )
    assert torch.equal(mirrored.labels, taught.labels)
    assert torch.equal(mirrored.weights, taught.weights)
    torch.testing.assert_close(
        mirrored.targets, taught.targets * torch.tensor([-1.0, 1, 1, 1], dtype=torch.float64)
    )


@pytest.mark.parametrize("method", ["mist", "oicr"])
def test_no_stage_waits_for_the_device(method):
    """On the meta device nothing has a value, so whoever asks for one fails."""
    scores, boxes = torch.rand(50, 4, device="meta"), torch.rand(50, 4, device="meta")
    tags = torch.zeros(2, dtype=torch.int64, device="meta")
    taught = build_miner(method)(scores, boxes, tags)
    assert taught.labels.shape == taught.weights.shape == (50,)


@pytest.mark.parametrize(
    ("name", "value"),
    [("top_share", 0.0), ("overlap", 0.0), ("foreground_overlap", 1.5), ("clusters_per_tag", 0)],
)
def test_an_impossible_setting_is_named(name, value):
    with pytest.raises(InputError, match=f"mining.{name}: is {value}; give"):
        build_miner(**{name: value})


def test_mining_needs_a_box_at_least_however_few_regions(random_boxes):
    for count in range(1, 8):
        scores, boxes = case(count, count, False, random_boxes)
        assert mist(scores, boxes, torch.tensor([1])).kept.tolist() == [True]


def test_the_mask_is_the_same_in_blocks_of_ranks(monkeypatch, random_boxes):
    scores, boxes = case(0, 60, True, random_boxes)
    tags = torch.tensor([0, 1, 2])
    whole = mist(scores, boxes, tags, top_share=1.0)
    monkeypatch.setattr("tag2box.learning.mist.BLOCK", 7)
    assert torch.equal(mist(scores, boxes, tags, top_share=1.0).kept, whole.kept)
