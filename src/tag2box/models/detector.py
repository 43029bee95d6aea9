"""The detector of figure 2: base, regions (pooling and neck) and heads, for one image.

R proposals, C classes, N students, K base channels, D neck channels.
"""

import torch
from torch import Tensor, nn

from tag2box.models.context import ContextStreams
from tag2box.models.heads import Heads
from tag2box.models.noise import RegionNoise
from tag2box.models.outputs import Outputs
from tag2box.models.pixels import PixelStatistics
from tag2box.models.regions import Regions


class Detector(nn.Module):
    """Tensors in, tensors out. `neck(base(image), boxes)` may be called in parts by training."""

    def __init__(
        self,
        base: nn.Module,
        neck: Regions,
        heads: Heads,
        pixels: PixelStatistics,
        streams: ContextStreams | None = None,
    ) -> None:
        super().__init__()
        self.base = base
        """Image (3, H, W) -> features (1, K, h, w)."""
        self.neck = neck
        """(features (1, K, h, w), boxes (R, 4), noise or None) -> (R, D), region by region."""
        self.heads = heads
        """(R, D) -> `Outputs`."""
        self.streams = streams
        """(features, boxes) -> the logits of Eq. 1, where they are not those of the heads."""
        self.pixels = pixels
        """How `image` must be normalised."""

    def forward(self, image: Tensor, boxes: Tensor, noise: RegionNoise | None = None) -> Outputs:
        """Image (3, H, W) normalised; boxes (R, 4) xyxy in its pixels.

        In training mode without noise a seed is drawn from torch's global generator.
        """
        if self.training and noise is None:
            seed = int(torch.randint(2**31, ()))
            noise = RegionNoise.of(seed, len(boxes), boxes.device)
        features = self.base(image)
        return self.outputs(features, boxes, self.neck(features, boxes, noise))

    def outputs(self, features: Tensor, boxes: Tensor, x: Tensor) -> Outputs:
        """What is said of boxes (R, 4) from base features and neck outputs (R, D)."""
        streams = None if self.streams is None else self.streams(features, boxes)
        outputs: Outputs = self.heads(x, streams)
        return outputs

    def adversary_parameters(self) -> list[nn.Parameter]:
        """Theta of Concrete DropBlock, on which the optimiser ascends; empty without it."""
        dropout = self.neck.region_dropout
        return [] if dropout is None else list(dropout.parameters())

    def learned_parameters(self) -> dict[str, nn.Parameter]:
        """The paper's w, by name: what the optimiser descends on, without what is frozen."""
        adversary = {id(parameter) for parameter in self.adversary_parameters()}
        return {
            name: parameter
            for name, parameter in self.named_parameters()
            if parameter.requires_grad and id(parameter) not in adversary
        }
