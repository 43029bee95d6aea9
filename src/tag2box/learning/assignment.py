"""Every region follows one pseudo box: its label, its weight and its regression target.

R proposals, C classes, M pseudo boxes.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from tag2box.box_coding import encode
from tag2box.learning.overlap import iou
from tag2box.learning.pseudo_boxes import PseudoBoxes

Conflicts = Literal["score", "overlap"]


@dataclass(frozen=True, eq=False)
class PseudoLabels:
    """What a student is taught about each proposal of one image."""

    labels: Tensor
    """(R,) int64: 0 is background, c + 1 is class c (the hot entry of y(c, r))."""
    weights: Tensor
    """(R,) lambda_r of Eq. 4: the score of the pseudo box the region follows, background too."""
    targets: Tensor
    """(R, 4) the followed pseudo box, encoded relative to the proposal."""
    followed: Tensor
    """(R,) int64: index into `pseudo_boxes` of the one the region follows."""
    pseudo_boxes: PseudoBoxes
    """For reports: which proposals were taken for objects."""
    as_clusters: bool = False
    """Whether the regions that follow one pseudo box answer together, as in PCL."""


def assign(
    pseudo_boxes: PseudoBoxes,
    boxes: Tensor,
    *,
    foreground_overlap: float = 0.5,
    strictly_above: bool = False,
    conflicts: Conflicts = "score",
) -> PseudoLabels:
    """Labels, weights and targets of all regions; background of weight 0 without a pseudo box.

    Args:
        pseudo_boxes: the miner's choice.
        boxes: (R, 4) xyxy float32, the proposals it chose from, in any one frame.
        foreground_overlap: IoU from which a pseudo box claims a region.
        strictly_above: whether it claims only above that (OICR).
        conflicts: who wins a region that several claim: the highest `score` (the paper), or the
            highest `overlap` (the reference). Equal ones: the lower class, then the better rank.
            A region nobody claims follows the highest overlap.
    """
    pseudo_boxes = pseudo_boxes.without_dropped()
    if len(boxes) == 0 or len(pseudo_boxes.regions) == 0:
        return _all_background(pseudo_boxes, boxes)
    overlaps = iou(boxes, boxes[pseudo_boxes.regions])  # (R, M)
    overlaps = overlaps.masked_fill_(~pseudo_boxes.kept, -1)
    best, followed = overlaps.max(dim=1)  # (R,)
    claimed = best > foreground_overlap if strictly_above else best >= foreground_overlap
    if conflicts == "score":
        claims = overlaps > foreground_overlap if strictly_above else overlaps >= foreground_overlap
        winner = torch.where(claims, pseudo_boxes.scores, -1).argmax(dim=1)
        followed = torch.where(claimed, winner, followed)
    return PseudoLabels(
        labels=torch.where(claimed, pseudo_boxes.classes[followed] + 1, 0),
        weights=pseudo_boxes.scores[followed],
        targets=encode(boxes[pseudo_boxes.regions[followed]], boxes),
        followed=followed,
        pseudo_boxes=pseudo_boxes,
    )


def _all_background(pseudo_boxes: PseudoBoxes, boxes: Tensor) -> PseudoLabels:
    nobody = torch.zeros(len(boxes), dtype=torch.int64, device=boxes.device)
    return PseudoLabels(
        labels=nobody,
        weights=pseudo_boxes.scores.new_zeros(len(boxes)),
        targets=torch.zeros_like(boxes),
        followed=nobody,
        pseudo_boxes=pseudo_boxes,
    )
