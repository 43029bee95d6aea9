"""`tag2box report`: one HTML file that shows a run, or two side by side."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.progress import Progress

from tag2box.data.selection import check_classes
from tag2box.errors import InputError, printable
from tag2box.evaluation.ground_truth import GroundTruth, read_ground_truth
from tag2box.outputs.report import write_report
from tag2box.outputs.run_folder import read_diagnosis, read_run
from tag2box.recipe import ImageSettings, ReadingSettings


@dataclass(frozen=True)
class Verb:
    """Write one HTML file that shows a run, or two side by side; it opens anywhere.

    Example: tag2box report runs/mist --ground-truth VOCdevkit/VOC2007 --split test

    Shown is what `predict` or `label` has found with the run; its metrics.jsonl, recipe.toml and
    diagnosis.json (`tag2box check --json`) too where they are there.
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN]")]
    """One run, or two to compare: the photos both have seen."""
    ground_truth: tuple[Path, ...] = ()
    """Data sets with boxes, where the boxes are known."""
    photos: Path | None = None
    """Folder below which the detections' photos lie, when not where they say."""
    out: Path | None = None
    """The HTML file; report.html in the first run, comparison.html of two."""
    title: str | None = None
    """Heading; the names of the runs when not given."""
    most_photos: int = 2000
    """Photos shown; scores are of all."""
    thumbnail_side: int = 320
    """Longest side of a shown photo in pixels."""
    workers: int = 4
    """Threads that make thumbnails."""
    reading: Annotated[ReadingSettings, tyro.conf.arg(name="")] = field(
        default_factory=ReadingSettings
    )
    image_settings: Annotated[ImageSettings, tyro.conf.arg(name="")] = field(
        default_factory=ImageSettings
    )

    def run(self) -> int:
        """Write the file and say where it is."""
        if len(self.runs) not in (1, 2):
            raise InputError("report", f"{len(self.runs)} runs are named", "name one, or two")
        for name in ("most_photos", "thumbnail_side", "workers"):
            if getattr(self, name) < 1:
                option = f"--{name.replace('_', '-')}"
                raise InputError(option, f"{getattr(self, name)} is too few", "give 1 or more")
        runs = [read_run(folder, images=self.photos) for folder in self.runs]
        title = self.title or " and ".join(run.name for run in runs)
        name = "report.html" if len(runs) == 1 else "comparison.html"
        path = self.out or self.runs[0] / name
        count = min(self.most_photos, *(len(run.photos) for run in runs))
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("thumbnails", total=count)
            write_report(
                path,
                title=title,
                runs=runs,
                truth=self._truth(),
                diagnosis=read_diagnosis(self.runs[0]),
                most_photos=self.most_photos,
                thumbnail_side=self.thumbnail_side,
                max_megapixels=self.image_settings.max_megapixels,
                workers=self.workers,
                on_photo=lambda: progress.advance(task),
            )
        Console(highlight=False, markup=False).print(printable(path))
        return 0

    def _truth(self) -> GroundTruth | None:
        if not self.ground_truth:
            return None
        truth = read_ground_truth(self.ground_truth, replace(self.reading, classes=()))
        if not self.reading.classes:
            return truth
        check_classes(self.reading.classes, truth.class_names)
        return truth.keep_classes(self.reading.classes)
