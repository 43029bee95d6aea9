import json
from pathlib import Path
from typing import Any

import pytest

from tag2box.data.labelstudio import read_labelstudio
from tag2box.errors import InputError


def annotation(*choices: str | None, **more: Any) -> dict[str, Any]:
    result = {"type": "choices", "from_name": "c", "to_name": "i", "value": {"choices": choices}}
    return {"result": [result] if choices else [], **more}


def export(folder: Path, *tasks: Any) -> Path:
    path = folder / "export.json"
    path.write_text(json.dumps(tasks))
    return path


def task(image: str, *annotations: dict[str, Any], number: int = 1) -> dict[str, Any]:
    return {"id": number, "data": {"image": image}, "annotations": list(annotations)}


def tags(path: Path) -> dict[str, list[str]]:
    dataset = read_labelstudio(path)
    return {image.id: [dataset.class_names[tag] for tag in sorted(image.tags)] for image in dataset}


@pytest.mark.parametrize(
    ("stated", "local"),
    [
        ("/data/upload/1/0a1b2c3d-a.jpg", "a.jpg"),
        ("data/upload/12/0a1b2c3d-a%20b.jpg", "a b.jpg"),
        ("/data/upload/0a1b2c3d-a.jpg", "a.jpg"),
        ("/data/upload/1/0a1b2c3d-kept.jpg", "0a1b2c3d-kept.jpg"),
        ("/data/local-files/?d=sub/c.jpg", "sub/c.jpg"),
        ("/data/local-files/?d=home/me/photos/sub%2Fc.jpg", "sub/c.jpg"),
        ("https://host.example/bucket/a.jpg?token=x", "a.jpg"),
        ("s3://bucket/deep/a.jpg", "a.jpg"),
        ("sub/c.jpg", "sub/c.jpg"),
    ],
)
def test_addresses_become_local_names(tmp_path: Path, stated: str, local: str) -> None:
    for name in ("a.jpg", "a b.jpg", "0a1b2c3d-kept.jpg", "sub/c.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert tags(export(tmp_path, task(stated, annotation("dog")))) == {local: ["dog"]}


def test_annotations_are_weighed(tmp_path: Path) -> None:
    for name in "abcdef":
        (tmp_path / f"{name}.jpg").touch()
    path = export(
        tmp_path,
        task("a.jpg", annotation("dog"), annotation("cat", "dog")),
        task("b.jpg", annotation("dog", was_cancelled=True), annotation("cat")),
        task("c.jpg", annotation("dog"), annotation("cat", ground_truth=True)),
        task("d.jpg", annotation()),
        task("e.jpg"),
        task("f.jpg", annotation("dog", was_cancelled=True)),
    )
    assert tags(path) == {"a.jpg": ["cat", "dog"], "b.jpg": ["cat"], "c.jpg": ["cat"], "d.jpg": []}


def test_the_image_may_stand_under_another_key(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").touch()
    one = {"data": {"photo": "a.jpg", "site": "north"}, "annotations": [annotation("dog")]}
    assert tags(export(tmp_path, one)) == {"a.jpg": ["dog"]}


@pytest.mark.parametrize(
    ("tasks", "problem"),
    [
        ([], "holds no image"),
        ([3], "task 1: is not a Label Studio task"),
        ([{"id": 7, "data": {}, "annotations": []}], "task 7: is not a Label Studio task"),
        ([{"id": 7, "data": {"image": "a.jpg"}}], "task 7: is not a Label Studio task"),
        ([task("a.jpg", {"result": [{"type": "choices"}]})], "task 1: is not a Label Studio task"),
        ([task("x.jpg", annotation("dog"))], r"task 1: the image 'x\.jpg' is not in"),
        ([task("../../a.jpg", annotation("dog"))], "leaves the image folder"),
        ([task("/data/local-files/?d=../x.jpg", annotation("dog"))], "leaves the image folder"),
        ([task("http://[/a.jpg", annotation("dog"))], "task 1: is not a Label Studio task"),
        ([task("a.jpg", annotation(None))], "task 1: is not a Label Studio task"),
        ([task(f"/data/upload/1/{'a' * 300}.jpg", annotation("dog"))], "task 1: the image 'a"),
        (
            [task(f"/data/local-files/?d={'a' * 300}.jpg", annotation("dog"))],
            "task 1: the image 'a",
        ),
        (
            [task("a.jpg", annotation("dog")), task("a.jpg", annotation("cat"), number=2)],
            "task 2: .*already in task 1",
        ),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, tasks: list[Any], problem: str) -> None:
    (tmp_path / "a.jpg").touch()
    with pytest.raises(InputError, match=problem):
        read_labelstudio(export(tmp_path, *tasks))


def test_an_object_is_no_export(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text("{}")
    with pytest.raises(InputError, match="not a list of tasks"):
        read_labelstudio(path)
