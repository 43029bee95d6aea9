"""Going on exactly where a run stopped.

What a step depends on is the weights, the optimisers and its number: views, noise and order are
functions of the seed and the number, so there is no generator state to keep.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tag2box.errors import InputError
from tag2box.recipe import Recipe
from tag2box.recipe_file import settings_to_plain
from tag2box.structures import Dataset
from tag2box.training import checkpoint
from tag2box.training.checkpoint import Checkpoint
from tag2box.training.game import Game

Resume = Literal["auto", "never"]

SECTIONS = ("images", "proposals", "model", "dropout", "mining", "losses", "training", "game")
"""Sections of the recipe that training depends on; the data has a fingerprint of its own."""
FREE = {
    *("training.steps", "training.workers", "training.device", "training.log_every"),
    *("training.checkpoint_every", "training.keep_checkpoints", "training.non_finite"),
    *("training.feature_cache", "training.feature_cache_gigabytes", "training.compile"),
    *("proposals.cache", "proposals.processes", "images.unreadable"),
}
"""Settings that may differ between a run and its continuation."""


def save(run: Path, game: Game, recipe: Recipe, dataset: Dataset, step: int, skipped: int) -> None:
    """Write a checkpoint after so many steps, on the one process that writes."""
    regions_per_batch = game.processes.each(game.objective.regions_per_batch)
    if game.processes.writes:
        state = {
            "optimizers": [player.optimizer.state_dict() for player in game.players],
            "bytes_per_region": game.objective.bytes_per_region,
            "regions_per_batch": regions_per_batch,
            "skipped": skipped,
            "recipe": json.dumps(_decisive(recipe)),
            "data": data_fingerprint(dataset),
        }
        weights = game.objective.detector.state_dict()
        checkpoint.save(
            run, Checkpoint(step, weights, state), keep=recipe.training.keep_checkpoints
        )
    game.processes.wait()


def newest_of(run: Path, recipe: Recipe, dataset: Dataset, resume: Resume) -> Checkpoint | None:
    """The checkpoint to go on from; an error if it is of another recipe or other data."""
    newest = checkpoint.load_newest(run)
    if newest is None:
        return None
    if resume == "never":
        raise InputError(run, "holds a run already", "name another folder, or resume auto")
    before = json.loads(newest.state["recipe"])
    now = json.loads(json.dumps(_decisive(recipe)))
    for key in sorted(before.keys() | now.keys()):
        if before.get(key) != now.get(key):
            raise InputError(
                run,
                f"was begun with {key} = {before.get(key)!r}, which is now {now.get(key)!r}",
                "set it back, or name another folder",
            )
    if newest.state["data"] != data_fingerprint(dataset):
        raise InputError(run, "was begun on other photos or tags", "name another folder")
    return newest


def restore(game: Game, newest: Checkpoint) -> int:
    """Put everything back as it was; returns the steps done."""
    game.objective.detector.load_state_dict(dict(newest.weights))
    game.objective.bytes_per_region = newest.state["bytes_per_region"]
    chosen = newest.state["regions_per_batch"]
    game.objective.regions_per_batch = chosen[game.processes.rank % len(chosen)]
    for player, state in zip(game.players, newest.state["optimizers"], strict=True):
        player.optimizer.load_state_dict(state)
    return newest.step


def require_the_same(steps: Sequence[int | None], run: Path) -> None:
    """Raise `InputError` unless every process goes on from the same step."""
    if len(set(steps)) > 1:
        raise InputError(
            run,
            f"holds other checkpoints on other machines (steps {sorted(map(str, set(steps)))})",
            "name a folder that all machines share",
        )


def data_fingerprint(dataset: Dataset) -> str:
    """Changes when a photo is added, left out, or tagged otherwise."""
    digest = hashlib.sha256(repr(dataset.class_names).encode())
    for image in dataset:
        digest.update(f"{image.id}\0{sorted(image.tags)}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _decisive(recipe: Recipe) -> dict[str, Any]:
    """By their full name, the settings that another run must share to be the same run."""
    plain = settings_to_plain(recipe)
    named = {f"{part}.{key}": value for part in SECTIONS for key, value in plain[part].items()}
    return {key: value for key, value in named.items() if key not in FREE}
