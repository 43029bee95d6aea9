"""What `predict` and `label` share: look at photos with a trained run, write the boxes."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console

from tag2box.errors import InputError, printable
from tag2box.outputs.box_files import check_formats, write_boxes
from tag2box.outputs.whole_folder import Placing
from tag2box.recipe import ImageSettings, InferenceSettings, MergingSettings, ProposalSettings
from tag2box.structures import TaggedImage

if TYPE_CHECKING:
    from tag2box.inference.photo_boxes import PhotoBoxes

SECTIONS_OF_RUN = ("proposals", "merging", "inference")
"""Settings that are those of the run unless somebody says otherwise."""


@dataclass(frozen=True)
class Looking:
    """How photos are looked at, and where the boxes go."""

    run: Path
    out: Path
    formats: tuple[str, ...]
    gate: bool
    """Tags decide on the classes."""
    placing: Placing
    inference: InferenceSettings
    merging: MergingSettings
    proposals: ProposalSettings
    images: ImageSettings
    as_json: bool


def look(photos_for: Callable[[tuple[str, ...]], Sequence[TaggedImage]], how: Looking) -> int:
    """Find the boxes of the photos, write them in every format asked for and say so.

    `photos_for` gives the photos, their tags numbered by the class names of the run.
    """
    from tag2box.inference.job import find_boxes, predictor_from, results, stream_of
    from tag2box.models.trained import read_trained
    from tag2box.proposals.supply import open_supply
    from tag2box.training.distributed import processes

    limits = dataclasses.asdict(how.images)
    with processes(how.inference.device) as ours:
        detector, trained = read_trained(how.run)
        photos = photos_for(tuple(trained.reading.classes))
        check_formats(how.formats, photos, trained.reading.classes)
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
        with _said_in_one_sentence(how.out):
            find_boxes(predictor, photos, stream, ours)
            if ours.writes:
                found = results(stream, photos)
                _say(_written(found, predictor.class_names, how), len(photos), how)
    return 0


def _written(found: list[PhotoBoxes], class_names: tuple[str, ...], how: Looking) -> dict[str, Any]:
    """Write the files; returns what `--json` prints."""
    best = how.gate and how.inference.every_tag
    sure = [one.confident(how.inference.least_score, best_of_class=best) for one in found]
    files = [
        str(file)
        for name in dict.fromkeys(how.formats)
        for file in write_boxes(
            name,
            how.out,
            sure,
            class_names,
            model_version=f"tag2box {how.run.absolute().name}",
            placing=how.placing,
        )
    ]
    return {
        "photos": len(sure),
        "boxes": sum(len(one.detections) for one in sure),
        "files": files,
    }


def _say(written: dict[str, Any], asked_for: int, how: Looking) -> None:
    skipped = asked_for - written["photos"]
    if how.as_json:
        plain = msgspec.json.encode(written | {"skipped": skipped})
        sys.stdout.write(plain.decode() + "\n")
        return
    console = Console(highlight=False, markup=False, soft_wrap=True)
    unread = f", {skipped} could not be read" if skipped else ""
    and_best = ", or the best of a tag" if how.gate and how.inference.every_tag else ""
    console.print(
        f"{written['photos']} photos{unread}, {written['boxes']} boxes "
        f"scored {how.inference.least_score:g} or better{and_best}"
    )
    for file in written["files"]:
        console.print(printable(file))


@contextmanager
def _said_in_one_sentence(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        remedy = "free some disk or name another folder with --out"
        raise InputError(error.filename or out, problem, remedy) from None
