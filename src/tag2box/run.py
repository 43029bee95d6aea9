"""A trained run in Python: find boxes with it, label with it, take it elsewhere."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image

from tag2box.data.reading import read_dataset
from tag2box.outputs.whole_folder import Placing
from tag2box.recipe import Recipe
from tag2box.recipe_file import read_recipe, with_changes
from tag2box.structures import Dataset, Detections, TaggedImage
from tag2box.verbs import label as labelling
from tag2box.verbs.looking import SECTIONS_OF_RUN
from tag2box.verbs.sections import recipe_of_run, sections_of

if TYPE_CHECKING:
    from tag2box.inference.predictor import Predictor
    from tag2box.models.detector import Detector

AnyPath: TypeAlias = str | PathLike[str]
Paths: TypeAlias = AnyPath | Sequence[AnyPath]
Pixels: TypeAlias = npt.NDArray[np.uint8] | Image.Image
"""RGB: an array (H, W, 3) or an image of PIL."""
_PIXELS = np.ndarray | Image.Image
Section: TypeAlias = Mapping[str, Any]
"""Settings of one section of a recipe, by name."""


@dataclass(frozen=True)
class Run:
    """A trained detector in its folder."""

    folder: Path

    @cached_property
    def recipe(self) -> Recipe:
        """All settings it was trained with."""
        return read_recipe(self.folder / "recipe.toml")

    @property
    def class_names(self) -> tuple[str, ...]:
        """What it can find."""
        return self.recipe.reading.classes

    def predict(
        self, photos: Paths | Pixels | Sequence[Pixels] | Dataset, **settings: Section
    ) -> Iterator[Detections]:
        """The boxes found in photos whose tags are not known, photo by photo.

        >>> run = tag2box.load("runs/pets")
        >>> for found in run.predict("photos/", inference={"least_score": 0.1}):
        ...     assert found.boxes.shape == (len(found), 4)
        >>> found = next(run.predict(np.zeros((64, 96, 3), np.uint8)))

        Args:
            photos: files, folders, patterns; RGB arrays (H, W, 3) or images of PIL; or a data set,
                whose ids the detections then have.
            settings: by section, over those of the run: `inference`, `merging`, `proposals`.
        """
        chosen = with_changes(recipe_of_run(self.folder, SECTIONS_OF_RUN), settings)
        named, holding = _named(photos)
        return _found(self._predictor(chosen), named, holding, chosen.inference.least_score)

    def label(
        self,
        data: Paths | Dataset,
        *,
        tags: AnyPath | None = None,
        split: str | None = None,
        classes: Sequence[str] = (),
        format: Sequence[str] | str = ("coco",),
        out: AnyPath | None = None,
        photo_files: Placing = "copy",
        report: bool = True,
        **settings: Section,
    ) -> list[Detections]:
        """The boxes of tagged photos, also written to files; goes on where it was stopped.

        >>> found = run.label("photos/", tags="tags.csv", format=["labelstudio", "yolo"])
        >>> sorted(path.name for path in (run.folder / "label").glob("labelstudio*"))
        ['labelstudio.json', 'labelstudio.xml']

        Args:
            data: folders or files with tagged photos, in any format; or what `read` gave.
            tags: file with the tags; `data` is then the folder of photos.
            split: split to read, for formats that have splits.
            classes: keep only these classes.
            format: some of coco, voc, yolo, labelstudio, cvat, jsonl, csv.
            out: folder for the files; `label` in that of the run when not named.
            photo_files: voc and yolo hold the photos too: copied, or linked.
            report: whether to write report.html.
            settings: by section, over those of the run.
        """
        chosen = with_changes(recipe_of_run(self.folder, SECTIONS_OF_RUN), settings)
        chosen = with_changes(chosen, reading_named(tags, split, classes))
        verb = labelling.Verb(
            data=() if isinstance(data, Dataset) else paths(data),
            trained=self.folder,
            format=(format,) if isinstance(format, str) else tuple(format),
            out=None if out is None else Path(out),
            photo_files=photo_files,
            report=report,
            **sections_of(labelling.Verb, chosen),
        )
        dataset = data if isinstance(data, Dataset) else read_dataset(verb.data, chosen.reading)
        written = verb.label(dataset)
        return [] if written is None else [one.detections for one in written.photos]

    def export(self, path: AnyPath) -> None:
        """Write the network as ONNX: image and boxes in, scores and boxes out.

        >>> run.export("pets.onnx")

        Needs `pip install tag2box[export]`. The file is compared with the network in onnxruntime,
        at two sizes, before it is there; `outputs.onnx_file` says what goes in and out.
        """
        from tag2box.outputs.onnx_file import write_onnx

        write_onnx(Path(path), self._detector, self.class_names)

    @cached_property
    def _detector(self) -> Detector:
        from tag2box.models.trained import read_trained

        return read_trained(self.folder)[0]

    def _predictor(self, chosen: Recipe) -> Predictor:
        from tag2box.inference.job import predictor_from
        from tag2box.proposals.supply import open_supply
        from tag2box.training.distributed import processes

        limits = vars(chosen.images)
        with processes(chosen.inference.device, alone=True) as ours:
            return predictor_from(
                self._detector,
                self.recipe,
                open_supply(chosen.proposals, **limits),
                inference=chosen.inference,
                merging=chosen.merging,
                gate=False,
                device=ours.device,
                **limits,
            )


def paths(data: Paths) -> tuple[Path, ...]:
    """One path or several, as a tuple."""
    return (Path(data),) if isinstance(data, str | PathLike) else tuple(map(Path, data))


def reading_named(
    tags: AnyPath | None, split: str | None, classes: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """What a call names of the section `reading`; the rest stays as it is."""
    named = {"tags": tags and Path(tags), "split": split, "classes": tuple(classes)}
    return {"reading": {key: value for key, value in named.items() if value}}


def _named(
    photos: Paths | Pixels | Sequence[Pixels] | Dataset,
) -> tuple[Sequence[TaggedImage], AbstractContextManager[object]]:
    """The photos as files, and what to hold while they are looked at: pixels are written down."""
    from tag2box.inference.photos import photos_named

    if isinstance(photos, Dataset):
        return photos.images, nullcontext()
    several: Sequence[Any] = [photos] if isinstance(photos, str | PathLike | _PIXELS) else photos
    if not any(isinstance(one, _PIXELS) for one in several):
        return photos_named(paths(several)), nullcontext()
    folder = tempfile.TemporaryDirectory(prefix="tag2box-")
    files = [Path(folder.name) / f"{number}.png" for number in range(len(several))]
    for file, one in zip(files, several, strict=True):
        image = one if isinstance(one, Image.Image) else Image.fromarray(np.asarray(one))
        image.convert("RGB").save(file, compress_level=1)
    return [TaggedImage(str(n), f, frozenset()) for n, f in enumerate(files)], folder


def _found(
    predictor: Predictor,
    photos: Sequence[TaggedImage],
    holding: AbstractContextManager[object],
    least_score: float,
) -> Iterator[Detections]:
    with holding:
        if len(photos) > 1:  # one is quicker here than in a process of its own
            predictor.supply.fill(photos, progress=False)
        for one in predictor.find(photos):
            yield one.confident(least_score).detections
