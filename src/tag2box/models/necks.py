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
            x = F.relu(layer(x))
            if noise is not None:
                keep = noise.uniform(x.shape[1]) >= self.dropout
                x = x * keep / (1 - self.dropout)
        return x


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
