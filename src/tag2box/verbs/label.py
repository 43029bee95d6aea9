"""`tag2box label`: boxes for tagged photos."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from tag2box.data.reading import read_dataset
from tag2box.outputs.box_files import check_formats
from tag2box.outputs.whole_folder import Placing
from tag2box.recipe import (
    Format,
    ImageSettings,
    InferenceSettings,
    MergingSettings,
    ProposalSettings,
    ReadingSettings,
)
from tag2box.structures import Dataset, TaggedImage
from tag2box.verbs.announcing import announce
from tag2box.verbs.looking import SECTIONS_OF_RUN, Looking, look
from tag2box.verbs.reporting import report_run
from tag2box.verbs.writing import Written, say, write_found


@dataclass(frozen=True)
class _Reading(ReadingSettings):
    """Where the tags come from."""

    format: Annotated[Format, tyro.conf.arg(name="data-format")] = "auto"
    """Format of the data (`--format` is that of the boxes); `auto` looks at what lies there."""


@dataclass(frozen=True)
class Verb:
    """Find the objects that tagged photos are tagged with, by a trained run.

    Example: tag2box label photos/ --tags tags.csv --run runs/birds --format labelstudio

    The tags decide what is looked for, and of every tag at least the best box is written.
    Results are kept as they come: the same command goes on where it was stopped. Two processes
    share the photos with `torchrun --nproc-per-node 2 -- $(which tag2box) label ...`.
    """

    sections_of_run: ClassVar[tuple[str, ...]] = SECTIONS_OF_RUN

    data: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """Folders or files with tagged photos, in any format; several are joined."""
    trained: Annotated[Path, tyro.conf.arg(name="run")]
    """Folder of the trained run; its settings are the defaults here."""
    format: tuple[str, ...] = ("coco",)
    """Some of coco, voc, yolo, labelstudio, cvat, jsonl, csv."""
    out: Path | None = None
    """Folder for the files; `label` in that of the run when not named."""
    photo_files: Placing = "copy"
    """voc and yolo hold the photos too: copied, or linked where the disk allows it."""
    report: bool = True
    """Whether to write report.html beside them, which shows up to 2,000 of the photos."""
    json: bool = False
    """Print JSON."""
    reading: Annotated[_Reading, tyro.conf.arg(name="")] = field(default_factory=_Reading)
    inference: InferenceSettings = field(default_factory=InferenceSettings)
    merging: MergingSettings = field(default_factory=MergingSettings)
    proposals: ProposalSettings = field(default_factory=ProposalSettings)
    images: ImageSettings = field(default_factory=ImageSettings)

    def run(self) -> int:
        """Look at the photos and write the boxes."""
        dataset = read_dataset(self.data, self.reading)
        announce(self.data, self.reading)
        written = self.label(dataset)
        if written is not None:
            say(written, self._how, as_json=self.json)
        return 0

    def label(self, dataset: Dataset) -> Written | None:
        """The same without a word; None on a process of several that does not write."""
        from tag2box.inference.gating import tags_known_to

        def photos_for(class_names: tuple[str, ...]) -> tuple[TaggedImage, ...]:
            photos = tags_known_to(class_names, dataset).images
            check_formats(self.format, photos, class_names)
            return photos

        how = self._how
        looked = look(photos_for, how)
        if looked is None:
            return None
        written = write_found(looked, how, self.format, self.photo_files)
        if not (self.report and looked.found):
            return written
        page = report_run(how.out, self.trained, looked.found, images=self.images)
        return replace(written, files=[*written.files, page])

    @property
    def _how(self) -> Looking:
        return Looking(
            run=self.trained,
            out=self.out or self.trained / "label",
            gate=True,
            inference=self.inference,
            merging=self.merging,
            proposals=self.proposals,
            images=self.images,
        )
