"""What Concrete DropBlock's game costs a training step.

    python benchmarks/step_time.py [--regions 2000] [--repeats 2] [--device cuda]

A step without the game, with the game in one pass, and with the reference's alternation, on VGG16
and ResNet-50-C4 with random weights, on one photo. The three take turns, so that whatever else the
machine does falls on all alike; the least of the repeats counts. The last line is a JSON object.
"""

import argparse
import json
import time
import warnings
from dataclasses import replace

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from tag2box.models.build import detector_from
from tag2box.recipe import DropoutSettings, GameSettings, ModelSettings, Recipe, TrainingSettings
from tag2box.structures import TaggedImage
from tag2box.training.distributed import Processes, processes
from tag2box.training.game import Game
from tag2box.training.players import build_game
from tag2box.training.samples import Sample
from tag2box.training.views import View

CLASSES = 20
SHORT, LONG = 480, 640
BACKBONES = {"VGG16": "vgg16", "ResNet-50-C4": "resnet50"}
WAYS = ("plain", "one-pass", "alternating")


def make_game(backbone: str, way: str, ours: Processes) -> Game:
    """A detector with random weights and its players."""
    recipe = Recipe(
        model=ModelSettings(backbone=backbone, weights="none"),
        dropout=DropoutSettings(kind="none" if way == "plain" else "concrete"),
        game=GameSettings(play="alternating" if way == "alternating" else "one-pass"),
        training=TrainingSettings(
            images_per_step=1, linear_rule_images=1, regions_per_batch=250, learning_rate=1e-4
        ),
    )
    torch.manual_seed(0)
    detector = detector_from(recipe.model, recipe.dropout, CLASSES)
    return build_game(detector.to(ours.device).train(), recipe, ours)


def make_sample(regions: int) -> Sample:
    """Noise, with boxes of the sizes selective search gives."""
    random = np.random.default_rng(0)
    sides = np.exp(random.uniform(np.log(24), np.log(400), (regions, 2)))
    corners = random.random((regions, 2)) * np.clip([LONG, SHORT] - sides, 1, None)
    boxes = np.concatenate([corners, np.minimum(corners + sides, [LONG, SHORT])], axis=1)
    photo = TaggedImage(id="noise", path=None, tags=frozenset({0, 1}))  # type: ignore[arg-type]
    return Sample(
        view=View(index=0, image=0, short_side=SHORT, mirrored=False, seed=0),
        photo=photo,
        photo_size=(LONG, SHORT),
        boxes=torch.from_numpy(boxes.astype(np.float32)),
        image=torch.from_numpy(random.integers(0, 256, (3, SHORT, LONG)).astype(np.uint8)),
        features=None,
        cache_key=None,
    )


def seconds_of(game: Game, sample: Sample, step: int) -> float:
    """One step, to the end of it."""
    started = time.perf_counter()
    game.step([replace(sample, view=replace(sample.view, seed=step))], step)
    if game.objective.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started


def measure(backbone: str, regions: int, repeats: int, ours: Processes) -> dict[str, float]:
    """Least seconds of a step, by way."""
    games = {way: make_game(backbone, way, ours) for way in WAYS}
    sample = make_sample(regions)
    small = make_sample(50)
    for game in games.values():
        seconds_of(game, small, 0)  # the first step of a process allocates and chooses kernels
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for step in range(1, repeats + 1):
        for way, game in games.items():
            times[way].append(seconds_of(game, sample, step))
    return {way: min(values) for way, values in times.items()}


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--regions", type=int, default=2000)
    options.add_argument("--repeats", type=int, default=2)
    options.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    table = Table("backbone", *(f"{way}, s" for way in WAYS), "game / plain", "alternating / plain")
    ratios: dict[str, tuple[float, float]] = {}
    with processes(asked.device) as ours:
        for name, backbone in BACKBONES.items():
            seconds = measure(backbone, asked.regions, asked.repeats, ours)
            ratios[name] = (
                seconds["one-pass"] / seconds["plain"],
                seconds["alternating"] / seconds["plain"],
            )
            cells = [f"{seconds[way]:.2f}" for way in WAYS]
            table.add_row(name, *cells, *(f"{ratio:.3f}" for ratio in ratios[name]))
    Console().print(table)
    print(
        json.dumps(
            {
                "regions": asked.regions,
                "device": ours.device.type,
                "game_over_plain": round(max(game for game, _ in ratios.values()), 3),
                "alternating_over_plain": round(max(turns for _, turns in ratios.values()), 3),
                "by_backbone": ratios,
            }
        )
    )


if __name__ == "__main__":
    main()
