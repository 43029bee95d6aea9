"""Where the time of the laptop recipe goes, phase by phase, and what the largest savings save.

    python benchmarks/phases.py [--data VOC-LAYOUT] [--photos 16] [--write docs/results.md]

One core, one photo after the other: decoding and resizing, proposals, features of the frozen base,
steps of training on kept features, looking, scoring. The second table takes one saving back at a
time, side by side in one run: how much longer a step takes without it. Without `--data` the photos
are those of ../shared/voc-mini, where they are, else generated scenes. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torchvision.ops import roi_align

from ablation import PHOTOS, machine
from pages import put_section
from tag2box.data.images import read_image
from tag2box.data.reading import read_dataset
from tag2box.data.scene_files import write_scenes
from tag2box.data.transforms import resize, resized_shape
from tag2box.evaluation.ground_truth import read_ground_truth
from tag2box.evaluation.voc import average_precision
from tag2box.inference.merging import merge
from tag2box.inference.scores import class_boxes, class_scores
from tag2box.models import bags, context
from tag2box.models.build import detector_from
from tag2box.models.detector import Detector
from tag2box.proposals.sources import source_named
from tag2box.proposals.supply import open_supply
from tag2box.recipe import ReadingSettings, Recipe
from tag2box.recipe_file import recipe_named
from tag2box.structures import Dataset, Detections, TaggedImage
from tag2box.training.distributed import processes
from tag2box.training.game import Game
from tag2box.training.players import build_game
from tag2box.training.run import build_samples
from tag2box.training.samples import Sample

ROUNDS = 3
PHOTOS_OF_A_RUN = 640
TRAINING = recipe_named("laptop").training
LOOKS = {
    "decoding": 2 * PHOTOS_OF_A_RUN,  # plain and mirrored
    "proposals": PHOTOS_OF_A_RUN,
    "features": 2 * PHOTOS_OF_A_RUN,
    "step": TRAINING.steps * TRAINING.images_per_step,
    "looking": PHOTOS_OF_A_RUN,
    "scoring": PHOTOS_OF_A_RUN,
}
"""How often each is done in a run of the recipe, features being kept."""


def main() -> None:
    """Measure on some photos, print both tables."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--data", type=Path, default=PHOTOS)
    options.add_argument("--photos", type=int, default=16)
    options.add_argument("--write", type=Path, help="page whose section is replaced")
    asked = options.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        data = asked.data
        if not data.is_dir():
            data = Path(name) / "scenes"
            write_scenes(data, train=asked.photos, val=1, width=500, height=375)
        phases, without = measured(data, asked.photos, Path(name))
    minutes = {phase: seconds * LOOKS[phase] / 60 for phase, seconds in phases.items()}
    source = f"{asked.photos} photos of {asked.data.name if asked.data.is_dir() else 'scenes'}"
    told = report(source, phases, minutes, without)
    print(told)
    if asked.write:
        command = "`python benchmarks/phases.py --write docs/results.md`"
        put_section(asked.write, "Where the time goes", f"{command}\n\n```text\n{told}\n```")
    figures = {
        "photos_per_second": {name: round(1 / seconds, 2) for name, seconds in phases.items()},
        "minutes": {name: round(value, 2) for name, value in minutes.items()},
        "times_as_long_without": {
            name: round(seconds / without["with all"], 2) for name, seconds in without.items()
        },
    }
    print(json.dumps(figures))


