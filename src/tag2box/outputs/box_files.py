"""Which writer writes which format, and under which name."""

from collections.abc import Sequence
from pathlib import Path

from tag2box.errors import InputError
from tag2box.evaluation.detections_file import write_results
from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.outputs.coco import write_coco
from tag2box.outputs.csv_rows import write_csv
from tag2box.outputs.cvat import write_cvat
from tag2box.outputs.json_lines import write_json_lines
from tag2box.outputs.labelstudio import write_labelstudio
from tag2box.outputs.photo_names import file_names, refuse_unwritable
from tag2box.outputs.voc import refuse_for_voc, write_voc
from tag2box.outputs.whole_folder import Placing
from tag2box.outputs.yolo import write_yolo
from tag2box.structures import TaggedImage

FORMATS = ("coco", "voc", "yolo", "labelstudio", "cvat", "jsonl", "csv")
_LINES = {"yolo", "cvat"}


def check_formats(
    formats: Sequence[str], photos: Sequence[TaggedImage], class_names: Sequence[str]
) -> None:
    """Raise `InputError` for what could not be written, before hours are spent."""
    for name in formats:
        if name not in FORMATS:
            known = ", ".join(FORMATS)
            raise InputError("--format", f"{name!r} is not a format", f"use some of {known}")
    names = file_names([photo.id for photo in photos], [photo.path for photo in photos])
    for name in formats:
        where = f"--format {name}"
        refuse_unwritable(names, where=where, as_lines=name in _LINES)
        refuse_unwritable(class_names, where=where, as_lines=name in _LINES | {"labelstudio"})
        if name == "voc":
            refuse_for_voc(names, class_names, where=where)


def write_boxes(
    name: str,
    out: Path,
    photos: Sequence[PhotoBoxes],
    class_names: Sequence[str],
    *,
    model_version: str,
    placing: Placing = "copy",
) -> list[Path]:
    """Write one format into the folder `out`; returns the files and folders it is made of."""
    match name:
        case "coco":
            files = [out / "coco.json", out / "coco_results.json"]
            write_coco(files[0], photos, class_names)
            write_results(files[1], [photo.detections for photo in photos])
        case "voc":
            files = [out / "voc"]
            write_voc(files[0], photos, class_names, placing=placing)
        case "yolo":
            files = [out / "yolo"]
            write_yolo(files[0], photos, class_names, placing=placing)
        case "labelstudio":
            files = [out / "labelstudio.json", out / "labelstudio.xml"]
            write_labelstudio(files[0], photos, class_names, model_version=model_version)
        case "cvat":
            files = [out / "cvat.xml"]
            write_cvat(files[0], photos, class_names)
        case "jsonl":
            files = [out / "boxes.jsonl"]
            write_json_lines(files[0], photos, class_names)
        case _:
            files = [out / "boxes.csv"]
            write_csv(files[0], photos, class_names)
    return files
