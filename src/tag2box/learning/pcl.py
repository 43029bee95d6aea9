"""Proposal cluster learning: the graph-based centres of Tang et al. (2018).

R proposals, C classes, P present, k = 3 clusters of scores, T top-ranking proposals, L that leave
the graph in a round.
"""

import torch
from torch import Tensor

from tag2box.learning.overlap import iou
from tag2box.learning.pseudo_boxes import PseudoBoxes

ROUNDS_OF_LLOYD = 50
"""Rounds of 3-means on scalars; on scores of thousands of regions it settles in about ten."""


def pcl(
    scores: Tensor,
    boxes: Tensor,
    tags: Tensor,
    *,
    graph_overlap: float = 0.4,
    clusters_per_tag: int = 5,
) -> PseudoBoxes:
    """The centres of the clusters of each tag.

    The proposals of the highest of three clusters of scores are the vertices of a graph, joined
    where they overlap. The vertex with most neighbours becomes a centre with the best score among
    itself and them, and leaves the graph with them, until nothing is left.

    The size of the graph and its end depend on the scores: on an accelerator both are waited for.

    Args:
        scores: (R, C) in [0, 1].
        boxes: (R, 4) xyxy in any one frame.
        tags: (P,) int64, ascending.
        graph_overlap: two vertices of greater IoU are neighbours.
        clusters_per_tag: of the centres so many are kept, those of the best scores.
    """
    ranked = scores[:, tags].T.sort(dim=1, descending=True, stable=True)  # (P, R)
    num_top = top_ranking(ranked.values).sum(dim=1)  # (P,)
    most = int(num_top.max()) if ranked.values.numel() else 0  # T
    regions, vertex_scores = ranked.indices[:, :most], ranked.values[:, :most]  # (P, T)
    vertices = torch.arange(most, device=scores.device) < num_top[:, None]  # (P, T)
    vertex_boxes = boxes[regions]  # (P, T, 4)
    near = iou(vertex_boxes, vertex_boxes) > graph_overlap  # (P, T, T)
    centre_scores = graph_centres(near, vertex_scores, vertices)  # (P, T)
    order = centre_scores.sort(dim=1, descending=True, stable=True)
    best = order.indices[:, :clusters_per_tag]  # (P, n)
    best_scores = order.values[:, :clusters_per_tag]
    return PseudoBoxes(
        regions=regions.gather(1, best).flatten(),
        classes=tags[:, None].expand_as(best).flatten(),
        scores=best_scores.clamp(min=0).flatten(),
        kept=(best_scores >= 0).flatten(),
    )


def top_ranking(ranked_scores: Tensor) -> Tensor:
    """Which of the scores are in the highest of three clusters: (P, R) descending -> (P, R) bool.

    3-means by Lloyd's rounds from the lowest, the middle and the highest value; a cluster that
    runs empty keeps its centre, so the highest is never empty.
    """
    if ranked_scores.shape[1] == 0:
        return torch.zeros_like(ranked_scores, dtype=torch.bool)
    highest, lowest = ranked_scores[:, :1], ranked_scores[:, -1:]
    centres = torch.cat([highest, (highest + lowest) / 2, lowest], dim=1)  # (P, 3) descending
    total = torch.nn.functional.pad(ranked_scores.double().cumsum(dim=1), (1, 0))  # (P, R + 1)
    ranks = torch.arange(ranked_scores.shape[1], device=ranked_scores.device)
    for _ in range(ROUNDS_OF_LLOYD):
        ends = _ends(ranked_scores, centres)  # (P, 4)
        sizes = ends.diff(dim=1)  # (P, 3)
        sums = total.gather(1, ends).diff(dim=1)
        means = (sums / sizes.clamp(min=1)).to(centres.dtype)
        centres = torch.where(sizes > 0, means, centres)
    return ranks < _ends(ranked_scores, centres)[:, 1:2]


def _ends(ranked_scores: Tensor, centres: Tensor) -> Tensor:
    """Where the three clusters begin and end among descending scores: (P, 4) int64."""
    borders = (centres[:, :-1] + centres[:, 1:]) / 2  # (P, 2); on the border: the higher cluster
    inner = (ranked_scores[:, :, None] >= borders[:, None, :]).sum(dim=1)  # (P, 2)
    count = ranked_scores.shape[1]
    return torch.nn.functional.pad(torch.nn.functional.pad(inner, (1, 0)), (0, 1), value=count)


def graph_centres(near: Tensor, scores: Tensor, vertices: Tensor) -> Tensor:
    """The score of each centre, -1 for what is none: (P, T, T), (P, T), (P, T) bool -> (P, T).

    Of equally connected vertices the first is taken. Counts of neighbours are brought up to date by
    the rows of the vertices that leave, so that each row is read twice in all.
    """
    centres = torch.full_like(scores, -1)
    near = near | torch.eye(near.shape[1], dtype=torch.bool, device=near.device)
    left = vertices
    neighbours = (near & left[:, None, :]).sum(dim=2, dtype=torch.int32)  # (P, T)
    while bool(left.any()):
        chosen = neighbours.masked_fill(~left, 0).argmax(dim=1, keepdim=True)  # (P, 1)
        cluster = near.gather(1, chosen[:, :, None].expand_as(near)[:, :1]).squeeze(1) & left
        best = scores.masked_fill(~cluster, -1).amax(dim=1, keepdim=True)  # -1: this tag is done
        is_new = torch.zeros_like(left).scatter_(1, chosen, left.any(dim=1, keepdim=True))
        centres = torch.where(is_new, best, centres)
        left = left & ~cluster
        tags, leaving = cluster.nonzero().unbind(dim=1)  # (L,) vertices of all tags
        rows = near[tags, leaving].to(torch.int32)  # (L, T): who loses a neighbour
        neighbours.index_add_(0, tags, rows, alpha=-1)
    return centres
