import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from tag2box.errors import InputError
from tag2box.proposals.files import ProposalFile
from tag2box.proposals.npz import write_npz
from tag2box.proposals.protocol import Proposals
from tag2box.structures import TaggedImage

VOC_MINI = Path(__file__).parents[2].parent / "shared" / "voc-mini"
BOX = np.array([[0, 0, 4, 4]], np.float32)


def photo(image_id: str, path: str | None = None) -> TaggedImage:
    return TaggedImage(id=image_id, path=Path(path or f"{image_id}.jpg"), tags=frozenset())


def npz_of(folder: Path, *ids: str) -> Path:
    write_npz(folder / "a.npz", ids, [Proposals(BOX + i) for i in range(len(ids))])
    return folder / "a.npz"


@pytest.mark.parametrize(
    ("listed", "asked"),
    [
        ("000005", photo("000005")),
        ("5", photo("000005")),
        ("2008000002", photo("2008_000002")),
        ("2008_000002", photo("1", "JPEGImages/2008_000002.jpg")),
        ("42", photo("42", "COCO_val2014_000000000042.jpg")),
        ("COCO_val2014_000000000042", photo("42")),
        ("COCO_val2014_000000000042.jpg", photo("42")),
        ("dog/a 1.jpg", photo("dog/a 1.jpg", "photos/dog/a 1.jpg")),
        ("a 1.jpg", photo("a 1", "photos/a 1.jpg")),
    ],
)
def test_a_photo_is_found_by_id_name_or_number(
    tmp_path: Path, listed: str, asked: TaggedImage
) -> None:
    file = ProposalFile(npz_of(tmp_path, "other", listed))
    assert asked in file
    assert file.boxes_of(asked).boxes.tolist() == (BOX + 1).tolist()


def test_a_number_of_two_photos_is_nobody(tmp_path: Path) -> None:
    file = ProposalFile(npz_of(tmp_path, "1_2", "12", "012"))
    assert file.boxes_of(photo("12")).boxes.tolist() == (BOX + 1).tolist()
    assert photo("0012") not in file


def test_a_missing_photo_is_named(tmp_path: Path) -> None:
    file = ProposalFile(npz_of(tmp_path, "a"))
    with pytest.raises(InputError, match="no boxes for the photo 'b'"):
        file.boxes_of(photo("b"))


def test_every_kind_by_its_ending(tmp_path: Path) -> None:
    cells, names = np.empty(1, object), np.empty(1, object)
    cells[0], names[0] = BOX + np.array([1, 1, 0, 0]), "000005"
    scipy.io.savemat(tmp_path / "a.mat", {"boxes": cells, "images": names})
    scipy.io.savemat(tmp_path / "000005.mat", {"bboxes": cells[0]})
    with (tmp_path / "a.PKL").open("wb") as file:
        pickle.dump({"boxes": [BOX - np.array([0, 0, 1, 1])], "indexes": [5]}, file)
    (tmp_path / "a.json").write_text(json.dumps([{"image_id": 5, "bbox": BOX[0].tolist()}]))
    write_npz(tmp_path / "a.npz", ["000005"], [Proposals(BOX)])
    for name in ("a.mat", "000005.mat", "a.PKL", "a.json", "a.npz"):
        boxes = ProposalFile(tmp_path / name).boxes_of(photo("000005")).boxes
        assert boxes.tolist() == BOX.tolist(), name


def test_a_folder_of_files(tmp_path: Path) -> None:
    for i in range(3):
        scipy.io.savemat(tmp_path / f"COCO_train2014_{i:012}.mat", {"bboxes": BOX + i + 1})
    (tmp_path / "read me.txt").write_text("")
    write_npz(tmp_path / "val.npz", ["7"], [Proposals(BOX)])
    file = ProposalFile(tmp_path)
    assert len(file) == 4
    assert file.boxes_of(photo("2")).boxes.tolist() == [[2, 2, 7, 7]]
    assert photo("7") in file
    write_npz(tmp_path / "val2.npz", ["7"], [Proposals(BOX)])
    with pytest.raises(InputError, match="a second time"):
        ProposalFile(tmp_path)


@pytest.mark.parametrize("name", ["none.pkl", "a.txt", "."])
def test_what_is_no_proposal_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(InputError, match=r"proposals|known kind"):
        ProposalFile(tmp_path / name)


@pytest.mark.skipif(not VOC_MINI.exists(), reason="needs ../shared/voc-mini")
def test_voc_mini() -> None:
    file = ProposalFile(VOC_MINI / "proposals")
    ids = (VOC_MINI / "ImageSets" / "Main" / "val.txt").read_text().split()
    assert len(file) == 960
    assert len(file.boxes_of(photo(ids[0]))) > 100
