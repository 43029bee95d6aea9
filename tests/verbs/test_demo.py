import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tag2box.cli import main
from tag2box.data.reading import read_dataset
from tag2box.evaluation.ground_truth import read_ground_truth
from tag2box.evaluation.voc import average_precision
from tag2box.recipe import ReadingSettings
from tag2box.verbs.demo import one_box_a_tag, true_detections

SMALL = ["--scenes.width", "96", "--scenes.height", "64"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "demo"
    counts = ["--scenes.train", "24", "--scenes.val", "6"]
    assert main(["demo", "--out", str(out), *counts, *SMALL]) in (0, 1)
    return out


def test_it_makes_checks_and_scores_scenes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = ["--scenes.train", "5", "--scenes.val", "3"]
    assert main(["demo", "--out", str(tmp_path / "demo"), *counts, *SMALL]) == 1
    printed = capsys.readouterr().out
    assert "5 scenes to learn from, 3 to score on" in " ".join(printed.split())
    assert "cannot be learnt from" in printed  # five photos are too few
    assert re.search(r"whole photo\W+\d+\.\d %\W+\d+\.\d %", printed)
    assert printed.count("middle half") == 2


def test_the_picture_is_small_enough_for_a_readme(demo: Path) -> None:
    picture = Image.open(demo / "picture.png")
    assert picture.width < 1200
    assert (demo / "picture.png").stat().st_size < 300_000


def test_one_box_a_tag_is_the_middle_of_the_photo(demo: Path) -> None:
    photos = read_dataset([demo / "scenes"], ReadingSettings(split="val"))
    for photo, found in zip(photos, one_box_a_tag(photos, share=0.5), strict=True):
        assert found.image_id == photo.id
        assert set(found.classes.tolist()) == photo.tags
        np.testing.assert_array_equal(found.boxes, [[24, 16, 72, 48]] * len(photo.tags))


def test_the_true_boxes_score_everything(demo: Path) -> None:
    truth = read_ground_truth([demo / "scenes"], ReadingSettings(split="val"))
    perfect = true_detections(truth, truth.image_ids)
    assert average_precision(truth, perfect, iou=0.9).mean == 1.0


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
