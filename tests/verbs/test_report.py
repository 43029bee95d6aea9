import json
from pathlib import Path

import pytest

from tag2box.cli import main
from tag2box.data.scene_files import write_scenes
from tag2box.evaluation.ground_truth import GroundTruth, read_ground_truth
from tag2box.recipe import ReadingSettings


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "scenes"
    write_scenes(folder, train=0, val=4, width=96, height=64)
    return folder


def write_run(folder: Path, scenes: Path, *, share: float) -> Path:
    """The upper left corner of every object, as large a share of its sides."""
    truth = read_ground_truth([scenes], ReadingSettings(split="val"))
    folder.mkdir()
    rows = [row(truth, image, scenes, share) for image in range(len(truth))]
    (folder / "detections.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return folder


def row(truth: GroundTruth, image: int, scenes: Path, share: float) -> dict:
    here = truth.object_image == image
    boxes = truth.boxes[here].copy()
    boxes[:, 2:] = boxes[:, :2] + share * (boxes[:, 2:] - boxes[:, :2])
    name = f"{int(truth.image_ids[image]):05d}.jpg"
    (path,) = scenes.rglob(name)
    return {
        "image_id": name,
        "path": str(path),
        "width": 96,
        "height": 64,
        "boxes": boxes.tolist(),
        "scores": [0.9] * len(boxes),
        "classes": [truth.class_names[c] for c in truth.classes[here]],
    }


def test_a_run_gets_its_report(
    tmp_path: Path, scenes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "good", scenes, share=1.0)
    assert main(["report", str(run)]) == 0
    assert capsys.readouterr().out.replace("\n", "") == str(run / "report.html")
    assert 'id="gallery"' in (run / "report.html").read_text()
    assert "AP at 0.5" not in (run / "report.html").read_text()


def test_two_runs_are_compared_where_boxes_are_known(tmp_path: Path, scenes: Path) -> None:
    runs = [
        write_run(tmp_path / name, scenes, share=share)
        for name, share in (("part", 0.5), ("good", 1.0))
    ]
    arguments = ["--ground-truth", str(scenes), "--split", "val", "--title", "Both & more"]
    out = tmp_path / "out" / "page.html"
    assert main(["report", *map(str, runs), *arguments, "--out", str(out)]) == 0
    page = " ".join(out.read_text().split())
    assert "<title>Both &amp; more</title>" in page
    assert "<td>100.0</td>" in page
    assert 'class="gain up">+100.0' in page


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "0 runs are named"),
        (["a", "b", "c"], "3 runs are named"),
        (["none"], "is no folder"),
        (["none", "--workers", "0"], "--workers"),
        (["none", "--most-photos", "-1"], "--most-photos"),
    ],
)
def test_wrong_input_is_one_sentence(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *arguments]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1


def test_a_wrong_class_is_one_sentence(
    tmp_path: Path, scenes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "good", scenes, share=1.0)
    arguments = ["--ground-truth", str(scenes), "--split", "val", "--classes", "dodo"]
    assert main(["report", str(run), *arguments]) == 2
    assert "there is no class 'dodo'" in capsys.readouterr().err
    assert not (run / "report.html").exists()
