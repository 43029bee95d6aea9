"""A run: a folder that training fills and that a stopped run continues from.

`model.safetensors` and `recipe.toml` (written at the end), `checkpoints/`, `metrics.jsonl`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, count
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from tag2box.data.images import read_image
from tag2box.models.build import detector_from
from tag2box.models.trained import with_pixels, write_trained
from tag2box.proposals.supply import ProposalSupply
from tag2box.recipe import Recipe, TrainingSettings
from tag2box.structures import Dataset, TaggedImage
from tag2box.training.distributed import Processes, processes
from tag2box.training.dump import dump
from tag2box.training.feature_cache import FeatureCache
from tag2box.training.loop import Progress, run_steps
from tag2box.training.metrics import Log, told
from tag2box.training.players import build_game, check_settings, fitted
from tag2box.training.resume import Resume, newest_of, require_the_same, restore, save
from tag2box.training.samples import Sample, Samples, loaded_ahead
from tag2box.training.views import Views, indexes_of_step


def train(
    dataset: Dataset, recipe: Recipe, run: Path, supply: ProposalSupply, *, resume: Resume = "auto"
) -> bool:
    """Train on tags alone; the run folder then holds the detector. False if stopped by Ctrl-C.

    Args:
        dataset: photos and tags.
        recipe: all settings.
        run: folder of the run.
        supply: where proposals come from; missing ones are computed in the background.
        resume: `auto` goes on from the newest checkpoint in the folder; `never` refuses a folder
            that has one.
    """
    check_settings(recipe.training)
    with processes(recipe.training.device) as ours:
        settings = fitted(recipe.training, ours)
        torch.manual_seed(settings.seed)
        detector = detector_from(recipe.model, recipe.dropout, len(dataset.class_names))
        recipe = dataclasses.replace(
            recipe,
            training=settings,
            model=with_pixels(recipe.model, detector.pixels),
            reading=dataclasses.replace(recipe.reading, classes=dataset.class_names),
        )
        game = build_game(detector.to(ours.device).train(), recipe, ours)
        newest = newest_of(run, recipe, dataset, resume)
        first = 0 if newest is None else restore(game, newest)
        require_the_same(ours.each(first), run)
        if settings.compile:
            detector.base.compile()
            detector.heads.compile()
        samples = build_samples(dataset, recipe, game.objective.cache, supply)
        with supply.filling(dataset.images), _log(run, settings, ours, first) as log:
            finished = run_steps(
                game,
                stream(samples, settings, ours, first),
                first=first,
                last=settings.steps,
                save=partial(save, run, game, recipe, dataset),
                save_every=settings.checkpoint_every,
                log=log,
                non_finite=settings.non_finite,
                dump=partial(dump, run, game.objective),
                skipped=0 if newest is None else newest.state["skipped"],
            )
        if finished and ours.writes:
            write_trained(run, detector, recipe)
        ours.wait()
    return finished


def build_samples(
    dataset: Dataset, recipe: Recipe, cache: FeatureCache | None, supply: ProposalSupply
) -> Samples:
    """The views of the data set that the settings ask for."""
    settings = recipe.training
    views = Views(
        images=len(dataset),
        short_sides=settings.short_sides,
        mirror=settings.mirror,
        seed=settings.seed,
    )
    return Samples(
        dataset,
        views,
        read=partial(_read, max_megapixels=recipe.images.max_megapixels),
        propose=partial(_propose, supply),
        long_side=settings.long_side,
        light=settings.light,
        cache=cache,
        skip_unreadable=recipe.images.unreadable == "skip",
    )


def stream(
    samples: Samples, settings: TrainingSettings, ours: Processes, first: int
) -> Iterator[Sample]:
    """This process's samples from step `first` on, without end."""
    steps = (
        indexes_of_step(step, settings.images_per_step, ours.rank, ours.count)
        for step in count(first)
    )
    return loaded_ahead(samples, chain.from_iterable(steps), settings.workers)


@contextmanager
def _log(run: Path, settings: TrainingSettings, ours: Processes, first: int) -> Iterator[Log]:
    """What the writing process tells; the others are silent."""
    if not ours.writes:
        yield _say_nothing
        return
    every, last = settings.log_every, settings.steps
    with told(run, first=first, last=last, every=every, device=ours.device) as log:
        yield log


def _say_nothing(_: Progress) -> None:
    pass


def _read(photo: TaggedImage, *, max_megapixels: float) -> npt.NDArray[np.uint8]:
    return read_image(photo.path, max_megapixels=max_megapixels)


def _propose(supply: ProposalSupply, photo: TaggedImage) -> npt.NDArray[np.float32]:
    return supply.get(photo).boxes
