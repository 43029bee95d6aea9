"""`tag2box evaluate`: score a run or a file of detections where the true boxes are known."""

import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import msgspec
import tyro
from rich.console import Console

from tag2box.data.formats import sources_of
from tag2box.data.reading import read_dataset
from tag2box.data.selection import check_classes
from tag2box.errors import InputError, printable
from tag2box.evaluation.detection_table import DetectionTable, tabulate
from tag2box.evaluation.detections_file import read_results, write_results
from tag2box.evaluation.ground_truth import GroundTruth, read_ground_truth
from tag2box.evaluation.scores import METRICS, Metric, Scores, score
from tag2box.files import write_text
from tag2box.outputs.score_tables import score_tables
from tag2box.recipe import (
    ImageSettings,
    InferenceSettings,
    MergingSettings,
    ProposalSettings,
    ReadingSettings,
)
from tag2box.structures import Detections, TaggedImage
from tag2box.verbs.looking import SECTIONS_OF_RUN, Looked, Looking, look, said_in_one_sentence
from tag2box.verbs.reporting import report_run


@dataclass(frozen=True)
class Verb:
    """Score a trained run, or detections in a file, where the true boxes are known.

    Example: tag2box evaluate VOCdevkit/VOC2007 --split test --run runs/voc07

    The run looks at the photos in all its sizes, plain and mirrored, as in the paper; what it finds
    is kept, and the same command goes on where it was stopped. A file of detections is one of COCO
    results: a list of {image_id, category_id, bbox: [x, y, width, height], score}. The category id
    is that of the COCO file; for other formats 1, 2, ... in the order of the classes, or the name
    of the class.
    """

    sections_of_run: ClassVar[tuple[str, ...]] = SECTIONS_OF_RUN

    ground_truth: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """Data sets with boxes (COCO, Pascal VOC, YOLO, ImageNet VID); several are joined."""
    trained: Annotated[Path | None, tyro.conf.arg(name="run")] = None
    """Folder of the trained run to score; its settings are the defaults here."""
    detections: Path | None = None
    """File of detections to score instead of a run."""
    metrics: tuple[str, ...] = METRICS
    """voc: average precision, by area and at eleven points; corloc; coco: its twelve numbers; ar:
    average recall."""
    iou: float = 0.5
    """Overlap that makes a hit, for voc and corloc."""
    count_difficult: bool = False
    """Whether objects marked difficult are to be found too (never for voc)."""
    other_images: Literal["stop", "skip"] = "stop"
    """What to do with detections in images the ground truth does not have."""
    out: Path | None = None
    """Folder for what a run finds and its report; `evaluate` in that of the run when not named."""
    report: bool = True
    """Whether a run's report.html is written, which shows up to 2,000 of the photos."""
    json: bool = False
    """Print JSON: shares from 0 to 1, null for what has no value."""
    reading: Annotated[ReadingSettings, tyro.conf.arg(name="")] = field(
        default_factory=ReadingSettings
    )
    inference: InferenceSettings = field(default_factory=InferenceSettings)
    merging: MergingSettings = field(default_factory=MergingSettings)
    proposals: ProposalSettings = field(default_factory=ProposalSettings)
    images: ImageSettings = field(default_factory=ImageSettings)

    def run(self) -> int:
        """Print the scores."""
        scores = self.scores()
        if scores is None:
            return 0
        if self.json:
            sys.stdout.write(msgspec.json.encode(scores.to_plain()).decode() + "\n")
        else:
            self._print(scores)
        return 0

    def scores(self, given: Iterable[Detections] | None = None) -> Scores | None:
        """The same without a word; None on a process of several that does not write.

        Of the run, of the file, or of detections given.
        """
        if not self.ground_truth:
            raise InputError("evaluate", "no data set is named", "name one whose boxes are known")
        if [self.detections, self.trained, given].count(None) != 2:
            raise InputError("evaluate", "what is to be scored?", "name either a run or detections")
        metrics = [_metric(name) for name in self.metrics]
        whole = read_ground_truth(self.ground_truth, replace(self.reading, classes=()))
        names = self.reading.classes or whole.class_names
        check_classes(names, whole.class_names)
        truth = whole.keep_classes(names)
        if self.detections is not None:
            found = read_results(self.detections, whole, other_images=self.other_images)
            return self._score(truth, found.restricted_to(truth), metrics)
        if given is not None:
            return self._score(truth, tabulate(truth, given), metrics)
        looked = self._looked(names)
        if looked is None:
            return None
        found = tabulate(truth, [one.detections for one in looked.found])
        scores = self._score(truth, found, metrics)
        with said_in_one_sentence(self._out):
            write_results(
                self._out / "coco_results.json", found.by_image(), numbers=truth.numbers()
            )
            plain = msgspec.json.encode(scores.to_plain()).decode()
            write_text(self._out / "scores.json", plain + "\n")
        if self.report and self.trained is not None and looked.found:
            report_run(self._out, self.trained, looked.found, images=self.images, truth=truth)
        return scores

    def _score(self, truth: GroundTruth, found: DetectionTable, metrics: list[Metric]) -> Scores:
        return score(
            truth, found, metrics=metrics, iou=self.iou, count_difficult=self.count_difficult
        )

    def _looked(self, names: Sequence[str]) -> Looked | None:
        """What the run finds in the photos, whatever their tags."""
        assert self.trained is not None
        photos = read_dataset(self.ground_truth, replace(self.reading, classes=())).images

        def photos_for(class_names: tuple[str, ...]) -> tuple[TaggedImage, ...]:
            _refuse_unknown(names, class_names)
            return photos

        every = self.inference.passes == "auto"
        how = Looking(
            run=self.trained,
            out=self._out,
            gate=False,
            inference=replace(self.inference, passes="all") if every else self.inference,
            merging=self.merging,
            proposals=self.proposals,
            images=self.images,
        )
        return look(photos_for, how)

    @property
    def _out(self) -> Path:
        assert self.trained is not None
        return self.out or self.trained / "evaluate"

    def _print(self, scores: Scores) -> None:
        console = Console(soft_wrap=True)
        for source in sources_of(self.ground_truth, self.reading):
            console.out(printable(source.describe()), highlight=False)
        console.out(f"{scores.images} images, {scores.detections} detections", highlight=False)
        for table in score_tables(scores):
            console.print(table)
        if self.trained is not None and self.report:
            console.out(printable(self._out / "report.html"), highlight=False)


def _refuse_unknown(names: Sequence[str], of_run: Sequence[str]) -> None:
    """Classes that the run has not learnt count as missed; if it knows none, an error."""
    unknown = [name for name in names if name not in of_run]
    if len(unknown) == len(names):
        remedy = f"score it on some of {', '.join(of_run)}"
        raise InputError("--run", f"none of {', '.join(names)} is a class of it", remedy)
    if unknown:
        warnings.warn(
            f"the run has not learnt {', '.join(unknown)}: they count as missed; "
            "--classes leaves them out.",
            stacklevel=2,
        )


def _metric(name: str) -> Metric:
    for metric in METRICS:
        if name == metric:
            return metric
    raise InputError("--metrics", f"{name!r} is not a metric", f"use some of {', '.join(METRICS)}")
