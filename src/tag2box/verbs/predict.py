"""`tag2box predict`: boxes for photos without tags."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from tag2box.outputs.box_files import check_formats
from tag2box.outputs.whole_folder import Placing
from tag2box.recipe import ImageSettings, InferenceSettings, MergingSettings, ProposalSettings
from tag2box.structures import TaggedImage
from tag2box.verbs.looking import SECTIONS_OF_RUN, Looking, look
from tag2box.verbs.writing import say, write_found


@dataclass(frozen=True)
class Verb:
    """Find the objects in photos without tags, with a trained run.

    Example: tag2box predict new_photos/ "more/*.jpg" --run runs/birds --format coco,yolo

    Results are kept as they come: the same command goes on where it was stopped. Two processes
    share the photos with `torchrun --nproc-per-node 2 -- $(which tag2box) predict ...`.
    """

    sections_of_run: ClassVar[tuple[str, ...]] = SECTIONS_OF_RUN

    photos: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PHOTOS")]
    """Photos, folders of photos, patterns."""
    trained: Annotated[Path, tyro.conf.arg(name="run")]
    """Folder of the trained run; its settings are the defaults here."""
    format: tuple[str, ...] = ("coco",)
    """Some of coco, voc, yolo, labelstudio, cvat, jsonl, csv."""
    out: Path | None = None
    """Folder for the files; `predict` in that of the run when not named."""
    photo_files: Placing = "copy"
    """voc and yolo hold the photos too: copied, or linked where the disk allows it."""
    json: bool = False
    """Print JSON."""
    inference: InferenceSettings = field(default_factory=InferenceSettings)
    merging: MergingSettings = field(default_factory=MergingSettings)
    proposals: ProposalSettings = field(default_factory=ProposalSettings)
    images: ImageSettings = field(default_factory=ImageSettings)

    def run(self) -> int:
        """Look at the photos and write the boxes."""
        from tag2box.inference.photos import photos_named

        photos = photos_named(self.photos)

        def photos_for(class_names: tuple[str, ...]) -> tuple[TaggedImage, ...]:
            check_formats(self.format, photos, class_names)
            return photos

        how = Looking(
            run=self.trained,
            out=self.out or self.trained / "predict",
            gate=False,
            inference=self.inference,
            merging=self.merging,
            proposals=self.proposals,
            images=self.images,
        )
        looked = look(photos_for, how)
        if looked is not None:
            say(write_found(looked, how, self.format, self.photo_files), how, as_json=self.json)
        return 0
