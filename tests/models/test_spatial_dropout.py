import torch

from tag2box.models.noise import RegionNoise
from tag2box.models.spatial_dropout import SpatialDropout


def test_cells_fall_independently_across_all_channels() -> None:
    out = SpatialDropout(0.3)(torch.ones(3000, 2, 5, 5), RegionNoise.of(1, 3000))
    dropped = out == 0
    assert torch.equal(dropped[:, 0], dropped[:, 1])
    cells = dropped[:, 0].flatten(1).float()  # (R, 25)
    assert (cells.mean(dim=0) - 0.3).abs().max() < 5 * (0.21 / 3000) ** 0.5
    correlation = torch.corrcoef(cells.T) - torch.eye(25)
    assert correlation.abs().max() < 6 / 3000**0.5


def test_the_mean_of_each_region_is_kept() -> None:
    out = SpatialDropout(0.5)(torch.ones(50, 1, 4, 4), RegionNoise.of(2, 50))
    torch.testing.assert_close(out.mean(dim=(1, 2, 3)), torch.ones(50))
