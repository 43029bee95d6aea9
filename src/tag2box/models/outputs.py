"""What the detector says about one image; the losses and the scores start here.

R proposals, C classes, N students. Column 0 of C+1 is background.
"""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Outputs:
    """Logits and box deltas of one image, in the order of its proposals."""

    class_logits: Tensor
    """(R, C+1) f of Eq. 1: what a region shows."""
    detection_logits: Tensor
    """(R, C+1) g of Eq. 1: where a class is seen."""
    student_logits: Tensor
    """(N, R, C+1)."""
    student_deltas: Tensor | None
    """(N, R, 4(C+1)) grouped by class, or None without regression."""
