"""A whole run, small: it ends, it goes on, it is the same on two processes as on one."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from resume import FixedSupply, equal, make_photos, tiny_recipe
from tag2box.errors import InputError
from tag2box.models.trained import read_trained
from tag2box.recipe import GameSettings, Recipe
from tag2box.structures import Dataset
from tag2box.training import checkpoint, run
from tag2box.training.metrics import read_metrics

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.filterwarnings("ignore:weights none")


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return make_photos(tmp_path / "photos")


def recipe(folder: Path, **changes: Any) -> Recipe:
    plain = tiny_recipe(folder)
    training = dataclasses.replace(plain.training, **{"steps": 4, **changes})
    return dataclasses.replace(plain, training=training)


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    newest = checkpoint.load_newest(folder)
    assert newest is not None
    return dict(newest.weights)


def test_a_run_is_a_folder_that_gives_the_detector_back(tmp_path: Path, dataset: Dataset) -> None:
    assert run.train(dataset, recipe(tmp_path), tmp_path / "run", FixedSupply())
    detector, its_recipe = read_trained(tmp_path / "run")
    assert its_recipe.reading.classes == dataset.class_names
    assert equal(dict(detector.state_dict()), weights_of(tmp_path / "run"))
    lines = read_metrics(tmp_path / "run")
    assert [line["step"] for line in lines] == [1, 2, 3, 4]
    terms = {"loss_img"} | {f"loss_ref_{kind}{i}" for kind in ("cls", "reg") for i in range(3)}
    assert terms < set(lines[0])
    assert all(np.isfinite(line["loss"]) for line in lines)


def test_everything_that_should_learn_moves(tmp_path: Path, dataset: Dataset) -> None:
    moved = []
    visible = GameSettings(weight=1.0, learning_rate=1e3)  # untrained it hardly knows where to go
    for steps in (1, 3):
        strong = dataclasses.replace(recipe(tmp_path, steps=steps), game=visible)
        run.train(dataset, strong, tmp_path / f"{steps}", FixedSupply())
        moved.append(weights_of(tmp_path / f"{steps}"))
    still = {name for name in moved[0] if torch.equal(moved[0][name], moved[1][name])}
    assert not {name for name in still if name.startswith(("heads", "neck.neck", "neck.region"))}


def test_another_recipe_or_other_tags_do_not_continue_a_run(
    tmp_path: Path, dataset: Dataset
) -> None:
    run.train(dataset, recipe(tmp_path, steps=2), tmp_path / "run", FixedSupply())
    other = recipe(tmp_path, steps=4, learning_rate=0.5)
    with pytest.raises(InputError, match=r"training\.learning_rate = 0.01, which is now 0.5"):
        run.train(dataset, other, tmp_path / "run", FixedSupply())
    fewer = dataclasses.replace(dataset, images=dataset.images[1:])
    with pytest.raises(InputError, match="other photos or tags"):
        run.train(fewer, recipe(tmp_path), tmp_path / "run", FixedSupply())
    with pytest.raises(InputError, match="holds a run already"):
        run.train(dataset, recipe(tmp_path), tmp_path / "run", FixedSupply(), resume="never")


def test_control_c_saves_and_the_run_goes_on(tmp_path: Path, dataset: Dataset) -> None:
    long = recipe(tmp_path, steps=400, checkpoint_every=1000)
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    finished = run.train(dataset, long, tmp_path / "run", FixedSupply())
    timer.join()
    assert not finished
    newest = checkpoint.load_newest(tmp_path / "run")
    assert newest is not None
    assert 0 < newest.step < 400
    assert not (tmp_path / "run" / "model.safetensors").exists()
    short = recipe(tmp_path, steps=newest.step + 1, checkpoint_every=1000)
    assert run.train(dataset, short, tmp_path / "run", FixedSupply())


def test_a_loss_that_is_not_finite_stops_with_the_photo_and_the_term(
    tmp_path: Path, dataset: Dataset
) -> None:
    wild = recipe(tmp_path, steps=40, learning_rate=1e18, warm_up_steps=0)
    with pytest.raises(InputError, match=r"loss_\w+ of the photo \d is (nan|inf), kept in "):
        run.train(dataset, wild, tmp_path / "run", FixedSupply())
    dump = next((tmp_path / "run" / "non_finite").iterdir())
    assert {"image_id", "image", "boxes", "losses"} < set(torch.load(dump, weights_only=True))
    skipping = dataclasses.replace(
        wild, training=dataclasses.replace(wild.training, non_finite="skip")
    )
    run.train(dataset, skipping, tmp_path / "skipping", FixedSupply())
    assert read_metrics(tmp_path / "skipping")[-1]["skipped"] > 0


def test_few_regions_and_no_tags_train(tmp_path: Path, dataset: Dataset) -> None:
    class OneBox(FixedSupply):
        def get(self, image: Any) -> Any:
            return super().get(image)[:1]

    untagged = dataclasses.replace(
        dataset,
        images=tuple(dataclasses.replace(i, tags=frozenset()) for i in dataset),
    )
    run.train(untagged, recipe(tmp_path), tmp_path / "run", OneBox())
    assert all(np.isfinite(line["loss"]) for line in read_metrics(tmp_path / "run"))


def test_workers_change_nothing(tmp_path: Path, dataset: Dataset) -> None:
    for workers in (0, 2):
        settings = recipe(tmp_path, steps=2, workers=workers)
        run.train(dataset, settings, tmp_path / f"{workers}", FixedSupply())
    assert equal(weights_of(tmp_path / "0"), weights_of(tmp_path / "2"))


def test_an_unreadable_photo_stops_or_is_skipped(tmp_path: Path, dataset: Dataset) -> None:
    dataset[3].path.write_bytes(b"not a photo")
    with pytest.raises(InputError, match=r"3\.png"):
        run.train(dataset, recipe(tmp_path, workers=1), tmp_path / "run", FixedSupply())
    skipping = recipe(tmp_path)
    images = dataclasses.replace(skipping.images, unreadable="skip")
    skipping = dataclasses.replace(skipping, images=images)
    with pytest.warns(UserWarning, match=r"skipped.*3\.png"):
        run.train(dataset, skipping, tmp_path / "skipping", FixedSupply())


TWO = """
import dataclasses, os, sys, warnings
from pathlib import Path
import torch
from resume import FixedSupply, photos_in, tiny_recipe
from tag2box.training import run
warnings.simplefilter("ignore")
torch.set_num_threads(1)
folder, play = Path(sys.argv[1]), sys.argv[2]
recipe = tiny_recipe(folder)
training = dataclasses.replace(recipe.training, steps=3, images_per_step=4, workers=1)
game = dataclasses.replace(recipe.game, play=play)
recipe = dataclasses.replace(recipe, training=training, game=game)
name = f"run{os.environ.get('WORLD_SIZE', '1')}"
run.train(photos_in(folder / "photos"), recipe, folder / name, FixedSupply())
"""


@pytest.mark.slow
@pytest.mark.parametrize("play", ["one-pass", "alternating"])
def test_two_processes_learn_what_one_learns(tmp_path: Path, play: str) -> None:
    """Global batch 4: accumulated by one process, or shared and accumulated by two."""
    make_photos(tmp_path / "photos")
    script = tmp_path / "two.py"
    script.write_text(TWO)
    path = os.pathsep.join([str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    for launch in ([sys.executable], torchrun):
        done = subprocess.run(
            [*launch, script, tmp_path, play], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    one, two = weights_of(tmp_path / "run1"), weights_of(tmp_path / "run2")
    for name, value in one.items():
        scale = value.abs().max().clamp(min=1e-3)
        assert ((value - two[name]).abs().max() / scale) < 1e-6, name
    assert [line["step"] for line in read_metrics(tmp_path / "run2")] == [1, 2, 3]


@pytest.mark.slow
def test_killed_at_random_instants_the_bits_are_the_same() -> None:
    command = [sys.executable, ROOT / "benchmarks" / "resume.py", "--kills", "20"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["kills"] >= 20
    assert figures["unequal"] == 0
