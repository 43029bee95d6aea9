import itertools

import pytest
import torch

from tag2box.models.dropblock import DropBlock, masked
from tag2box.models.noise import RegionNoise


def dropped_cells(share: float, block: int, size: int, regions: int = 4000) -> torch.Tensor:
    """(R, P, P) true where a cell was dropped."""
    ones = torch.ones(regions, 2, size, size)
    out = DropBlock(share, block)(ones, RegionNoise.of(3, regions))
    assert torch.equal(out[:, 0] == 0, out[:, 1] == 0)  # across all channels
    return out[:, 0] == 0


@pytest.mark.parametrize(("share", "block", "size"), [(0.3, 3, 7), (0.1, 1, 5), (0.5, 2, 6)])
def test_the_share_dropped_is_that_of_independent_seeds(
    share: float, block: int, size: int
) -> None:
    places = size - block + 1
    rate = share * size**2 / block**2 / places**2
    expected = torch.zeros(size, size)
    for y, x in itertools.product(range(size), repeat=2):
        reaching = [
            1
            for v, u in itertools.product(range(places), repeat=2)
            if v <= y < v + block and u <= x < u + block
        ]
        expected[y, x] = 1 - (1 - rate) ** len(reaching)
    seen = dropped_cells(share, block, size).float().mean(dim=0)
    assert (seen - expected).abs().max() < 5 * 0.5 / 4000**0.5
    assert expected.mean() <= share + 1e-6


def test_blocks_are_whole() -> None:
    dropped = dropped_cells(0.2, 3, 7, regions=500)
    windows = dropped.unfold(1, 3, 1).unfold(2, 3, 1).flatten(3).all(dim=3)  # (R, 5, 5)
    covered = torch.zeros_like(dropped)
    for y, x in itertools.product(range(5), repeat=2):
        covered[:, y : y + 3, x : x + 3] |= windows[:, y, x, None, None]
    assert dropped.any()
    assert torch.equal(covered, dropped)


@pytest.mark.parametrize("over_all_regions", [False, True])
def test_the_rescale_is_exact(over_all_regions: bool) -> None:
    features = torch.randn(5, 3, 4, 4)
    keep = (torch.rand(5, 1, 4, 4) > 0.4).float()
    keep[2] = 1
    out = masked(features, keep, over_all_regions=over_all_regions)
    for r in range(5):
        kept = keep if over_all_regions else keep[r]
        expected = features[r] * keep[r] * (kept.numel() / kept.sum())
        torch.testing.assert_close(out[r], expected)


def test_a_region_without_a_kept_cell_is_zero() -> None:
    assert torch.equal(
        masked(torch.ones(1, 2, 3, 3), torch.zeros(1, 1, 3, 3)), torch.zeros(1, 2, 3, 3)
    )


@pytest.mark.parametrize("over_all_regions", [False, True])
def test_gradients_reach_features_and_mask(over_all_regions: bool) -> None:
    features = torch.randn(2, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    keep = torch.rand(2, 1, 3, 3, dtype=torch.float64) + 0.5
    keep.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda f, k: masked(f, k, over_all_regions=over_all_regions), (features, keep)
    )
