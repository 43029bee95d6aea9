import json
import os
import signal
import threading
from pathlib import Path

import pytest

from tag2box.cli import main
from tag2box.data.scene_files import write_scenes
from tag2box.recipe_file import read_recipe, recipe_named
from tag2box.verbs import train as verb

QUICK = """
[proposals]
source = "grid"
maximum_count = 30
processes = 1
[doctor]
quick = true
[model]
backbone = "timm:test_efficientnet"
weights = "none"
neck_width = 8
frozen_stages = 0
[training]
steps = 2
images_per_step = 2
linear_rule_images = 2
short_sides = [48]
regions_per_batch = 64
workers = 0
"""


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve scenes, tagged in turn: what is learnt here is nothing."""
    folder = tmp_path_factory.mktemp("train") / "scenes"
    write_scenes(folder, train=12, val=0, width=96, height=64)
    (folder / "images" / "tags.csv").unlink()
    write_tags(folder / "images", ["cat", "dog"])
    return folder / "images"


def write_tags(photos: Path, tags: list[str]) -> None:
    names = [path.relative_to(photos).as_posix() for path in sorted(photos.rglob("*.jpg"))]
    rows = [f"{name},{tags[index % len(tags)]}" for index, name in enumerate(names)]
    (photos / f"{tags[-1]}.csv").write_text("\n".join(["image,tags", *rows]) + "\n")


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe of two steps; proposals are kept below the folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "quick.toml"
    path.write_text(QUICK)
    return path


def train(photos: Path, *arguments: object, code: int = 0) -> None:
    words = ["train", photos, "--tags", photos / "dog.csv", *arguments]
    assert main([str(word) for word in words]) == code


def test_without_an_option_the_laptop_recipe_trains_into_runs(
    photos: Path, quick: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shipped recipe is replaced by the quick one: what is tried is the way there."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr(verb, "recipe_named", {"laptop": read_recipe(quick)}.__getitem__)
    monkeypatch.chdir(quick.parent)
    train(photos)
    run = quick.parent / "runs" / "images"
    written = {"model.safetensors", "recipe.toml", "metrics.jsonl", "diagnosis.json"}
    assert written <= {path.name for path in run.iterdir()}
    said = capsys.readouterr().err
    assert "tag2box: recipe laptop, as there is no GPU" in said
    assert f"{photos / 'dog.csv'}: a table of tags, photos in {photos}\n" in said
    assert json.loads((run / "diagnosis.json").read_text())["photos"] == 12
    assert main(["predict", str(photos), "--run", str(run), "--inference.least-score", "0"]) == 0


def test_the_report_shows_data_losses_and_a_few_photos(photos: Path, quick: Path) -> None:
    out = quick.parent / "run"
    train(photos, "--recipe", quick, "--out", out, "--shown", 5)
    page = (out / "report.html").read_text()
    assert page.count('"jpeg": "') == 5
    assert all(words in page for words in ("fewer than 20 photos", "loss_img", "proposals.source"))
    assert main(["report", str(out)]) == 0
    (out / "report.html").unlink()
    train(photos, "--recipe", quick, "--out", out, "--shown", 0)
    assert not (out / "report.html").exists()


def test_a_recipe_by_name_and_options_over_it() -> None:
    from tag2box.cli import _settings

    settings = _settings(
        verb.Verb, "train", ["photos", "--recipe", "laptop", "--mining.top-share", "0.5"]
    )
    assert settings.mining.top_share == 0.5
    assert settings.training == recipe_named("laptop").training


def test_a_recipe_of_a_file_and_json(
    photos: Path, quick: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = quick.parent / "run"
    train(photos, "--recipe", quick, "--out", out, "--training.steps", 1, "--json")
    printed = capsys.readouterr()
    page = out / "report.html"
    assert json.loads(printed.out) == {"run": str(out), "finished": True, "report": str(page)}
    assert f"recipe {quick}" in printed.err
    assert len((out / "metrics.jsonl").read_text().splitlines()) == 1


def test_control_c_saves_says_how_to_go_on_and_exits_with_130(
    photos: Path, quick: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = quick.parent / "run"
    timer = threading.Thread(target=_interrupt_after_first_line, args=(out / "metrics.jsonl",))
    timer.start()
    train(photos, "--recipe", quick, "--out", out, "--training.steps", 5000, code=130)
    timer.join()
    assert f"the same command goes on with {out}" in capsys.readouterr().err
    (step,) = (int(path.name) for path in (out / "checkpoints").iterdir())
    train(photos, "--recipe", quick, "--out", out, "--training.steps", step + 1)
    assert (out / "model.safetensors").exists()


def _interrupt_after_first_line(metrics: Path) -> None:
    while not (metrics.exists() and metrics.read_text()):
        threading.Event().wait(0.05)
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["photos", "--recipe", "laptob"], "--recipe: 'laptob' is no recipe; use one of "),
        (["photos", "--recipe", "none.toml"], "none.toml: cannot be read"),
        (["--recipe", "laptop"], "no data set is named"),
    ],
)
def test_wrong_input_is_one_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *arguments]) == 2
    assert words in capsys.readouterr().err.splitlines()[-1]


def test_tags_that_teach_nothing_are_refused_unless_forced(
    photos: Path, quick: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tags(photos, ["cat"])
    arguments = ["--tags", photos / "cat.csv", "--recipe", quick, "--out", tmp_path / "run"]
    words = [str(word) for word in ["train", photos, *arguments]]
    assert main(words) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(f"tag2box: {photos}: ")
    assert "--force" in error
    assert not (tmp_path / "run").exists()
    assert main([*words, "--force"]) == 0
