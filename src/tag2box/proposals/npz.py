"""Proposals in a .npz file: our own layout, and what `tag2box propose --out` writes.

    ids     (N,)  text or whole numbers: id or file name of each photo
    count   (N,)  how many boxes each photo has
    boxes   (sum of count, 4)  x1, y1, x2, y2: 0-based pixels, x2/y2 exclusive, best first
    scores  (sum of count,)    optional

N photos, n boxes of one photo.
"""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tag2box.errors import InputError
from tag2box.files import written_whole
from tag2box.proposals.listing import Listing, ranked
from tag2box.proposals.protocol import Proposals

_REMEDY = "give ids (N,), count (N,), boxes (sum of count, 4) and maybe scores"


def read_npz(path: Path) -> Listing:
    """The proposals of a .npz file; nothing in it is executed."""
    columns = _columns(path)
    ids, count, boxes = columns["ids"], columns["count"], columns["boxes"]
    scores = columns.get("scores")
    ends = np.cumsum(count)

    def proposals(index: int) -> Proposals:
        mine = slice(int(ends[index] - count[index]), int(ends[index]))
        return ranked(boxes[mine].astype(np.float32), None if scores is None else scores[mine])

    return Listing(path, [str(name) for name in ids.tolist()], proposals)


def write_npz(path: Path, ids: Sequence[str], proposals: Sequence[Proposals]) -> None:
    """Write the proposals of photos whole or not at all."""
    boxes = np.concatenate([p.boxes for p in proposals] or [np.zeros((0, 4), np.float32)])
    if (boxes == np.rint(boxes)).all() and (boxes >= 0).all() and (boxes < 2**16).all():
        boxes = boxes.astype(np.uint16)
    columns: dict[str, npt.NDArray[Any]] = {
        "ids": np.array(ids, dtype=str),
        "count": np.array([len(p) for p in proposals], np.int64),
        "boxes": boxes,
    }
    scores = [p.scores for p in proposals if p.scores is not None]
    if scores and len(scores) == len(proposals):
        columns["scores"] = np.concatenate(scores)
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **columns)


def _columns(path: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = {"ids", "count", "boxes", "scores"} & set(archive.files)
            columns = {name: np.asarray(archive[name]) for name in names}
    except ValueError:  # in NumPy's own words: load it unsafely
        problem = "is no .npz, or holds pickled objects or broken arrays"
        raise InputError(path, problem, _REMEDY) from None
    except (OSError, EOFError, MemoryError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(path, f"is no readable .npz ({error})", _REMEDY) from None
    except Exception as error:  # zlib and struct errors of a broken file
        raise InputError(path, f"is broken ({error})", _REMEDY) from None
    _check(columns, path)
    return columns


def _check(columns: dict[str, npt.NDArray[Any]], path: Path) -> None:
    missing = {"ids", "count", "boxes"} - set(columns)
    if missing:
        raise InputError(path, f"lacks {', '.join(sorted(missing))}", _REMEDY)
    count, boxes = columns["count"], columns["boxes"]
    wrong = [
        name
        for name, right in {
            "ids": columns["ids"].ndim == 1 and columns["ids"].dtype.kind in "iuU",
            "count": count.shape == columns["ids"].shape
            and count.dtype.kind in "iu"
            and bool((count >= 0).all()),
            "boxes": boxes.ndim == 2 and boxes.shape[1:] == (4,) and boxes.dtype.kind in "iuf",
            "scores": "scores" not in columns
            or (columns["scores"].shape == boxes.shape[:1] and columns["scores"].dtype.kind == "f"),
        }.items()
        if not right
    ]
    if not wrong and int(count.sum()) != len(boxes):
        wrong = ["count"]
    if wrong:
        shapes = {name: columns[name].shape for name in wrong}
        raise InputError(path, f"has {shapes} that do not fit", _REMEDY)
