"""The photos of a report as plain values, for the one block of JSON that the page reads.

C classes.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tag2box.errors import printable
from tag2box.evaluation.errors_by_kind import Kind, to_find
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.outputs.report_data import RunReport
from tag2box.outputs.report_scores import UNKNOWN, Judged
from tag2box.structures import Detections

_NAME = 120


def gallery(
    runs: Sequence[RunReport],
    thumbnails: Sequence[bytes | None],
    chosen: Sequence[int],
    *,
    truth: GroundTruth | None,
    judgements: Sequence[Judged],
) -> dict[str, Any]:
    """All the page draws. `chosen` are the photos shown, which the thumbnails are of.

    The runs have the same photos in the same order, and so has the truth; `judgements` has one a
    run, or none without truth.
    """
    names = class_names_of(runs, truth)
    numbers = {name: number for number, name in enumerate(names)}
    objects = _objects(truth, numbers) if truth else None
    found = [photo.detections for run in runs for photo in run.photos]
    return {
        "classes": [printable(name, _NAME) for name in names],
        "runs": [printable(run.name, _NAME) for run in runs],
        "kinds": [kind.name.lower().replace("_", " ") for kind in Kind] if truth else [],
        "top": scale_end(max(float(one.scores.max(initial=0)) for one in found)),
        "threshold": judgements[0].errors.min_score if judgements else None,
        "photos": [
            _photo(runs, index, small, judgements)
            | {"found": _found(runs, index, judgements, numbers)}
            | ({"objects": objects[index]} if objects else {})
            for index, small in zip(chosen, thumbnails, strict=True)
        ],
    }


def class_names_of(runs: Sequence[RunReport], truth: GroundTruth | None) -> tuple[str, ...]:
    """All classes of the truth, then those only the runs know."""
    lists = [truth.class_names] if truth else []
    lists += [photo.detections.class_names for run in runs for photo in run.photos]
    return tuple(dict.fromkeys(name for one in dict.fromkeys(lists) for name in one))


def uncertainty(detections: Detections) -> float:
    """How unsure a photo is, 0 to 1: as much as the class it is least sure of.

    A class is as unsure as its best score is near one half: 1 - |2 s - 1|. 0 without detections.
    """
    best = np.zeros(len(detections.class_names))  # (C,)
    np.maximum.at(best, detections.classes, detections.scores)
    return float(np.max(1 - np.abs(2 * best - 1), initial=0.0))


def scale_end(best: float) -> float:
    """Where a slider for scores ends: 1, or less where all scores are small."""
    if best > 0.5 or best <= 0:
        return 1.0
    step = 10.0 ** np.floor(np.log10(best))
    return float(min(1.0, np.ceil(best / step) * step))


def _photo(
    runs: Sequence[RunReport], index: int, thumbnail: bytes | None, judgements: Sequence[Judged]
) -> dict[str, Any]:
    """A photo and what photos are sorted by: with two runs the means over both."""
    results = [run.photos[index] for run in runs]
    first = results[0]
    apart = [photo.disagreement for photo in results if photo.disagreement is not None]
    best = [float(photo.detections.scores.max(initial=0)) for photo in results]
    quality = [judgement.quality[index] for judgement in judgements]
    return {
        "name": printable(first.path.name or first.id, _NAME),
        "width": first.width,
        "height": first.height,
        "jpeg": base64.b64encode(thumbnail).decode() if thumbnail else None,
        "uncertainty": _mean([uncertainty(photo.detections) for photo in results]),
        "score": _mean(best),
        "disagreement": _mean(apart),
        "quality": _mean(quality),
        "gain": round(quality[1] - quality[0], 4) if len(quality) == 2 else None,
    }


def _found(
    runs: Sequence[RunReport], index: int, judgements: Sequence[Judged], numbers: Mapping[str, int]
) -> list[list[list[float]]]:
    """Per run rows of x1, y1, x2, y2, score, class, kind; the best-scored first."""
    found = []
    for number, run in enumerate(runs):
        one = run.photos[index].detections
        number_of = np.array([numbers[name] for name in one.class_names], np.int64)
        kinds = judgements[number].kinds[index] if judgements else np.full(len(one), UNKNOWN)
        order = np.argsort(-one.scores, kind="stable")
        columns = (
            np.asarray(one.boxes[order], np.float64).round(1).tolist(),
            np.asarray(one.scores[order], np.float64).round(4).tolist(),
            number_of[one.classes[order]].tolist(),
            kinds[order].tolist(),
        )
        found.append([[*box, *others] for box, *others in zip(*columns, strict=True)])
    return found


def _objects(truth: GroundTruth, numbers: Mapping[str, int]) -> list[list[list[float]]]:
    """Per photo rows of x1, y1, x2, y2, class, 1 if it should be found."""
    number_of = np.array([numbers[name] for name in truth.class_names], np.int64)
    rows = np.column_stack([truth.boxes.round(1), number_of[truth.classes], to_find(truth)])
    ends = np.searchsorted(truth.object_image, np.arange(1, len(truth)))
    return [part.tolist() for part in np.split(rows, ends)]


def _mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 4) if values else None
