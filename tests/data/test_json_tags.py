import json
from pathlib import Path

import pytest

from tag2box.data.json_tags import read_json
from tag2box.errors import InputError


def written(folder: Path, content: str | bytes, name: str = "tags.json") -> Path:
    for image in ("a.jpg", "b.jpg", "c.jpg"):
        (folder / image).touch()
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def tags(path: Path) -> dict[str, list[str]]:
    dataset = read_json(path)
    return {image.id: [dataset.class_names[tag] for tag in sorted(image.tags)] for image in dataset}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.json", '{"a.jpg": ["dog", " sheep "], "b.jpg": "dog", "c.jpg": []}'),
        (
            "t.json",
            '\ufeff[{"image": "a.jpg", "tags": ["sheep", "dog"]}, {"file_name": "b.jpg", '
            '"label": "dog", "note": 1}, {"path": "c.jpg", "Classes": null}]',
        ),
        (
            "t.jsonl",
            '{"image": "a.jpg", "tags": ["sheep", "dog"]}\n\n'
            '{"image": "b.jpg", "tags": ["dog"]}\r\n'
            '{"image": "c.jpg", "tags": []}',
        ),
    ],
)
def test_every_way_to_write_json_says_the_same(tmp_path: Path, name: str, content: str) -> None:
    expected = {"a.jpg": ["dog", "sheep"], "b.jpg": ["dog"], "c.jpg": []}
    assert tags(written(tmp_path, content, name)) == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "is not JSON"),
        ("3", "neither a list nor an object"),
        ("{}", "holds no image"),
        ('{"a.jpg": []}', "not a single tag"),
        ('{"a.jpg": 3}', r"key 'a\.jpg': the tags 3 are no words"),
        ('{"a.jpg": [3]}', r"the tags \[3\] are no words"),
        ('["a.jpg"]', "entry 1: is not an object"),
        ('[{"image": "a.jpg"}]', "entry 1: has the keys image: not one for the tags"),
        ('[{"foto": "a.jpg", "tags": []}]', "entry 1: .*not one for the image"),
        ('[{"image": 3, "tags": []}]', "entry 1: 3 is not an image name"),
        ('{"x.jpg": ["dog"]}', r"key 'x\.jpg': the image 'x\.jpg' is not in"),
        ('{"../a.jpg": ["dog"]}', "leaves the image folder"),
        ('{"a.jpg": ["dog"], "./a.jpg": ["cat"]}', r"stands already in key 'a\.jpg'"),
        ('{"a.jpg": ["dog"], "a.jpg": ["cat"]}', r"the key 'a\.jpg' stands twice"),
        ("[" * 100 + "]" * 100, "entry 1: is not an object"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ('{"a.jpg": ["dog"]\n"b.jpg": []}', "is not JSON.*line 2"),
        (b'{"a.jpg":\n["gr\xfcn"]}', "line 2 is not UTF-8"),
        ('{"a\\u0000.jpg": ["dog"]}', "is not a file name|is not in"),
        ('{"\\ud800.jpg": ["dog"]}', "is not a file name|is not in"),
        ('{"a.jpg": [' + "9" * 5000 + "]}", "is not JSON|are no words"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, content: str | bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as raised:
        read_json(written(tmp_path, content))
    assert "\n" not in str(raised.value)


def test_lines_are_numbered(tmp_path: Path) -> None:
    good = json.dumps({"image": "a.jpg", "tags": ["dog"]})
    for bad, problem in (
        ("{", "line 2: is not JSON"),
        (good, "line 2: .*already in line 1"),
        ("3", "line 2: is not an object"),
    ):
        with pytest.raises(InputError, match=problem):
            read_json(written(tmp_path, f"{good}\n{bad}\n", "t.jsonl"))
