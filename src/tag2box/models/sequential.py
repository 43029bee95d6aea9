"""Sequential batch back-propagation (paper, section 3.3 and figure 4).

The map (base features, boxes) -> neck outputs is the part of the detector whose memory grows with
the number of regions. It is evaluated in sub-batches. In training nothing inside a sub-batch is
kept: the backward pass evaluates it again, with the same noise, and the gradients of the neck and
of the base features add up. R regions, D neck channels.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from tag2box.models.noise import RegionNoise

Neck = Callable[[Tensor, Tensor, RegionNoise | None], Tensor]
"""(base features (1, K, h, w), boxes (R, 4), noise of the regions) -> (R, D), region by region."""


def sequential(
    neck: Neck,
    features: Tensor,
    boxes: Tensor,
    noise: RegionNoise | None,
    *,
    regions_per_batch: int,
    kept_regions: int = 0,
) -> Tensor:
    """Neck outputs (R, D) of all boxes; memory grows with `regions_per_batch`, not with R.

    The last `kept_regions`, and in any case the last sub-batch, are evaluated the plain way. Their
    backward pass comes first, so one sub-batch kept takes the room that another one recomputed will
    take after it; and where memory allows more, that much more need not be computed twice.
    """
    plain_from = len(boxes) - max(kept_regions, regions_per_batch)

    def evaluate(features: Tensor, boxes: Tensor, start: int) -> Tensor:
        # Slicing the noise anew starts its draws over, so that a recomputation draws the same.
        part = None if noise is None else noise[start : start + regions_per_batch]
        return neck(features, boxes, part)

    parts = []
    for start in range(0, max(1, len(boxes)), regions_per_batch):
        part = (features, boxes[start : start + regions_per_batch], start)
        if torch.is_grad_enabled() and start < plain_from:
            # The noise is a function of the region: there is no generator state to preserve.
            parts.append(checkpoint(evaluate, *part, use_reentrant=False, preserve_rng_state=False))
        else:
            parts.append(evaluate(*part))
    return torch.cat(parts)
