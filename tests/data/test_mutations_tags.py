"""Mutated files of tags: a reader says what is wrong in one sentence or gives what is there."""

import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tag2box.data.formats import detect_format
from tag2box.data.json_tags import read_json
from tag2box.data.labelstudio import read_labelstudio
from tag2box.data.selection import listed
from tag2box.data.table import read_table
from tag2box.errors import InputError
from tag2box.structures import Dataset

Outcome = TypeVar("Outcome")

PHOTOS = ("a.jpg", "b c.jpg", "sub/d.jpg")

TASKS = [
    {
        "id": number,
        "data": {"image": f"/data/upload/1/0a1b2c3d-{name}"},
        "annotations": [{"result": [{"type": "choices", "value": {"choices": ["dog", "cat"]}}]}],
    }
    for number, name in enumerate(PHOTOS[:2])
]
FILES: list[tuple[Callable[[Path], Dataset], str, str]] = [
    (read_table, "t.csv", 'image,tags\na.jpg,dog;cat\n"b c.jpg","dog"\nsub/d.jpg,\n'),
    (read_table, "t.csv", "image,dog,cat\na.jpg,1,1\nb c.jpg,0,1\nsub/d.jpg,0,0\n"),
    (read_table, "t.tsv", "a.jpg\tdog;cat\nb c.jpg\tdog\nsub/d.jpg\n"),
    (read_json, "t.json", '{"a.jpg": ["dog", "cat"], "b c.jpg": "dog", "sub/d.jpg": []}'),
    (read_json, "t.json", '[{"image": "a.jpg", "tags": ["dog"]}, {"file": "sub/d.jpg", "tag": 0}]'),
    (read_json, "t.jsonl", '{"image": "a.jpg", "tags": ["dog"]}\n{"path": "b c.jpg", "tag": "x"}'),
    (read_labelstudio, "t.json", json.dumps(TASKS)),
]
PIECES = [
    *(b"", b'"', b",", b";", b"\n", b"\r", b"\0", b"\xff", b"../", b"/", b"\\", b"[", b"{", b"}"),
    *(
        b"null",
        b"1e999",
        b"NaN",
        b"\xef\xbb\xbf",
        b"a.jpg",
        b"dog",
        b"\xf0\x9f\x90\x91",
        b"\\ud800",
    ),
]
MUTATION = st.tuples(
    st.floats(0, 1), st.integers(0, 12), st.one_of(st.sampled_from(PIECES), st.binary(max_size=3))
)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "photos"
        for photo in PHOTOS:
            (root / photo).parent.mkdir(parents=True, exist_ok=True)
            (root / photo).touch()
        (Path(name) / "secret.jpg").touch()
        yield root


def mutated(content: bytes, mutations: list[tuple[float, int, bytes]]) -> bytes:
    """Each mutation replaces a few bytes at a place by others."""
    for place, length, piece in mutations:
        start = int(place * len(content))
        content = content[:start] + piece + content[start + length :]
    return content


def outcome(act: Callable[[], Outcome]) -> Outcome | str:
    """What comes back, or the sentence that says why nothing does."""
    try:
        return act()
    except InputError as error:
        return str(error)


@settings(max_examples=60, deadline=None)
@given(mutations=st.lists(MUTATION, min_size=1, max_size=3))
@pytest.mark.parametrize(("read", "name", "content"), FILES)
def test_a_mutated_file_is_read_or_refused(
    folder: Path,
    read: Callable[[Path], Dataset],
    name: str,
    content: str,
    mutations: list[tuple[float, int, bytes]],
) -> None:
    path = folder / name
    path.write_bytes(mutated(content.encode(), mutations))
    detect_format(path)
    dataset = outcome(lambda: read(path))
    if isinstance(dataset, str):
        assert "\n" not in dataset
        assert name in dataset
        return
    assert {image.path for image in dataset} <= {folder / photo for photo in PHOTOS}
    assert all(name and name == name.strip() for name in dataset.class_names)
    used = {tag for image in dataset for tag in image.tags}
    assert used == set(range(len(dataset.class_names)))
    text = path.read_bytes().decode()
    assert all(name in text or "\\" in text or '""' in text for name in dataset.class_names)


@settings(max_examples=60, deadline=None)
@given(content=st.binary(max_size=40))
def test_any_image_list_is_read_or_refused(folder: Path, content: bytes) -> None:
    path = folder / "list.txt"
    path.write_bytes(b"a.jpg\n" + content)
    chosen = outcome(lambda: listed(path, PHOTOS, [folder / photo for photo in PHOTOS]))
    assert "\n" not in chosen if isinstance(chosen, str) else 0 in chosen


@settings(max_examples=40, deadline=None)
@given(rows=st.dictionaries(st.sampled_from(PHOTOS), st.sets(st.sampled_from("xyz")), min_size=1))
@pytest.mark.parametrize("kind", ["csv", "columns", "json", "jsonl"])
def test_what_is_written_is_read_again(folder: Path, kind: str, rows: dict[str, set[str]]) -> None:
    objects = [{"image": name, "tags": sorted(tags)} for name, tags in rows.items()]
    lines = {
        "csv": [f"{name},{';'.join(sorted(tags))}" for name, tags in rows.items()],
        "columns": ["image,x,y,z"]
        + [",".join([name, *("01"[c in tags] for c in "xyz")]) for name, tags in rows.items()],
        "json": [json.dumps({name: sorted(tags) for name, tags in rows.items()})],
        "jsonl": [json.dumps(one) for one in objects],
    }[kind]
    path = folder / ("r.csv" if kind == "columns" else f"r.{kind}")
    path.write_text("\n".join(lines))
    read = read_table if path.suffix == ".csv" else read_json
    if not any(rows.values()):
        with pytest.raises(InputError, match="not a single tag"):
            read(path)
        return
    dataset = read(path)
    found = {one.id: {dataset.class_names[tag] for tag in one.tags} for one in dataset}
    assert found == rows


def test_nothing_is_warned_of_in_good_files(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for read, name, content in FILES:
            if '"tag": 0' not in content:
                (folder / name).write_text(content)
                assert read(folder / name).class_names
