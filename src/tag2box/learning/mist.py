"""Multiple instance self-training: many boxes per tag, far apart from each other. Alg. 1.

R proposals, C classes, P present, k candidates per tag.
"""

from typing import Literal

import torch
from torch import Tensor

from tag2box.learning.overlap import iou
from tag2box.learning.pseudo_boxes import PseudoBoxes

Suppression = Literal["strict", "greedy"]

BLOCK = 256
"""Ranks compared with all better ones at a time: half of the pairs, and they fit the cache."""


def mist(
    scores: Tensor,
    boxes: Tensor,
    tags: Tensor,
    *,
    top_share: float = 0.15,
    overlap: float = 0.2,
    suppression: Suppression = "strict",
) -> PseudoBoxes:
    """Alg. 1 for all tags at once: of the top share of the ranked regions, those apart.

    Args:
        scores: (R, C) in [0, 1]; equal scores are ranked by index.
        boxes: (R, 4) xyxy in any one frame.
        tags: (P,) int64, ascending.
        top_share: p, the share of the regions that are candidates; at least one is.
        overlap: tau, from which IoU with a better candidate a candidate is dropped.
        suppression: `strict` drops by any better candidate, as Alg. 1 says; `greedy` only by a
            better one that is kept itself, which is non-maximum suppression.
    """
    num_candidates = min(max(1, int(top_share * len(boxes))), len(boxes))
    ranked = scores[:, tags].T.sort(dim=1, descending=True, stable=True)  # (P, R)
    regions = ranked.indices[:, :num_candidates]  # (P, k)
    candidates = boxes[regions]  # (P, k, 4)
    apart = _strict if suppression == "strict" else _greedy
    return PseudoBoxes(
        regions=regions.flatten(),
        classes=tags[:, None].expand_as(regions).flatten(),
        scores=ranked.values[:, :num_candidates].flatten(),
        kept=apart(candidates, overlap).flatten(),
    )


def _strict(candidates: Tensor, overlap: float) -> Tensor:
    """Who overlaps no better one by `overlap` or more: (P, k, 4) -> (P, k)."""
    worst = [
        iou(candidates[:, i : i + BLOCK], candidates[:, : i + BLOCK]).tril_(i - 1).amax(dim=2)
        for i in range(0, candidates.shape[1], BLOCK)
    ]
    return torch.cat([candidates.new_zeros(len(candidates), 0), *worst], dim=1) < overlap


def _greedy(candidates: Tensor, overlap: float) -> Tensor:
    """Who survives when only survivors drop others: (P, k, 4) -> (P, k).

    The answer is the one mask that explains itself. Each round settles at least one more rank,
    in practice a few rounds settle all; asking whether it has changed waits for the device.
    """
    too_close = (iou(candidates, candidates) >= overlap).tril_(-1)  # (P, k, k), [i, j]: j better
    kept = too_close.new_ones(too_close.shape[:2])
    while True:
        survivors = ~(too_close & kept[:, None, :]).any(dim=2)
        if torch.equal(survivors, kept):
            return kept
        kept = survivors
