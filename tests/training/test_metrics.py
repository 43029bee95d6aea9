"""What the bar says of a step."""

import torch

from tag2box.training.loop import Progress
from tag2box.training.metrics import _words


def test_terms_are_told_with_speed_and_memory_on_a_short_line() -> None:
    losses = {"loss_img": 0.25}
    for student in range(3):
        losses |= {f"loss_ref_cls{student}": 0.1, f"loss_ref_reg{student}": 0.02}
    step = Progress(step=7, losses=losses, rate=1.0, images=4, seconds=0.5, waited=0.0, skipped=0)
    words = _words(step, torch.device("cpu"))
    assert words.startswith("img 0.25  cls 0.3  reg 0.06  8 photos/s  ")
    assert words.endswith(" GB")
    assert len(words) < 60
