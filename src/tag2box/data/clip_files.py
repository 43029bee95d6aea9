"""Generated clips on disk, as ImageNet VID lays them out, for its reader and for video training.

Data/VID/train/clip_00000/000000.JPEG …       the frames
Annotations/VID/train/clip_00000/000000.xml   the true boxes, pixels from 0, the last included
"""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
from PIL import Image

from tag2box.data.clips import Clip
from tag2box.data.scene_objects import CLASS_NAMES
from tag2box.files import write_text, written_whole

_JPEG_QUALITY = 92
_HIDDEN = 0.75  # less to be seen than this is marked `occluded`


def write_clip(folder: Path, name: str, clip: Clip, *, split: str = "train") -> None:
    """One clip below `folder`, its frames numbered from 0."""
    for frame, image in enumerate(clip.images):
        place = Path("VID", split, name, f"{frame:06d}")
        with written_whole(folder / "Data" / f"{place}.JPEG") as temporary:
            Image.fromarray(image).save(temporary, "JPEG", quality=_JPEG_QUALITY)
        write_text(folder / "Annotations" / f"{place}.xml", frame_annotation(clip, frame, name))


def frame_annotation(clip: Clip, frame: int, name: str) -> str:
    """The XML file of one frame."""
    height, width = clip.images.shape[1:3]
    root = ElementTree.Element("annotation")
    _fill(root, {"folder": name, "filename": f"{frame:06d}"})
    _fill(ElementTree.SubElement(root, "size"), {"width": width, "height": height})
    for track in np.flatnonzero(clip.visible[frame]).tolist():
        entry = ElementTree.SubElement(root, "object")
        _fill(entry, {"trackid": track, "name": CLASS_NAMES[clip.classes[track]]})
        _fill(ElementTree.SubElement(entry, "bndbox"), _corners(clip.boxes[frame, track]))
        _fill(entry, {"occluded": int(clip.visible[frame, track] < _HIDDEN), "generated": 0})
    return ElementTree.tostring(root, encoding="unicode")


def _corners(box: npt.NDArray[np.float64]) -> dict[str, object]:
    x1, y1, x2, y2 = box.astype(int).tolist()
    return {"xmax": x2 - 1, "xmin": x1, "ymax": y2 - 1, "ymin": y1}


def _fill(parent: ElementTree.Element, values: dict[str, object]) -> None:
    for key, value in values.items():
        ElementTree.SubElement(parent, key).text = str(value)
