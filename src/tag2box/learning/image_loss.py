"""The image-level loss: do the regions together show what the tags say? Eq. 2.

C classes, P of them present. Column 0 of C+1 is background.
"""

from typing import Literal

import torch
from torch import Tensor

from tag2box.learning.precision import at_least_float32

ImageLoss = Literal["bce-with-background", "bce", "paper"]

SMALLEST = 1e-10
"""Evidence is not taken for smaller than this, so that the loss of an unseen tag is finite."""


def image_loss(
    image_scores: Tensor, tags: Tensor, *, kind: ImageLoss = "bce-with-background"
) -> Tensor:
    """Eq. 2, or the binary cross-entropy that also punishes evidence for absent classes.

    Args:
        image_scores: (C+1,) phi in [0, 1].
        tags: (P,) int64 classes present, 0-based without background.
        kind: `bce-with-background` is the mean over C+1 with background absent from every image,
            `bce` the mean over the C classes, `paper` the sum of -log phi over the tags.
    """
    evidence = at_least_float32(image_scores)
    present = torch.zeros_like(evidence).index_fill(0, tags + 1, 1)  # (C+1,)
    terms = -present * evidence.clamp(SMALLEST, 1).log()
    if kind == "paper":
        return terms.sum()
    terms = terms - (1 - present) * (1 - evidence).clamp(SMALLEST, 1).log()
    return terms.mean() if kind == "bce-with-background" else terms[1:].mean()
