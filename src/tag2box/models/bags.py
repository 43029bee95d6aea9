"""RoI align as sums of rows: on a CPU much faster than through the map channel by channel.

Each cell of a region is a weighted sum of a few cells of the map. With the map's channels beside
each other in memory that is an embedding bag, for which torch has a vectorised kernel.
R regions, K channels, P x P cells a region, S x S samples a cell.
"""

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag


def align(features: Tensor, boxes: Tensor, size: int, scale: float, samples: int) -> Tensor:
    """As `torchvision.ops.roi_align(..., aligned=True)`.

    Args:
        features: (1, K, h, w).
        boxes: (R, 4) xyxy in pixels.
        size: P.
        scale: cells of the map a pixel.
        samples: S.

    Returns:
        (R, K, P, P), channels beside each other in memory.
    """
    _, channels, height, width = features.shape
    corners = boxes * scale - 0.5
    columns, across = shares(corners[:, 0], corners[:, 2], size, samples, width)  # (R, P, 2S)
    rows, down = shares(corners[:, 1], corners[:, 3], size, samples, height)  # (R, P, 2S)
    places = rows[:, :, None, :, None] * width + columns[:, None, :, None, :]  # (R, P, P, 2S, 2S)
    weights = down[:, :, None, :, None] * across[:, None, :, None, :]
    taken = (2 * samples) ** 2
    cells = embedding_bag(
        places.reshape(-1, taken),
        features[0].flatten(1).T.contiguous(),  # (h w, K)
        mode="sum",
        per_sample_weights=weights.reshape(-1, taken),
    )  # (R P P, K)
    return cells.view(len(boxes), size, size, channels).permute(0, 3, 1, 2)


def shares(
    low: Tensor, high: Tensor, size: int, samples: int, length: int
) -> tuple[Tensor, Tensor]:
    """Which of `length` cells in a row each bin is made of, and with what weight.

    A sample lies between two cells and takes from both; those further out than one cell from the
    map count as nothing.

    Returns:
        (R, P, 2S) int32 places and as many weights, of the interval from low (R,) to high (R,).
    """
    steps = (torch.arange(size * samples, dtype=low.dtype, device=low.device) + 0.5) / samples
    exact = low[:, None] + (high - low)[:, None] / size * steps  # (R, P S)
    near = exact.clamp(0, length - 1)
    before = near.floor()
    after = (before + 1).clamp(max=length - 1)
    known = ((exact >= -1) & (exact <= length)).to(exact.dtype) / samples
    part = near - before
    places = torch.stack([before, after], dim=2).int().view(len(low), size, 2 * samples)
    weights = torch.stack([(1 - part) * known, part * known], dim=2)
    return places, weights.view(len(low), size, 2 * samples)
