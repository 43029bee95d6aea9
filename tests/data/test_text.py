from pathlib import Path

import pytest

from tag2box.data.text import listed, read_text
from tag2box.errors import InputError


def test_a_list_skips_empty_lines_and_numbers_the_others(tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_bytes(b"\xef\xbb\xbfa 1\r\n\r\n  b c  -1\n")
    assert listed(file, first_word_only=True) == {"a": 1, "b": 3}
    assert listed(file, first_word_only=False) == {"a 1": 1, "b c  -1": 3}


def test_the_limit_is_the_largest_size_allowed(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("12345")
    assert read_text(file, max_bytes=5) == "12345"
    with pytest.raises(InputError, match="larger than 4 bytes"):
        read_text(file, max_bytes=4)


@pytest.mark.parametrize("name", ["missing.txt", ".", "nul\0.txt", "x" * 5000])
def test_what_cannot_be_read_is_an_input_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_text(tmp_path / name)


def test_other_encodings_are_named(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("Größe".encode("latin-1"))
    with pytest.raises(InputError, match=r"not UTF-8 text \(byte 2\)"):
        read_text(tmp_path / "latin.txt")
