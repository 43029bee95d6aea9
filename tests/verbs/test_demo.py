import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tag2box.cli import main
from tag2box.data.reading import read_dataset
from tag2box.evaluation.ground_truth import GroundTruth, read_ground_truth
from tag2box.evaluation.problems import Verdict, read_part_boxes
from tag2box.recipe import ReadingSettings
from tag2box.recipe_file import recipe_named
from tag2box.structures import Detections
from tag2box.verbs.demo import (
    ADVERSARY,
    BASELINE,
    STUDENTS,
    one_box_a_tag,
    recipes,
    scores,
    surest,
)

SMALL = ["--scenes.width", "96", "--scenes.height", "64"]
LEARNABLE = ["--scenes.train", "24", "--scenes.val", "6", "--steps", "1"]


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def demo(one_thread: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:  # noqa: ARG001
    """The folder of a short demo, and what it printed."""
    out = tmp_path_factory.mktemp("runs") / "demo"
    with redirect_stdout(StringIO()) as printed:
        assert main(["demo", "--out", str(out), *LEARNABLE, *SMALL]) == 0
    return out, printed.getvalue()


@pytest.mark.slow
def test_it_trains_three_detectors_and_prints_their_scores(demo: tuple[Path, str]) -> None:
    out, printed = demo
    assert "24 scenes to learn from, 6 to score on" in " ".join(printed.split())
    for name in (BASELINE, STUDENTS, ADVERSARY):
        assert (out / name / "model.safetensors").is_file()
        assert re.search(rf"{re.escape(name)}\W+(\d+\.\d\W+){{5}}\n", printed)


@pytest.mark.slow
def test_it_says_where_the_report_is(demo: tuple[Path, str]) -> None:
    out, printed = demo
    assert f"{out / 'report.html'}: " in printed
    page = (out / "report.html").read_text(encoding="utf-8")
    assert BASELINE in page
    assert ADVERSARY in page
    assert "24 photos, 0 of them without a tag" in page


@pytest.mark.slow
def test_the_picture_is_small_enough_for_a_readme(demo: tuple[Path, str]) -> None:
    picture = demo[0] / "picture.png"
    assert Image.open(picture).width < 1200
    assert picture.stat().st_size < 300_000


@pytest.mark.slow
def test_the_same_command_trains_nothing_twice(
    demo: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    weights = demo[0] / ADVERSARY / "model.safetensors"
    before = weights.read_bytes()
    lines = (demo[0] / ADVERSARY / "metrics.jsonl").read_bytes()
    assert main(["demo", "--out", str(demo[0]), *LEARNABLE, *SMALL, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert list(said) == ["middle of the photo", BASELINE, STUDENTS, ADVERSARY]
    for name, shares in said.items():
        row = " ".join(f"{100 * share:.1f}" for share in shares.values())
        assert row in " ".join(re.sub(r"[^\w. ]", " ", demo[1]).split()), name
    assert weights.read_bytes() == before
    assert (demo[0] / ADVERSARY / "metrics.jsonl").read_bytes() == lines


def test_tags_that_cannot_be_learnt_from_end_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = ["--scenes.train", "5", "--scenes.val", "3"]
    assert main(["demo", "--out", str(tmp_path / "demo"), *counts, *SMALL]) == 1
    assert "cannot be learnt from" in capsys.readouterr().out  # five photos are too few


def test_the_three_differ_in_what_the_paper_adds() -> None:
    recipe = recipe_named("demo")
    made = recipes(recipe)
    assert [one.model.students for one in made.values()] == [0, 3, 3]
    assert [one.dropout.kind for one in made.values()] == ["none", "none", "concrete"]
    assert {one.training for one in made.values()} == {recipe.training}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tag2box.data.scene_files import write_scenes

    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder, train=1, val=6, width=96, height=64)
    return folder


def test_one_box_a_tag_is_the_middle_of_the_photo(scenes: Path) -> None:
    photos = read_dataset([scenes], ReadingSettings(split="val"))
    for photo, found in zip(photos, one_box_a_tag(photos, share=0.5), strict=True):
        assert found.image_id == photo.id
        assert set(found.classes.tolist()) == photo.tags
        np.testing.assert_array_equal(found.boxes, [[24, 16, 72, 48]] * len(photo.tags))


def test_true_boxes_score_everything_and_part_boxes_nothing(scenes: Path) -> None:
    truth = read_ground_truth([scenes], ReadingSettings(split="val"))
    parts = read_part_boxes(scenes / "annotations" / "instances_val.json")
    rows = scores(truth, parts, {"true": detections(truth, truth.boxes)})
    assert (rows["true"].average_precision, rows["true"].corloc) == (1, 1)
    assert rows["true"].problems.missed == 0
    shares = scores(truth, parts, {"parts": detections(truth, parts)})["parts"].problems.shares()
    assert shares[Verdict.PART.name.lower()] > 0.9


def detections(truth: GroundTruth, boxes: np.ndarray) -> list[Detections]:
    return [
        Detections(
            boxes=boxes[truth.object_image == index].astype(np.float32),
            scores=np.ones(int((truth.object_image == index).sum()), np.float32),
            classes=truth.classes[truth.object_image == index],
            class_names=truth.class_names,
            image_id=image_id,
        )
        for index, image_id in enumerate(truth.image_ids)
    ]


def test_the_surest_are_counted_over_all_photos() -> None:
    found = [
        Detections(
            np.zeros((2, 4), np.float32), np.array(s, np.float32), np.zeros(2, np.int64), ("dog",)
        )
        for s in ([0.9, 0.1], [0.8, 0.7])
    ]
    assert [one.scores.tolist() for one in surest(found, 3)] == [
        pytest.approx([0.9]),
        pytest.approx([0.8, 0.7]),
    ]
    assert sum(map(len, surest(found, 9))) == 4
    assert surest([], 3) == []


def test_nothing_to_score_on_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--out", str(tmp_path / "demo"), "--scenes.val", "0"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "scenes.val" in error
    assert not (tmp_path / "demo").exists()


def test_a_wrong_difficulty_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--out", str(tmp_path / "demo"), "--scenes.difficulty", "2"]) == 2
    assert capsys.readouterr().err.endswith(
        "scenes.difficulty: 2.0 is no difficulty; give 0 to 1.\n"
    )
