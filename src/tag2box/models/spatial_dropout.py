"""Dropout of single cells across all channels: the paper's image-level and RoI-level variants."""

from torch import Tensor, nn

from tag2box.models.dropblock import masked
from tag2box.models.noise import RegionNoise


class SpatialDropout(nn.Module):
    """Drops each cell with probability `share`, independently, across all channels.

    On pooled features it is the RoI-level variant. On the map of the whole image, with the noise
    of the image, it is the image-level one: a cell is then dropped for every region that sees it.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, features: Tensor, noise: RegionNoise) -> Tensor:
        """(R, K, P, P) -> the same shape, some cells zero and the rest scaled up."""
        keep = (noise.uniform(1, *features.shape[-2:]) >= self.share).float()
        return masked(features, keep)
