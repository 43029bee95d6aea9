from pathlib import Path

import pytest

from tag2box.files import write_text, written_whole


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.txt"
    write_text(path, "old")

    def fail_half_way() -> None:
        with written_whole(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]
    write_text(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o444 == 0o444
