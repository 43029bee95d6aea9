"""`tag2box check`: is this data learnable, and what is wrong with it?"""

import os
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated

import msgspec
import tyro
from rich.console import Console
from rich.progress import Progress

from tag2box.data.doctor import examine
from tag2box.data.findings import Diagnosis
from tag2box.data.formats import sources_of
from tag2box.data.reading import read_dataset
from tag2box.errors import printable
from tag2box.outputs.diagnosis_tables import diagnosis_tables
from tag2box.recipe import DoctorSettings, ImageSettings, ReadingSettings
from tag2box.structures import Dataset


@dataclass(frozen=True)
class Verb:
    """Is this data learnable, and what is wrong with it?

    Example: tag2box check photos/ --tags tags.csv

    The exit code is 1 if training would be pointless, 2 if the data cannot be read.
    """

    data: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders or files with tagged photos, in any format; several are joined."""
    val: tuple[Path, ...] = ()
    """The data that results will be judged on: nothing of it may be in DATA."""
    val_split: str | None = None
    """Split of --val to read; alone, that split of DATA."""
    json: bool = False
    """Print JSON."""
    reading: Annotated[ReadingSettings, tyro.conf.arg(name="")] = field(
        default_factory=ReadingSettings
    )
    images: Annotated[ImageSettings, tyro.conf.arg(name="")] = field(default_factory=ImageSettings)
    doctor: Annotated[DoctorSettings, tyro.conf.arg(name="")] = field(
        default_factory=DoctorSettings
    )

    def run(self) -> int:
        """Print the diagnosis."""
        dataset = read_dataset(self.data, self.reading)
        diagnosis = self._examine(dataset, self._other())
        if self.json:
            sys.stdout.write(msgspec.json.encode(diagnosis.to_plain()).decode() + "\n")
        else:
            self._print(diagnosis)
        return 0 if diagnosis.learnable else 1

    def _other(self) -> Dataset | None:
        """The data to be judged on; without its own --val it is another split of DATA."""
        if not self.val and self.val_split is None:
            return None
        settings = replace(self.reading, split=self.val_split, classes=(), image_list=None)
        if self.val:
            beside = self.data[0] if self.reading.tags and os.path.isfile(self.val[0]) else None
            settings = replace(settings, tags=None, images=beside)
        other = read_dataset(self.val or self.data, settings)
        if not self.reading.classes:
            return other
        return other.keep_classes([n for n in self.reading.classes if n in other.class_names])

    def _examine(self, dataset: Dataset, other: Dataset | None) -> Diagnosis:
        settings = asdict(self.doctor)
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("looking", total=len(dataset) + len(other or ()))
            return examine(
                dataset,
                other=other,
                max_megapixels=self.images.max_megapixels,
                on_photo=lambda: progress.advance(task),
                **settings,
            )

    def _print(self, diagnosis: Diagnosis) -> None:
        console = Console(highlight=False, markup=False)
        for source in sources_of(self.data, self.reading):
            console.print(printable(source.describe()), soft_wrap=True)
        for table in diagnosis_tables(diagnosis):
            console.print(table)
        warnings = sum(finding.severity == "warning" for finding in diagnosis.findings)
        verdict = "can be learnt from" if diagnosis.learnable else "cannot be learnt from"
        console.print(f"This data {verdict}; warnings: {warnings}.")
