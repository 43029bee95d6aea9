"""ImageNet VID: clips as folders of frames, one XML file a frame.

Tags are those of a frame, not of its clip. Of each clip only key frames are taken unless asked
otherwise: neighbouring frames are nearly the same photo. M objects.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tag2box.data.annotations import Annotations
from tag2box.data.images import SUFFIXES
from tag2box.data.paths import Folder, all_there
from tag2box.data.vid_frames import choose_frames
from tag2box.data.voc_xml import XmlAnnotation, as_annotations, read_annotation
from tag2box.errors import InputError
from tag2box.structures import Dataset

# WordNet id -> name, in the order of the development kit.
VID_CLASSES = {
    "n02691156": "airplane",
    "n02419796": "antelope",
    "n02131653": "bear",
    "n02834778": "bicycle",
    "n01503061": "bird",
    "n02924116": "bus",
    "n02958343": "car",
    "n02402425": "cattle",
    "n02084071": "dog",
    "n02121808": "domestic_cat",
    "n02503517": "elephant",
    "n02118333": "fox",
    "n02510455": "giant_panda",
    "n02342885": "hamster",
    "n02374451": "horse",
    "n02129165": "lion",
    "n01674464": "lizard",
    "n02484322": "monkey",
    "n03790512": "motorcycle",
    "n02324045": "rabbit",
    "n02509815": "red_panda",
    "n02411705": "sheep",
    "n01726692": "snake",
    "n02355227": "squirrel",
    "n02129604": "tiger",
    "n04468005": "train",
    "n01662784": "turtle",
    "n04530566": "watercraft",
    "n02062744": "whale",
    "n02391049": "zebra",
}

_ROOTS = (".", "ILSVRC2015", "ILSVRC")


def read_imagenet_vid(
    path: Path,
    *,
    split: str | None = None,
    images: Path | None = None,
    difficult_makes_tag: bool = False,
    key_frames: int = 15,
) -> Dataset:
    """The tags of key frames of ImageNet VID; the frames must exist. Nothing is `difficult`."""
    annotations = _parse(path, split, images, key_frames, images_must_exist=True)
    return annotations.tags(difficult_makes_tag=difficult_makes_tag)


def parse_imagenet_vid(
    path: Path, *, split: str | None = None, images: Path | None = None, key_frames: int = 15
) -> Annotations:
    """The boxes of key frames of ImageNet VID; `key_frames` a clip, 0 for every frame.

    `split` is a folder of Annotations/VID (train, val) or a list of ImageSets/VID, see
    `tag2box.data.vid_frames`.

    Frame: the pixels of an image of the width and height the file states. Pixels are counted from
    0 and the last is included (the development kit's overlap counts xmax - xmin + 1 columns), so
    xmin, ymin, xmax, ymax become xmin, ymin, xmax + 1, ymax + 1, cut off at the border. Image ids
    are names below Data/VID without suffix. Classes are the 30 of the challenge under their
    readable names; a WordNet id not among them stays as it is. Frames may be missing as images.
    """
    return _parse(path, split, images, key_frames, images_must_exist=False)


def _parse(
    path: Path, split: str | None, images: Path | None, key_frames: int, *, images_must_exist: bool
) -> Annotations:
    root = _root(path)
    names = choose_frames(root, split, key_frames)
    if not names:
        raise InputError(root, "holds no annotated frame", "name a folder of ImageNet VID")
    files = [read_annotation(root / "Annotations" / "VID" / f"{name}.xml") for name in names]
    occurring = {name for file in files for name in file.names}
    unknown = sorted(occurring - set(VID_CLASSES) - set(VID_CLASSES.values()))
    return as_annotations(
        [_readable(file) for file in files],
        class_names=(*VID_CLASSES.values(), *unknown),
        image_ids=tuple(names),
        paths=_image_files(names, images or root / "Data" / "VID", must_exist=images_must_exist),
        to_corners=_corners,
    )


def _readable(file: XmlAnnotation) -> XmlAnnotation:
    return replace(file, names=[VID_CLASSES.get(name, name) for name in file.names])


def _corners(
    boxes: npt.NDArray[np.float64],  # (M, 4)
    sizes: npt.NDArray[np.int64],  # (M, 2)
) -> npt.NDArray[np.float64]:
    """Cut off at the border, because interpolated boxes of the data set reach over it."""
    limits = np.where(sizes > 0, sizes, np.inf)
    return np.concatenate(
        [np.maximum(boxes[:, :2], 0), np.minimum(boxes[:, 2:] + 1, limits)], axis=1
    )


def _root(path: Path) -> Path:
    for name in _ROOTS:
        if (path / name / "Annotations" / "VID").is_dir():
            return path / name
    raise InputError(
        path, "holds no folder Annotations/VID", "name the folder ILSVRC2015 of ImageNet VID"
    )


def _image_files(names: list[str], data: Path, *, must_exist: bool) -> tuple[Path, ...]:
    folder = Folder(data)
    found = [folder.find_by_stem(name, SUFFIXES, data) for name in names]
    stated = [f"{name}.JPEG" for name in names]
    if must_exist:
        return all_there(found, data, stated.__getitem__, data)
    return tuple(path or data / name for path, name in zip(found, stated, strict=True))
