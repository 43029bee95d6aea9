"""What a student pays for disagreeing with its pseudo labels: the two terms of Eq. 4.

R proposals, C classes. Column 0 of C+1 is background.
"""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, smooth_l1_loss

from tag2box.learning.assignment import PseudoLabels
from tag2box.learning.precision import at_least_float32

SMALLEST = 1e-10
"""A cluster's mean probability is not taken for smaller than this before its logarithm."""


def classification_loss(logits: Tensor, taught: PseudoLabels) -> Tensor:
    """Class term of Eq. 4: 1/R sum_r lambda_r CE(r), logits (R, C+1).

    In PCL a cluster of M_n regions pays M_n times -log of its mean probability and background
    each region alone (Tang et al., 2018): the same sum, with the mean in every region's place.
    """
    if taught.as_clusters:
        terms = -_cluster_probabilities(logits, taught).clamp(min=SMALLEST).log()  # (R,)
    else:
        terms = cross_entropy(at_least_float32(logits), taught.labels, reduction="none")
    return (taught.weights * terms).sum() / max(len(terms), 1)


def _cluster_probabilities(logits: Tensor, taught: PseudoLabels) -> Tensor:
    """Probability of its label, for foreground the mean of the cluster: (R, C+1) -> (R,)."""
    own = at_least_float32(logits).softmax(dim=1).gather(1, taught.labels[:, None]).squeeze(1)
    foreground = taught.labels > 0
    clusters = own.new_zeros(max(len(taught.pseudo_boxes.regions), 1))  # (M,)
    sums = clusters.index_add(0, taught.followed, own * foreground)
    sizes = clusters.index_add(0, taught.followed, foreground.to(own.dtype))
    means = sums / sizes.clamp(min=1)
    return torch.where(foreground, means[taught.followed], own)


def regression_loss(deltas: Tensor, taught: PseudoLabels) -> Tensor:
    """Box term of Eq. 4: 1/R sum over foreground of lambda_r smooth-L1, deltas (R, 4(C+1))."""
    by_class = at_least_float32(deltas).view(len(deltas), deltas.shape[1] // 4, 4)  # (R, C+1, 4)
    own = by_class.gather(1, taught.labels[:, None, None].expand(-1, 1, 4)).squeeze(1)  # (R, 4)
    terms = smooth_l1_loss(own, taught.targets.to(own.dtype), reduction="none", beta=1.0)
    weights = taught.weights * (taught.labels > 0)
    return (weights * terms.sum(dim=1)).sum() / max(len(terms), 1)
