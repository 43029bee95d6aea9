from pathlib import Path

import pytest

from tag2box.data.selection import check_classes, ids_kept_apart, listed
from tag2box.errors import InputError

IDS = ["dog/1.jpg", "cat/1.jpg", "cat/two words.jpg", "2008_000008"]
PATHS = [Path("r/dog/1.jpg"), Path("r/cat/1.jpg"), Path("r/cat/two words.jpg"), Path("r/x.jpg")]


def image_list(folder: Path, content: str) -> Path:
    path = folder / "list.txt"
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("cat/1.jpg\ndog/1.jpg\n", [0, 1]),
        ("\ufefftwo words.jpg\r\n\r\n", [2]),
        ("2008_000008  -1\n", [3]),
        ("x\n./r/images/x.jpg\n", [3]),
        ("two words\n", [2]),
        ("", []),
    ],
)
def test_a_list_names_images(tmp_path: Path, content: str, expected: list[int]) -> None:
    assert listed(image_list(tmp_path, content), IDS, PATHS) == expected


def test_a_list_that_names_none_or_several_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 2: 'y' names no images"):
        listed(image_list(tmp_path, "x\ny\n"), IDS, PATHS)
    with pytest.raises(InputError, match=r"line 1: '1\.jpg' names 2 images"):
        listed(image_list(tmp_path, "1.jpg\n"), IDS, PATHS)
    with pytest.raises(InputError, match="cannot be read"):
        listed(tmp_path / "absent.txt", IDS, PATHS)
    (tmp_path / "latin.txt").write_bytes(b"gr\xfcn.jpg")
    with pytest.raises(InputError, match="is not UTF-8"):
        listed(tmp_path / "latin.txt", IDS, PATHS)


def test_unknown_classes_are_answered_with_the_nearest() -> None:
    check_classes(["sheep", "dog"], ["dog", "sheep"])
    with pytest.raises(InputError, match="no class 'Shep'; perhaps 'sheep' is meant"):
        check_classes(["Shep"], ["dog", "sheep"])
    with pytest.raises(InputError, match="name one of dog, sheep"):
        check_classes(["quux"], ["dog", "sheep"])
    with pytest.raises(InputError, match="'dog' is named twice"):
        check_classes(["dog", "dog"], ["dog", "sheep"])


def test_only_ids_that_clash_get_their_folder() -> None:
    joined = ids_kept_apart([["1", "2"], ["2", "3"]], [Path("a/VOC2007"), Path("a/VOC2012")])
    assert joined == [["1", "VOC2007/2"], ["VOC2012/2", "3"]]
    joined = ids_kept_apart([["1"], ["1"]], [Path("a/photos"), Path("b/photos")])
    assert joined == [["a/photos/1"], ["b/photos/1"]]
    with pytest.raises(InputError, match="named twice"):
        ids_kept_apart([["1"], ["1"]], [Path("a"), Path("a")])
