"""`tag2box evaluate`: score detections where the true boxes are known."""

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import tyro
from rich.console import Console

from tag2box.data.formats import sources_of
from tag2box.data.selection import check_classes
from tag2box.errors import InputError, printable
from tag2box.evaluation.detections_file import read_results
from tag2box.evaluation.ground_truth import read_ground_truth
from tag2box.evaluation.scores import METRICS, Metric, Scores, score
from tag2box.outputs.score_tables import score_tables
from tag2box.recipe import ReadingSettings


@dataclass(frozen=True)
class Verb:
    """Score detections where the true boxes are known.

    Example: tag2box evaluate VOCdevkit/VOC2007 --split test --detections results.json

    The detections are a COCO results file: a list of {image_id, category_id, bbox: [x, y, width,
    height], score}. The category id is that of the COCO file; for other formats 1, 2, ... in the
    order of the classes, or the name of the class.
    """

    ground_truth: Annotated[
        tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="GROUND_TRUTH")
    ]
    """Data sets with boxes (COCO, Pascal VOC, YOLO, ImageNet VID); several are joined."""
    detections: Path
    """COCO results file."""
    metrics: tuple[str, ...] = METRICS
    """voc: average precision, by area and at eleven points; corloc; coco: its twelve numbers; ar:
    average recall."""
    iou: float = 0.5
    """Overlap that makes a hit, for voc and corloc."""
    count_difficult: bool = False
    """Whether objects marked difficult are to be found too (never for voc)."""
    other_images: Literal["stop", "skip"] = "stop"
    """What to do with detections in images the ground truth does not have."""
    json: bool = False
    """Print JSON: shares from 0 to 1, null for what has no value."""
    reading: Annotated[ReadingSettings, tyro.conf.arg(name="")] = field(
        default_factory=ReadingSettings
    )

    def run(self) -> int:
        """Print the scores."""
        if not self.ground_truth:
            raise InputError("evaluate", "no data set is named", "name one whose boxes are known")
        metrics = [_metric(name) for name in self.metrics]
        whole = read_ground_truth(self.ground_truth, replace(self.reading, classes=()))
        found = read_results(self.detections, whole, other_images=self.other_images)
        names = self.reading.classes or whole.class_names
        check_classes(names, whole.class_names)
        truth = whole.keep_classes(names)
        scores = score(
            truth,
            found.restricted_to(truth),
            metrics=metrics,
            iou=self.iou,
            count_difficult=self.count_difficult,
        )
        if self.json:
            sys.stdout.write(msgspec.json.encode(scores.to_plain()).decode() + "\n")
        else:
            self._print(scores)
        return 0

    def _print(self, scores: Scores) -> None:
        console = Console()
        for source in sources_of(self.ground_truth, self.reading):
            console.out(printable(source.describe()), highlight=False)
        console.out(f"{scores.images} images, {scores.detections} detections", highlight=False)
        for table in score_tables(scores):
            console.print(table)


def _metric(name: str) -> Metric:
    for metric in METRICS:
        if name == metric:
            return metric
    raise InputError("--metrics", f"{name!r} is not a metric", f"use some of {', '.join(METRICS)}")
