"""What the detector believes of every region: scores per class and a box per class.

R proposals, C classes, N students. Column 0 of C+1 is background.
"""

import torch
from torch import Tensor

from tag2box.box_coding import decode
from tag2box.learning.image_scores import region_scores
from tag2box.learning.precision import at_least_float32
from tag2box.models.outputs import Outputs


def class_scores(outputs: Outputs) -> Tensor:
    """Mean over the students of their softmax, or Eq. 1 without students: (R, C) in [0, 1]."""
    return student_scores(outputs).mean(dim=0)


@torch.no_grad()
def student_scores(outputs: Outputs) -> Tensor:
    """Softmax of each student, or Eq. 1 as that of one where there is none: (N, R, C)."""
    if len(outputs.student_logits) == 0:
        return region_scores(outputs.class_logits, outputs.detection_logits)[None, :, 1:]
    return at_least_float32(outputs.student_logits).softmax(dim=2)[:, :, 1:]


def disagreement(scores: Tensor) -> float | None:
    """How far apart students are on the best region of a class, of the class where it is most.

    Args:
        scores: (N, R, C) in [0, 1] of each student.

    Returns:
        0 to 1; None of fewer than two students, 0 where there is nothing to disagree about.
    """
    if len(scores) < 2:
        return None
    if scores.shape[1] == 0 or scores.shape[2] == 0:
        return 0.0
    best = scores.mean(dim=0).argmax(dim=0)  # (C,)
    of_best = scores.gather(1, best.expand(len(scores), 1, -1))  # (N, 1, C)
    return float((of_best.amax(dim=0) - of_best.amin(dim=0)).max())


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
