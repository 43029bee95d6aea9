"""Random numbers that belong to a region, not to the order of evaluation.

Every number is a hash of (seed of the image's step, which draw, region, position). So a region
meets the same dropout mask whether the regions of an image are evaluated in one piece or in
sub-batches, the first time or recomputed in the backward pass, on one process or on eight; and no
generator state has to be saved and restored. R regions, P positions of a draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

GOLDEN = 0x9E3779B9
MASK = 0xFFFFFFFF


@dataclass
class RegionNoise:
    """The noise of some regions of one image in one step; each draw is a new stream."""

    seed: int
    regions: Tensor
    """(R,) int32 index of each region among all regions of the image."""
    draws: int = field(default=0, init=False)

    @classmethod
    def of(cls, seed: int, count: int, device: torch.device | str = "cpu") -> RegionNoise:
        """Noise for all the regions of an image, none drawn yet."""
        return cls(seed, torch.arange(count, dtype=torch.int32, device=device))

    def __getitem__(self, part: slice) -> RegionNoise:
        """The noise of some of the regions, from the first draw on."""
        return RegionNoise(self.seed, self.regions[part])

    def uniform(self, *shape: int) -> Tensor:
        """Numbers in (0, 1) for each region, float32: (R, *shape)."""
        self.draws += 1
        stream = _mixed_number((self.seed * GOLDEN + self.draws) & MASK)
        keys = _mixed(self.regions * _signed(GOLDEN) + _signed(stream))  # (R,)
        positions = torch.arange(math.prod(shape), dtype=torch.int32, device=keys.device)  # (P,)
        bits = _mixed(keys[:, None] + positions * _signed(0x85EBCA6B))  # (R, P)
        # 23 bits and a half: exact in float32, so that neither 0 nor 1 is ever drawn.
        numbers = ((bits >> 9) & 0x7FFFFF).to(torch.float32).add_(0.5).mul_(2**-23)
        return numbers.reshape(-1, *shape)


def _mixed(x: Tensor) -> Tensor:
    """A bijection of 32-bit integers in which every input bit stirs every output bit."""
    x = x ^ ((x >> 16) & 0xFFFF)
    x *= _signed(0x7FEB352D)
    x ^= (x >> 15) & 0x1FFFF
    x *= _signed(0x846CA68B)
    x ^= (x >> 16) & 0xFFFF
    return x


def _mixed_number(x: int) -> int:
    """`_mixed` of one number, on the host."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = ((x ^ (x >> shift)) * factor) & MASK
    return x ^ (x >> 16)


def _signed(x: int) -> int:
    """The same 32 bits as a signed integer, which is what int32 tensors multiply by."""
    return x - (1 << 32) if x >= 1 << 31 else x
