"""Concrete DropBlock (paper, section 3.2): where to drop is learned, against the detector.

A residual block maps the pooled features of a region to a probability p_theta for each cell; a
Gumbel-softmax draws a hard mask M_theta of block centres whose gradient is that of its relaxation.
The input is detached, so the loss reaches the detector and theta separately. Theta is to *maximise*
the loss: its parameters are those of this module, and the optimiser ascends on them.
R regions, K channels, P x P cells a region, b block size.
"""

import math
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tag2box.models.dropblock import masked
from tag2box.models.noise import RegionNoise

Ceiling = Literal["share", "minimum", "scaled"]


class ConcreteDropBlock(nn.Module):
    """Drops blocks whose centres follow a learned probability.

    Args:
        channels: K of the pooled features.
        threshold: tau, what no p_theta exceeds.
        block_size: b; a block may reach over the border of its region.
        temperature: of the Gumbel-softmax; small is nearer to the hard mask, with rarer gradients.
        ceiling: how tau bounds the probability that a cell is a centre: `share` min(p, tau) / b²,
            so that as in DropBlock at most about tau of the cells are dropped; `minimum`
            min(p, tau), the paper to the letter; `scaled` p tau / b², the reference.
        hidden_channels: width of the residual block.
        reference_block: the reference's block: two output channels, of which the second is
            discarded, and batch norm, whose statistics mix regions.
        over_all_regions: the reference's one rescale for all regions instead of one a region.
    """

    def __init__(
        self,
        channels: int,
        *,
        threshold: float = 0.3,
        block_size: int = 3,
        temperature: float = 0.5,
        ceiling: Ceiling = "share",
        hidden_channels: int | None = None,
        reference_block: bool = False,
        over_all_regions: bool = False,
    ) -> None:
        super().__init__()
        self.threshold = threshold
        self.block_size = block_size
        self.temperature = temperature
        self.ceiling = ceiling
        self.over_all_regions = over_all_regions
        hidden_channels = hidden_channels or channels
        self.heat_map: ResidualBlock
        if reference_block:
            self.heat_map = ResidualBlock(channels, hidden_channels, outputs=2, batch_norm=True)
            self.heat_map.initialise_like_reference()
        else:
            self.heat_map = ResidualBlock(channels, hidden_channels, outputs=1, batch_norm=False)
            self.heat_map.start_at(threshold / 2)

    def forward(self, features: Tensor, noise: RegionNoise) -> Tensor:
        """(R, K, P, P) -> the same shape, some blocks zero and the rest scaled up."""
        centers = sample(self.probabilities(features), noise, self.temperature)
        keep = 1 - blocks(centers, self.block_size)
        return masked(features, keep, over_all_regions=self.over_all_regions)

    def probabilities(self, features: Tensor) -> Tensor:
        """The chance of each cell to be the centre of a block: (R, K, P, P) -> (R, 1, P, P)."""
        logits = self.heat_map(features.detach())[:, :1]
        p = torch.sigmoid(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        if self.ceiling == "minimum":
            return p.clamp(max=self.threshold)
        if self.ceiling == "scaled":
            return p * self.threshold / self.block_size**2
        return p.clamp(max=self.threshold) / self.block_size**2


class ResidualBlock(nn.Module):
    """3x3, norm, ReLU, 3x3 and a 1x1 skip, added: (R, K, P, P) -> (R, outputs, P, P).

    Group norm leaves each region alone; batch norm is there to compare with the reference.
    """

    def __init__(self, channels: int, hidden: int, *, outputs: int, batch_norm: bool) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, hidden, 3, padding=1, bias=False)
        self.norm1 = (
            nn.BatchNorm2d(hidden) if batch_norm else nn.GroupNorm(math.gcd(32, hidden), hidden)
        )
        self.conv2 = nn.Conv2d(hidden, outputs, 3, padding=1, bias=not batch_norm)
        self.norm2 = nn.BatchNorm2d(outputs) if batch_norm else nn.Identity()
        self.skip = nn.Conv2d(channels, outputs, 1, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        """Logits of the probability."""
        # On a CPU group norm wants the cells of a channel beside each other, convolutions do not.
        inner = F.relu(self.norm1(self.conv1(features).contiguous()))
        logits: Tensor = self.norm2(self.conv2(inner)) + self.skip(features)
        return logits

    def start_at(self, probability: float) -> None:
        """Begin with nearly this probability everywhere.

        A random start would be clipped at the threshold on many cells, where no gradient returns.
        """
        nn.init.kaiming_normal_(self.conv1.weight, mode="fan_out", nonlinearity="relu")
        nn.init.normal_(self.conv2.weight, std=0.001)
        nn.init.normal_(self.skip.weight, std=0.001)
        assert self.conv2.bias is not None
        nn.init.constant_(self.conv2.bias, math.log(probability / (1 - probability)))

    def initialise_like_reference(self) -> None:
        """Every convolution by He et al. over its outputs."""
        for conv in (self.conv1, self.conv2, self.skip):
            nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")


def sample(probability: Tensor, noise: RegionNoise, temperature: float) -> Tensor:
    """Hard Bernoulli draws with the gradient of their 2-way Gumbel-softmax relaxation.

    (R, 1, P, P) in [0, 1] -> the same shape, in {0, 1}.
    """
    tiny = 1e-10
    yes, no = probability.clamp(min=tiny).log(), (1 - probability).clamp(min=tiny).log()
    gumbel = -torch.log(-torch.log(noise.uniform(2, *probability.shape[-2:])))
    logits = torch.cat([yes, no], dim=1) + gumbel  # (R, 2, P, P)
    relaxed = torch.softmax(logits / temperature, dim=1)[:, :1]
    hard: Tensor = _StraightThrough.apply(
        (logits[:, :1] > logits[:, 1:]).to(relaxed.dtype), relaxed
    )
    return hard


def blocks(centers: Tensor, block_size: int) -> Tensor:
    """1 on the block around every centre, cut at the border: (R, 1, P, P) -> the same shape.

    A block of even size reaches one cell further right and down than left and up.
    """
    height, width = centers.shape[-2:]
    grown = F.max_pool2d(centers, block_size, stride=1, padding=block_size // 2)
    return grown[..., :height, :width]


class _StraightThrough(torch.autograd.Function):
    """The hard value on the way forward, to the bit; the relaxed one's gradient on the way back."""

    @staticmethod
    def forward(ctx: Any, hard: Tensor, relaxed: Tensor) -> Tensor:  # noqa: ARG004
        return hard

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # noqa: ARG004
        return None, gradient
