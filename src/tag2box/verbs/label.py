"""`tag2box label`: boxes for tagged photos."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from tag2box.data.reading import read_dataset
from tag2box.outputs.whole_folder import Placing
from tag2box.recipe import (
    Format,
    ImageSettings,
    InferenceSettings,
    MergingSettings,
    ProposalSettings,
    ReadingSettings,
)
from tag2box.verbs.looking import SECTIONS_OF_RUN, Looking, look


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
    json: bool = False
    """Print JSON."""
    reading: Annotated[_Reading, tyro.conf.arg(name="")] = field(default_factory=_Reading)
    inference: InferenceSettings = field(default_factory=InferenceSettings)
    merging: MergingSettings = field(default_factory=MergingSettings)
    proposals: ProposalSettings = field(default_factory=ProposalSettings)
    images: ImageSettings = field(default_factory=ImageSettings)

    def run(self) -> int:
        """Look at the photos and write the boxes."""
        from tag2box.inference.gating import tags_known_to

        how = Looking(
            run=self.trained,
            out=self.out or self.trained / "label",
            formats=self.format,
            gate=True,
            placing=self.photo_files,
            inference=self.inference,
            merging=self.merging,
            proposals=self.proposals,
            images=self.images,
            as_json=self.json,
        )
        dataset = read_dataset(self.data, self.reading)
        return look(lambda class_names: tags_known_to(class_names, dataset).images, how)
