import os
from pathlib import Path

import pytest

from tag2box.errors import InputError
from tag2box.outputs.whole_folder import folder_written_whole


def write(folder: Path, name: str) -> None:
    with folder_written_whole(folder) as new:
        (new / name).write_text("x")
        assert not (folder / name).exists()


def test_it_appears_at_the_end_and_replaces_only_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "yolo"
    write(folder, "a")
    write(folder, "b")
    assert {path.name for path in folder.iterdir()} == {".made-by-tag2box", "b"}
    assert [path.name for path in folder.parent.iterdir()] == ["yolo"]
    umask = os.umask(0)
    os.umask(umask)
    assert folder.stat().st_mode & 0o777 == 0o777 & ~umask


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    write(tmp_path / "yolo", "a")
    with pytest.raises(ZeroDivisionError), folder_written_whole(tmp_path / "yolo") as new:
        (new / "b").write_text(str(1 / 0))
    assert (tmp_path / "yolo" / "a").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["yolo"]


def test_an_empty_folder_is_used_somebody_elses_is_not(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty", "a")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "mine.txt").write_text("precious")
    (tmp_path / "file").write_text("precious")
    for path in (theirs, tmp_path / "file"):
        with pytest.raises(InputError, match="was not made by tag2box"):
            write(path, "a")
    assert [path.name for path in theirs.iterdir()] == ["mine.txt"]
