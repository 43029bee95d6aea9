"""The Python interface: what its documentation shows runs, and wrong calls are one sentence."""

import doctest
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tag2box
from oracle.trained_run import write_run
from tag2box.data.scene_files import write_scenes
from tag2box.data.scene_objects import CLASS_NAMES
from tag2box.recipe import ProposalSettings
from tag2box.recipe_file import with_changes
from tag2box.verbs import train as training

GRID = ProposalSettings(source="grid", processes=1, maximum_count=30)
QUICK = {
    "proposals": vars(GRID),
    "doctor": {"quick": True},
    "model": {
        "backbone": "timm:test_efficientnet",
        "weights": "none",
        "neck_width": 8,
        "frozen_stages": 0,
    },
    "training": {
        "steps": 2,
        "images_per_step": 2,
        "linear_rule_images": 2,
        "short_sides": (48,),
        "workers": 0,
    },
}


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder as the examples suppose it: photos with tags, scenes with boxes, a trained run.

    Where a person's machine chooses the laptop recipe, it chooses one of two steps here.
    """
    folder = tmp_path_factory.mktemp("api")
    write_scenes(folder / "scenes", train=12, val=3, width=96, height=64)
    (folder / "photos").symlink_to(folder / "scenes" / "images" / "train")
    names = sorted(path.name for path in (folder / "photos").iterdir())
    rows = [f"{name},{('cat', 'dog')[number % 2]}\n" for number, name in enumerate(names)]
    (folder / "tags.csv").write_text("image,tags\n" + "".join(rows))
    write_run(folder, class_names=CLASS_NAMES, proposals=GRID)
    (folder / "runs").mkdir()
    (folder / "run").rename(folder / "runs" / "scenes")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        quick = with_changes(training.Recipe(), QUICK)
        patch.setattr(training, "recipe_for", lambda _: quick)
        yield folder


def example_of(thing: Any) -> doctest.DocTest:
    names = {"tag2box": tag2box, "np": np}
    (test,) = doctest.DocTestFinder(recurse=False).find(thing, thing.__qualname__, globs=names)
    assert test.examples, f"{thing} has no example"
    return test


@pytest.mark.parametrize(
    "thing",
    [tag2box.read, tag2box.train, tag2box.load, tag2box.evaluate, tag2box.Run.predict],
    ids=lambda thing: thing.__qualname__,
)
def test_examples_run_as_printed(thing: Any, workshop: Path) -> None:  # noqa: ARG001
    failed, _ = doctest.DocTestRunner().run(example_of(thing))
    assert failed == 0


def test_examples_of_a_run(workshop: Path) -> None:  # noqa: ARG001
    test = example_of(tag2box.Run.label)
    test.globs["run"] = tag2box.train("photos/", tags="tags.csv", out="runs/pets")
    assert doctest.DocTestRunner().run(test).failed == 0


def test_python_and_the_command_line_find_the_same(workshop: Path) -> None:
    from tag2box.cli import main

    run = tag2box.load("runs/scenes")
    found = list(run.predict("photos", inference={"least_score": 0.01}))
    command = ["predict", "photos", "--run", "runs/scenes", "--format", "csv"]
    assert main([*command, "--inference.least-score", "0.01"]) == 0
    rows = (workshop / "runs" / "scenes" / "predict" / "boxes.csv").read_text().splitlines()
    assert len(rows) - 1 == sum(map(len, found)) > 0


def test_pixels_are_photos_too(workshop: Path) -> None:
    run = tag2box.load(workshop / "runs" / "scenes")
    path = workshop / "photos" / "00001.jpg"
    image = Image.open(path)
    (by_name,) = run.predict(path, inference={"least_score": 0.0})
    by_pixels = list(run.predict([image, np.asarray(image)], inference={"least_score": 0.0}))
    assert [one.image_id for one in by_pixels] == ["0", "1"]
    for found in by_pixels:
        np.testing.assert_array_equal(found.boxes, by_name.boxes)
        np.testing.assert_array_equal(found.scores, by_name.scores)


def test_the_same_settings_under_the_same_names(workshop: Path) -> None:
    run = tag2box.train("photos", tags="tags.csv", out="runs/a", mining={"top_share": 0.5})
    assert run.recipe.mining.top_share == 0.5
    assert run.recipe.training.steps == 2
    recipe = workshop / "runs" / "a" / "recipe.toml"
    assert tag2box.train("photos", tags="tags.csv", out="runs/a", recipe=run.recipe) == run
    assert "top_share = 0.5" in recipe.read_text()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"mining": {"topshare": 1}}, "the key mining.topshare is unknown; did you mean"),
        ({"minning": {}}, "the key minning is unknown; did you mean mining?"),
        ({"training": {"steps": "many"}}, "training.steps is wrong"),
    ],
)
def test_a_wrong_setting_is_one_sentence(
    workshop: Path,  # noqa: ARG001
    settings: dict[str, Any],
    words: str,
) -> None:
    with pytest.raises(tag2box.InputError, match=words):
        tag2box.train("photos", tags="tags.csv", **settings)


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(tag2box.InputError, match=r"holds no recipe.toml"):
        tag2box.load(tmp_path)


def test_control_c_is_an_exception_that_says_where_to_go_on(
    workshop: Path,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training.Verb, "train", lambda *_: False)
    with pytest.raises(KeyboardInterrupt, match="goes on with runs/mine"):
        tag2box.train("photos", tags="tags.csv", out="runs/mine")


def test_every_public_name_is_there_and_nothing_heavy_before_it_is_used() -> None:
    assert set(tag2box.__all__) <= set(dir(tag2box))
    assert all(getattr(tag2box, name).__doc__ for name in tag2box.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tag2box.nothing  # noqa: B018
    code = "import sys, tag2box; sys.exit(len({'numpy', 'torch', 'tyro'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
