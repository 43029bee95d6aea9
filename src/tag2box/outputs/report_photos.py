"""Which photos a report is of: those that its runs and the ground truth have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from tag2box.errors import InputError
from tag2box.evaluation.detections_file import image_index
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.outputs.report_data import RunReport


def common_photos(
    runs: Sequence[RunReport], truth: GroundTruth | None
) -> tuple[list[RunReport], GroundTruth | None]:
    """The runs and the truth with the photos all of them know, in the order of the first run.

    Runs of one name are numbered. Photos get the ids of the truth. Raises `InputError` if no photo
    is left.
    """
    if truth is not None:
        runs = [_with_ids_of_truth(run, truth) for run in runs]
    by_id = [{photo.id: photo for photo in run.photos} for run in runs]
    ids = [image_id for image_id in by_id[0] if all(image_id in photos for photos in by_id)]
    if not ids:
        remedy = "report runs that looked at the same photos, with the data they are of"
        raise InputError(runs[0].name, "has no photo in common with what is beside it", remedy)
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        names = [f"{name} ({number})" for number, name in enumerate(names, start=1)]
    common = [
        replace(run, name=name, photos=tuple(photos[image_id] for image_id in ids))
        for run, name, photos in zip(runs, names, by_id, strict=True)
    ]
    return common, None if truth is None else truth.select(ids)


def _with_ids_of_truth(run: RunReport, truth: GroundTruth) -> RunReport:
    """Only photos the truth has, under its ids: by id, else file name, stem or number."""
    index = image_index(truth)
    known = {
        photo.id: truth.image_ids[place]
        for photo in run.photos
        if (place := _place(photo.id, index)) is not None
    }
    if len(set(known.values())) < len(known):
        remedy = "let the run look at the data set itself"
        raise InputError(run.name, "has two photos of one name in the ground truth", remedy)
    photos = [photo for photo in run.photos if photo.id in known]
    return replace(
        run,
        photos=tuple(
            replace(photo, detections=replace(photo.detections, image_id=known[photo.id]))
            for photo in photos
        ),
    )


def _place(photo_id: str, index: dict[int | str, int]) -> int | None:
    file = PurePosixPath(photo_id)
    digits = re.fullmatch(r"\d{1,18}", file.stem, re.ASCII)
    names: list[int | str] = [photo_id, file.name, file.stem, *([int(digits[0])] if digits else [])]
    return next((index[name] for name in names if name in index), None)
