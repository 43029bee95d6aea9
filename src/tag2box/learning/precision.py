"""Where bf16 ends: logits are cast up at the door of every reduction."""

import torch
from torch import Tensor


def at_least_float32(values: Tensor) -> Tensor:
    """The values in float32, or as they are when they are finer."""
    return values.to(torch.promote_types(values.dtype, torch.float32))
