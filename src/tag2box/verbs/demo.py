"""`tag2box demo`: the whole road on one screen, on scenes made here."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tag2box.data.doctor import examine
from tag2box.data.images import image_size, read_image
from tag2box.data.reading import read_dataset
from tag2box.data.scene_files import write_scenes
from tag2box.errors import InputError
from tag2box.evaluation.corloc import corloc
from tag2box.evaluation.ground_truth import GroundTruth, read_ground_truth
from tag2box.evaluation.problems import problems, read_part_boxes
from tag2box.evaluation.voc import average_precision
from tag2box.files import written_whole
from tag2box.outputs.diagnosis_tables import diagnosis_tables
from tag2box.outputs.picture import tags_and_boxes
from tag2box.outputs.problem_table import problem_table
from tag2box.recipe import ReadingSettings, SceneSettings
from tag2box.structures import Dataset, Detections

_SHOWN = 4
_PALETTE = 256  # colours of the picture, which keeps it small


@dataclass(frozen=True)
class Verb:
    """Make scenes with known boxes, check their tags, and score what a ruler would draw.

    Example: tag2box demo --out runs/demo
    """

    out: Path = Path("runs/demo")
    """Folder for the scenes and the picture."""
    scenes: SceneSettings = field(default_factory=SceneSettings)

    def run(self) -> int:
        """Make, check, score, draw."""
        for name in ("train", "val"):
            if not getattr(self.scenes, name):
                raise InputError(f"scenes.{name}", "0 scenes leave nothing to do", "give 1 or more")
        console = Console(highlight=False, markup=False)
        folder = self.out / "scenes"
        self._write(folder, console)
        val = ReadingSettings(split="val")
        truth = read_ground_truth([folder], val)
        parts = read_part_boxes(folder / "annotations" / "instances_val.json")
        tagged = read_dataset([folder], val)
        train = read_dataset([folder], ReadingSettings(split="train"))
        learnable = _check(train, tagged, console)
        detectors = {
            "whole photo": one_box_a_tag(tagged, share=1.0),
            "middle half": one_box_a_tag(tagged, share=0.5),
        }
        console.print(_scores(truth, detectors))
        console.print(
            problem_table({n: problems(truth, parts, d, min_score=0) for n, d in detectors.items()})
        )
        _draw(tagged, truth, self.out / "picture.png")
        console.print(f"{self.out / 'picture.png'}: photos with tags, and with their true boxes")
        return 0 if learnable else 1

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


def one_box_a_tag(photos: Dataset, *, share: float) -> list[Detections]:
    """A predictor that looks at nothing: for each tag the middle of the photo.

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


def _check(photos: Dataset, val: Dataset, console: Console) -> bool:
    """What `tag2box check` says of these photos, and whether they can be learnt from."""
    diagnosis = examine(photos, other=val)
    for table in diagnosis_tables(diagnosis):
        console.print(table)
    console.print(f"The tags {'can' if diagnosis.learnable else 'cannot'} be learnt from.")
    return diagnosis.learnable


def _scores(truth: GroundTruth, detectors: dict[str, list[Detections]]) -> Table:
    table = Table("detector", title="Scores at an overlap of 0.5", title_justify="left")
    table.add_column("VOC mAP", justify="right")
    table.add_column("CorLoc", justify="right")
    for name, found in detectors.items():
        means = average_precision(truth, found).mean, corloc(truth, found).mean
        table.add_row(name, *(f"{100 * mean:.1f} %" for mean in means))
    return table


def _draw(photos: Dataset, truth: GroundTruth, path: Path) -> None:
    shown = list(photos)[:_SHOWN]
    sheet = tags_and_boxes(
        [read_image(photo.path) for photo in shown],
        [[photos.class_names[tag] for tag in sorted(photo.tags)] for photo in shown],
        true_detections(truth, [photo.id for photo in shown]),
    )
    with written_whole(path) as temporary:
        sheet.quantize(_PALETTE, dither=Image.Dither.NONE).save(temporary, "PNG", optimize=True)


def true_detections(truth: GroundTruth, image_ids: Sequence[str]) -> list[Detections]:
    """The true boxes of some images as a perfect detector would give them."""
    found = []
    for image_id in image_ids:
        objects = truth.object_image == truth.image_ids.index(image_id)
        found.append(
            Detections(
                boxes=truth.boxes[objects].astype(np.float32),
                scores=np.ones(int(objects.sum()), np.float32),
                classes=truth.classes[objects],
                class_names=truth.class_names,
                image_id=image_id,
            )
        )
    return found
