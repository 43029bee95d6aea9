"""The same global batch gives the same gradients on one process as on two, with the game on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from resume import make_photos

ROOT = Path(__file__).parents[2]
SCRIPT = """
import dataclasses, sys, warnings
from pathlib import Path
import torch
from resume import FixedSupply, photos_in, tiny_recipe
from tag2box.models.build import detector_from
from tag2box.models.pixels import PixelStatistics
from tag2box.training.distributed import processes
from tag2box.training.players import build_game
from tag2box.training.run import build_samples
from tag2box.training.views import indexes_of_step

warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.manual_seed(0)
folder, name = Path(sys.argv[1]), sys.argv[2]
dataset, recipe = photos_in(folder / "photos"), tiny_recipe(folder)
training = dataclasses.replace(recipe.training, images_per_step=4)
recipe = dataclasses.replace(recipe, training=training)
normalise = PixelStatistics.normalise
PixelStatistics.normalise = lambda self, image: normalise(self, image).double()
detector = detector_from(recipe.model, recipe.dropout, 2).double().train()
for parameter in (*detector.heads.parameters(), *detector.neck.neck.parameters()):
    torch.nn.init.normal_(parameter, std=0.3)
with processes("cpu") as ours:
    game = build_game(detector, recipe, ours)
    samples = build_samples(dataset, recipe, None, FixedSupply())
    share = [samples[i] for i in indexes_of_step(0, 4, ours.rank, ours.count)]
    game.gather(share, game.players)
    if ours.writes:
        gradients = {n: p.grad for n, p in detector.named_parameters() if p.grad is not None}
        torch.save(gradients, folder / name)
"""
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


@pytest.mark.slow
def test_two_processes_gather_what_one_gathers(tmp_path: Path) -> None:
    make_photos(tmp_path / "photos")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")])
    for name, how in (("one", ()), ("two", TORCHRUN)):
        subprocess.run(
            [sys.executable, *how, script, tmp_path, name],
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            check=True,
        )
    one, two = (torch.load(tmp_path / name, weights_only=True) for name in ("one", "two"))
    assert any(name.startswith("neck.region_dropout") for name in one)
    assert any(name.startswith("base") for name in one)
    assert one.keys() == two.keys()
    for name, gradient in one.items():
        torch.testing.assert_close(two[name], gradient, rtol=1e-6, atol=1e-14, msg=name)
