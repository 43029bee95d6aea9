"""A classifier cut in two: the stages before RoI pooling and the layers after it.

K base channels, D neck channels.
"""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from tag2box.models.pixels import PixelStatistics

Pooling = Literal["max", "align"]


class Base(nn.Sequential):
    """The stages of a network up to RoI pooling."""

    def forward(self, image: Tensor) -> Tensor:
        """(3, H, W) -> (1, K, h, w)."""
        features = image[None]
        for stage in self:
            features = stage(features)
        return features

    def freeze(self, stages: int) -> None:
        """No gradient for the parameters of the first stages."""
        for stage in list(self)[:stages]:
            stage.requires_grad_(False)


@dataclass(frozen=True, eq=False)
class Backbone:
    """The parts of a detector that an image classifier gives."""

    base: Base
    neck: nn.Module
    """(pooled (R, K, P, P), noise or None) -> (R, D)."""
    stride: int
    """Pixels of the image a cell of the base."""
    channels: int
    """K."""
    dimension: int
    """D."""
    pooling: Pooling
    """The kind of RoI pooling it is used with by default."""
    pool_size: int
    """P."""
    pixels: PixelStatistics
