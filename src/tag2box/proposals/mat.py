"""Proposals in MATLAB files, as Fast R-CNN and MCG give them: y1, x1, y2, x2, 1-based, inclusive.

Fast R-CNN: one file a data set, `boxes` a cell of (n, 4), `images` a cell of names.
MCG: one file a photo, `bboxes` (n, 4) and maybe `bboxes_scores` (n, 1); the name is the file's.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tag2box.errors import InputError
from tag2box.proposals.listing import Listing, four_columns, from_yxyx_inclusive, ranked
from tag2box.proposals.protocol import Proposals


def read_mat(path: Path) -> Listing:
    """The proposals of a .mat file of either kind."""
    if is_one_photo(path):
        return read_mat_folder([path])
    content = _load(path, ["boxes", "images"])
    if "boxes" not in content or "images" not in content:
        remedy = "give `boxes` and `images` (Fast R-CNN) or `bboxes` (MCG)"
        raise InputError(path, f"holds {', '.join(content) or 'neither boxes nor images'}", remedy)
    cells = np.asarray(content["boxes"]).ravel()
    names = [_text(cell) for cell in np.asarray(content["images"]).ravel()]
    if len(cells) != len(names) or cells.dtype != object:
        problem = f"has `boxes` of {len(cells)} photos and `images` of {len(names)}"
        raise InputError(path, problem, "give cells of the same length")

    def proposals(index: int) -> Proposals:
        return Proposals(from_yxyx_inclusive(four_columns(cells[index], path, names[index])))

    return Listing(path, names, proposals)


def read_mat_folder(paths: Sequence[Path]) -> Listing:
    """MCG's files, one a photo; each is opened when its photo is asked for."""

    def proposals(index: int) -> Proposals:
        path = paths[index]
        content = _load(path, ["bboxes", "bboxes_scores"])
        if "bboxes" not in content:
            raise InputError(path, "holds no `bboxes`", "remove the file or give MCG's own")
        boxes = from_yxyx_inclusive(four_columns(content["bboxes"], path, path.stem))
        return ranked(boxes, content.get("bboxes_scores"))

    return Listing(paths[0].parent, [path.stem for path in paths], proposals)


def is_one_photo(path: Path) -> bool:
    """Whether a .mat file is of MCG's kind."""
    import scipy.io

    return "bboxes" in {name for name, _, _ in _tried(path, scipy.io.whosmat)}


def _load(path: Path, names: list[str]) -> dict[str, Any]:
    import scipy.io

    content = _tried(path, scipy.io.loadmat, variable_names=names)
    return {name: value for name, value in content.items() if name in names}


def _tried(path: Path, read: Any, **keywords: Any) -> Any:
    try:
        return read(path, **keywords)
    except NotImplementedError:
        remedy = "save it with `save(..., '-v7')`"
        raise InputError(path, "is a MATLAB 7.3 file", remedy) from None
    except Exception as error:  # a broken file makes the reader raise almost anything
        raise InputError(path, f"is not a MATLAB file ({error})", "give another file") from None


def _text(cell: Any) -> str:
    return str(np.asarray(cell).ravel()[0]) if np.asarray(cell).size else ""
