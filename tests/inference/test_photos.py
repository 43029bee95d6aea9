import os
from pathlib import Path

import pytest
from PIL import Image

from tag2box.errors import InputError
from tag2box.inference.photos import photos_named


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a/1.jpg", "a/deep/2.png", "b/1.jpg", "b/note.txt", "[x]*.jpg"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".txt":
            path.write_text("no photo")
        else:
            Image.new("RGB", (4, 4)).save(path)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ids(*words: str) -> list[str]:
    photos = photos_named([Path(word) for word in words])
    assert all(photo.path.is_file() and not photo.tags for photo in photos)
    assert len({photo.id for photo in photos}) == len(photos)
    return [photo.id for photo in photos]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a"], ["1.jpg", "deep/2.png"]),
        (["a/"], ["1.jpg", "deep/2.png"]),
        (["a/deep"], ["2.png"]),
        (["a/1.jpg"], ["1.jpg"]),
        (["b/1.jpg", "a"], ["b/1.jpg", "a/1.jpg", "a/deep/2.png"]),
        (["?/*.jpg"], ["a/1.jpg", "b/1.jpg"]),
        (["**/*.png"], ["2.png"]),
        (["a", "a/1.jpg", "./a/../a/1.jpg"], ["1.jpg", "deep/2.png"]),
        (["[x]*.jpg"], ["[x]*.jpg"]),  # a file of that name comes before the pattern
    ],
)
def test_files_folders_and_patterns(words: list[str], expected: list[str]) -> None:
    assert ids(*words) == expected


def test_a_link_is_named_or_stays_in_its_folder(here: Path) -> None:
    os.symlink(here / "a" / "1.jpg", here / "b" / "2.jpg")
    assert ids(str(here / "b" / "2.jpg")) == ["2.jpg"]
    with pytest.raises(InputError, match="link out of the folder"):
        ids(str(here / "b"))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "no photo is named"),
        (["https://example.com/a.jpg"], "photos are not fetched"),
        (["s3://bucket/a.jpg"], "photos are not fetched"),
        (["c.jpg"], "is not there"),
        (["*.webp"], "is not there"),
        (["empty"], "holds no photo"),
    ],
)
def test_what_cannot_be_looked_at_is_one_sentence(words: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        ids(*words)
