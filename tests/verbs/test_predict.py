import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from oracle.trained_run import TAGS, write_photos, write_run
from tag2box.cli import main

PROGRAM = str(Path(sys.executable).with_name("tag2box"))
TORCHRUN = str(Path(sys.executable).with_name("torchrun"))
OUTPUTS = {
    "coco": {"coco.json", "coco_results.json"},
    "voc": {"voc"},
    "yolo": {"yolo"},
    "labelstudio": {"labelstudio.json", "labelstudio.xml"},
    "cvat": {"cvat.xml"},
    "jsonl": {"boxes.jsonl"},
    "csv": {"boxes.csv"},
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("predict")
    write_photos(root)
    write_run(root)
    return root


def predict(root: Path, out: Path, *arguments: object, code: int = 0) -> None:
    """Arguments without dashes are more photos."""
    words = ["predict", root / "photos", *arguments]
    if "--run" not in arguments:
        words += ["--run", root / "run"]
    words += ["--out", out]
    assert main([str(word) for word in words]) == code


def rows(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "boxes.jsonl").read_text().splitlines()]


def test_all_formats_from_one_look(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = ("--format", ",".join(OUTPUTS), "--inference.least-score", "0", "--json")
    predict(root, tmp_path, *everything)
    said = json.loads(capsys.readouterr().out)
    written = set.union(*OUTPUTS.values())
    assert {path.name for path in tmp_path.iterdir()} == {"stream", *written}
    assert {Path(file).name for file in said["files"]} == written
    assert (said["photos"], said["skipped"]) == (len(TAGS), 0)
    found = rows(tmp_path)
    assert [row["image"] for row in found] == sorted(TAGS)
    assert said["boxes"] == sum(len(row["objects"]) for row in found) > 50
    assert {one["class"] for row in found for one in row["objects"]} == {"cat", "dog", "owl"}
    results = json.loads((tmp_path / "coco_results.json").read_text())
    assert [one["score"] for one in results] == pytest.approx(
        [one["score"] for row in found for one in row["objects"]]
    )


def test_a_second_call_looks_at_nothing_and_may_choose_another_score(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    predict(root, tmp_path, "--format", "jsonl", "--inference.least-score", "0")
    before = rows(tmp_path)
    middle = float(np.median([one["score"] for row in before for one in row["objects"]]))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("looked")

    monkeypatch.setattr("tag2box.inference.predictor.averaged", refuse)
    predict(root, tmp_path, "--format", "jsonl", "--inference.least-score", middle)
    assert [row["objects"] for row in rows(tmp_path)] == [
        [one for one in row["objects"] if one["score"] >= middle] for row in before
    ]
    assert f"scored {middle:g} or better" in capsys.readouterr().out


def test_the_settings_of_the_run_are_the_defaults(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its proposals are from a file, which has none of another photo."""
    shutil.copytree(root / "photos", tmp_path / "more")
    shutil.copy(root / "photos" / "a.png", tmp_path / "more" / "z.png")
    words = ["predict", tmp_path / "more", "--run", root / "run", "--out", tmp_path / "out"]
    assert main([str(word) for word in words]) == 2
    assert "has no boxes for 1 of 5 photos (z.png" in capsys.readouterr().err
    (tmp_path / "recipe.toml").write_text("[proposals]\nsource = 'file:none.npz'\n")
    predict(root, tmp_path / "out", "--recipe", tmp_path / "recipe.toml", code=2)
    assert "none.npz" in capsys.readouterr().err


def test_other_settings_need_another_folder(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    predict(root, tmp_path)
    predict(root, tmp_path, "--merging.top", "5", code=2)
    error = capsys.readouterr().err.splitlines()[-1]
    assert "was begun with merging.top = 100, which is now 5; name another folder" in error
    predict(root, tmp_path, "--inference.passes", "all", code=2)
    assert "passes" in capsys.readouterr().err
    predict(root, tmp_path, "--inference.threads", "0", "--format", "csv")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--format", "coco,pdf"], "'pdf' is not a format"),
        (["--inference.least-score", "2"], "inference.least_score: is 2"),
        (["https://example.com/a.jpg"], "photos are not fetched"),
        (["nowhere/*.jpg"], "is not there"),
        (["--run", "nowhere"], "holds no recipe.toml"),
    ],
)
def test_wrong_input_is_one_sentence(
    root: Path,
    tmp_path: Path,
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    predict(root, tmp_path / "out", *arguments, code=2)
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("out/*.json"))


def test_a_folder_of_somebody_else_is_left_alone(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "yolo").mkdir()
    (tmp_path / "yolo" / "mine.txt").write_text("precious")
    predict(root, tmp_path, "--format", "yolo", code=2)
    assert "was not made by tag2box" in capsys.readouterr().err
    assert (tmp_path / "yolo" / "mine.txt").read_text() == "precious"


def test_photos_that_cannot_be_read(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(root / "photos", tmp_path / "photos")
    (tmp_path / "photos" / "b.png").write_bytes(b"no photo")
    words = ["predict", tmp_path / "photos", "--run", root / "run", "--out", tmp_path / "out"]
    words += ["--format", "jsonl"]
    assert main([str(word) for word in words]) == 2
    assert "b.png" in capsys.readouterr().err
    assert main([str(word) for word in [*words, "--images.unreadable", "skip"]]) == 0
    printed = capsys.readouterr()
    assert "3 photos, 1 could not be read" in printed.out
    assert "skipped" in printed.err
    assert "b.png" in printed.err
    assert [row["image"] for row in rows(tmp_path / "out")] == ["a.png", "c.png", "d.png"]


@pytest.mark.slow
def test_two_processes_find_what_one_finds(root: Path, tmp_path: Path) -> None:
    arguments = ["--format", "jsonl", "--inference.least-score", "0", "--inference.passes", "all"]
    words = [PROGRAM, "predict", root / "photos", "--run", root / "run", *arguments]
    start = [TORCHRUN, "--standalone", "--nproc-per-node", "2", "--"]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}  # sums of two differ in the last bit
    for command in (
        [*words, "--out", tmp_path / "one"],
        [*start, *words, "--out", tmp_path / "two"],
    ):
        done = subprocess.run(
            [str(word) for word in command],
            check=False,
            capture_output=True,
            text=True,
            env=one_thread,
        )
        assert done.returncode == 0, done.stderr
    streams = [path.read_text() for path in (tmp_path / "two" / "stream").iterdir()]
    assert sorted(text.count("\n") for text in streams) == [3, 3]  # a header and two photos each
    assert rows(tmp_path / "two") == rows(tmp_path / "one")


@pytest.mark.slow
def test_a_killed_process_is_continued(root: Path, tmp_path: Path) -> None:
    many = tuple(f"{number}.png" for number in range(8))
    write_photos(tmp_path, many)
    source = f"file:{tmp_path / 'proposals.npz'}"
    arguments = ["--proposals", source, "--format", "jsonl", "--inference.passes", "all"]
    arguments += ["--inference.short-sides", "260", "--run", str(root / "run")]
    command = [PROGRAM, "predict", tmp_path / "photos", *arguments, "--out", tmp_path / "killed"]
    with subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        stream = tmp_path / "killed" / "stream" / "0.jsonl"
        deadline = time.monotonic() + 120
        while not (stream.exists() and stream.read_text().count("\n") > 1):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    lines = stream.read_text().count("\n")
    assert 1 < lines < 9
    with stream.open("a") as file:
        file.write('{"id": "7.png", "fi')  # as a kill in the middle of a write leaves it
    for name in ("killed", "whole"):
        words = ["predict", tmp_path / "photos", *arguments, "--out", tmp_path / name]
        assert main([str(word) for word in words]) == 0
    assert stream.read_text().count("\n") == 9
    assert rows(tmp_path / "killed") == rows(tmp_path / "whole")
