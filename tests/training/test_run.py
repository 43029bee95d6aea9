"""A whole run, small: it ends, it goes on, it is the same on two processes as on one."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch

from resume import FixedSupply, equal, make_photos, tiny_recipe
from tag2box.errors import InputError
from tag2box.models.trained import read_trained
from tag2box.recipe import GameSettings, Recipe
from tag2box.structures import Dataset
from tag2box.training import checkpoint, run
from tag2box.training.metrics import read_metrics
from tag2box.training.resume import require_the_same

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


def test_machines_that_see_other_checkpoints_are_refused(tmp_path: Path) -> None:
    require_the_same([4, 4], tmp_path)
    with pytest.raises(InputError, match=r"other machines.*\['0', '4'\].*that all machines share"):
        require_the_same([4, 0], tmp_path)


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
    counts = [line["skipped"] for line in read_metrics(tmp_path / "skipping")]
    assert counts[-1] > 0
    longer = dataclasses.replace(skipping.training, steps=42)
    skipping = dataclasses.replace(skipping, training=longer)
    run.train(dataset, skipping, tmp_path / "skipping", FixedSupply())  # goes on counting
    assert [line["skipped"] for line in read_metrics(tmp_path / "skipping")] == [
        *counts,
        counts[-1] + 1,
        counts[-1] + 2,
    ]


@pytest.mark.parametrize("count", [0, 1, 6])
def test_few_regions_and_no_tags_train(tmp_path: Path, dataset: Dataset, count: int) -> None:
    class FewBoxes(FixedSupply):
        def get(self, image: Any) -> Any:
            return super().get(image)[:count]

    untagged = dataclasses.replace(
        dataset,
        images=tuple(dataclasses.replace(i, tags=frozenset()) for i in dataset),
    )
    for name, photos in (("tagged", dataset), ("untagged", untagged)):
        run.train(photos, recipe(tmp_path), tmp_path / name, FewBoxes())
        assert all(np.isfinite(line["loss"]) for line in read_metrics(tmp_path / name))


def test_workers_change_nothing(tmp_path: Path, dataset: Dataset) -> None:
    for workers in (0, 2):
        settings = recipe(tmp_path, steps=2, workers=workers)
        run.train(dataset, settings, tmp_path / f"{workers}", FixedSupply())
    assert equal(weights_of(tmp_path / "0"), weights_of(tmp_path / "2"))


def test_an_unreadable_photo_stops_or_is_skipped(tmp_path: Path, dataset: Dataset) -> None:
    for number in (3, 4):
        dataset[number].path.write_bytes(b"not a photo")
    with pytest.raises(InputError, match=r"[34]\.png"):
        run.train(dataset, recipe(tmp_path, workers=1), tmp_path / "run", FixedSupply())
    skipping = recipe(tmp_path)
    images = dataclasses.replace(skipping.images, unreadable="skip")
    skipping = dataclasses.replace(skipping, images=images)
    with pytest.warns(UserWarning, match=r"skipped.*4\.png"):
        run.train(dataset, skipping, tmp_path / "skipping", FixedSupply())


SCRIPT = """
import dataclasses, os, sys, warnings
from pathlib import Path
import torch
from resume import FixedSupply, photos_in, tiny_recipe
from tag2box.training import run
warnings.simplefilter("ignore")
torch.set_num_threads(1)
folder, play, steps, name = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
recipe = tiny_recipe(folder)
training = dataclasses.replace(
    recipe.training, steps=steps, images_per_step=4, workers=1, checkpoint_every=2
)
game = dataclasses.replace(recipe.game, play=play)
recipe = dataclasses.replace(recipe, training=training, game=game)
finished = run.train(photos_in(folder / "photos"), recipe, folder / name, FixedSupply())
sys.exit(0 if finished else 130)
"""
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


def start(
    folder: Path, *how: str, play: str = "one-pass", steps: int = 3, name: str = "run"
) -> subprocess.Popen[str]:
    """A run in processes of its own, as a terminal starts them."""
    script = folder / "script.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, *how, script, folder, play, str(steps), name],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_checkpoint(folder: Path, running: subprocess.Popen[str]) -> None:
    while running.poll() is None and not list(folder.glob("checkpoints/0*")):
        time.sleep(0.05)
    assert running.poll() is None, running.stderr and running.stderr.read()


@pytest.mark.slow
@pytest.mark.parametrize("play", ["one-pass", "alternating"])
def test_two_processes_learn_what_one_learns(tmp_path: Path, play: str) -> None:
    """Global batch 4: accumulated by one process, or shared and accumulated by two."""
    make_photos(tmp_path / "photos")
    for name, how in (("one", ()), ("two", TORCHRUN)):
        running = start(tmp_path, *how, play=play, name=name)
        _, said = running.communicate()
        assert running.returncode == 0, said
    one, two = weights_of(tmp_path / "one"), weights_of(tmp_path / "two")
    for name, value in one.items():
        scale = value.abs().max().clamp(min=1e-3)
        assert ((value - two[name]).abs().max() / scale) < 1e-6, name
    assert [line["step"] for line in read_metrics(tmp_path / "two")] == [1, 2, 3]


@pytest.mark.slow
def test_a_process_that_dies_ends_the_run_which_can_go_on(tmp_path: Path) -> None:
    make_photos(tmp_path / "photos")
    running = start(tmp_path, *TORCHRUN, steps=100_000)
    wait_for_checkpoint(tmp_path / "run", running)
    ranks = psutil.Process(running.pid).children()
    ranks[-1].kill()
    _, said = running.communicate(timeout=120)
    assert running.returncode != 0
    assert "SIGKILL" in said
    assert not any(rank.is_running() for rank in ranks)
    newest = checkpoint.load_newest(tmp_path / "run")
    assert newest is not None
    running = start(tmp_path, *TORCHRUN, steps=newest.step + 2)
    _, said = running.communicate()
    assert running.returncode == 0, said


@pytest.mark.slow
@pytest.mark.parametrize("how", [(), TORCHRUN], ids=["alone", "two processes"])
def test_control_c_in_a_terminal_saves(tmp_path: Path, how: tuple[str, ...]) -> None:
    """The signal reaches every process at once, those that prepare photos too."""
    make_photos(tmp_path / "photos")
    running = start(tmp_path, *how, steps=100_000)
    wait_for_checkpoint(tmp_path / "run", running)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=120)
    assert running.returncode != 0
    assert "waited for photos" in said
    newest = checkpoint.load_newest(tmp_path / "run")
    assert newest is not None
    assert len(read_metrics(tmp_path / "run")) == newest.step  # nothing done was lost


@pytest.mark.slow
def test_killed_at_random_instants_the_bits_are_the_same() -> None:
    command = [sys.executable, ROOT / "benchmarks" / "resume.py", "--kills", "20"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["kills"] >= 20
    assert figures["unequal"] == 0
