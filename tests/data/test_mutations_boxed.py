"""Damaged files of every boxed format: a clean error or sound annotations, nothing else."""

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from tag2box.data.annotations import OVER_THE_BORDER, Annotations
from tag2box.data.coco import parse_coco, read_coco
from tag2box.data.imagenet_vid import parse_imagenet_vid, read_imagenet_vid
from tag2box.data.voc import parse_voc, read_voc
from tag2box.data.yolo import parse_yolo, read_yolo
from tag2box.errors import InputError
from tag2box.structures import Dataset

COCO = json.dumps(
    {
        "images": [
            {"id": 1, "file_name": "a.jpg", "width": 20, "height": 10},
            {"id": 2, "file_name": "sub/b.jpg", "width": 20, "height": 10},
        ],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 3, "bbox": [1, 2, 3.5, 4], "area": 14.0},
            {"id": 2, "image_id": 2, "category_id": 7, "bbox": [0, 0, 20, 10], "iscrowd": 1},
        ],
        "categories": [{"id": 3, "name": "cup"}, {"id": 7, "name": "caf\u00e9"}],
    },
    indent=0,
)
XML = """<annotation>
<folder>VOC2007</folder>
<filename>a.jpg</filename>
<size>
<width>20</width>
<height>10</height>
</size>
<object>
<name>{name}</name>
<difficult>1</difficult>
<bndbox>
<xmin>1</xmin>
<ymin>2</ymin>
<xmax>20</xmax>
<ymax>10</ymax>
</bndbox>
</object>
</annotation>
"""
YAML = "path: .\ntrain: images\nval: list.txt\nnames:\n  0: cat\n  1: dog\nnc: 2\n"
LABELS = "0 0.5 0.5 0.25 1\n1 0.1 0.1 0.9 0.1 0.5 0.9\n"


@dataclass(frozen=True)
class Format:
    files: dict[str, str]
    """What is written, by name."""
    damaged: tuple[str, ...]
    """The names of those to damage."""
    read: Callable[[Path], Dataset]
    parse: Callable[[Path], Annotations]


FORMATS = {
    "coco": Format(
        {"instances_all.json": COCO, "a.jpg": "", "sub/b.jpg": ""},
        ("instances_all.json",),
        read_coco,
        parse_coco,
    ),
    "voc": Format(
        {
            "Annotations/a.xml": XML.format(name="dog"),
            "ImageSets/Main/train.txt": "a 1\n",
            "JPEGImages/a.jpg": "",
        },
        ("Annotations/a.xml", "ImageSets/Main/train.txt"),
        lambda root: read_voc(root, split="train"),
        lambda root: parse_voc(root, split="train"),
    ),
    "yolo": Format(
        {
            "data.yaml": YAML,
            "labels/a.txt": LABELS,
            "list.txt": "images/a.jpg\n",
            "images/a.jpg": "",
        },
        ("data.yaml", "labels/a.txt", "list.txt"),
        read_yolo,
        parse_yolo,
    ),
    "imagenet-vid": Format(
        {
            "Annotations/VID/val/clip/000000.xml": XML.format(name="n02084071"),
            "ImageSets/VID/frames.txt": "clip/000000 1\n",
            "Data/VID/val/clip/000000.JPEG": "",
        },
        ("Annotations/VID/val/clip/000000.xml", "ImageSets/VID/frames.txt"),
        lambda root: read_imagenet_vid(root, split="frames"),
        lambda root: parse_imagenet_vid(root, split="frames"),
    ),
}
VALUES = [
    *("nan", "NaN", "Infinity", "-inf", "1e400", "-1", "0", "99999999999999999999", "1e308"),
    *("null", "true", '""', "[]", "{}", "../../a.jpg", "/etc/passwd", "C:\\a", "\0", "x" * 5000),
    *(
        "[" * 3000,
        "<a>" * 3000,
        "&lol;",
        "*a",
        "&a x",
        "!!python/name:os.system",
        "1_0",
        "7" * 5000,
    ),
    '<!DOCTYPE a [<!ENTITY lol "lol">]>',
]

