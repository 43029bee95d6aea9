"""Box regression targets on tensors: a box written relative to another (R-CNN's parametrisation).

Boxes are xyxy, continuous, 0-based, x2/y2 exclusive, in pixels of one common frame; a side is
x2 - x1. Deltas are (dx, dy, dw, dh), multiplied by the weights below.
"""

import math

import torch
from torch import Tensor

SHIFT_WEIGHT, GROWTH_WEIGHT = 10.0, 5.0
"""What (dx, dy) and (dw, dh) are multiplied by, so that usual targets are of size one."""

MAX_LOG_GROWTH = math.log(1000 / 16)
"""Decoding enlarges no side by more than this (natural logarithm): exp must not overflow."""


def encode(boxes: Tensor, anchors: Tensor) -> Tensor:
    """Deltas that lead from `anchors` to `boxes`; both (..., 4) with sides > 0 -> (..., 4)."""
    center, side = _centers_and_sides(boxes)
    anchor_center, anchor_side = _centers_and_sides(anchors)
    shift = (center - anchor_center) / anchor_side
    growth = torch.log(side / anchor_side)
    return torch.cat([shift * SHIFT_WEIGHT, growth * GROWTH_WEIGHT], dim=-1)


def decode(deltas: Tensor, anchors: Tensor) -> Tensor:
    """The boxes that `deltas` lead to from `anchors`; (..., 4) and (..., 4) broadcast."""
    anchor_center, anchor_side = _centers_and_sides(anchors)
    shift, growth = deltas[..., :2] / SHIFT_WEIGHT, deltas[..., 2:] / GROWTH_WEIGHT
    center = anchor_center + shift * anchor_side
    half = anchor_side * growth.clamp(max=MAX_LOG_GROWTH).exp() / 2
    return torch.cat([center - half, center + half], dim=-1)


def _centers_and_sides(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """(..., 4) -> (x, y) of the centres and (width, height), each (..., 2)."""
    low, high = boxes[..., :2], boxes[..., 2:]
    return (low + high) / 2, high - low
