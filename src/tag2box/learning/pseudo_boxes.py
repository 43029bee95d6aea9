"""The noun that mining makes: proposals taken for the boxes of an object, at a fixed shape.

Which candidates survive is a mask and not an index list, so that nobody waits for the device.
R proposals, C classes, M candidates.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class PseudoBoxes:
    """Candidates of one image in class order, best first within a class; `kept` chooses."""

    regions: Tensor
    """(M,) int64: which proposal it is."""
    classes: Tensor
    """(M,) int64, 0-based without background."""
    scores: Tensor
    """(M,) the score of that proposal for that class."""
    kept: Tensor
    """(M,) bool: it is a pseudo box."""

    def without_dropped(self) -> "PseudoBoxes":
        """Only those kept where counting them is free (CPU); unchanged on an accelerator."""
        if not self.kept.is_cpu:
            return self
        return replace(
            self,
            regions=self.regions[self.kept],
            classes=self.classes[self.kept],
            scores=self.scores[self.kept],
            kept=self.kept[self.kept],
        )

    def mask(self, num_classes: int, num_regions: int) -> Tensor:
        """(C, R) bool: proposal r is a pseudo box of class c."""
        counts = torch.zeros(num_classes, num_regions, dtype=torch.int64, device=self.kept.device)
        counts.index_put_((self.classes, self.regions), self.kept.long(), accumulate=True)
        return counts > 0
