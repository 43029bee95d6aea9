import json
from pathlib import Path

import pytest

from oracle.trained_run import TAGS, write_photos, write_run
from tag2box.cli import main


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("label")
    write_photos(root)
    write_run(root)
    return root


def label(root: Path, out: Path, *arguments: object, code: int = 0) -> None:
    words = ["label", root / "photos", "--tags", root / "tags.csv", "--run", root / "run"]
    assert main([str(word) for word in [*words, "--out", out, *arguments]]) == code


def classes(out: Path) -> dict[str, list[str]]:
    rows = [json.loads(line) for line in (out / "boxes.jsonl").read_text().splitlines()]
    return {row["image"]: [one["class"] for one in row["objects"]] for row in rows}


@pytest.fixture(scope="module")
def looked(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One look of the paper's kind, which the tests write from."""
    out = tmp_path_factory.mktemp("out")
    label(root, out, "--format", "jsonl")
    return out


def test_every_tag_gets_a_box_and_nothing_else_does(root: Path, looked: Path) -> None:
    label(root, looked, "--format", "jsonl", "--inference.least-score", "1")
    assert classes(looked).keys() == TAGS.keys()
    for image, found in classes(looked).items():
        assert sorted(found) == sorted(TAGS[image].split(";") if TAGS[image] else [])
    label(root, looked, "--format", "jsonl", "--inference.least-score", "0")
    for image, found in classes(looked).items():
        assert set(found) == set(TAGS[image].split(";") if TAGS[image] else [])
        assert len(found) > 1 or not TAGS[image]


def test_the_report_shows_the_photos_unless_told_otherwise(
    root: Path, looked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = looked / "report.html"
    label(root, looked, "--format", "jsonl")
    assert str(page) in capsys.readouterr().out.splitlines()
    assert page.read_text().count('"jpeg": "') == len(TAGS)
    page.unlink()
    label(root, looked, "--format", "jsonl", "--no-report")
    assert not page.exists()


def test_unless_told_otherwise(root: Path, looked: Path) -> None:
    only_sure = ("--inference.least-score", "1", "--inference.no-every-tag")
    label(root, looked, "--format", "jsonl", *only_sure)
    assert set(map(len, classes(looked).values())) == {0}


def test_the_paper_s_passes_are_the_default(looked: Path) -> None:
    header = json.loads((looked / "stream" / "0.jsonl").read_text().splitlines()[0])
    passes = [[side, flag] for side in (48, 64, 80) for flag in (False, True)]
    assert header["depends_on"]["passes"] == passes


def test_other_tags_are_looked_at_again(
    root: Path, looked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tags.csv").write_text("image,tags\na.png,dog\nb.png,dog;owl\n")
    words = ["label", root / "photos", "--tags", tmp_path / "tags.csv", "--run", root / "run"]
    words += ["--out", looked, "--format", "jsonl", "--inference.least-score", "1"]
    assert main([str(word) for word in words]) == 0
    found = classes(looked)
    assert {image: sorted(names) for image, names in found.items()} == {
        "a.png": ["dog"],
        "b.png": ["dog", "owl"],
    }
    printed = capsys.readouterr()
    assert "or the best of a tag" in printed.out
    assert "tags.csv: a table of tags, photos in " in printed.err


def test_classes_the_run_does_not_know(
    root: Path, looked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tags.csv").write_text("image,tags\na.png,cat;emu\nb.png,owl\n")
    words = ["label", root / "photos", "--tags", tmp_path / "tags.csv", "--run", root / "run"]
    words += ["--out", looked, "--format", "jsonl", "--inference.least-score", "1"]
    assert main([str(word) for word in words]) == 2
    assert "'emu' is no class of this run" in capsys.readouterr().err
    assert main([str(word) for word in [*words, "--classes", "owl,cat"]]) == 0
    assert classes(looked) == {"a.png": ["cat"], "b.png": ["owl"]}


def test_boxes_of_another_format_give_only_their_tags(
    root: Path, looked: Path, tmp_path: Path
) -> None:
    """What was written as YOLO is labelled anew from its tags."""
    label(root, looked, "--format", "yolo", "--inference.least-score", "1")
    words = ["label", looked / "yolo", "--data-format", "yolo", "--run", root / "run"]
    words += ["--out", tmp_path, "--format", "jsonl", "--inference.least-score", "1"]
    assert main([str(word) for word in words]) == 0
    expected = {f"images/{k}": v.split(";") if v else [] for k, v in TAGS.items()}
    assert {image: sorted(names) for image, names in classes(tmp_path).items()} == expected
