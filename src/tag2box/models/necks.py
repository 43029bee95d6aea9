"""What turns the pooled features of a region into a vector.

R regions, K channels, P x P cells a region, D neck channels.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tag2box.models.noise import RegionNoise


class FullyConnectedNeck(nn.Module):
    """Two fully connected layers, each with ReLU and dropout: VGG's fc6 and fc7.

    Weights start as large as their inputs are few (He et al.), so that features keep their scale in
    narrow layers too.
    """

    def __init__(self, inputs: int, dimension: int, *, dropout: float = 0.5) -> None:
        super().__init__()
        self.fc6 = nn.Linear(inputs, dimension)
        self.fc7 = nn.Linear(dimension, dimension)
        self.dropout = dropout
        for layer in (self.fc6, self.fc7):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)

    def forward(self, pooled: Tensor, noise: RegionNoise | None) -> Tensor:
        """(R, K, P, P) -> (R, D), flattened in the order K, P, P."""
        x = pooled.flatten(1)
        for layer in (self.fc6, self.fc7):
            x = dropped(F.relu(layer(x)), self.dropout, noise)
        return x


class OneLayerNeck(nn.Module):
    """One fully connected layer with ReLU and dropout, for few photos and few steps.

    A second new layer needs more steps before the first learns anything of use, and linear heads on
    the cells themselves learn each class from nothing.
    """

    def __init__(self, inputs: int, dimension: int, *, dropout: float = 0.5) -> None:
        super().__init__()
        self.layer = nn.Linear(inputs, dimension)
        self.dropout = dropout
        nn.init.kaiming_normal_(self.layer.weight, nonlinearity="relu")
        nn.init.zeros_(self.layer.bias)

    def forward(self, pooled: Tensor, noise: RegionNoise | None) -> Tensor:
        """(R, K, P, P) -> (R, D), flattened in the order K, P, P."""
        return dropped(F.relu(self.layer(pooled.flatten(1))), self.dropout, noise)


def dropped(x: Tensor, share: float, noise: RegionNoise | None) -> Tensor:
    """Dropout of x (R, D) by the regions' own noise; none without it."""
    if noise is None:
        return x
    return x * (noise.uniform(x.shape[1]) >= share) / (1 - share)


class Cells(nn.Module):
    """No layers: the heads see each cell of a region, divided by P so that logits keep their scale.

    Linear heads on frozen features learn from few photos in few steps what new layers cannot.
    """

    def forward(self, pooled: Tensor, noise: RegionNoise | None) -> Tensor:  # noqa: ARG002
        """(R, K, P, P) -> (R, D), flattened in the order K, P, P."""
        return pooled.flatten(1) / pooled.shape[-1]


class ConvolutionalNeck(nn.Module):
    """The last stages of a network and a mean over the cells.

    Channels beside each other in memory save depthwise convolutions a third of their time on a
    CPU; plain ones lose a little.
    """

    def __init__(self, *stages: nn.Module, channels_last: bool = False) -> None:
        super().__init__()
        self.stages = nn.Sequential(*stages)
        self.memory_format = torch.channels_last if channels_last else torch.contiguous_format

    def forward(self, pooled: Tensor, noise: RegionNoise | None) -> Tensor:  # noqa: ARG002
        """(R, K, P, P) -> (R, D)."""
        maps: Tensor = self.stages(pooled.contiguous(memory_format=self.memory_format))
        return maps.mean(dim=(2, 3))
