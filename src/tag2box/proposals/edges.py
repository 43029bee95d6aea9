"""Boxes scored by the contours they hold whole, after Edge Boxes (Zitnick and Dollár, ECCV 2014).

Two things are simpler than there. Edges are gradients of colour, because the edge detector of the
paper is trained on drawn boundaries and a library for image tags ships none. A group of edges
counts where it lies wholly inside the box; that contours go on from group to group is not followed.
G groups, n boxes, H, W height and width.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from tag2box.proposals.colour_spaces import Planes, blur, colour_space
from tag2box.proposals.compiled import compiled
from tag2box.proposals.grid import windows
from tag2box.proposals.protocol import Image, Proposals, checked_image
from tag2box.proposals.working_frame import distinct, in_photo, shrunk

SHARE = 1 / 4
"""Pixels of the working frame for one of the photo."""
MOST_PIXELS = 120_000
"""Of the working frame: about 400 x 300."""
ORIENTATIONS = 8
"""Edges whose directions fall into one of so many sectors of the half circle may form a group."""
STEP = 0.5
"""IoU of neighbouring windows (alpha of the paper, there 0.65); refining does the rest."""
SHAPES = (1 / 3, 1 / 2, 2 / 3, 1.0, 3 / 2, 2.0, 3.0)
SMALLEST = 0.08
"""Side of the smallest window, as a share of the photo's."""
MOST_GROUPS = 3000
"""The heaviest count; a photo has about 1,000, noise many more."""
LENGTH_POWER = 1.5
"""By which long borders are held against a box (kappa of the paper)."""


class Contours(NamedTuple):
    """The edges of an image, in its pixels."""

    boxes: npt.NDArray[np.int32]
    """(G, 4) around each group."""
    masses: npt.NDArray[np.float32]
    """(G,) sum of the magnitudes of each."""
    sums: npt.NDArray[np.float64]
    """(H + 1, W + 1) integral image of the magnitudes."""


def edge_boxes(
    image: Image, *, maximum: int = 2000, most_overlap: float = 0.7, sigma: float = 2.0
) -> Proposals:
    """Scored boxes of an RGB photo, uint8 (H, W, 3), in its pixels; at least one.

    No two of the windows taken overlap by more than `most_overlap` (beta of the paper); each is
    then moved side by side to where its score is highest.
    """
    image = checked_image(image)
    working = shrunk(image, share=SHARE, most_pixels=MOST_PIXELS)
    height, width = working.shape[:2]
    found = contours(colour_space("lab", blur(working, sigma)))
    boxes = _windows(height, width)  # (n, 4)
    scores = _score_all(boxes, *found)
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > 0][: 5 * maximum]
    kept = _apart(boxes[order], most_overlap, maximum)
    if not len(kept):
        kept = boxes[:1]
    refined, scores = _refine_all(kept, width, height, *found)
    order = np.argsort(-scores, kind="stable")
    order = order[distinct(refined[order], working)]
    return Proposals(in_photo(refined[order], working, image), scores[order])


