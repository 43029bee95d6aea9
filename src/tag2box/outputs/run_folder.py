"""A run folder as a report needs it. Every file but the detections may be absent.

What was found: `detections.jsonl` or a `stream` (see `run_detections`), in the folder itself or in
its `predict`, `label` or `evaluate`, else in its `sample`. How it was trained: `recipe.toml`,
`metrics.jsonl` and `diagnosis.json`, the output of `tag2box check --json` on the photos of
training, as training writes them; in the folder or, where that is a folder of results, in the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tag2box.data.findings import Diagnosis, Finding
from tag2box.data.text import read_text
from tag2box.errors import InputError
from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.outputs.report_data import RunReport
from tag2box.outputs.run_detections import DETECTIONS, STREAM, decoded, lines_of, read_detections
from tag2box.recipe import Recipe
from tag2box.recipe_file import read_recipe, settings_to_plain

RECIPE, METRICS, DIAGNOSIS = "recipe.toml", "metrics.jsonl", "diagnosis.json"
RESULTS, SAMPLE = ("predict", "label", "evaluate"), "sample"
"""Folders in that of a run: what its verbs found, and what training found in a few photos."""


def read_run(folder: Path, *, images: Path | None = None) -> RunReport:
    """The run in a folder. Photos lie where the detections say, or below `images`."""
    return run_with(folder, read_detections(_detections_of(folder), images=images))


def run_with(folder: Path, photos: Sequence[PhotoBoxes]) -> RunReport:
    """The run in a folder, and what it found in some photos."""
    run = _trained_in(folder)
    recipe = read_recipe(run / RECIPE) if (run / RECIPE).exists() else Recipe()
    return RunReport(
        name=run.absolute().name,
        photos=tuple(photos),
        metrics=_metrics(run / METRICS),
        settings=dict(_changed(settings_to_plain(recipe), settings_to_plain(Recipe()))),
    )


def read_diagnosis(folder: Path) -> Diagnosis | None:
    """What the doctor said of the photos of training, if it was written down."""
    path = _trained_in(folder) / DIAGNOSIS
    if not path.exists():
        return None
    plain = decoded(read_text(path), _Diagnosis, path)
    return Diagnosis(
        photos=plain.photos,
        negatives=plain.negatives,
        photos_of_class=plain.photos_of_class,
        tags_per_photo=plain.tags_per_photo,
        findings=plain.findings,
    )


def _detections_of(folder: Path) -> Path:
    """The file or stream with the detections; one of the folder itself comes first."""
    if not folder.is_dir():
        raise InputError(folder, "is no folder", "name the folder of a run")
    for places in ([folder], [folder / name for name in RESULTS], [folder / SAMPLE]):
        there = [p / name for p in places for name in (DETECTIONS, STREAM) if (p / name).exists()]
        if len({path.parent for path in there}) > 1:
            remedy = f"name {there[0].parent} or {there[-1].parent}"
            raise InputError(folder, "holds several results", remedy)
        if there:
            return there[0]
    remedy = "run `tag2box predict` or `tag2box label` with this run first"
    raise InputError(folder, f"holds no {DETECTIONS} and no {STREAM}", remedy)


def _trained_in(folder: Path) -> Path:
    parent = folder.absolute().parent
    return parent if not (folder / RECIPE).exists() and (parent / RECIPE).exists() else folder


def _metrics(path: Path) -> tuple[dict[str, float], ...]:
    if not path.exists():
        return ()
    return tuple(_metrics_line(where, line) for where, line in lines_of(path))


def _metrics_line(where: str, line: str) -> dict[str, float]:
    try:
        values = msgspec.convert(json.loads(line), dict[str, float])  # a loss may be NaN
    except (ValueError, RecursionError) as error:
        raise InputError(where, f"is no line of metrics ({error})", "remove that line") from None
    if "step" not in values:
        raise InputError(where, "does not say its step", "remove that line")
    return values


def _changed(
    settings: dict[str, Any], defaults: dict[str, Any], prefix: str = ""
) -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        default = defaults.get(key)
        if isinstance(value, dict):
            yield from _changed(value, default or {}, f"{prefix}{key}.")
        elif value != default:
            yield prefix + key, str(value)


class _Diagnosis(msgspec.Struct):
    photos: int
    negatives: int
    photos_of_class: dict[str, int]
    tags_per_photo: dict[int, int]
    findings: tuple[Finding, ...]
