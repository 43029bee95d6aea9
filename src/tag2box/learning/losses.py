"""All losses of one image by name: what a training step adds up.

R proposals, C classes, N students, P present. Column 0 of C+1 is background.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from tag2box.learning.assignment import PseudoLabels
from tag2box.learning.image_loss import ImageLoss, image_loss
from tag2box.learning.image_scores import image_scores, region_scores
from tag2box.learning.mining import Miner, build_miner
from tag2box.learning.precision import at_least_float32
from tag2box.learning.student_loss import classification_loss, regression_loss
from tag2box.models.outputs import Outputs


def losses(
    outputs: Outputs,
    boxes: Tensor,
    tags: Tensor | Sequence[int],
    *,
    mine: Miner | None = None,
    image_loss_kind: ImageLoss = "bce-with-background",
    first_student_weight: float = 3.0,
) -> dict[str, Tensor]:
    """loss_img (Eq. 2) and, per student i, loss_ref_cls{i} and loss_ref_reg{i} (Eq. 4).

    Args:
        outputs: of the detector.
        boxes: (R, 4) xyxy proposals in the frame of the network's input.
        tags: classes present, 0-based without background: a list, or (P,) int64 on the device.
        mine: the miner; MIST of the paper when None.
        image_loss_kind: see `image_loss`.
        first_student_weight: factor of both losses of student 0, whose teacher's scores are of a
            smaller scale.
    """
    tags = sorted_tags(tags, boxes.device)
    evidence = image_scores(region_scores(outputs.class_logits, outputs.detection_logits))
    named = {"loss_img": image_loss(evidence, tags, kind=image_loss_kind)}
    for i, taught in enumerate(student_lessons(outputs, boxes, tags, mine or build_miner())):
        weight = first_student_weight if i == 0 else 1.0
        named[f"loss_ref_cls{i}"] = weight * classification_loss(outputs.student_logits[i], taught)
        if outputs.student_deltas is not None:
            named[f"loss_ref_reg{i}"] = weight * regression_loss(outputs.student_deltas[i], taught)
    return named


def student_lessons(
    outputs: Outputs, boxes: Tensor, tags: Tensor, mine: Miner
) -> list[PseudoLabels]:
    """What each of the N students is taught, by the one before it; the first by the two streams."""
    return [mine(scores, boxes, tags) for scores in teacher_scores(outputs)]


@torch.no_grad()
def teacher_scores(outputs: Outputs) -> Tensor:
    """Q_0 = Eq. 1, Q_i = softmax of student i - 1, without the background column: (N, R, C)."""
    first = region_scores(outputs.class_logits, outputs.detection_logits)[None]  # (1, R, C+1)
    students = at_least_float32(outputs.student_logits).softmax(dim=2)  # (N, R, C+1)
    return torch.cat([first, students])[: len(students), :, 1:]


def sorted_tags(tags: Tensor | Sequence[int], device: torch.device) -> Tensor:
    """(P,) int64 ascending, because ties go to the lower class."""
    if isinstance(tags, Tensor):
        return tags.sort().values
    on_host = torch.tensor(sorted(set(tags)), dtype=torch.int64)
    return on_host.to(device, non_blocking=True)
