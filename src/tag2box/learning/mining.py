"""From a teacher's scores to what the next student is taught: one miner built from settings.

R proposals, C classes, P present.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from tag2box.errors import InputError
from tag2box.learning.assignment import Conflicts, PseudoLabels, assign
from tag2box.learning.mist import Suppression, mist
from tag2box.learning.oicr import oicr
from tag2box.learning.pcl import pcl
from tag2box.learning.precision import at_least_float32

Method = Literal["mist", "oicr", "pcl"]
Miner = Callable[[Tensor, Tensor, Tensor], PseudoLabels]
"""(scores (R, C), boxes (R, 4), tags (P,)) -> what every region is taught."""


def build_miner(
    method: Method = "mist",
    *,
    top_share: float = 0.15,
    overlap: float = 0.2,
    suppression: Suppression = "strict",
    graph_overlap: float = 0.4,
    clusters_per_tag: int = 5,
    foreground_overlap: float = 0.5,
    foreground_from: Literal["method", "at-least", "above"] = "method",
    conflicts: Conflicts = "score",
    answers: Literal["method", "each", "together"] = "method",
) -> Miner:
    """A miner; the keywords are the fields of `recipe.MiningSettings`.

    Raises:
        InputError: a share or an overlap is not in (0, 1], or there are to be no clusters.
    """
    for name, share in (
        ("top_share", top_share),
        ("overlap", overlap),
        ("graph_overlap", graph_overlap),
        ("foreground_overlap", foreground_overlap),
    ):
        if not 0 < share <= 1:
            raise InputError(f"mining.{name}", f"is {share}", "give a number above 0, at most 1")
    if clusters_per_tag < 1:
        raise InputError("mining.clusters_per_tag", f"is {clusters_per_tag}", "give at least 1")

    @torch.no_grad()
    def mine(scores: Tensor, boxes: Tensor, tags: Tensor) -> PseudoLabels:
        scores, boxes = at_least_float32(scores), at_least_float32(boxes)
        if method == "mist":
            pseudo_boxes = mist(
                scores,
                boxes,
                tags,
                top_share=top_share,
                overlap=overlap,
                suppression=suppression,
            )
        elif method == "oicr":
            pseudo_boxes = oicr(scores, tags)
        else:
            pseudo_boxes = pcl(
                scores,
                boxes,
                tags,
                graph_overlap=graph_overlap,
                clusters_per_tag=clusters_per_tag,
            )
        above = method == "oicr" if foreground_from == "method" else foreground_from == "above"
        taught = assign(
            pseudo_boxes,
            boxes,
            foreground_overlap=foreground_overlap,
            strictly_above=above,
            conflicts=conflicts,
        )
        together = method == "pcl" if answers == "method" else answers == "together"
        return replace(taught, as_clusters=together)

    return mine
