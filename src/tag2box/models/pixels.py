"""What a network expects of its pixels; it travels with the weights that were trained on it."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

ChannelOrder = Literal["RGB", "BGR"]


@dataclass(frozen=True)
class PixelStatistics:
    """A network is fed (value - mean) / std, with values and statistics in 0..255.

    Networks trained on 0..1 are covered too: their mean and std are written here times 255.
    """

    channel_order: ChannelOrder
    mean: tuple[float, float, float]
    """In the channel order above."""
    std: tuple[float, float, float]
    """In the channel order above."""

    def normalise(self, image: Tensor) -> Tensor:
        """(3, H, W) RGB in 0..255, uint8 or float -> float32 (3, H, W) in the network's order."""
        values = image.to(torch.float32)
        if self.channel_order == "BGR":
            values = values.flip(0)
        mean, std = (values.new_tensor(numbers)[:, None, None] for numbers in (self.mean, self.std))
        return (values - mean) / std


IMAGENET = PixelStatistics("RGB", (123.675, 116.28, 103.53), (58.395, 57.12, 57.375))
"""torchvision's classifiers: 255 times (0.485, 0.456, 0.406) and (0.229, 0.224, 0.225)."""

TENSORFLOW = PixelStatistics("RGB", (127.0, 127.0, 127.0), (128.0, 128.0, 128.0))
"""EfficientNet-Lite: about -1..1."""

CAFFE = PixelStatistics("BGR", (102.9801, 115.9465, 122.7717), (1.0, 1.0, 1.0))
"""Networks converted from Caffe, the reference's checkpoints among them."""
