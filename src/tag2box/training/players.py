"""The two players of Eq. 5 and their game, from settings."""

from __future__ import annotations

import dataclasses
import math
import warnings
from functools import partial

import torch

from tag2box.errors import InputError
from tag2box.learning.losses import losses
from tag2box.learning.mining import build_miner
from tag2box.models.detector import Detector
from tag2box.proposals.cache import Store
from tag2box.proposals.supply import default_cache
from tag2box.recipe import Recipe, TrainingSettings
from tag2box.training import schedule
from tag2box.training.distributed import Processes
from tag2box.training.feature_cache import FeatureCache, fingerprint
from tag2box.training.game import Game
from tag2box.training.memory import Split
from tag2box.training.objective import Losses, Objective, frozen_part
from tag2box.training.player import Player, player
from tag2box.training.schedule import Schedule


def check_settings(settings: TrainingSettings) -> None:
    """Raise `InputError` for a number that makes no sense."""
    batch = settings.regions_per_batch
    for name, number, least in (
        ("steps", settings.steps, 1),
        ("images_per_step", settings.images_per_step, 1),
        ("linear_rule_images", settings.linear_rule_images, 1),
        ("short_sides", min(settings.short_sides, default=0), 1),
        ("long_side", settings.long_side, 1),
        ("regions_per_batch", 1 if batch == "auto" else batch, 1),
        ("kept_regions", settings.kept_regions, 0),
        ("workers", settings.workers, 0),
        ("checkpoint_every", settings.checkpoint_every, 1),
        ("keep_checkpoints", settings.keep_checkpoints, 1),
        ("log_every", settings.log_every, 1),
    ):
        if number < least:
            raise InputError(f"training.{name}", f"is {number}", f"give at least {least}")


def fitted(settings: TrainingSettings, ours: Processes) -> TrainingSettings:
    """The same settings with a number of photos a step that the processes can share evenly."""
    shared = math.ceil(settings.images_per_step / ours.count) * ours.count
    factor = shared / settings.linear_rule_images
    if ours.writes and shared != settings.images_per_step:
        warnings.warn(
            f"{settings.images_per_step} photos a step cannot be shared by {ours.count} processes: "
            f"taking {shared}.",
            stacklevel=2,
        )
    if ours.writes and factor != 1:
        warnings.warn(
            f"learning rates are meant for {settings.linear_rule_images} photos a step and are "
            f"multiplied by {factor:g} for {shared} (linear rule).",
            stacklevel=2,
        )
    return dataclasses.replace(settings, images_per_step=shared)


def build_game(detector: Detector, recipe: Recipe, ours: Processes) -> Game:
    """The detector and, where it has Concrete DropBlock, the adversary, ready to play."""
    settings = recipe.training
    players = [_learner(detector, settings)]
    if detector.adversary_parameters():
        players.append(_adversary(detector, recipe))
    return Game(
        objective=build_objective(detector, recipe, ours.device),
        players=tuple(players),
        processes=ours,
        images_per_step=settings.images_per_step,
        in_turns=recipe.game.play == "alternating",
    )


def build_objective(detector: Detector, recipe: Recipe, device: torch.device) -> Objective:
    """The losses of a sample under the settings."""
    settings = recipe.training
    return Objective(
        detector,
        build_losses(recipe),
        device,
        split=None
        if settings.regions_per_batch == "auto"
        else Split(settings.regions_per_batch, settings.kept_regions),
        precision=getattr(torch, settings.precision),
        recompute_base=settings.recompute_base,
        cache=build_feature_cache(detector, recipe),
    )


def build_losses(recipe: Recipe) -> Losses:
    """Mining and losses of the settings."""
    miner = build_miner(**vars(recipe.mining))
    return partial(losses, mine=miner, **vars(recipe.losses))


def build_feature_cache(detector: Detector, recipe: Recipe) -> FeatureCache | None:
    """The store of what never changes; None where everything learns or every view is lit anew."""
    settings = recipe.training
    frozen = frozen_part(detector)
    if frozen == "nothing" or settings.light or not settings.feature_cache_gigabytes:
        return None
    networks = torch.nn.ModuleList(
        [detector.base] if frozen == "base" else [detector.base, detector.neck]
    )
    headless = dataclasses.replace(recipe.model, students=0, regression=False)
    return FeatureCache(
        Store(settings.feature_cache or default_cache().with_name("features")),
        fingerprint(networks, headless, settings.long_side, settings.precision),
        of_regions=frozen == "base and neck",
        limit=int(settings.feature_cache_gigabytes * 1e9),
    )


def _learner(detector: Detector, settings: TrainingSettings) -> Player:
    return player(
        detector.learned_parameters().items(),
        optimizer=settings.optimizer,
        learning_rate=settings.learning_rate * _linear_rule(settings),
        bias_rate_factor=settings.bias_rate_factor,
        weight_decay=settings.weight_decay,
        momentum=settings.momentum,
        schedule=_warmed_up(_falling(settings), settings),
        clip=settings.clip_gradient,
    )


def _adversary(detector: Detector, recipe: Recipe) -> Player:
    """Concrete DropBlock: its rate grows where the detector's falls, as in the reference."""
    assert detector.neck.region_dropout is not None
    settings, game = recipe.training, recipe.game
    growing = (
        schedule.stepped(settings.decay_at, game.growth)
        if settings.schedule == "step"
        else schedule.constant()
    )
    return player(
        detector.neck.region_dropout.named_parameters(),
        optimizer="sgd",
        learning_rate=game.learning_rate * _linear_rule(settings),
        bias_rate_factor=settings.bias_rate_factor,
        weight_decay=game.weight_decay,
        momentum=game.momentum,
        schedule=_warmed_up(growing, settings),
        direction=-game.weight,
    )


def _linear_rule(settings: TrainingSettings) -> float:
    """Learning rates go in proportion to the photos a step averages over."""
    return settings.images_per_step / settings.linear_rule_images


def _falling(settings: TrainingSettings) -> Schedule:
    match settings.schedule:
        case "step":
            return schedule.stepped(settings.decay_at, settings.decay_by)
        case "cosine":
            return schedule.cosine(settings.steps)
        case "constant":
            return schedule.constant()


def _warmed_up(rate: Schedule, settings: TrainingSettings) -> Schedule:
    return schedule.warmed_up(rate, steps=settings.warm_up_steps, start=settings.warm_up_start)
