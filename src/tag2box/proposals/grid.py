"""Boxes of several sizes and shapes at regular places: proposals that need no look at the photo.

n boxes; H, W height and width.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tag2box.proposals.protocol import Image, Proposals, checked_image


def grid(
    image: Image,
    *,
    overlap: float = 0.5,
    shapes: Sequence[float] = (0.5, 1.0, 2.0),
    smallest: float = 0.1,
) -> Proposals:
    """Windows over an RGB photo, uint8 (H, W, 3), the large ones first, about 2,000 of them.

    Neighbours overlap by an IoU of about `overlap`; `shapes` are width : height relative to the
    photo's; `smallest` is the side of the smallest square, as a share of the photo's. The first n
    lie all over the photo, because windows of one size come in a shuffled order, always the same.
    """
    height, width = checked_image(image).shape[:2]
    shuffle = np.random.default_rng(0)
    boxes = [np.array([[0, 0, width, height]], np.float64)]
    side = float(np.sqrt(overlap))
    while side >= smallest:
        of_size = [windows(height, width, side, shape, overlap) for shape in shapes]
        boxes.append(shuffle.permutation(np.concatenate(of_size), axis=0))
        side *= float(np.sqrt(overlap))
    whole = _whole_pixels(np.concatenate(boxes), height, width)
    _, first = np.unique(whole, axis=0, return_index=True)
    return Proposals(whole[np.sort(first)])


def windows(
    height: int, width: int, side: float, shape: float, overlap: float
) -> npt.NDArray[np.float64]:
    """Windows of one size and shape, evenly spread from border to border: (n, 4).

    The size is `side` x `side` of the photo's at shape 1, and of the same area at other shapes.
    """
    across = min(1.0, side * float(np.sqrt(shape))) * width
    down = min(1.0, side / float(np.sqrt(shape))) * height
    x1, y1 = np.meshgrid(_starts(width, across, overlap), _starts(height, down, overlap))
    corner = np.stack([x1.ravel(), y1.ravel()], axis=1)  # (n, 2)
    return np.concatenate([corner, corner + np.array([across, down])], axis=1)


def _starts(length: float, side: float, overlap: float) -> npt.NDArray[np.float64]:
    """Where windows start along one axis: moved by s, the IoU is (side - s) / (side + s)."""
    step = side * (1 - overlap) / (1 + overlap)
    return np.linspace(0, length - side, int(np.ceil((length - side) / step - 1e-9)) + 1)


def _whole_pixels(
    boxes: npt.NDArray[np.float64], height: int, width: int
) -> npt.NDArray[np.float32]:
    """The pixels that the boxes touch the most of, at least one."""
    start = np.minimum(np.rint(boxes[:, :2]), (width - 1, height - 1))
    end = np.clip(np.rint(boxes[:, 2:]), start + 1, (width, height))
    return np.concatenate([start, end], axis=1).astype(np.float32)
