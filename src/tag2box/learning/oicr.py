"""OICR: the best region of each tag is its pseudo box (the teacher of Eq. 3).

R proposals, C classes, P present.
"""

import torch
from torch import Tensor

from tag2box.learning.pseudo_boxes import PseudoBoxes


def oicr(scores: Tensor, tags: Tensor) -> PseudoBoxes:
    """One proposal per tag: the best one that no tag before it has taken (Tang et al., 2017).

    A tag's choice depends on the choices before it, so all tags choose at once, P times: after
    n rounds the first n choices are final. A proposal that is taken counts as score 0.

    Args:
        scores: (R, C) in [0, 1].
        tags: (P,) int64, ascending.
    """
    scores_by_tag = scores[:, tags].T  # (P, R)
    if 0 in scores_by_tag.shape:
        nothing = tags[:0]
        return PseudoBoxes(nothing, nothing, scores.new_zeros(0), nothing.bool())
    free = scores_by_tag
    for _ in range(len(tags)):
        best, regions = free.max(dim=1)  # (P,)
        choices = torch.zeros_like(scores_by_tag, dtype=torch.int64)
        choices.scatter_(1, regions[:, None], 1)
        taken_before = choices.cumsum(dim=0) > choices
        free = scores_by_tag.masked_fill(taken_before, 0)
    return PseudoBoxes(regions, tags, best, torch.ones_like(tags, dtype=torch.bool))
