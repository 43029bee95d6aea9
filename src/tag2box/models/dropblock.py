"""DropBlock (Ghiasi et al. 2018) on the pooled features of regions.

R regions, K channels, P x P cells a region, b block size. A mask is 1 where a cell is kept.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from tag2box.models.noise import RegionNoise


class DropBlock(nn.Module):
    """Drops random b x b blocks of each region, across all channels.

    Seeds are drawn where the whole block fits, at the published rate; about `share` of the cells
    are dropped (a little less, because blocks overlap).
    """

    def __init__(self, share: float, block_size: int) -> None:
        super().__init__()
        self.share = share
        self.block_size = block_size

    def forward(self, features: Tensor, noise: RegionNoise) -> Tensor:
        """(R, K, P, P) -> the same shape, some blocks zero and the rest scaled up."""
        height, width = features.shape[-2:]
        block = self.block_size
        fitting = (height - block + 1, width - block + 1)  # places of a block's top left cell
        rate = self.share / block**2 * (height * width) / (fitting[0] * fitting[1])
        seeds = (noise.uniform(1, *fitting) < rate).float()
        dropped = F.max_pool2d(F.pad(seeds, [block - 1] * 4), block, stride=1)  # (R, 1, P, P)
        return masked(features, 1 - dropped)


def masked(features: Tensor, keep: Tensor, *, over_all_regions: bool = False) -> Tensor:
    """Features times the mask, scaled by area / kept area so that inference needs no scaling.

    The ratio is each region's own (paper, section 3.2), or one for all regions together, which
    mixes them (the reference). A region without a kept cell is zero.
    features (R, K, P, P), keep (R, 1, P, P) float32 in {0, 1}.
    """
    if over_all_regions:
        scale = keep.numel() / keep.sum().clamp(min=1)
    else:
        area = keep.shape[-2] * keep.shape[-1]
        scale = area / keep.sum(dim=(1, 2, 3), keepdim=True).clamp(min=1)  # (R, 1, 1, 1)
    return features * (keep * scale).to(features.dtype)
