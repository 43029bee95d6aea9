"""tag2box in Python: the same verbs and the same settings as on the command line.

Settings are given by section, as they stand in a recipe file: `training={"steps": 600}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from tag2box.data.reading import read_dataset
from tag2box.errors import InputError
from tag2box.evaluation.scores import METRICS, Metric, Scores
from tag2box.recipe import Recipe
from tag2box.recipe_file import with_changes
from tag2box.run import AnyPath, Paths, Run, Section, paths, reading_named
from tag2box.structures import Dataset, Detections
from tag2box.verbs import evaluate as evaluating
from tag2box.verbs import train as training
from tag2box.verbs.looking import SECTIONS_OF_RUN
from tag2box.verbs.sections import recipe_of_run, sections_of


def read(
    data: Paths,
    *,
    tags: AnyPath | None = None,
    split: str | None = None,
    classes: Sequence[str] = (),
    **reading: Any,
) -> Dataset:
    """The photos and tags of a data set of any format.

    >>> photos = tag2box.read("photos/", tags="tags.csv")
    >>> len(photos), photos.class_names
    (12, ('cat', 'dog'))

    Args:
        data: folders or files, in any format; several are joined.
        tags: file with the tags; `data` is then the folder of photos.
        split: split to read, for formats that have splits.
        classes: keep only these classes, in this order.
        reading: further settings of the section `reading`.
    """
    recipe = with_changes(Recipe(), {"reading": reading})
    recipe = with_changes(recipe, reading_named(tags, split, classes))
    return read_dataset(paths(data), recipe.reading)


def train(
    data: Paths | Dataset,
    *,
    tags: AnyPath | None = None,
    split: str | None = None,
    classes: Sequence[str] = (),
    out: AnyPath | None = None,
    recipe: AnyPath | Recipe | None = None,
    resume: Literal["auto", "never"] = "auto",
    force: bool = False,
    **settings: Section,
) -> Run:
    """Train a detector from photos and their tags, or go on with a run that was stopped.

    >>> run = tag2box.train("photos/", tags="tags.csv", out="runs/pets")
    >>> run.class_names
    ('cat', 'dog')

    >>> photos = tag2box.read("photos/", tags="tags.csv")
    >>> run = tag2box.train(photos, out="runs/short", training={"steps": 1})

    Args:
        data: folders or files with tagged photos, in any format; or what `read` gave.
        tags: file with the tags; `data` is then the folder of photos.
        split: split to read, for formats that have splits.
        classes: keep only these classes, in this order.
        out: folder of the run; runs/NAME-OF-DATA when not named.
        recipe: name or file of a recipe; without one that for this machine.
        resume: continue the run that is in the folder, or refuse a folder that has one.
        force: train although the check says that it is pointless.
        settings: by section, over those of the recipe.
    """
    base = recipe if isinstance(recipe, Recipe) else training.recipe_for(recipe)
    chosen = with_changes(with_changes(base, settings), reading_named(tags, split, classes))
    verb = training.Verb(
        data=() if isinstance(data, Dataset) else paths(data),
        out=None if out is None else Path(out),
        resume=resume,
        force=force,
        **sections_of(training.Verb, chosen),
    )
    dataset = data if isinstance(data, Dataset) else read_dataset(verb.data, chosen.reading)
    if not verb.train(dataset):
        raise KeyboardInterrupt(f"stopped and saved; the same call goes on with {verb.folder}")
    return Run(verb.folder)


def load(folder: AnyPath) -> Run:
    """The run in a folder.

    >>> run = tag2box.load("runs/pets")
    >>> run.recipe.training.seed
    0
    """
    run = Run(Path(folder))
    for name in ("recipe.toml", "model.safetensors"):
        if not (run.folder / name).is_file():
            raise InputError(run.folder, f"holds no {name}", "name the folder of a finished run")
    return run


def evaluate(
    data: Paths,
    *,
    run: Run | AnyPath | None = None,
    detections: AnyPath | Iterable[Detections] | None = None,
    split: str | None = None,
    classes: Sequence[str] = (),
    metrics: Sequence[Metric] = METRICS,
    iou: float = 0.5,
    out: AnyPath | None = None,
    report: bool = True,
    **settings: Section,
) -> Scores:
    """Score a run, or detections, where the true boxes are known.

    >>> scores = tag2box.evaluate("scenes/", split="val", run="runs/scenes")
    >>> 0 <= scores.corloc.mean <= 1
    True
    >>> found = tag2box.load("runs/scenes").predict(tag2box.read("scenes/", split="val"))
    >>> scores = tag2box.evaluate("scenes/", split="val", detections=found, metrics=["voc"])

    Args:
        data: data sets with boxes.
        run: the run to score, which looks at all photos; what it finds is kept.
        detections: to score instead, or a COCO results file; photos have the ids of the data.
        split: split to read, for formats that have splits.
        classes: score only these classes.
        metrics: some of voc, corloc, coco, ar.
        iou: overlap that makes a hit, for voc and corloc.
        out: folder for what the run finds and its report; `evaluate` in that of the run.
        report: whether to write report.html.
        settings: by section, over those of the run.
    """
    trained = run.folder if isinstance(run, Run) else None if run is None else Path(run)
    chosen = with_changes(recipe_of_run(trained, SECTIONS_OF_RUN), settings)
    chosen = with_changes(chosen, reading_named(None, split, classes))
    verb = evaluating.Verb(
        ground_truth=paths(data),
        trained=trained,
        detections=Path(detections) if isinstance(detections, str | PathLike) else None,
        metrics=tuple(metrics),
        iou=iou,
        out=None if out is None else Path(out),
        report=report,
        **sections_of(evaluating.Verb, chosen),
    )
    given = None if isinstance(detections, str | PathLike) else detections
    scores = verb.scores(given)
    assert scores is not None, "this process is alone"
    return scores
