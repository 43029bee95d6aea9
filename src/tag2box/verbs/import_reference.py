"""`tag2box import-reference FILE.pth OUT`: a checkpoint of the reference becomes a run folder."""

import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path

import tyro

from tag2box.errors import InputError
from tag2box.models.reference_checkpoint import class_names_for, read_reference
from tag2box.models.trained import write_trained
from tag2box.recipe import ReadingSettings, Recipe


@dataclass(frozen=True)
class Verb:
    """Make a run folder of a VGG16 checkpoint of NVlabs/wetectron.

    Example: tag2box import-reference voc07.pth runs/voc07
    """

    checkpoint: tyro.conf.Positional[Path]
    """The .pth file."""
    out: tyro.conf.Positional[Path]
    """Folder to make, for `tag2box predict --run`."""
    classes: tuple[str, ...] = ()
    """Class names in column order; of a file with 20 or 80 classes those of VOC or COCO."""

    def run(self) -> int:
        """Write the folder and say what it holds."""
        if self.out.exists() and (not self.out.is_dir() or any(self.out.iterdir())):
            raise InputError(self.out, "is there already", "name a new folder")
        detector, model = read_reference(self.checkpoint)
        count = detector.heads.num_classes
        names = self.classes or class_names_for(count, self.checkpoint)
        if len(names) != count or len(set(names)) != count:
            raise InputError(
                "--classes",
                f"gives {len(set(names))} different names, the file has {count} classes",
                "name each class once",
            )
        recipe = dataclasses.replace(
            Recipe(), model=model, reading=ReadingSettings(classes=tuple(names))
        )
        write_trained(self.out, detector, recipe)
        sys.stdout.write(f"{self.out}: VGG16 with {count} classes, {names[0]} to {names[-1]}\n")
        return 0
