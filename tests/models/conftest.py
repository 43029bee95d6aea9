import pytest
import torch
from torch import nn

from tag2box.models.backbone import Backbone, Base
from tag2box.models.necks import FullyConnectedNeck
from tag2box.models.pixels import IMAGENET


@pytest.fixture(autouse=True)
def _same_seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def tiny_backbone() -> Backbone:
    """Stride 4, 8 channels, 16 neck channels."""
    return Backbone(
        base=Base(
            nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU()),
            nn.Sequential(nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU()),
        ),
        neck=FullyConnectedNeck(8 * 7 * 7, 16),
        stride=4,
        channels=8,
        dimension=16,
        pooling="max",
        pool_size=7,
        pixels=IMAGENET,
    )


@pytest.fixture
def boxes() -> torch.Tensor:
    """Six regions of a 48 x 64 image."""
    low = torch.rand(6, 2) * 20
    return torch.cat([low, low + 8 + torch.rand(6, 2) * 20], dim=1)
