"""`tag2box propose`: compute the proposals of a data set once, and say how good they are."""

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
import tyro
from rich.console import Console
from rich.table import Table

from tag2box.data.folder import photos_in
from tag2box.data.formats import BOXED, detect_format, sources_of
from tag2box.data.reading import read_dataset
from tag2box.errors import InputError
from tag2box.evaluation.ground_truth import read_ground_truth
from tag2box.evaluation.recall import ProposalStatistics, proposal_statistics
from tag2box.proposals.npz import write_npz
from tag2box.proposals.protocol import Proposals
from tag2box.proposals.sources import UnreadablePhoto
from tag2box.proposals.supply import ProposalSupply, open_supply
from tag2box.recipe import ImageSettings, ProposalSettings, ReadingSettings
from tag2box.structures import Dataset, TaggedImage
from tag2box.verbs.announcing import announce


@dataclass(frozen=True)
class Verb:
    """Compute the candidate regions of a data set once, and say how good they are.

    Example: tag2box propose VOCdevkit/VOC2007 --split trainval --stats

    They are kept in a cache, keyed by the content of the photos: training finds them there. An
    interrupted run goes on where it stopped. A plain folder of photos needs no tags here.
    """

    data: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """Data sets of any format, or a folder of photos; several are joined."""
    stats: bool = False
    """Print the number of proposals and, where boxes exist, how many objects they cover."""
    json: bool = False
    """Print these numbers as JSON, shares from 0 to 1, and the rest on standard error."""
    out: Path | None = None
    """Also write the proposals to this .npz file, which `--proposals file:PATH` reads."""
    reading: Annotated[ReadingSettings, tyro.conf.arg(name="")] = field(
        default_factory=ReadingSettings
    )
    images: ImageSettings = field(default_factory=ImageSettings)
    proposals: ProposalSettings = field(default_factory=ProposalSettings)

    def run(self) -> int:
        """Fill the cache, then print and write what is asked for."""
        if not self.data:
            raise InputError("propose", "no data set is named", "name a folder of photos")
        dataset = _photos(self.data, self.reading)
        supply = open_supply(
            self.proposals,
            max_megapixels=self.images.max_megapixels,
            unreadable=self.images.unreadable,
        )
        computed = supply.fill(dataset.images)
        console = Console(soft_wrap=True, stderr=self.json)
        console.out(f"{len(dataset)} photos, the proposals of {computed} computed now")
        if self.json:
            numbers = _plain(self._statistics(dataset, supply))
            sys.stdout.write(msgspec.json.encode(numbers).decode() + "\n")
        elif self.stats:
            for table in _tables(self._statistics(dataset, supply), self.proposals.source):
                console.print(table)
        if self.out is not None:
            readable = list(self._readable(dataset, supply))
            write_npz(self.out, [image.id for image, _ in readable], [p for _, p in readable])
            console.out(f"written to {self.out}")
        return 0

    def _statistics(self, dataset: Dataset, supply: ProposalSupply) -> ProposalStatistics:
        objects = self._objects(dataset)
        readable = list(self._readable(dataset, supply))
        return proposal_statistics(
            [proposals.boxes for _, proposals in readable],
            [objects[image.id] for image, _ in readable],
        )

    def _objects(self, dataset: Dataset) -> dict[str, npt.NDArray[np.float64]]:
        """The boxes that count, (M, 4) by image id; none where the data set states no boxes."""
        if not _is_boxed(self.data, self.reading):
            return {image.id: np.zeros((0, 4)) for image in dataset}
        truth = read_ground_truth(self.data, self.reading)
        return dict(zip(truth.image_ids, truth.boxes_by_image(difficult=False), strict=True))

    def _readable(
        self, dataset: Dataset, supply: ProposalSupply
    ) -> Iterator[tuple[TaggedImage, Proposals]]:
        for image in dataset:
            try:
                yield image, supply.get(image)
            except UnreadablePhoto as error:
                if self.images.unreadable == "stop":
                    raise
                warnings.warn(f"skipped: {error}", stacklevel=2)


def _photos(paths: tuple[Path, ...], reading: ReadingSettings) -> Dataset:
    """A data set, or the photos of a folder that is none: proposals need no tags."""
    if reading == ReadingSettings() and len(paths) == 1 and paths[0].is_dir():
        try:
            detect_format(paths[0])
        except InputError:
            found = photos_in(paths[0])
            names = [path.relative_to(paths[0]).as_posix() for path in found]
            if found:
                images = zip(names, found, strict=True)
                return Dataset((), tuple(TaggedImage(n, p, frozenset()) for n, p in images))
    dataset = read_dataset(paths, reading)
    announce(paths, reading)
    return dataset


def _is_boxed(paths: tuple[Path, ...], reading: ReadingSettings) -> bool:
    try:
        return BOXED.issuperset(source.format for source in sources_of(paths, reading))
    except InputError:  # a folder of photos
        return False


def _plain(statistics: ProposalStatistics) -> dict[str, Any]:
    """For a program; recalls are a list, of which the last has no limit."""
    recalls = statistics.recalls if statistics.objects else ()
    return vars(statistics) | {"recalls": [vars(row) for row in recalls]}


def _tables(statistics: ProposalStatistics, source: str) -> Iterator[Table]:
    counts = Table("photos", "average", "maximum", title=f"Proposals: {source}")
    counts.add_row(str(statistics.images), f"{statistics.average:.0f}", str(statistics.maximum))
    yield counts
    if statistics.objects == 0:
        return
    covered = Table("proposals", title=f"Of {statistics.objects} objects, in percent")
    for heading in ("recall at IoU 0.5", "recall at IoU 0.7", "average best overlap"):
        covered.add_column(heading, justify="right")
    for row in statistics.recalls:
        numbers = (row.recall_50, row.recall_70, row.average_best_overlap)
        covered.add_row(str(row.limit or "all"), *(f"{100 * number:.1f}" for number in numbers))
    yield covered
