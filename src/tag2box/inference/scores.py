"""What the detector believes of every region: scores per class and a box per class.

R proposals, C classes, N students. Column 0 of C+1 is background.
"""

import torch
from torch import Tensor

from tag2box.box_coding import decode
from tag2box.learning.image_scores import region_scores
from tag2box.learning.precision import at_least_float32
from tag2box.models.outputs import Outputs


@torch.no_grad()
def class_scores(outputs: Outputs) -> Tensor:
    """Mean over the students of their softmax, or Eq. 1 without students: (R, C) in [0, 1]."""
    if len(outputs.student_logits) == 0:
        return region_scores(outputs.class_logits, outputs.detection_logits)[:, 1:]
    return at_least_float32(outputs.student_logits).softmax(dim=2).mean(dim=0)[:, 1:]


@torch.no_grad()
def class_boxes(outputs: Outputs, boxes: Tensor, *, width: float, height: float) -> Tensor:
    """Where each class would be: the mean of the students' deltas applied to the proposals.

    Args:
        outputs: of the detector.
        boxes: (R, 4) xyxy proposals in the frame of the network's input.
        width: of that frame.
        height: of that frame.

    Returns:
        (R, C, 4) in the same frame, clipped to it; the proposals themselves without regression.
    """
    boxes = at_least_float32(boxes)
    num_classes = outputs.class_logits.shape[1] - 1
    if outputs.student_deltas is None or len(outputs.student_deltas) == 0:
        each = boxes[:, None].expand(-1, num_classes, -1)  # (R, C, 4)
    else:
        deltas = at_least_float32(outputs.student_deltas).mean(dim=0)  # (R, 4(C+1))
        each = decode(deltas.view(deltas.shape[0], num_classes + 1, 4)[:, 1:], boxes[:, None])
    x, y = each[..., 0::2].clamp(0, width), each[..., 1::2].clamp(0, height)
    return torch.stack([x, y], dim=-1).flatten(-2)
