import pytest
import torch
from torchvision.ops import roi_align

from tag2box.models.bags import align


@pytest.mark.parametrize("count", [0, 1, 30])
@pytest.mark.parametrize(("height", "width"), [(5, 8), (1, 3), (24, 36)])
@pytest.mark.parametrize(("size", "samples"), [(1, 1), (5, 2), (7, 3)])
def test_it_is_roi_align(count: int, height: int, width: int, size: int, samples: int) -> None:
    """Boxes within the map, across its border and far outside; the gradient too."""
    random = torch.Generator().manual_seed(count + width)
    features = torch.randn(1, 4, height, width, dtype=torch.float64, generator=random)
    features.requires_grad_()
    corners = torch.randn(2, count, 2, dtype=torch.float64, generator=random) * 20 * width
    boxes = torch.cat([corners.amin(0), corners.amax(0)], dim=1)
    ours = align(features, boxes, size, 1 / 16, samples)
    theirs = roi_align(features, [boxes], size, 1 / 16, samples, aligned=True)
    torch.testing.assert_close(ours, theirs)
    gradients = [torch.autograd.grad(cells.square().sum(), features)[0] for cells in (ours, theirs)]
    torch.testing.assert_close(*gradients)
