"""The map (base features, boxes) -> neck outputs, region by region.

Nothing in it mixes regions, so it may be evaluated in sub-batches (`sequential`), and noise is a
property of a region (`noise`). The paper's "RoI-Pooling" and "Neck".
R regions, K channels of the base, P x P cells a region, D neck channels.
"""

import torch
from torch import Tensor, nn
from torchvision.ops import roi_align, roi_pool

from tag2box.models import bags
from tag2box.models.noise import RegionNoise


class RoIMaxPool(nn.Module):
    """RoI max pooling (Fast R-CNN): corners are rounded to cells, the end cell included.

    Its definition counts boxes in whole pixels, the last one inclusive, hence the -1.
    """

    def __init__(self, size: int, stride: int) -> None:
        super().__init__()
        self.size = size
        self.stride = stride

    def forward(self, features: Tensor, boxes: Tensor) -> Tensor:
        """Features (1, K, h, w), boxes (R, 4) in pixels of the network's input -> (R, K, P, P)."""
        exact, corners = in_one_precision(features, boxes)
        inclusive = torch.cat([corners[:, :2], corners[:, 2:] - 1], dim=1)
        pooled: Tensor = roi_pool(exact, [inclusive], self.size, 1 / self.stride)
        return pooled.to(features.dtype)


class RoIAlign(nn.Module):
    """RoI align: bilinear samples at exact places, `samples` x `samples` a cell, averaged."""

    def __init__(self, size: int, stride: int, samples: int = 2) -> None:
        super().__init__()
        self.size = size
        self.stride = stride
        self.samples = samples

    def forward(self, features: Tensor, boxes: Tensor) -> Tensor:
        """Features (1, K, h, w), boxes (R, 4) in pixels of the network's input -> (R, K, P, P)."""
        exact, corners = in_one_precision(features, boxes)
        scale = 1 / self.stride
        pooled: Tensor = (
            bags.align(exact, corners, self.size, scale, self.samples)
            if exact.is_cpu and not torch.compiler.is_exporting()
            else roi_align(exact, [corners], self.size, scale, self.samples, aligned=True)
        )
        return pooled.to(features.dtype)


def in_one_precision(*tensors: Tensor) -> tuple[Tensor, ...]:
    """All in float32 or better: bfloat16 would move the corner of a box by several pixels."""
    precision = torch.promote_types(tensors[0].dtype, torch.float32)
    return tuple(tensor.to(precision) for tensor in tensors)


def grown(boxes: Tensor, factor: float) -> Tensor:
    """Boxes (R, 4) with sides so many times as long, around the same centers."""
    center, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2
    return torch.cat([center - factor * half, center + factor * half], dim=1)


class Regions(nn.Module):
    """Pooling, dropout and neck as one function of (base features, boxes).

    Args:
        pool: (features, boxes) -> (R, K, P, P).
        neck: (pooled, noise or None) -> (R, D).
        image_dropout: (base features, noise of the image) -> base features.
        region_dropout: (pooled, noise) -> pooled.
        growth: sides of what is pooled over those of the region; above 1 a region is seen with what
            is around it.
    """

    def __init__(
        self,
        pool: nn.Module,
        neck: nn.Module,
        *,
        image_dropout: nn.Module | None = None,
        region_dropout: nn.Module | None = None,
        growth: float = 1.0,
    ) -> None:
        super().__init__()
        self.pool = pool
        self.growth = growth
        self.image_dropout = image_dropout
        self.region_dropout = region_dropout
        self.neck = neck

    def forward(self, features: Tensor, boxes: Tensor, noise: RegionNoise | None = None) -> Tensor:
        """Features (1, K, h, w), boxes (R, 4) -> (R, D). No dropout without noise or at evaluation.

        The image's dropout lives here and not in the base because its noise is the image's: every
        sub-batch of regions meets the same mask.
        """
        if not self.training:
            noise = None
        if noise is not None and self.image_dropout is not None:
            features = self.image_dropout(features, _noise_of_the_image(noise))
        seen = boxes if self.growth == 1 else grown(boxes, self.growth)
        pooled = self.pool(features, seen)  # (R, K, P, P)
        if noise is not None and self.region_dropout is not None:
            pooled = self.region_dropout(pooled, noise)
        outputs: Tensor = self.neck(pooled, noise)
        return outputs


def _noise_of_the_image(noise: RegionNoise) -> RegionNoise:
    """The image counts as region -1."""
    return RegionNoise(noise.seed, noise.regions.new_full((1,), -1))
