"""From a score and a box per region and class to the detections of one image.

R proposals, C classes, K candidates.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torchvision.ops import batched_nms

from tag2box.structures import Detections


@torch.no_grad()
def merge(
    scores: Tensor,
    boxes: Tensor,
    *,
    class_names: Sequence[str],
    image_id: str = "",
    score_threshold: float = 0.0,
    overlap: float = 0.3,
    top: int = 100,
) -> Detections:
    """The best boxes, none of which overlaps a better one of its class by more than `overlap`.

    Args:
        scores: (R, C) in [0, 1].
        boxes: (R, C, 4) xyxy in pixels of the image the detections are for.
        class_names: C names.
        image_id: of that image.
        score_threshold: only scores above it are detections.
        overlap: IoU above which the lower-scored box of the same class is dropped.
        top: at most so many detections, over all classes; the best, best first.
    """
    ranked, order = scores.flatten().sort(descending=True, stable=True)
    order = order[ranked > score_threshold]  # region by region, class by class where equal
    classes, candidates = order % max(scores.shape[1], 1), boxes.reshape(-1, 4)[order]
    keep = best_apart(candidates, ranked[: len(order)], classes, overlap=overlap, top=top)
    return Detections(
        boxes=candidates[keep].float().cpu().numpy(),
        scores=ranked[keep].float().cpu().numpy(),
        classes=classes[keep].cpu().numpy(),
        class_names=tuple(class_names),
        image_id=image_id,
    )


def best_apart(
    boxes: Tensor, scores: Tensor, classes: Tensor, *, overlap: float, top: int
) -> Tensor:
    """Indices of the `top` survivors of NMS per class among K boxes in descending score order.

    Whether a box survives depends on better ones only, so NMS over the best n gives the beginning
    of NMS over all: n doubles until enough survive. In float64, because torchvision sets classes
    apart by moving their boxes.
    """
    boxes, scores = boxes.double(), scores.double()
    num_best = 8 * top
    while True:
        best = slice(0, num_best)
        keep: Tensor = batched_nms(boxes[best], scores[best], classes[best], overlap)
        if len(keep) >= top or num_best >= len(boxes):
            return keep.sort().values[:top]  # equal scores come back in the order they came in
        num_best *= 2
