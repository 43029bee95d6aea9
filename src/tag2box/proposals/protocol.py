"""What a source of proposals is: any callable from a photo to boxes.

A source needs no base class and no registration. This one wraps a mask generator:

    from my_segmenter import generate_masks        # -> bool (n, H, W)

    def propose(image):                            # uint8 (H, W, 3), RGB
        boxes = []
        for mask in generate_masks(image):
            ys, xs = mask.nonzero()
            if len(xs):
                boxes.append((xs.min(), ys.min(), xs.max() + 1, ys.max() + 1))
        return boxes                               # or (boxes, scores)

and is chosen with `--proposals my_module:propose`. Boxes are xyxy in pixels of the photo it was
given, 0-based, x2/y2 exclusive. H, W height and width of the photo; n boxes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tag2box.errors import InputError

Image = npt.NDArray[np.uint8]
"""(H, W, 3) RGB."""


@dataclass(frozen=True, eq=False)
class Proposals:
    """Candidate regions of one photo, the best first, in pixels of that photo."""

    boxes: npt.NDArray[np.float32]
    """(n, 4) xyxy."""
    scores: npt.NDArray[np.float32] | None = None
    """(n,) never rising; None where the source only ranks."""

    def __post_init__(self) -> None:
        assert self.boxes.ndim == 2, f"boxes are (n, 4), not {self.boxes.shape}"
        assert self.boxes.shape[1] == 4, f"boxes are (n, 4), not {self.boxes.shape}"
        assert self.scores is None or self.scores.shape == (len(self.boxes),)

    def __len__(self) -> int:
        return len(self.boxes)

    def __getitem__(self, keep: npt.NDArray[Any] | slice) -> "Proposals":
        """The proposals a boolean mask, an index array or a slice chooses."""
        scores = None if self.scores is None else self.scores[keep]
        return Proposals(self.boxes[keep], scores)


class ProposalSource(Protocol):
    """Our own sources: a photo in, its proposals out."""

    def __call__(self, image: Image) -> Proposals:
        """The proposals of an RGB photo, uint8 (H, W, 3)."""
        ...


AnySource = Callable[[Image], Any]
"""A user's source: may return whatever `as_proposals` understands."""


def as_proposals(result: object, height: int, width: int, where: object) -> Proposals:
    """The answer of any source as `Proposals`, checked.

    Understood are `Proposals`, boxes (n, 4), and the pair (boxes, scores); scored boxes are sorted,
    the best first. Boxes may reach over the border of the photo (clean-up clips them), but a box
    wholly outside, or inverted, is the sign of another format or frame. `where` names the source
    in the error.
    """
    if isinstance(result, Proposals):
        result = (result.boxes, result.scores)
    answer, scores = _split(result)
    boxes = _boxes(answer, where)
    _check_frame(boxes, height, width, where)
    if scores is None:
        return Proposals(boxes)
    values = _floats(scores, "scores", where)
    if values.shape != (len(boxes),):
        raise InputError(
            where,
            f"returned scores of shape {values.shape} for {len(boxes)} boxes",
            "return one score a box",
        )
    order = np.argsort(-values, kind="stable")
    return Proposals(boxes[order], values[order])


def checked_image(image: object) -> Image:
    """An RGB image with at least one pixel; grey levels (H, W) or (H, W, 1) become three planes."""
    array = np.asarray(image)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] not in (1, 3) or not array.size:
        problem = f"is {array.dtype} of shape {array.shape}"
        raise InputError("the image", problem, "give uint8 (height, width, 3), RGB")
    return np.ascontiguousarray(np.broadcast_to(array, (*array.shape[:2], 3)))


def _split(result: object) -> tuple[object, object]:
    """Boxes, and scores or None: a pair is a tuple of two, of which the first is no single box."""
    if isinstance(result, tuple) and len(result) == 2:
        first, second = result
        if not (isinstance(first, Sequence) and len(first) == 4 and np.isscalar(first[0])):
            return first, second
    return result, None


def _boxes(answer: object, where: object) -> npt.NDArray[np.float32]:
    if answer is None:
        raise InputError(where, "returned nothing", "return boxes (n, 4)")
    boxes = _floats(answer, "boxes", where)
    if boxes.size == 0:
        return np.zeros((0, 4), np.float32)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        remedy = "return boxes (n, 4): x1, y1, x2, y2 in pixels, or the pair (boxes, scores)"
        raise InputError(where, f"returned an array of shape {boxes.shape}", remedy)
    return boxes


def _floats(values: object, what: str, where: object) -> npt.NDArray[np.float32]:
    try:
        array = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        remedy = "return plain arrays (tensors on the CPU, without gradient)"
        raise InputError(where, f"returned {what} that are no numbers ({error})", remedy) from None
    if not np.isfinite(array).all():
        raise InputError(where, f"returned {what} that are not finite", "leave such boxes out")
    return array


def _check_frame(boxes: npt.NDArray[np.float32], height: int, width: int, where: object) -> None:
    inverted = (boxes[:, 2:] < boxes[:, :2]).any(axis=1)  # (n,)
    if inverted.any():
        box = boxes[inverted][0].tolist()
        remedy = "return x1, y1, x2, y2 (not x, y, width, height)"
        raise InputError(where, f"returned the box {box} whose end is before its start", remedy)
    outside = (boxes[:, :2] > (width, height)).any(axis=1) | (boxes[:, 2:] < 0).any(axis=1)  # (n,)
    if outside.any():
        box = boxes[outside][0].tolist()
        problem = f"returned the box {box} for a photo of {width} x {height} pixels"
        raise InputError(where, problem, "return pixels of the photo the source was given")
    if len(boxes) > 1 and boxes.max() <= 1 and max(height, width) > 2:
        problem = "returned boxes that all lie within one pixel"
        raise InputError(where, problem, "multiply shares of the photo by its width and height")
