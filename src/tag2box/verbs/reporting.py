"""What verbs share that end with a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress

from tag2box.outputs.report import write_report
from tag2box.outputs.run_folder import read_diagnosis, run_with
from tag2box.recipe import ImageSettings

if TYPE_CHECKING:
    from tag2box.evaluation.ground_truth import GroundTruth
    from tag2box.inference.photo_boxes import PhotoBoxes

MOST_PHOTOS = 2000


def report_run(
    out: Path,
    run: Path,
    found: Sequence[PhotoBoxes],
    *,
    images: ImageSettings,
    truth: GroundTruth | None = None,
) -> Path:
    """Write `report.html` into `out`: the run, and what it found in these photos."""
    path = out / "report.html"
    shown = run_with(run, found)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("thumbnails", total=min(MOST_PHOTOS, len(found)))
        write_report(
            path,
            title=shown.name,
            runs=[shown],
            truth=truth,
            diagnosis=read_diagnosis(run),
            most_photos=MOST_PHOTOS,
            max_megapixels=images.max_megapixels,
            on_photo=lambda: progress.advance(task),
        )
    return path
