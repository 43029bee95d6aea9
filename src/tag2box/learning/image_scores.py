"""What the two streams say about every region and about the image: Eq. 1 and phi of Eq. 2.

R proposals, C classes. Column 0 of C+1 is background; it takes part in both softmaxes.
"""

from torch import Tensor

from tag2box.learning.precision import at_least_float32


def region_scores(class_logits: Tensor, detection_logits: Tensor) -> Tensor:
    """Eq. 1: s(c, r) = s(c|r) s(r|c), both (R, C+1) -> (R, C+1) in [0, 1]."""
    class_given_region = at_least_float32(class_logits).softmax(dim=1)
    region_given_class = at_least_float32(detection_logits).softmax(dim=0)
    return class_given_region * region_given_class


def image_scores(scores: Tensor) -> Tensor:
    """phi(c) of Eq. 2, the evidence of the whole image: (R, C+1) -> (C+1,) in [0, 1]."""
    return scores.sum(dim=0)
