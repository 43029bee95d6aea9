import itertools
import math

import pytest
import torch

from tag2box.models.necks import Cells, FullyConnectedNeck
from tag2box.models.regions import Regions, RoIAlign, RoIMaxPool, grown


def half_away(x: float) -> int:
    return math.floor(x + 0.5)


def slow_max_pool(features: torch.Tensor, box: list[float], size: int, stride: int):
    """RoI pooling as Fast R-CNN describes it, on boxes whose last pixel is inclusive."""
    channels, height, width = features.shape
    x1, y1, x2, y2 = (half_away(v / stride) for v in (box[0], box[1], box[2] - 1, box[3] - 1))
    pooled = torch.zeros(channels, size, size)
    for row, column in itertools.product(range(size), repeat=2):
        tall, wide = max(y2 - y1 + 1, 1) / size, max(x2 - x1 + 1, 1) / size
        top, bottom = y1 + math.floor(row * tall), y1 + math.ceil((row + 1) * tall)
        left, right = x1 + math.floor(column * wide), x1 + math.ceil((column + 1) * wide)
        cells = features[
            :, max(top, 0) : min(bottom, height), max(left, 0) : min(right, width)
        ].flatten(1)
        if cells.shape[1]:
            pooled[:, row, column] = cells.amax(dim=1)
    return pooled


@pytest.mark.parametrize("count", [0, 1, 6])
def test_max_pool_against_a_slow_loop(count: int) -> None:
    features = torch.randn(2, 9, 11)
    low = torch.randint(0, 50, (count, 2)).float()
    boxes = torch.cat([low, low + torch.randint(2, 40, (count, 2))], dim=1)
    pooled = RoIMaxPool(4, 8)(features[None], boxes)
    assert pooled.shape == (count, 2, 4, 4)
    for r in range(count):
        torch.testing.assert_close(
            pooled[r], slow_max_pool(features, boxes[r].tolist(), size=4, stride=8)
        )


def test_align_averages_exact_places() -> None:
    """On a map whose value is its own x, a cell of the result is the x of its centre."""
    ramp = (torch.arange(20) + 0.5).expand(1, 1, 12, 20)
    boxes = torch.tensor([[16.0, 16, 72, 72], [20, 20, 90, 60]])
    pooled = RoIAlign(7, 8)(ramp, boxes)
    for r, (x1, _, x2, _) in enumerate(boxes.tolist()):
        centers = torch.tensor([x1 + (i + 0.5) * (x2 - x1) / 7 for i in range(7)]) / 8
        torch.testing.assert_close(pooled[r, 0], centers.expand(7, 7))


@pytest.mark.parametrize("pool", [RoIMaxPool(3, 8), RoIAlign(3, 8)])
def test_gradients_of_the_features(pool: torch.nn.Module) -> None:
    features = torch.randn(1, 2, 6, 7, dtype=torch.float64, requires_grad=True)
    boxes = torch.tensor([[3.0, 5, 40, 44], [0, 0, 20, 9]], dtype=torch.float64)
    neck = FullyConnectedNeck(2 * 9, 4).double()
    regions = Regions(pool, neck)
    assert torch.autograd.gradcheck(lambda f: regions(f, boxes), (features,))


@pytest.mark.parametrize("pool", [RoIMaxPool(7, 8), RoIAlign(7, 8)])
def test_bfloat16_features_keep_exact_boxes(pool: torch.nn.Module) -> None:
    features = torch.randn(1, 2, 100, 100).bfloat16()
    boxes = torch.tensor([[301.0, 257, 515, 777]])  # bfloat16 would move these by a pixel or two
    pooled = pool(features, boxes)
    assert pooled.dtype == torch.bfloat16
    torch.testing.assert_close(pooled, pool(features.float(), boxes).bfloat16())


@pytest.mark.parametrize("growth", [1.0, 5 / 3])
def test_a_region_may_be_seen_with_what_is_around_it(growth: float) -> None:
    """On a map whose value is its own x, a cell is the x of its place in the grown region."""
    ramp = (torch.arange(40) + 0.5).expand(1, 1, 24, 40)
    boxes = torch.tensor([[96.0, 64, 192, 112]])
    cells = Regions(RoIAlign(5, 8), Cells(), growth=growth)(ramp, boxes).view(5, 5) * 5
    left, side = 144 - growth * 48, growth * 96
    centers = torch.tensor([left + (i + 0.5) * side / 5 for i in range(5)]) / 8
    torch.testing.assert_close(cells, centers.expand(5, 5))
    torch.testing.assert_close(grown(boxes, 1.0), boxes)
