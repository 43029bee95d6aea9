from pathlib import Path

import pytest
from PIL import Image

from tag2box.data.folder import photos_in, read_folder
from tag2box.data.reading import read_dataset
from tag2box.errors import InputError
from tag2box.structures import Dataset


def photo(path: Path, grey: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (4, 3), grey).save(path)
    return path


def tags_by_id(dataset: Dataset) -> dict[str, set[str]]:
    return {image.id: {dataset.class_names[tag] for tag in image.tags} for image in dataset}


def test_a_folder_is_a_class_and_loose_photos_are_negatives(tmp_path: Path) -> None:
    photo(tmp_path / "sheep" / "a.png")
    photo(tmp_path / "dog" / "deep" / "b.JPG", grey=7)
    photo(tmp_path / "none.png")
    (tmp_path / "dog" / "notes.txt").write_text("not a photo")
    photo(tmp_path / ".hidden" / "c.png")
    photo(tmp_path / "dog" / "._d.png")
    dataset = read_folder(tmp_path)
    assert dataset.class_names == ("dog", "sheep")
    assert tags_by_id(dataset) == {
        "none.png": set(),
        "dog/deep/b.JPG": {"dog"},
        "sheep/a.png": {"sheep"},
    }
    assert all(image.path == tmp_path / image.id for image in dataset)


def test_the_same_photo_in_two_folders_has_both_tags(tmp_path: Path) -> None:
    photo(tmp_path / "dog" / "a.png", grey=1)
    photo(tmp_path / "sheep" / "a.png", grey=1)
    photo(tmp_path / "zebra" / "a.png", grey=2)
    assert tags_by_id(read_folder(tmp_path)) == {
        "dog/a.png": {"dog", "sheep"},
        "zebra/a.png": {"zebra"},
    }


def test_splits_lie_above_the_classes(tmp_path: Path) -> None:
    photo(tmp_path / "train" / "dog" / "a.png")
    photo(tmp_path / "val" / "dog" / "b.png")
    assert tags_by_id(read_folder(tmp_path, split="val")) == {"dog/b.png": {"dog"}}
    with pytest.raises(InputError, match=r"splits train, val; choose one with --split train"):
        read_folder(tmp_path)
    with pytest.raises(InputError, match=r"no split 'tset'.*train, val"):
        read_folder(tmp_path, split="tset")


def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    outside = photo(tmp_path / "outside" / "a.png")
    root = tmp_path / "root"
    photo(root / "dog" / "b.png")
    link = root / "dog" / "a.png"
    link.symlink_to(outside)
    with pytest.raises(InputError, match="link out of the folder"):
        read_folder(root)
    link.unlink()
    (root / "cat").symlink_to(outside.parent)
    with pytest.raises(InputError, match="link out of the folder"):
        read_folder(root)


def test_links_that_go_round_are_no_folders(tmp_path: Path) -> None:
    photo(tmp_path / "dog" / "a.png")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    assert read_dataset([tmp_path]).class_names == ("dog",)


def test_photos_that_cannot_be_read_are_mentioned(tmp_path: Path) -> None:
    photo(tmp_path / "dog" / "a.png")
    (tmp_path / "dog" / "b.heic").write_bytes(b"x")
    with pytest.warns(UserWarning, match=r"1 photos? of a kind.*HEIC"):
        assert len(read_folder(tmp_path)) == 1


def test_what_is_no_tagged_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        read_folder(tmp_path / "absent")
    with pytest.raises(InputError, match=r"no class folders.*--tags"):
        read_folder(tmp_path)
    (tmp_path / "dog").mkdir()
    with pytest.raises(InputError, match=r"holds no photo; add photos"):
        read_folder(tmp_path)


def test_an_unreadable_folder_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dog").mkdir()

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\)"):
        read_folder(tmp_path)


def test_photos_in_lists_them_all(tmp_path: Path) -> None:
    paths = [photo(tmp_path / name) for name in ("a.png", "b/c.png", "b/d/e.png")]
    assert photos_in(tmp_path) == paths
