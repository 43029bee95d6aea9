"""Pascal VOC: one XML file an image. Tags for everybody, boxes for evaluation.

Understood layouts: a folder with Annotations, JPEGImages (or images) and ImageSets/Main; a
VOCdevkit with VOC2007, VOC2012 ... in it, read as one; XML files beside their images, in a folder
of each split or in none. M objects.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tag2box.data.annotations import Annotations
from tag2box.data.images import SUFFIXES
from tag2box.data.paths import Folder, all_there, list_files
from tag2box.data.text import listed
from tag2box.data.voc_xml import XmlAnnotation, as_annotations, read_annotation
from tag2box.errors import InputError
from tag2box.structures import Dataset

VOC_CLASSES = (
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
)

_YEAR = re.compile(r"VOC20\d\d")
_ANNOTATIONS = ("Annotations", "annotations")
_IMAGES = ("JPEGImages", "images", "Images")


@dataclass(frozen=True)
class _Part:
    """One folder of XML files, the folder of its images, and the ids to read from it."""

    annotations: Path
    images: Path
    listed: Path | None
    """The list of ids; None means every XML file."""


def read_voc(
    path: Path,
    *,
    split: str | None = None,
    images: Path | None = None,
    difficult_makes_tag: bool = False,
) -> Dataset:
    """The tags of a Pascal VOC folder; the images must exist.

    An object that is only there as `difficult` makes a tag if `difficult_makes_tag`.
    """
    annotations = _parse(path, split, images, images_must_exist=True)
    return annotations.tags(difficult_makes_tag=difficult_makes_tag)


def parse_voc(path: Path, *, split: str | None = None, images: Path | None = None) -> Annotations:
    """The boxes of a Pascal VOC folder, all of it or the images a list of ImageSets/Main names.

    Frame: the pixels of an image of the width and height the file states. VOC counts pixels from
    1 and includes the last, so xmin, ymin, xmax, ymax become xmin - 1, ymin - 1, xmax, ymax.
    Image ids are the names of the XML files. Classes are VOC's 20 in the files of VOC itself, else
    the names that occur, sorted. Images may be missing: scoring needs none.
    """
    return _parse(path, split, images, images_must_exist=False)


def _parse(
    path: Path, split: str | None, images: Path | None, *, images_must_exist: bool
) -> Annotations:
    files: list[XmlAnnotation] = []
    paths: list[Path] = []
    for part in _parts(path, split, images):
        some = [read_annotation(file) for file in _xml_files(part)]
        files += some
        paths += _image_files(some, part, must_exist=images_must_exist)
    if not files:
        raise InputError(path, "holds no image of that split", "name a folder with VOC XML files")
    image_ids = tuple(file.file.stem for file in files)
    image_id, times = Counter(image_ids).most_common(1)[0]
    if times > 1:
        raise InputError(path, f"the image id {image_id!r} is used twice", "read the folders apart")
    return as_annotations(
        files,
        class_names=_class_names(files),
        image_ids=image_ids,
        paths=tuple(paths),
        to_corners=_corners,
    )


def _corners(
    boxes: npt.NDArray[np.float64],  # (M, 4)
    _sizes: npt.NDArray[np.int64],  # (M, 2)
) -> npt.NDArray[np.float64]:
    return boxes - [1, 1, 0, 0]


def _class_names(files: Iterable[XmlAnnotation]) -> tuple[str, ...]:
    names = {name for file in files for name in file.names}
    official = all(_YEAR.fullmatch(file.folder) for file in files)
    return VOC_CLASSES if official and names <= set(VOC_CLASSES) else tuple(sorted(names))


def _parts(path: Path, split: str | None, images: Path | None) -> list[_Part]:
    """Where the XML files are, by the layouts named at the top."""
    if _first_folder(path, _ANNOTATIONS):
        return [_official(path, split, images)]
    years = _years(path)
    if years:
        if split is not None:
            years = [year for year in years if _list_of(year, split).is_file()] or years[:1]
        return [_official(year, split, images) for year in years]
    flat = path / split if split is not None else path
    if not any(name.lower().endswith(".xml") for name in list_files(flat)):
        raise InputError(
            flat, "holds neither a folder Annotations nor XML files", "name a Pascal VOC folder"
        )
    return [_Part(annotations=flat, images=images or flat, listed=None)]


def _years(path: Path) -> list[Path]:
    """The folders VOC2007, VOC2012 ... in a VOCdevkit."""
    devkit = path / "VOCdevkit" if (path / "VOCdevkit").is_dir() else path
    return [year for year in sorted(devkit.glob("VOC20*")) if _first_folder(year, _ANNOTATIONS)]


def _first_folder(root: Path, names: Iterable[str]) -> Path | None:
    return next((root / name for name in names if (root / name).is_dir()), None)


def _official(root: Path, split: str | None, images: Path | None) -> _Part:
    listed = None if split is None else _list_of(root, split)
    if listed is not None and not listed.is_file():
        names = [name for name in list_files(listed.parent) if name.endswith(".txt")]
        splits = sorted(name.removesuffix(".txt") for name in names if "_" not in name)
        raise InputError(
            root,
            f"has no list of the split {split!r} (ImageSets/Main/{split}.txt)",
            f"its splits are {', '.join(splits) or 'none: leave the split out'}",
        )
    annotations = _first_folder(root, _ANNOTATIONS)
    assert annotations is not None
    usual = _first_folder(root, _IMAGES) or annotations
    return _Part(annotations=annotations, images=images or usual, listed=listed)


def _list_of(root: Path, split: str) -> Path:
    if not re.fullmatch(r"[\w .-]{1,100}", split):
        raise InputError(split, "is not the name of a split", "name one like train or val")
    return root / "ImageSets" / "Main" / f"{split}.txt"


def _xml_files(part: _Part) -> list[Path]:
    """The XML files to read, in the order of the list or of their names."""
    folder = Folder(part.annotations)
    if part.listed is None:
        names = sorted(n for n in list_files(part.annotations) if n.lower().endswith(".xml"))
        found = [folder.find(name, part.annotations) for name in names]
        return [file for file in found if file is not None]
    files = []
    for image_id, line in listed(part.listed, first_word_only=True).items():
        where = f"{part.listed}:{line}"
        file = folder.find(f"{image_id}.xml", where)
        if file is None:
            raise InputError(
                where, f"{image_id}.xml is not in {part.annotations}", "add it or remove the line"
            )
        files.append(file)
    return files


def _image_files(files: list[XmlAnnotation], part: _Part, *, must_exist: bool) -> tuple[Path, ...]:
    """The image named like each XML file, else the one its <filename> names."""
    folder = Folder(part.images)
    found = []
    for file in files:
        path = folder.find_by_stem(file.file.stem, SUFFIXES, file.file)
        if path is None and file.filename:
            path = folder.find(file.filename, file.file)
        found.append(path)
    names = [file.filename or f"{file.file.stem}.jpg" for file in files]
    if must_exist:
        return all_there(found, part.images, names.__getitem__, part.annotations)
    return tuple(path or part.images / name for path, name in zip(found, names, strict=True))
