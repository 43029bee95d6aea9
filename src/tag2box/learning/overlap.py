"""Intersection over union of tensors of boxes, lean enough for (P, k, k) and (R, M) at once.

Boxes are xyxy, continuous, any one frame. `torchvision.ops.box_iou` gives the same numbers; it
works on pairs of corners and is five to nine times slower on a CPU (benchmarks/mining.py prints
the ratio).
"""

import torch
from torch import Tensor

from tag2box.learning.precision import at_least_float32


def iou(boxes: Tensor, others: Tensor) -> Tensor:
    """Overlap of every pair, 0 where both are empty: (..., N, 4), (..., M, 4) -> (..., N, M)."""
    x1, y1, x2, y2 = (side[..., :, None] for side in _sides(boxes))
    other_x1, other_y1, other_x2, other_y2 = (side[..., None, :] for side in _sides(others))
    width = torch.minimum(x2, other_x2).sub_(torch.maximum(x1, other_x1)).clamp_(min=0)
    height = torch.minimum(y2, other_y2).sub_(torch.maximum(y1, other_y1)).clamp_(min=0)
    shared = width.mul_(height)
    areas = (x2 - x1) * (y2 - y1) + torch.finfo(shared.dtype).tiny  # 0 / tiny for empty boxes
    other_areas = (other_x2 - other_x1) * (other_y2 - other_y1)
    union = torch.add(areas, other_areas, out=height).sub_(shared)
    return shared.div_(union)


def _sides(boxes: Tensor) -> tuple[Tensor, ...]:
    """x1, y1, x2, y2, each in one piece of memory."""
    return at_least_float32(boxes).movedim(-1, 0).contiguous().unbind(0)
