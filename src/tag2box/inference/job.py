"""Looking at many photos: shared by several processes, streamed to disk, continued after a stop."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tag2box.errors import InputError
from tag2box.inference.passes import passes_of
from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.inference.predictor import Predictor
from tag2box.inference.streaming import Stream
from tag2box.models.detector import Detector
from tag2box.models.trained import WEIGHTS
from tag2box.proposals.supply import ProposalSupply
from tag2box.recipe import InferenceSettings, MergingSettings, ProposalSettings, Recipe
from tag2box.recipe_file import settings_to_plain
from tag2box.structures import TaggedImage
from tag2box.training.distributed import Processes


def predictor_from(
    detector: Detector,
    trained: Recipe,
    supply: ProposalSupply,
    *,
    inference: InferenceSettings,
    merging: MergingSettings,
    gate: bool,
    max_megapixels: float = 200.0,
    unreadable: Literal["stop", "skip"] = "stop",
    device: torch.device | None = None,
) -> Predictor:
    """The predictor that the settings describe.

    Args:
        detector: as `read_trained` gives it.
        trained: the recipe beside it; names the classes and the sizes trained with.
        supply: of proposals.
        inference: how to look.
        merging: which boxes remain.
        gate: whether tags decide on the classes, as `label` wants it.
        max_megapixels: larger photos are refused.
        unreadable: what to do with a photo that cannot be read.
        device: where to compute; the CPU when not named.
    """
    check_settings(inference, merging)
    place = device or torch.device("cpu")
    return Predictor(
        detector=detector.to(place).eval(),
        class_names=tuple(trained.reading.classes),
        supply=supply,
        passes=passes_of(
            inference.short_sides or trained.training.short_sides,
            every=inference.passes == "all" or (inference.passes == "auto" and gate),
            mirror=inference.mirror,
        ),
        long_side=inference.long_side or trained.training.long_side,
        merging=merging,
        gate=gate,
        regions_per_batch=inference.regions_per_batch,
        precision=getattr(torch, inference.precision),
        max_megapixels=max_megapixels,
        unreadable=unreadable,
        threads=inference.threads,
        device=place,
    )


def check_settings(inference: InferenceSettings, merging: MergingSettings) -> None:
    """Raise `InputError` for a number that makes no sense."""
    for name, value, least, most in (
        ("inference.short_sides", min(inference.short_sides, default=1), 1, 100_000),
        ("inference.long_side", inference.long_side, 0, 100_000),
        ("inference.least_score", inference.least_score, 0, 1),
        ("inference.regions_per_batch", inference.regions_per_batch, 1, 2**31),
        ("inference.threads", inference.threads, 0, 1000),
        ("merging.score_threshold", merging.score_threshold, 0, 1),
        ("merging.overlap", merging.overlap, 0, 1),
        ("merging.top", merging.top, 1, 2**31),
    ):
        if not least <= value <= most:
            raise InputError(name, f"is {value}", f"give a number from {least} to {most}")


def stream_of(
    folder: Path,
    predictor: Predictor,
    *,
    run: Path,
    proposals: ProposalSettings,
) -> Stream:
    """The stream in a folder, of a job that depends on the weights of the run and the settings."""
    with (run / WEIGHTS).open("rb") as file:  # a run that is trained to its end again is the same
        weights = hashlib.file_digest(file, "sha256").hexdigest()
    boxes_depend_on = dataclasses.replace(proposals, cache=None, processes=0)
    return Stream(
        folder,
        predictor.class_names,
        {
            "weights": weights,
            "tags as a gate": predictor.gate,
            "passes": [[one.short_side, one.mirrored] for one in predictor.passes],
            "long side": predictor.long_side,
            "precision": str(predictor.precision),
            **_flat("merging", predictor.merging),
            **_flat("proposals", boxes_depend_on),
        },
    )


def find_boxes(
    predictor: Predictor, photos: Sequence[TaggedImage], stream: Stream, ours: Processes
) -> None:
    """Add to the stream what it lacks of these photos, every process its share of them."""
    done = {found.id for found in stream.found(photos)}
    ours.wait()  # nobody adds to the stream before all have read it
    missing = [photo for photo in photos if photo.id not in done]
    shown = ours.writes and bool(missing)
    looked_at = [photo for photo in missing if photo.tags or not predictor.gate]
    predictor.supply.fill(looked_at, progress=shown)
    share = missing[ours.rank :: ours.count]
    by_id = {photo.id: photo for photo in share}
    with stream.opened(ours.rank) as add, _bar(len(photos), len(done), shown=shown) as bar:
        for found in predictor.find(share):
            add(by_id[found.id], found)
            bar.advance(bar.task_ids[0], ours.count)  # the others are about as quick
    ours.wait()


def results(stream: Stream, photos: Sequence[TaggedImage]) -> list[PhotoBoxes]:
    """What the stream holds of these photos, in their order; skipped ones are missing."""
    found = {one.id: one for one in stream.found(photos)}
    return [found[photo.id] for photo in photos if photo.id in found]


def _flat(section: str, settings: object) -> dict[str, Any]:
    return {f"{section}.{key}": value for key, value in settings_to_plain(settings).items()}


@contextmanager
def _bar(total: int, done: int, *, shown: bool) -> Iterator[Progress]:
    """A bar with the time left."""
    columns = (
        TextColumn("photos"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        bar.add_task("photos", total=total, completed=done)
        yield bar
