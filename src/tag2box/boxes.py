"""Box geometry on numpy arrays.

Boxes are xyxy, continuous, 0-based, x2/y2 exclusive, in pixels of the frame the caller names.
N, M boxes; the last axis is (x1, y1, x2, y2).
"""

import numpy as np
import numpy.typing as npt

Boxes = npt.NDArray[np.floating]
FloatArray = npt.NDArray[np.float64]


def area(boxes: Boxes) -> FloatArray:
    """Area of each box, 0 for an inverted one: (N, 4) -> (N,)."""
    sides = np.clip(boxes[:, 2:] - boxes[:, :2], 0, None)
    return np.asarray(sides[:, 0] * sides[:, 1], dtype=np.float64)


def intersection(boxes: Boxes, others: Boxes) -> FloatArray:
    """Area shared by every pair: (N, 4), (M, 4) -> (N, M)."""
    x1, y1, x2, y2 = (boxes[:, None, i] for i in range(4))
    width = np.minimum(x2, others[None, :, 2]) - np.maximum(x1, others[None, :, 0])
    height = np.minimum(y2, others[None, :, 3]) - np.maximum(y1, others[None, :, 1])
    return np.asarray(np.clip(width, 0, None) * np.clip(height, 0, None), dtype=np.float64)


def iou(boxes: Boxes, others: Boxes) -> FloatArray:
    """Intersection over union of every pair, 0 where both are empty: (N, 4), (M, 4) -> (N, M)."""
    shared = intersection(boxes, others)
    union = area(boxes)[:, None] + area(others)[None, :] - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def clip(boxes: Boxes, width: float, height: float) -> Boxes:
    """Boxes cut off at the borders of an image."""
    return np.clip(boxes, 0, np.array([width, height, width, height], dtype=boxes.dtype))


def flip(boxes: Boxes, width: float) -> Boxes:
    """Boxes of the image mirrored left to right."""
    flipped = boxes.copy()
    flipped[:, 0] = width - boxes[:, 2]
    flipped[:, 2] = width - boxes[:, 0]
    return flipped


def scale(boxes: Boxes, x: float, y: float) -> Boxes:
    """Boxes of the image resized by the factors x and y."""
    return boxes * np.array([x, y, x, y], dtype=boxes.dtype)


def orient(boxes: Boxes, orientation: int, width: float, height: float) -> Boxes:
    """Boxes of a stored image in the frame a viewer shows, by its EXIF orientation (1 to 8).

    Width and height are those of the stored image. Orientations 5 to 8 swap the axes.
    """
    if orientation >= 5:
        boxes, width, height = boxes[:, [1, 0, 3, 2]], height, width
    if orientation in (2, 3, 6, 7):
        boxes = flip(boxes, width)
    if orientation in (3, 4, 7, 8):
        boxes = flip(boxes[:, [1, 0, 3, 2]], height)[:, [1, 0, 3, 2]]
    return boxes