def contours(planes: Planes) -> Contours:
    """Thin edges of planes (C, H, W), in groups that touch and run in one direction."""
    dy, dx = (ndimage.correlate1d(planes, [-1, 0, 1], axis=axis) for axis in (1, 2))
    strongest = (dx**2 + dy**2).argmax(axis=0)[None]  # which plane: (1, H, W)
    dx, dy = (np.take_along_axis(slope, strongest, axis=0)[0] for slope in (dx, dy))  # (H, W)
    magnitudes = np.hypot(dx, dy)
    angles = np.arctan2(dy, dx) % np.pi
    magnitudes = np.where(_is_ridge(magnitudes, angles), magnitudes, 0).astype(np.float32)
    magnitudes[magnitudes < 0.1 * magnitudes.max(initial=0)] = 0
    sectors = (angles * (ORIENTATIONS / np.pi)).astype(np.intp) % ORIENTATIONS
    boxes, masses = [], []
    for sector in range(ORIENTATIONS):
        labels, count = ndimage.label((sectors == sector) & (magnitudes > 0), np.ones((3, 3)))
        masses.append(ndimage.sum_labels(magnitudes, labels, np.arange(1, count + 1)))
        boxes += [(x.start, y.start, x.stop, y.stop) for y, x in ndimage.find_objects(labels)]
    mass = np.concatenate(masses).astype(np.float32)
    heavy = np.argsort(-mass, kind="stable")[:MOST_GROUPS]
    sums = np.pad(magnitudes.astype(np.float64).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    return Contours(np.array(boxes, np.int32).reshape(-1, 4)[heavy], mass[heavy], sums)


def _is_ridge(
    magnitudes: npt.NDArray[np.float32], angles: npt.NDArray[np.float32]
) -> npt.NDArray[np.bool_]:
    """Where no magnitude beside the edge, to either side, is higher: (H, W)."""
    ridge = np.zeros(magnitudes.shape, bool)
    padded = np.pad(magnitudes, 1)
    height, width = magnitudes.shape
    direction = np.rint(angles * (4 / np.pi)).astype(np.intp) % 4  # of the slope, by 45 degrees
    for d, (y, x) in enumerate(((0, 1), (1, 1), (1, 0), (1, -1))):
        ahead = padded[1 + y : 1 + y + height, 1 + x : 1 + x + width]
        behind = padded[1 - y : 1 - y + height, 1 - x : 1 - x + width]
        ridge |= (direction == d) & (magnitudes > ahead) & (magnitudes >= behind)
    return ridge


def _windows(height: int, width: int) -> npt.NDArray[np.int32]:
    """The whole image, then sliding windows of all sizes and shapes: (n, 4)."""
    found = [np.array([[0, 0, width, height]], np.float64)]
    side = float(np.sqrt(STEP))
    while side >= SMALLEST:
        found += [windows(height, width, side, shape, STEP) for shape in SHAPES]
        side *= float(np.sqrt(STEP))
    boxes = np.rint(np.concatenate(found)).astype(np.int32)
    return boxes[(boxes[:, 2:] > boxes[:, :2]).all(axis=1)]


@compiled
def _apart(
    boxes: npt.NDArray[np.int32], most_overlap: float, maximum: int
) -> npt.NDArray[np.int32]:
    """The boxes that overlap no earlier one that is taken by more than that."""
    taken = np.empty((min(len(boxes), maximum), 4), np.int32)
    count = 0
    for n in range(len(boxes)):
        if count == maximum:
            break
        x1, y1, x2, y2 = boxes[n, 0], boxes[n, 1], boxes[n, 2], boxes[n, 3]
        free = True
        for t in range(count):
            other = taken[t]
            width = min(x2, other[2]) - max(x1, other[0])
            height = min(y2, other[3]) - max(y1, other[1])
            if width <= 0 or height <= 0:
                continue
            areas = (x2 - x1) * (y2 - y1) + (other[2] - other[0]) * (other[3] - other[1])
            shared = width * height
            if shared > most_overlap * (areas - shared):
                free = False
                break
        if free:
            for i in range(4):
                taken[count, i] = boxes[n, i]
            count += 1
    return taken[:count].copy()


@compiled
def _score(
    x1: int,
    y1: int,
    x2: int,
    y2: int,
    groups: npt.NDArray[np.int32],
    masses: npt.NDArray[np.float32],
    sums: npt.NDArray[np.float64],
) -> float:
    """Edges of whole groups less those in the middle of the box, by the length of its border."""
    inside = 0.0
    for g in range(len(groups)):
        within = groups[g, 0] >= x1 and groups[g, 1] >= y1
        if within and groups[g, 2] <= x2 and groups[g, 3] <= y2:
            inside += masses[g]
    width, height = x2 - x1, y2 - y1
    left, right = x1 + width // 4, x2 - width // 4
    top, bottom = y1 + height // 4, y2 - height // 4
    middle = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    return float((inside - middle) / np.float64(2 * (width + height)) ** LENGTH_POWER)


@compiled
def _score_all(
    boxes: npt.NDArray[np.int32],
    groups: npt.NDArray[np.int32],
    masses: npt.NDArray[np.float32],
    sums: npt.NDArray[np.float64],
) -> npt.NDArray[np.float32]:
    scores = np.empty(len(boxes), np.float32)
    for n in range(len(boxes)):
        x1, y1, x2, y2 = boxes[n, 0], boxes[n, 1], boxes[n, 2], boxes[n, 3]
        scores[n] = _score(x1, y1, x2, y2, groups, masses, sums)
    return scores


@compiled
def _refine_all(
    boxes: npt.NDArray[np.int32],
    width: int,
    height: int,
    groups: npt.NDArray[np.int32],
    masses: npt.NDArray[np.float32],
    sums: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Boxes whose sides moved while the score rose, in steps that halve, and their scores."""
    refined, scores = boxes.copy(), _score_all(boxes, groups, masses, sums)
    ends = (width, height, width, height)
    for n in range(len(boxes)):
        box = refined[n]
        step = max(box[2] - box[0], box[3] - box[1]) // 8
        while step >= 1:
            for side in range(4):
                for move in (-step, step):
                    before = box[side]
                    box[side] = min(max(before + move, 0), ends[side])
                    score = np.float32(-1)
                    if box[0] < box[2] and box[1] < box[3]:
                        score = np.float32(
                            _score(box[0], box[1], box[2], box[3], groups, masses, sums)
                        )
                    if score > scores[n]:
                        scores[n] = score
                    else:
                        box[side] = before
            step //= 2
    return refined, scores
