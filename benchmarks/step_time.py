"""What Concrete DropBlock's game costs a training step.

    python benchmarks/step_time.py [--regions 2000] [--seconds 120] [--device cuda]

A step without the game, with the game in one pass, and with the reference's alternation, on VGG16
and ResNet-50-C4 with random weights, on one photo. The three take turns, so that whatever else the
machine does falls on all alike; the least of the rounds that fit in `--seconds` a backbone counts,
of which there is at least one. Where no number of regions is asked for it is 2000, but 250 for
ResNet on a CPU: 2000 times its stage 5 takes two cores minutes a step, and all that the game adds
is in proportion to the regions too. The last line is a JSON object.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from tag2box.learning.losses import losses
from tag2box.models.backbone import Backbone
from tag2box.models.concrete_dropblock import ConcreteDropBlock
from tag2box.models.detector import Detector
from tag2box.models.heads import Heads
from tag2box.models.regions import Regions, RoIMaxPool
from tag2box.models.resnet import resnet
from tag2box.models.vgg import vgg16
from tag2box.structures import TaggedImage
from tag2box.training.distributed import Processes, processes
from tag2box.training.game import Game
from tag2box.training.memory import Split
from tag2box.training.objective import Objective
from tag2box.training.player import player
from tag2box.training.samples import Sample
from tag2box.training.schedule import constant
from tag2box.training.views import View

CLASSES = 20
SHORT, LONG = 480, 640
BACKBONES: dict[str, Callable[[], Backbone]] = {
    "VGG16": vgg16,
    "ResNet-50-C4": partial(resnet, 50),
}
WAYS = ("plain", "one-pass", "alternating")
RATIOS = ("one-pass / plain", "alternating / plain")
SUB_BATCH = 250
"""Regions evaluated at once, where there are at least twice as many."""


def make_game(backbone: Backbone, way: str, regions: int, ours: Processes) -> Game:
    """A detector with random weights and its players, with the settings of the paper."""
    narrow = partial(ConcreteDropBlock, hidden_channels=32)  # as the settings have it
    adversary = None if way == "plain" else narrow(backbone.channels)
    pool = RoIMaxPool(backbone.pool_size, backbone.stride)
    neck = Regions(pool, backbone.neck, region_dropout=adversary)
    heads = Heads(backbone.dimension, CLASSES)
    detector = Detector(backbone.base, neck, heads, backbone.pixels).to(ours.device).train()
    moved = partial(
        player,
        optimizer="sgd",
        learning_rate=1e-4,
        bias_rate_factor=2.0,
        weight_decay=1e-4,
        momentum=0.9,
        schedule=constant(),
    )
    players = [moved(detector.learned_parameters().items())]
    if adversary is not None:
        players.append(moved(adversary.named_parameters(), direction=-0.01))
    split = Split(min(SUB_BATCH, regions // 2), 0)
    objective = Objective(detector, losses, ours.device, split)
    return Game(objective, tuple(players), ours, images_per_step=1, in_turns=way == "alternating")


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


def regions_for(name: str, device: torch.device) -> int:
    """How many regions a photo has, where nobody says."""
    return 250 if name.startswith("ResNet") and device.type == "cpu" else 2000


def measure(name: str, regions: int, limit: float, ours: Processes) -> dict[str, float]:
    """Least seconds of a step, by way."""
    torch.manual_seed(0)
    games = {way: make_game(BACKBONES[name](), way, regions, ours) for way in WAYS}
    sample = make_sample(regions)
    small = make_sample(50)
    for game in games.values():
        seconds_of(game, small, 0)  # the first step of a process allocates and chooses kernels
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    started, rounds = time.perf_counter(), 0
    while rounds == 0 or (time.perf_counter() - started) * (rounds + 1) / rounds <= limit:
        rounds += 1
        for way, game in games.items():
            times[way].append(seconds_of(game, sample, rounds))
    return {way: min(values) for way, values in times.items()}


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--regions", type=int)
    options.add_argument("--seconds", type=float, default=120, help="to measure a backbone for")
    options.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    asked = options.parse_args()
    print(f"{'backbone':>12} {'regions':>8}", *(f"{title:>20}" for title in [*WAYS, *RATIOS]))
    ratios: dict[str, tuple[float, float]] = {}
    regions: dict[str, int] = {}
    with processes(asked.device) as ours:
        for name in BACKBONES:
            regions[name] = asked.regions or regions_for(name, ours.device)
            seconds = measure(name, regions[name], asked.seconds, ours)
            ratios[name] = (
                seconds["one-pass"] / seconds["plain"],
                seconds["alternating"] / seconds["plain"],
            )
            times = (f"{seconds[way]:>18.3f} s" for way in WAYS)
            print(
                f"{name:>12} {regions[name]:>8}",
                *times,
                *(f"{ratio:>20.3f}" for ratio in ratios[name]),
            )
    print(
        json.dumps(
            {
                "regions": regions,
                "device": ours.device.type,
                "game_over_plain": round(max(game for game, _ in ratios.values()), 3),
                "alternating_over_plain": round(max(turns for _, turns in ratios.values()), 3),
                "by_backbone": ratios,
            }
        )
    )


if __name__ == "__main__":
    main()
