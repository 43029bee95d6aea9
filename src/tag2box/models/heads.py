"""The heads: f and g of Eq. 1 and the students, each one linear layer on the neck's outputs.

Where the streams f and g look at the base's map instead (`context`), only the students are here.

R proposals, C classes, N students, D neck channels. Column 0 of C+1 is background.
"""

import torch
from torch import Tensor, nn

from tag2box.models.outputs import Outputs


class Heads(nn.Module):
    """Linear layers in parallel: regions are pooled once, and students share their features."""

    def __init__(
        self,
        dimension: int,
        num_classes: int,
        *,
        num_students: int = 3,
        regression: bool = True,
        streams: bool = True,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        columns = num_classes + 1
        self.classes = nn.Linear(dimension, columns) if streams else None
        self.detections = nn.Linear(dimension, columns) if streams else None
        self.students = nn.ModuleList(nn.Linear(dimension, columns) for _ in range(num_students))
        self.deltas = nn.ModuleList(
            nn.Linear(dimension, 4 * columns) for _ in range(num_students if regression else 0)
        )
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=0.001)
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, streams: tuple[Tensor, Tensor] | None = None) -> Outputs:
        """(R, D) -> logits and deltas; `streams` are the logits of f and g where not made here."""
        class_logits, detection_logits = streams or self._streams(x)  # (R, C+1)
        students = [student(x) for student in self.students]
        return Outputs(
            class_logits=class_logits,
            detection_logits=detection_logits,
            student_logits=(
                torch.stack(students)
                if students
                else class_logits.new_zeros(0, *class_logits.shape)
            ),
            student_deltas=torch.stack([d(x) for d in self.deltas]) if self.deltas else None,
        )

    def _streams(self, x: Tensor) -> tuple[Tensor, Tensor]:
        assert self.classes is not None, "the streams look at the map"
        assert self.detections is not None, "the streams look at the map"
        return self.classes(x), self.detections(x)
