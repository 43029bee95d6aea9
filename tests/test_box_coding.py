import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tag2box.box_coding import MAX_LOG_GROWTH, decode, encode

GOLDEN = Path(__file__).parents[2] / "shared" / "golden"

corner, side = st.floats(-500, 500), st.floats(1, 800)
box = st.tuples(corner, corner, side, side).map(lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3]))
pairs = st.lists(st.tuples(box, box), max_size=5)


def random_boxes(count: int, generator: torch.Generator) -> torch.Tensor:
    corners = torch.rand(count, 2, generator=generator, dtype=torch.float64) * 100
    sides = torch.rand(count, 2, generator=generator, dtype=torch.float64) * 50 + 5
    return torch.cat([corners, corners + sides], dim=1)


def slow_encode(target: list[float], anchor: list[float]) -> list[float]:
    x1, y1, x2, y2 = target
    a1, b1, a2, b2 = anchor
    width, height = a2 - a1, b2 - b1
    return [
        10 * ((x1 + x2) / 2 - (a1 + a2) / 2) / width,
        10 * ((y1 + y2) / 2 - (b1 + b2) / 2) / height,
        5 * math.log((x2 - x1) / width),
        5 * math.log((y2 - y1) / height),
    ]


@pytest.mark.parametrize("count", [0, 1, 6])
def test_encode_is_the_formula(count: int) -> None:
    generator = torch.Generator().manual_seed(count)
    boxes, anchors = random_boxes(count, generator), random_boxes(count, generator)
    rows = zip(boxes.tolist(), anchors.tolist(), strict=True)
    slow = torch.tensor([slow_encode(b, a) for b, a in rows], dtype=torch.float64).reshape(-1, 4)
    torch.testing.assert_close(encode(boxes, anchors), slow)


@settings(max_examples=50, deadline=None)
@given(pairs)
def test_decoding_undoes_encoding(some: list[tuple[tuple[float, ...], tuple[float, ...]]]) -> None:
    together = torch.tensor(some, dtype=torch.float64).reshape(-1, 2, 4)
    boxes, anchors = together[:, 0], together[:, 1]
    growth = ((boxes[:, 2:] - boxes[:, :2]) / (anchors[:, 2:] - anchors[:, :2])).log()
    within = (growth < MAX_LOG_GROWTH).all(dim=1)
    back = decode(encode(boxes, anchors), anchors)
    torch.testing.assert_close(back[within], boxes[within], rtol=1e-9, atol=1e-7)


@settings(max_examples=50, deadline=None)
@given(pairs)
def test_mirrored_boxes_have_mirrored_deltas(
    some: list[tuple[tuple[float, ...], tuple[float, ...]]],
) -> None:
    together = torch.tensor(some, dtype=torch.float64).reshape(-1, 2, 4)
    mirrored = together * together.new_tensor([-1, 1, -1, 1])
    mirrored = mirrored[..., [2, 1, 0, 3]]
    deltas = encode(together[:, 0], together[:, 1])
    of_mirrored = encode(mirrored[:, 0], mirrored[:, 1])
    torch.testing.assert_close(of_mirrored, deltas * deltas.new_tensor([-1, 1, 1, 1]))


def test_decode_takes_a_delta_for_each_class() -> None:
    generator = torch.Generator().manual_seed(0)
    anchors = random_boxes(5, generator)
    deltas = torch.randn(5, 3, 4, generator=generator, dtype=torch.float64)
    together = decode(deltas, anchors[:, None])
    for c in range(3):
        torch.testing.assert_close(together[:, c], decode(deltas[:, c], anchors))


def test_no_side_grows_more_than_62_and_a_half_times() -> None:
    grown = decode(torch.tensor([[0.0, 0, 1e6, 5 * math.log(3)]]), torch.tensor([[0.0, 0, 16, 16]]))
    torch.testing.assert_close(grown, torch.tensor([[8.0 - 500, 8 - 24, 8 + 500, 8 + 24]]))


def test_gradients() -> None:
    generator = torch.Generator().manual_seed(1)
    boxes, anchors = random_boxes(3, generator), random_boxes(3, generator)
    deltas = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    for tensor in (boxes, anchors, deltas):
        tensor.requires_grad_()
    assert torch.autograd.gradcheck(encode, (boxes, anchors))
    assert torch.autograd.gradcheck(decode, (deltas, anchors))


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="no golden cases beside the checkout")
def test_golden_targets_are_encoded_proposals() -> None:
    """Every target of the reference is one of the proposals, encoded on the region it is for."""
    for path in sorted(GOLDEN.glob("case*.npz")):
        case = np.load(path)
        boxes = torch.from_numpy(case["boxes"])
        target = torch.from_numpy(case["mist_target"])[:, None]
        possible = encode(boxes[None], boxes[:, None])  # (R, R, 4): region, proposal
        error = (possible - target).abs().amax(dim=2) / target.abs().amax(dim=2).clamp(min=1)
        foreground = torch.from_numpy(case["mist_label"]) > 0
        assert (error.amin(dim=1)[foreground] < 1e-5).all(), path.name
