"""What happens to the proposals of a photo between their source and the detector.

n boxes, k kept; xyxy in pixels of the photo.
"""

import hashlib
from typing import Literal

import numpy as np
import numpy.typing as npt

from tag2box.boxes import clip
from tag2box.proposals.protocol import Proposals

Duplicates = Literal["rounded", "exact", "keep"]


def clean_up(
    proposals: Proposals,
    *,
    width: int,
    height: int,
    image_id: str,
    minimum_side: float = 2.0,
    duplicates: Duplicates = "rounded",
    random_share: float = 1.0,
    seed: int = 0,
    maximum_count: int = 0,
) -> Proposals:
    """The proposals worth showing to the detector, in the order of their source.

    They are cut off at the border of the photo; those with a side below `minimum_side` are left
    out, then all but the first of equal ones (`rounded`: equal in whole pixels). Of the rest a
    `random_share` is drawn, the same for a photo and seed on every machine, a smaller share being
    part of a larger one; of those the first `maximum_count` are kept, or all when it is 0. Where
    nothing is left, the whole photo is the one proposal: a photo always has a region.
    """
    kept = Proposals(clip(proposals.boxes, width, height).astype(np.float32), proposals.scores)
    sides = (kept.boxes[:, 2:] - kept.boxes[:, :2]).min(axis=1)  # (n,)
    kept = kept[np.asarray((sides >= minimum_side) & (sides > 0))]
    if duplicates != "keep":
        kept = kept[first_of_equals(np.rint(kept.boxes) if duplicates == "rounded" else kept.boxes)]
    if random_share < 1:
        kept = kept[drawn(len(kept), random_share, f"{seed} {image_id}")]
    if maximum_count > 0:
        kept = kept[:maximum_count]
    return kept if len(kept) else Proposals(np.array([[0, 0, width, height]], np.float32))


def first_of_equals(boxes: npt.NDArray[np.floating]) -> npt.NDArray[np.intp]:
    """The rows that no earlier row equals, ascending: (n, 4) -> (k,)."""
    order = np.lexsort(boxes.T)  # stable: of equal rows the earlier comes first
    ranked = boxes[order]
    new = np.ones(len(boxes), bool)
    new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    return np.sort(order[new])


def drawn(count: int, share: float, name: str) -> npt.NDArray[np.intp]:
    """A share of `count` indexes, ascending, at least one; chance depends on the name alone."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
    number = min(count, max(1, round(share * count)))
    return np.sort(np.random.default_rng(seed).permutation(count)[:number])
