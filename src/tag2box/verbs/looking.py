"""What verbs share that look at photos with a trained run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tag2box.errors import InputError
from tag2box.recipe import ImageSettings, InferenceSettings, MergingSettings, ProposalSettings
from tag2box.structures import TaggedImage

if TYPE_CHECKING:
    from tag2box.inference.photo_boxes import PhotoBoxes

SECTIONS_OF_RUN = ("proposals", "merging", "inference")
"""Settings that are those of the run unless somebody says otherwise."""


@dataclass(frozen=True)
class Looking:
    """How photos are looked at, and where results are kept as they come."""

    run: Path
    out: Path
    gate: bool
    """Tags decide on the classes."""
    inference: InferenceSettings
    merging: MergingSettings
    proposals: ProposalSettings
    images: ImageSettings
    alone: bool = False
    """Whether one process looks while others that torchrun started do something else."""


@dataclass(frozen=True, eq=False)
class Looked:
    """What was found."""

    found: list[PhotoBoxes]
    """Photos that could be read, with every box however low its score."""
    skipped: int
    """Photos that could not be read."""
    class_names: tuple[str, ...]
    """Of the run."""


def look(
    photos_for: Callable[[tuple[str, ...]], Sequence[TaggedImage]], how: Looking
) -> Looked | None:
    """Find the boxes of the photos; None on a process of several that does not write.

    `photos_for` gives the photos, their tags numbered by the class names of the run.
    """
    from tag2box.inference.job import find_boxes, predictor_from, results, stream_of
    from tag2box.models.trained import read_trained
    from tag2box.proposals.supply import open_supply
    from tag2box.training.distributed import processes

    limits = dataclasses.asdict(how.images)
    with processes(how.inference.device, alone=how.alone) as ours:
        detector, trained = read_trained(how.run)
        photos = photos_for(tuple(trained.reading.classes))
        predictor = predictor_from(
            detector,
            trained,
            open_supply(how.proposals, **limits),
            inference=how.inference,
            merging=how.merging,
            gate=how.gate,
            device=ours.device,
            **limits,
        )
        stream = stream_of(how.out / "stream", predictor, run=how.run, proposals=how.proposals)
        with said_in_one_sentence(how.out):
            find_boxes(predictor, photos, stream, ours)
            if not ours.writes:
                return None
            found = results(stream, photos)
    return Looked(found, len(photos) - len(found), predictor.class_names)


@contextmanager
def said_in_one_sentence(out: Path) -> Iterator[None]:
    """What the disk refuses becomes an `InputError`."""
    try:
        yield
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        remedy = "free some disk or name another folder with --out"
        raise InputError(error.filename or out, problem, remedy) from None
