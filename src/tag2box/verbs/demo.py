"""`tag2box demo`: the whole road on one screen, on scenes made here."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tag2box.data.doctor import examine
from tag2box.data.findings import Diagnosis
from tag2box.data.images import image_size, read_image
from tag2box.data.reading import read_dataset
from tag2box.data.scene_files import write_scenes
from tag2box.errors import InputError, printable
from tag2box.evaluation.corloc import corloc
from tag2box.evaluation.ground_truth import GroundTruth, read_ground_truth
from tag2box.evaluation.problems import Problems, problems, read_part_boxes
from tag2box.evaluation.voc import average_precision
from tag2box.files import written_whole
from tag2box.outputs.diagnosis_tables import diagnosis_tables
from tag2box.outputs.picture import tags_and_boxes
from tag2box.outputs.report import write_report
from tag2box.outputs.run_folder import read_run
from tag2box.recipe import InferenceSettings, ReadingSettings, Recipe, SceneSettings
from tag2box.recipe_file import recipe_named
from tag2box.structures import Dataset, Detections
from tag2box.verbs.looking import Looking, look

_SHOWN = 4
_PROBLEMS = ("part", "group", "missed")
_PALETTE = 256  # colours of the picture, which keeps it small


@dataclass(frozen=True)
class Verb:
    """Make scenes with known boxes, learn from their tags alone, and score the boxes found.

    Example: tag2box demo --out runs/demo

    Trains WSDDN, MIST, and MIST with Concrete DropBlock for equally many steps. The same command
    goes on where it was stopped.
    """

    out: Path = Path("runs/demo")
    """Folder for the scenes, the runs, the report and the picture."""
    steps: int = 0
    """Steps of each training; those of the recipe `demo` when 0."""
    seed: int = 0
    """Of the trainings; of the scenes it is --scenes.seed."""
    json: bool = False
    """Print the scores as JSON, shares from 0 to 1, and the rest on standard error."""
    scenes: SceneSettings = field(default_factory=SceneSettings)

    def run(self) -> int:
        """Make, check, train, score, report, draw; 130 after Ctrl-C."""
        for name in ("train", "val"):
            if not getattr(self.scenes, name):
                raise InputError(f"scenes.{name}", "0 scenes leave nothing to do", "give 1 or more")
        console = Console(highlight=False, markup=False, stderr=self.json)
        folder = self.out / "scenes"
        self._write(folder, console)
        val = ReadingSettings(split="val")
        truth = read_ground_truth([folder], val)
        unseen = read_dataset([folder], val)
        photos = read_dataset([folder], ReadingSettings(split="train"))
        diagnosis = examine(photos, other=unseen)
        _print(diagnosis, console)
        if not diagnosis.learnable:
            return 1
        found = {"middle of the photo": one_box_a_tag(unseen, share=0.5)}
        for name, recipe in recipes(self._recipe()).items():
            console.print(f"{name}: {recipe.training.steps} steps on tags alone")
            if not _train(photos, recipe, self.out / name):
                console.print("Stopped and saved; the same command goes on.")
                return 130
            found[name] = _predict(unseen, recipe, self.out / name)
        parts = read_part_boxes(folder / "annotations" / "instances_val.json")
        rows = scores(truth, parts, found)
        console.print(table_of(rows))
        self._report(truth, diagnosis, console)
        _draw(unseen, surest(found[ADVERSARY], len(truth.boxes)), self.out / "picture.png")
        console.print(f"{printable(self.out / 'picture.png')}: photos with tags, and found boxes")
        if self.json:
            plain = {name: row.to_plain() for name, row in rows.items()}
            sys.stdout.write(msgspec.json.encode(plain).decode() + "\n")
        return 0

    def _recipe(self) -> Recipe:
        """The recipe `demo` with the seed, the steps and a place for what is computed once."""
        recipe = recipe_named("demo")
        training = replace(
            recipe.training,
            seed=self.seed,
            steps=self.steps or recipe.training.steps,
            feature_cache=self.out / "features",
        )
        proposals = replace(recipe.proposals, cache=self.out / "proposals")
        return replace(recipe, training=training, proposals=proposals)

    def _write(self, folder: Path, console: Console) -> None:
        settings = self.scenes
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task("making scenes", total=settings.train + settings.val)
            write_scenes(
                folder,
                train=settings.train,
                val=settings.val,
                seed=settings.seed,
                width=settings.width,
                height=settings.height,
                difficulty=settings.difficulty,
                on_scene=lambda: progress.advance(task),
            )
        console.print(
            f"{folder}: {settings.train} scenes to learn from, {settings.val} to score on"
        )

    def _report(self, truth: GroundTruth, diagnosis: Diagnosis, console: Console) -> None:
        path = self.out / "report.html"
        write_report(
            path,
            title=f"{BASELINE} and {ADVERSARY}",
            runs=[read_run(self.out / name / "predict") for name in (BASELINE, ADVERSARY)],
            truth=truth,
            diagnosis=diagnosis,
        )
        console.print(f"{printable(path)}: the report, {BASELINE} and {ADVERSARY} side by side")


BASELINE, STUDENTS, ADVERSARY = "WSDDN", "MIST", "MIST + Concrete DropBlock"


def recipes(recipe: Recipe) -> dict[str, Recipe]:
    """The same recipe without students, with them, and with the adversary too."""
    plain = replace(recipe, dropout=replace(recipe.dropout, kind="none"))
    alone = replace(recipe.model, students=0, regression=False)
    return {BASELINE: replace(plain, model=alone), STUDENTS: plain, ADVERSARY: recipe}


def _train(photos: Dataset, recipe: Recipe, run: Path) -> bool:
    from tag2box.proposals.supply import open_supply
    from tag2box.training.run import train

    return train(photos, recipe, run, open_supply(recipe.proposals))


def _predict(photos: Dataset, recipe: Recipe, run: Path) -> list[Detections]:
    """What the run finds in photos whose tags it is not told, however unsure."""
    how = Looking(
        run=run,
        out=run / "predict",
        gate=False,
        inference=InferenceSettings(),
        merging=recipe.merging,
        proposals=recipe.proposals,
        images=recipe.images,
    )
    looked = look(lambda _: photos.images, how)
    assert looked is not None, "this process is alone"
    return [one.detections for one in looked.found]


@dataclass(frozen=True)
class Row:
    """How well one detector does on scenes it has not seen. Shares in [0, 1]."""

    average_precision: float
    corloc: float
    problems: Problems
    """Of its surest boxes, as many as there are objects."""

    def to_plain(self) -> dict[str, float]:
        """By name, for a program."""
        shares = self.problems.shares()
        return {
            "average_precision": self.average_precision,
            "corloc": self.corloc,
            **{name: shares[name] for name in _PROBLEMS},
        }


def scores(
    truth: GroundTruth,
    parts: npt.NDArray[np.float64],
    found: Mapping[str, Sequence[Detections]],
) -> dict[str, Row]:
    """A row for each detector; `parts` (M, 4) are the parts of the objects of `truth`."""
    return {
        name: Row(
            average_precision(truth, boxes).mean,
            corloc(truth, boxes).mean,
            problems(truth, parts, surest(boxes, len(truth.boxes)), min_score=0),
        )
        for name, boxes in found.items()
    }


def surest(found: Sequence[Detections], count: int) -> list[Detections]:
    """The best-scored boxes of all photos together, so that detectors of any scale compare."""
    ranked = sorted((score for one in found for score in one.scores), reverse=True)
    least = ranked[count - 1] if len(ranked) >= count else 0.0
    return [one[one.scores >= least] for one in found]


def table_of(rows: Mapping[str, Row]) -> Table:
    """For people, in percent."""
    table = Table(
        "detector",
        title="On unseen scenes, in percent; problems of the surest boxes, one an object",
        title_justify="left",
    )
    for heading in ("AP50", "CorLoc", "part-boxes", "groups", "missed"):
        table.add_column(heading, justify="right")
    for name, row in rows.items():
        table.add_row(name, *(f"{100 * share:.1f}" for share in row.to_plain().values()))
    return table


def one_box_a_tag(photos: Dataset, *, share: float) -> list[Detections]:
    """A predictor that looks at nothing but the tags: for each the middle of the photo.

    `share` is that of the box in width and height.
    """
    found = []
    for photo in photos:
        width, height = image_size(photo.path)
        middle, half = np.array([width, height]) / 2, share * np.array([width, height]) / 2
        box = np.concatenate([middle - half, middle + half])
        tags = sorted(photo.tags)
        found.append(
            Detections(
                boxes=np.tile(box.astype(np.float32), (len(tags), 1)),
                scores=np.ones(len(tags), np.float32),
                classes=np.array(tags, np.int64),
                class_names=photos.class_names,
                image_id=photo.id,
            )
        )
    return found


def _print(diagnosis: Diagnosis, console: Console) -> None:
    """What `tag2box check` says of these photos, and whether they can be learnt from."""
    for table in diagnosis_tables(diagnosis):
        console.print(table)
    console.print(f"The tags {'can' if diagnosis.learnable else 'cannot'} be learnt from.")


def _draw(photos: Dataset, found: Sequence[Detections], path: Path) -> None:
    shown = list(photos)[:_SHOWN]
    sheet = tags_and_boxes(
        [read_image(photo.path) for photo in shown],
        [[photos.class_names[tag] for tag in sorted(photo.tags)] for photo in shown],
        found[:_SHOWN],
    )
    with written_whole(path) as temporary:
        sheet.quantize(_PALETTE, dither=Image.Dither.NONE).save(temporary, "PNG", optimize=True)