def measured(data: Path, count: int, scratch: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds a photo of each phase; seconds of a step without each saving."""
    reading = ReadingSettings(split="train")
    dataset = read_dataset([data], reading)
    photos = Dataset(dataset.class_names, dataset.images[:count])
    recipe = recipe_named("laptop")
    recipe = replace(
        recipe,
        proposals=replace(recipe.proposals, cache=scratch / "proposals"),
        training=replace(recipe.training, feature_cache=scratch / "features", mirror=False),
    )
    detector = detector_from(recipe.model, recipe.dropout, len(photos.class_names))
    supply = open_supply(recipe.proposals)
    supply.fill(photos.images, progress=False)
    with processes("cpu") as ours:
        game = build_game(detector.train(), recipe, ours)
        samples = build_samples(photos, recipe, game.objective.cache, supply)
        seen = [samples[i] for i in range(len(photos))]
        for sample in seen:
            game.objective(sample)
        kept = [samples[i] for i in range(len(photos))]
        phases = {
            "decoding": each(lambda one: decoded(one, recipe), photos.images),
            "proposals": each(proposing(recipe), photos.images),
            "features": each(lambda one: base(detector, one), seen),
            "step": step(game, kept),
            "looking": each(lambda one: look(detector.eval(), one), kept),
            "scoring": scoring(data, reading, [look(detector, one) for one in kept]),
        }
        detector.train()
        return phases, savings(game, seen, kept)


def each(task: Callable[[Any], object], items: Sequence[Any]) -> float:
    """Seconds an item, after a first one that loads and compiles."""
    task(items[0])
    started = time.perf_counter()
    for item in items:
        task(item)
    return (time.perf_counter() - started) / len(items)


def decoded(photo: TaggedImage, recipe: Recipe) -> object:
    """Read and resized for training."""
    pixels = read_image(photo.path, max_megapixels=recipe.images.max_megapixels)
    settings = recipe.training
    shape = resized_shape(*pixels.shape[:2], settings.short_sides[0], settings.long_side)
    return resize(pixels, *shape)


def proposing(recipe: Recipe) -> Callable[[TaggedImage], object]:
    """The source of the recipe, reading included."""
    settings = recipe.proposals
    source = source_named(settings.source, mode=settings.mode, seed=settings.rank_seed)
    most = recipe.images.max_megapixels
    return lambda photo: source.packed_boxes(photo.path, max_megapixels=most)


@torch.no_grad()
def base(detector: Detector, sample: Sample) -> Tensor:
    """Features of the frozen base."""
    assert sample.image is not None
    features: Tensor = detector.base(detector.pixels.normalise(sample.image))
    return features


@torch.no_grad()
def look(detector: Detector, sample: Sample) -> Detections:
    """Boxes from kept features."""
    assert sample.features is not None
    neck = detector.neck(sample.features, sample.boxes)
    outputs = detector.outputs(sample.features, sample.boxes, neck)
    width, height = sample.photo_size
    names = [str(c) for c in range(outputs.class_logits.shape[1] - 1)]
    found = class_boxes(outputs, sample.boxes, width=width, height=height)
    return merge(class_scores(outputs), found, class_names=names, image_id=sample.photo.id)


def scoring(data: Path, reading: ReadingSettings, found: Sequence[Detections]) -> float:
    """Of a photo, among those looked at."""
    truth = read_ground_truth([data], reading)
    named = [replace(one, class_names=truth.class_names) for one in found]
    started = time.perf_counter()
    average_precision(truth, named)
    return (time.perf_counter() - started) / len(named)


def step(game: Game, samples: Sequence[Sample]) -> float:
    """Least seconds of a photo's part of a step."""
    batch, least = samples[: game.images_per_step], float("inf")
    game.step(batch, 0)
    for number in range(ROUNDS):
        started = time.perf_counter()
        game.step(batch, number)
        least = min(least, time.perf_counter() - started)
    return least / len(batch)


def savings(game: Game, seen: Sequence[Sample], kept: Sequence[Sample]) -> dict[str, float]:
    """Seconds of a photo's part of a step: with all savings, then without one of them each."""
    uncached = without_cache(game)
    found = {"with all": step(game, kept), "features computed each time": step(uncached, seen)}
    with patch.object(bags, "align", rows_by_channel):
        found["cells by RoI align"] = step(game, kept)
    with patch.object(context, "sum_in", sums_by_samples):
        found["means by RoI align"] = step(game, kept)
    return found


def without_cache(game: Game) -> Game:
    """The same game, which keeps no features."""
    objective = game.objective
    bare = type(objective)(
        objective.detector, objective.losses, objective.device, objective.split, cache=None
    )
    return replace(game, objective=bare)


def rows_by_channel(features: Tensor, boxes: Tensor, size: int, scale: float, samples: int) -> Any:
    """Torchvision's RoI align."""
    return roi_align(features, [boxes], size, scale, samples, aligned=True)


def sums_by_samples(maps: Tensor, boxes: Tensor) -> Tensor:
    """Sums over boxes by sampling every cell."""
    means: Tensor = roi_align(maps, [boxes], 1, 1.0, 0, aligned=True)
    return means.flatten(1) * context.area(boxes)[:, None]


def report(
    source: str, phases: dict[str, float], minutes: dict[str, float], without: dict[str, float]
) -> str:
    """Both tables."""
    lines = [
        f"{source}, one thread; {machine()}",
        f"{'phase':>10} {'photos/s':>10} {f'looks, {PHOTOS_OF_A_RUN} photos':>18} {'minutes':>9}",
    ]
    for phase, seconds in phases.items():
        lines.append(f"{phase:>10} {1 / seconds:10.1f} {LOOKS[phase]:18} {minutes[phase]:9.2f}")
    lines += ["", f"{'a step':>30} {'s a photo':>10} {'times as long':>14}"]
    for name, seconds in without.items():
        lines.append(f"{name:>30} {seconds:10.3f} {seconds / without['with all']:14.1f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
