from pathlib import Path

import numpy as np
import pytest
import scipy.io

from tag2box.errors import InputError
from tag2box.proposals.mat import read_mat, read_mat_folder


def cell(values: list[object]) -> np.ndarray:
    made = np.empty((1, len(values)), object)
    made[0, :] = values
    return made


def test_fast_rcnn(tmp_path: Path) -> None:
    """Row 1 of MATLAB is our 0, and its last row is included: our end is after it."""
    boxes = [np.array([[1, 2, 10, 20], [3, 3, 3, 3]], np.uint16), np.zeros((0, 4))]
    path = tmp_path / "voc.mat"
    for images in (cell(["000005", "2008_000002"]), cell(["000005", "2008_000002"]).T):
        scipy.io.savemat(path, {"boxes": cell([*boxes]), "images": images}, do_compression=True)
        listing = read_mat(path)
        assert listing.names == ["000005", "2008_000002"]
        assert listing.proposals(0).boxes.tolist() == [[1, 0, 20, 10], [2, 2, 3, 3]]
        assert len(listing.proposals(1)) == 0


def test_mcg(tmp_path: Path) -> None:
    path = tmp_path / "COCO_val2014_000000000042.mat"
    content = {
        "bboxes": np.array([[1, 2, 10, 20], [3, 3, 3, 3]]),
        "bboxes_scores": np.array([[0.25], [0.5]]),
        "masks": np.ones((3, 3)),
    }
    scipy.io.savemat(path, content)
    for listing in (read_mat(path), read_mat_folder([path])):
        assert listing.names == ["COCO_val2014_000000000042"]
        proposals = listing.proposals(0)
        assert proposals.boxes.tolist() == [[2, 2, 3, 3], [1, 0, 20, 10]]  # best first
        assert proposals.scores is not None
        assert proposals.scores.tolist() == [0.5, 0.25]
    scipy.io.savemat(path, {"bboxes": content["bboxes"]})
    assert read_mat(path).proposals(0).scores is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"boxes": cell([np.zeros((1, 4))])}, "images"),
        ({"boxes": cell([np.zeros((1, 4))]), "images": cell(["a", "b"])}, "same length"),
        ({"boxes": np.zeros((1, 4)), "images": cell(["a", "b", "c", "d"])}, "same length"),
        ({"other": 1}, "neither"),
    ],
)
def test_other_content_is_refused(tmp_path: Path, content: dict[str, object], words: str) -> None:
    scipy.io.savemat(tmp_path / "a.mat", content)
    with pytest.raises(InputError, match=words):
        read_mat(tmp_path / "a.mat")


@pytest.mark.parametrize("content", [b"", b"no MATLAB file at all", b"\0" * 500])
def test_no_mat_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(InputError, match="is not a MATLAB file"):
        read_mat(tmp_path / "a.mat")


def test_matlab_7_3(tmp_path: Path) -> None:
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    (tmp_path / "a.mat").write_bytes(header + b"\x89HDF" + b"\0" * 600)
    with pytest.raises(InputError, match="-v7"):
        read_mat(tmp_path / "a.mat")
