import numpy as np
import pytest
import torch


@pytest.fixture
def random_boxes():
    """Boxes on a small grid, so that equal overlaps are common: (R, 4)."""

    def make(rng: np.random.Generator, count: int) -> torch.Tensor:
        low = rng.integers(0, 8, (count, 2))
        side = rng.integers(1, 8, (count, 2))
        return torch.from_numpy(np.concatenate([low, low + side], axis=1).astype(np.float64))

    return make


@pytest.fixture
def random_outputs():
    """Outputs of a detector that has learnt nothing, in float64."""
    from tag2box.models.outputs import Outputs

    def make(rng: np.random.Generator, regions: int, classes: int, students: int = 3) -> Outputs:
        def normal(*shape: int) -> torch.Tensor:
            return torch.from_numpy(rng.normal(size=shape))

        columns = classes + 1
        return Outputs(
            class_logits=normal(regions, columns),
            detection_logits=normal(regions, columns),
            student_logits=normal(students, regions, columns),
            student_deltas=normal(students, regions, 4 * columns),
        )

    return make
