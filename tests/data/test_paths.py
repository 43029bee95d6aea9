import contextlib
from pathlib import Path

import pytest

from tag2box.data.paths import Folder, all_there, existing, inside, list_files
from tag2box.errors import InputError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "photos"
    (root / "cats").mkdir(parents=True)
    (root / "a.jpg").touch()
    (root / "cats" / "b.JPG").touch()
    (root / "at 12:30.jpg").touch()
    (tmp_path / "secret.jpg").touch()
    (root / "out.jpg").symlink_to(tmp_path / "secret.jpg")
    (root / "in.jpg").symlink_to(root / "a.jpg")
    (root / "broken.jpg").symlink_to(root / "nothing.jpg")
    (root / "elsewhere").symlink_to(tmp_path)
    return root


LEADS_OUT = [
    "../secret.jpg",
    "cats/../../secret.jpg",
    "..\\secret.jpg",
    "/etc/passwd",
    "\\\\server\\share",
    "C:\\secret.jpg",
    "C:secret.jpg",
    "out.jpg",
    "elsewhere/secret.jpg",
    "",
    ".",
    "a\0.jpg",
    "a\ud800.jpg",
]


@pytest.mark.parametrize("name", LEADS_OUT)
def test_a_name_that_leaves_the_root_is_refused(root: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"^list\.csv: "):
        inside(root, name, "list.csv")


@pytest.mark.parametrize("name", LEADS_OUT)
def test_a_listed_folder_never_answers_with_a_file_outside(root: Path, name: str) -> None:
    folder = Folder(root)
    folder.find("a.jpg", "list.csv")
    found = None
    with contextlib.suppress(InputError):
        found = folder.find(name, "list.csv")
    assert found is None


@pytest.mark.parametrize("name", ["a.jpg", "./a.jpg", "cats/b.JPG", "cats\\b.JPG", "in.jpg"])
def test_a_name_below_the_root_is_found(root: Path, name: str) -> None:
    expected = root / name.replace("\\", "/")
    assert inside(root, name, "list") == existing(root, name, "list") == expected
    assert Folder(root).find(name, "list") == expected


def test_a_colon_in_a_name_is_not_a_drive(root: Path) -> None:
    assert existing(root, "at 12:30.jpg", "list") == root / "at 12:30.jpg"


@pytest.mark.parametrize("name", ["c.jpg", "dogs/b.jpg", "a.jpg/b.jpg", "broken.jpg", "cats"])
def test_what_is_not_there_is_said(root: Path, name: str) -> None:
    assert Folder(root).find(name, "list") is None
    with pytest.raises(InputError, match=r"is not in .*photos"):
        existing(root, name, "list")


def test_a_name_too_long_for_the_disk_is_an_input_error(root: Path) -> None:
    name = "x" * 5000
    assert Folder(root).find(name, "list") is None
    with pytest.raises(InputError):
        existing(root, name, "list")


def test_find_by_stem_ignores_case_and_other_kinds(root: Path) -> None:
    folder, kinds = Folder(root), frozenset({".jpg"})
    assert folder.find_by_stem("cats/b", kinds, "list") == root / "cats" / "b.JPG"
    assert folder.find_by_stem("a", kinds, "list") == root / "a.jpg"
    assert folder.find_by_stem("a", frozenset({".png"}), "list") is None
    assert folder.find_by_stem("cats/a", kinds, "list") is None


def test_missing_files_are_counted_and_the_first_named(root: Path) -> None:
    names = ["a.jpg", "x.jpg", "y.jpg", "z.jpg"]
    found = [Folder(root).find(name, "list") for name in names]
    with pytest.raises(InputError, match=r"'x\.jpg' is not in .* nor are 2 others"):
        all_there(found, root, names.__getitem__, "list")
    assert all_there(found[:1], root, names.__getitem__, "list") == (root / "a.jpg",)


def test_relative_roots_follow_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("one", "two"):
        (tmp_path / place / "photos").mkdir(parents=True)
        (tmp_path / place / "photos" / "a.jpg").touch()
        monkeypatch.chdir(tmp_path / place)
        assert existing(Path("photos"), "a.jpg", "list").is_file()


def test_a_folder_that_may_not_be_read_is_an_input_error(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(InputError, match="Permission denied"):
        list_files(root)
