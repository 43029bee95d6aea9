import json
import re
from pathlib import Path
from typing import Any

import pytest

from oracle.trained_run import write_run
from tag2box.cli import main
from tag2box.data.scene_files import write_scenes
from tag2box.data.scene_objects import CLASS_NAMES
from tag2box.recipe import ProposalSettings

SHARED = Path(__file__).parents[2].parent / "shared"


def coco_file(folder: Path) -> Path:
    """Two photos: a cat at the corner of the first, a dog and a crowd of cats in the second."""
    path = folder / "instances_val.json"
    objects = [
        {"id": 1, "image_id": 12, "category_id": 17, "bbox": [0, 0, 50, 50], "area": 2500},
        {"id": 2, "image_id": 30, "category_id": 18, "bbox": [60, 60, 20, 20], "area": 300},
        {"id": 3, "image_id": 30, "category_id": 17, "bbox": [0, 0, 40, 40], "iscrowd": 1},
    ]
    path.write_text(
        json.dumps(
            {
                "images": [
                    {"id": number, "file_name": f"{number}.jpg", "width": 100, "height": 100}
                    for number in (12, 30)
                ],
                "categories": [{"id": 18, "name": "dog"}, {"id": 17, "name": "cat"}],
                "annotations": [o | {"iscrowd": o.get("iscrowd", 0)} for o in objects],
            }
        )
    )
    return path


def results_file(folder: Path, *changes: dict[str, Any]) -> Path:
    rows = [
        {"image_id": 12, "category_id": 17, "bbox": [0, 0, 50, 50], "score": 0.9},
        {"image_id": 30, "category_id": 18, "bbox": [60, 60, 20, 10], "score": 0.8},
    ]
    path = folder / "results.json"
    path.write_text(json.dumps([*rows, *(rows[0] | change for change in changes)]))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> tuple[str, str]:
    assert main(["evaluate", *(str(argument) for argument in arguments)]) == code
    printed = capsys.readouterr()
    return printed.out, printed.err


def test_json_holds_every_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, coco_file(tmp_path), "--detections", results_file(tmp_path), "--json")
    scores = json.loads(out)
    assert (scores["images"], scores["detections"]) == (2, 2)
    assert scores["objects"] == {"cat": 2, "dog": 1}
    assert scores["voc"]["mean"] == scores["voc"]["mean_07"] == 1.0
    assert scores["voc"]["classes"]["cat"]["objects"] == 1
    assert scores["corloc"]["mean"] == 1.0
    # The dog's box is half of it: found at an overlap of 0.5 and at none of the nine above.
    assert scores["coco"]["overall"]["ap"] == pytest.approx((1 + 0.1) / 2)
    assert scores["coco"]["classes"]["dog"]["ap_75"] == 0.0
    assert scores["coco"]["classes"]["dog"]["ap_large"] is None
    assert scores["ar"]["overall"]["at_1"] == pytest.approx((1 + 0.1) / 2)


def test_tables_name_data_classes_and_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = run(capsys, coco_file(tmp_path), "--detections", results_file(tmp_path))
    assert "COCO instances" in out
    assert "2 images, 2 detections" in out
    for heading in ("VOC AP@0.5", "VOC07 AP@0.5", "CorLoc@0.5", "COCO AP", "AR 100", "AP75"):
        assert heading in out
    assert re.search(r"dog\W+1\W+100\.0\W+100\.0\W+100\.0\W+10\.0\W+10\.0", out)
    assert re.search(r"all\W+3\W+100\.0\W+100\.0\W+100\.0\W+55\.0\W+55\.0", out)


def test_metrics_and_classes_are_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [coco_file(tmp_path), "--detections", results_file(tmp_path)]
    out, _ = run(
        capsys, *arguments, "--classes", "dog", "--metrics", "voc", "--iou", "0.6", "--json"
    )
    scores = json.loads(out)
    assert set(scores) == {"images", "objects", "detections", "voc"}
    assert scores["objects"] == {"dog": 1}
    assert scores["detections"] == 1
    assert scores["voc"] == {
        "iou": 0.6,
        "mean": 0.0,
        "mean_07": 0.0,
        "classes": {"dog": {"objects": 1, "average_precision": 0.0, "average_precision_07": 0.0}},
    }


def test_an_image_list_narrows_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text("12\n")
    arguments = [coco_file(tmp_path), "--detections", results_file(tmp_path)]
    _, error = run(capsys, *arguments, "--image-list", listed, code=2)
    assert "the image_id 30 is not in the ground truth" in error
    out, _ = run(capsys, *arguments, "--image-list", listed, "--other-images", "skip", "--json")
    assert json.loads(out)["images"] == json.loads(out)["detections"] == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--metrics", "map"], "'map' is not a metric; use some of voc, corloc, coco, ar."),
        (["--iou", "2"], "iou: 2.0 is not an overlap"),
        (["--classes", "dig"], "there is no class 'dig'; perhaps 'dog' is meant."),
    ],
)
def test_a_wrong_setting_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    data = [coco_file(tmp_path), "--detections", results_file(tmp_path)]
    out, error = run(capsys, *data, *arguments, code=2)
    assert problem in error
    assert error.count("\n") == 1
    assert not out