damage = st.one_of(
    st.tuples(st.just("flip"), st.integers(0, 10_000), st.integers(0, 255)),
    st.tuples(st.just("cut"), st.integers(0, 10_000), st.just(0)),
    st.tuples(st.just("drop line"), st.integers(0, 100), st.just(0)),
    st.tuples(st.just("double line"), st.integers(0, 100), st.just(0)),
    st.tuples(st.just("swap value"), st.integers(0, 100), st.integers(0, len(VALUES) - 1)),
    st.tuples(st.just("insert"), st.integers(0, 10_000), st.integers(0, len(VALUES) - 1)),
)


def damaged(content: bytes, kind: str, place: int, value: int) -> bytes:
    """The content with one damage done to it."""
    if not content:
        return content
    lines = content.splitlines(keepends=True)
    line = place % len(lines)
    byte = place % len(content)
    match kind:
        case "flip":
            return content[:byte] + bytes([value]) + content[byte + 1 :]
        case "cut":
            return content[:byte]
        case "drop line":
            return b"".join(lines[:line] + lines[line + 1 :])
        case "double line":
            return b"".join(lines[: line + 1] + lines[line:])
        case "insert":
            return content[:byte] + VALUES[value].encode() + content[byte:]
    words = [i for i in range(len(content)) if content[i : i + 1].isalnum()]
    word = words[place % len(words)] if words else 0
    end = word
    while end < len(content) and content[end : end + 1] not in b' <>,":\n]}':
        end += 1
    return content[:word] + VALUES[value].encode() + content[end:]


def assert_sound(found: Annotations, root: Path) -> None:
    assert len(set(found.image_ids)) == len(found.image_ids) > 0
    assert len(set(found.class_names)) == len(found.class_names)
    assert np.isfinite(found.boxes).all()
    assert np.isfinite(found.areas).all()
    assert (found.areas >= 0).all()
    assert (found.boxes[:, 2:] >= found.boxes[:, :2]).all()
    sizes = found.sizes[found.object_image]
    known = (sizes > 0).all(axis=1)
    assert (found.boxes[known, 2:] <= sizes[known] + OVER_THE_BORDER).all()
    assert (found.boxes >= -OVER_THE_BORDER).all()
    assert ((found.classes >= 0) & (found.classes < len(found.class_names))).all()
    assert all(path.is_relative_to(root) and ".." not in path.parts for path in found.paths)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {}
    for name, fmt in FORMATS.items():
        made[name] = tmp_path_factory.mktemp(name)
        for file, text in fmt.files.items():
            path = made[name] / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            if path.suffix in (".jpg", ".JPEG"):
                Image.new("L", (20, 10)).save(path)
    return made


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_not_damaged_is_read(folders: dict[str, Path], name: str) -> None:
    found = FORMATS[name].parse(folders[name])
    assert len(found.classes) > 0
    assert_sound(found, folders[name])
    assert len(FORMATS[name].read(folders[name])) == len(found.image_ids)


@pytest.mark.parametrize(
    ("name", "file"), [(name, file) for name, fmt in FORMATS.items() for file in fmt.damaged]
)
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(changes=st.lists(damage, min_size=1, max_size=3))
def test_damage_is_a_clean_error_or_sound_annotations(
    folders: dict[str, Path], name: str, file: str, changes: list[tuple[str, int, int]]
) -> None:
    fmt, root = FORMATS[name], folders[name]
    content = fmt.files[file].encode()
    for kind, place, value in changes:
        content = damaged(content, kind, place, value)
    (root / file).write_bytes(content)
    try:
        with contextlib.suppress(InputError):
            assert_sound(fmt.parse(root), root)
        with contextlib.suppress(InputError):
            dataset = fmt.read(root)
            assert all(image.path.is_file() for image in dataset)
    finally:
        (root / file).write_text(fmt.files[file], encoding="utf-8")
