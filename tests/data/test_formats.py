from pathlib import Path

import pytest

from tag2box.data.formats import Source, detect_format, sources_of
from tag2box.errors import InputError
from tag2box.recipe import ReadingSettings


def made(root: Path, **files: str) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


COCO = '{"info": {"year": 2026}, "images": [], "annotations": [], "categories": []}'
STUDIO = '[{"id": 1, "annotations": [], "data": {"image": "a.jpg"}}]'


@pytest.mark.parametrize(
    ("expected", "files"),
    [
        ("folder", {"dog/a.jpg": "", "sheep/b.jpg": ""}),
        ("folder", {"train/dog/a.jpg": "", "notes.yaml": "a: b"}),
        ("table", {"a.jpg": "", "tags.csv": ""}),
        ("table", {"images/a.jpg": "", "_classes.csv": ""}),
        ("json", {"a.jpg": "", "metadata.jsonl": ""}),
        ("json", {"a.jpg": "", "tags.json": '{"a.jpg": []}'}),
        ("labelstudio", {"a.jpg": "", "annotations.json": STUDIO}),
        ("coco", {"annotations/instances_train2017.json": COCO, "train2017/a.jpg": ""}),
        ("coco", {"train/_annotations.coco.json": COCO, "train/a.jpg": ""}),
        ("coco", {"a.jpg": "", "anything.json": COCO}),
        ("voc", {"Annotations/a.xml": "", "JPEGImages/a.jpg": ""}),
        ("voc", {"VOC2007/Annotations/a.xml": "", "VOC2012/Annotations/b.xml": ""}),
        ("voc", {"train/a.xml": "", "train/a.jpg": ""}),
        ("voc", {"a.xml": "", "a.jpg": ""}),
        ("yolo", {"data.yaml": "nc: 1\nnames: [dog]\n", "train/images/a.jpg": ""}),
        ("yolo", {"images/a.jpg": "", "labels/a.txt": ""}),
        ("imagenet-vid", {"Annotations/VID/train/a/000000.xml": "", "Data/VID/train/a/0.jpg": ""}),
    ],
)
def test_folders_are_told_apart(tmp_path: Path, expected: str, files: dict[str, str]) -> None:
    assert detect_format(made(tmp_path, **files)) == expected


@pytest.mark.parametrize(
    ("expected", "name", "content"),
    [
        ("table", "x.csv", ""),
        ("table", "x.TSV", ""),
        ("json", "x.jsonl", ""),
        ("json", "x.json", '{"a.jpg": ["dog"]}'),
        ("json", "x.json", '[{"image": "a.jpg", "tags": []}]'),
        ("labelstudio", "x.json", "\ufeff " + STUDIO),
        ("coco", "x.json", COCO),
        ("coco", "x.json", '{\n "categories": [], "annotations": []}'),
        ("yolo", "data.yaml", ""),
    ],
)
def test_files_are_told_apart(tmp_path: Path, expected: str, name: str, content: str) -> None:
    assert detect_format(made(tmp_path, **{name: content}) / name) == expected


def test_what_is_unknown_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no known format; name a folder, or a \.csv"):
        detect_format(made(tmp_path, **{"a.jpg": ""}) / "a.jpg")
    with pytest.raises(InputError, match=r"holds no tags; .*--tags"):
        detect_format(tmp_path)
    with pytest.raises(InputError, match="no data set is named"):
        sources_of([], ReadingSettings())
    with pytest.raises(InputError, match="is not there"):
        sources_of([tmp_path / "absent"], ReadingSettings())


def test_a_source_knows_its_reader_and_its_keywords(tmp_path: Path) -> None:
    made(tmp_path, **{"photos/a.jpg": "", "photos/tags.csv": "", "t.csv": "", "voc/a.xml": ""})
    photos = tmp_path / "photos"
    (inside,) = sources_of([photos], ReadingSettings())
    assert inside == Source("table", photos / "tags.csv")
    (named,) = sources_of([photos], ReadingSettings(tags=tmp_path / "t.csv", split="val"))
    assert named == Source("table", tmp_path / "t.csv", "val", photos)
    assert named.describe() == (
        f"{tmp_path / 't.csv'}: a table of tags, split val, photos in {photos}"
    )
    (forced,) = sources_of([photos], ReadingSettings(format="voc"))
    assert forced == Source("voc", photos)


def test_settings_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    made(tmp_path, **{"tags.json": "{}", "dog/a.jpg": "", "x/dog/a.jpg": ""})
    with pytest.raises(InputError, match="has no splits; leave out --split"):
        sources_of([tmp_path / "tags.json"], ReadingSettings(split="val"))
    with pytest.raises(InputError, match="leave out --images"):
        sources_of([tmp_path / "x"], ReadingSettings(images=tmp_path))
    with pytest.raises(InputError, match="--tags: 2 folders of photos"):
        sources_of([tmp_path, tmp_path / "x"], ReadingSettings(tags=tmp_path / "tags.json"))