def test_a_wrong_results_file_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = results_file(tmp_path, {"image_id": 99})
    _, error = run(capsys, coco_file(tmp_path), "--detections", results, code=2)
    assert error.startswith(f"tag2box: {results}: result [2]: the image_id 99 is not in")
    assert error.count("\n") == 1
    _, error = run(capsys, coco_file(tmp_path), "--detections", tmp_path / "no.json", code=2)
    assert "cannot be read" in error


def test_data_without_boxes_cannot_be_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tags = tmp_path / "tags.csv"
    tags.write_text("image,tags\na.jpg,cat\n")
    _, error = run(capsys, tags, "--detections", results_file(tmp_path), code=2)
    assert "states tags and no boxes" in error
    _, error = run(capsys, "--detections", results_file(tmp_path), code=2)
    assert "no data set is named" in error


@pytest.mark.skipif(not (SHARED / "voc-mini").is_dir(), reason="needs ../shared/voc-mini")
def test_true_boxes_score_perfectly_on_real_annotations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tag2box.evaluation.detections_file import write_results
    from tag2box.evaluation.ground_truth import read_ground_truth
    from tag2box.recipe import ReadingSettings
    from tag2box.structures import Detections

    data = SHARED / "voc-mini"
    truth = read_ground_truth([data], ReadingSettings(split="val"))
    found = []
    for index, image_id in enumerate(truth.image_ids):
        here = truth.object_image == index
        found.append(
            Detections(
                boxes=truth.boxes[here].astype("f4"),
                scores=truth.areas[here].astype("f4") / 1e6,
                classes=truth.classes[here],
                class_names=truth.class_names,
                image_id=image_id,
            )
        )
    write_results(tmp_path / "results.json", found)
    out, _ = run(
        capsys, data, "--split", "val", "--detections", tmp_path / "results.json", "--json"
    )
    scores = json.loads(out)
    assert scores["images"] == 320
    assert scores["voc"]["mean"] == scores["voc"]["mean_07"] == 1.0
    assert scores["corloc"]["mean"] == 1.0
    assert scores["coco"]["overall"]["ap"] == pytest.approx(1.0)
    assert scores["ar"]["overall"]["at_100"] == pytest.approx(1.0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`scenes`, and an untrained detector in `run` that knows half of their classes."""
    root = tmp_path_factory.mktemp("evaluate")
    write_scenes(root / "scenes", train=0, val=3, width=96, height=64)
    grid = ProposalSettings(source="grid", cache=root, processes=1, maximum_count=30)
    write_run(root, class_names=CLASS_NAMES[:4], proposals=grid)
    return root


def test_a_run_is_scored_as_its_detections_are(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, folder = [trained / "scenes", "--split", "val"], trained / "run" / "evaluate"
    out, error = run(capsys, *data, "--run", trained / "run", "--json")
    scores = json.loads(out)
    assert (scores["images"], scores["detections"] > 50) == (3, True)
    assert json.loads((folder / "scores.json").read_text()) == scores
    assert "has not learnt" in error
    again, _ = run(capsys, *data, "--detections", folder / "coco_results.json", "--json")
    assert json.loads(again) == scores
    header = json.loads((folder / "stream" / "0.jsonl").read_text().splitlines()[0])
    assert len(header["depends_on"]["passes"]) == 6
    page = (folder / "report.html").read_text()
    assert "CorLoc" in page
    out, _ = run(capsys, *data, "--run", trained / "run")
    assert str(folder / "report.html") in out.splitlines()


def test_a_run_or_detections_but_not_both(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = [trained / "scenes", "--split", "val"]
    _, error = run(capsys, *data, code=2)
    assert "name either a run or detections" in error
    _, error = run(capsys, *data, "--run", "a", "--detections", "b", code=2)
    assert "name either a run or detections" in error


def test_a_run_that_knows_none_of_the_classes(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (recipe,) = (trained / "run").glob("*.toml")
    text = recipe.read_text()
    try:
        recipe.write_text(re.sub(r"classes = \[[^]]*\]", 'classes = ["w", "x", "y", "z"]', text))
        data = [trained / "scenes", "--split", "val", "--run", trained / "run"]
        _, error = run(capsys, *data, code=2)
    finally:
        recipe.write_text(text)
    assert "is a class of it; score it on some of w, x, y, z." in error
