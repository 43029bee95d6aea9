import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tag2box.data.coco import parse_coco, read_coco
from tag2box.errors import InputError

Content = dict[str, Any]


def content() -> Content:
    """Two photos with objects, one without; category ids neither dense nor in order."""
    return {
        "info": {"year": 2026},
        "images": [
            {"id": 7, "file_name": "a.jpg", "width": 40, "height": 30},
            {"id": 3, "file_name": "b.jpg", "width": 20, "height": 50},
            {"id": 9, "file_name": "none.jpg", "width": 10, "height": 10},
        ],
        "annotations": [
            {"id": 1, "image_id": 3, "category_id": 90, "bbox": [1, 2, 3, 4.5], "iscrowd": 0},
            {
                "id": 2,
                "image_id": 7,
                "category_id": 5,
                "bbox": [0, 0, 40.4, 30],
                "area": 600.5,
                "iscrowd": 0,
                "segmentation": [[0, 0, 1, 1, 2, 0]],
            },
            {
                "id": 3,
                "image_id": 3,
                "category_id": 5,
                "bbox": [5, 5, 0, 2],
                "iscrowd": 1,
                "segmentation": {"size": [1, 2], "counts": "abc"},
            },
        ],
        "categories": [{"id": 90, "name": "cup"}, {"id": 5, "name": "zebra"}],
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Content | str | bytes], Path]:
    """Writes an instances file with its photos beside it."""

    def write(content: Content | str | bytes) -> Path:
        for name in ("a.jpg", "b.jpg", "none.jpg"):
            (tmp_path / name).touch()
        text = json.dumps(content) if isinstance(content, dict) else content
        file = tmp_path / "instances_all.json"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


Write = Callable[[Content | str | bytes], Path]


def test_boxes_in_our_convention(write: Write) -> None:
    file = write(content())
    found = parse_coco(file)
    assert found.class_names == ("zebra", "cup")
    assert found.category_ids == (5, 90)
    assert found.image_ids == ("7", "3", "9")
    assert found.paths == tuple(file.parent / name for name in ("a.jpg", "b.jpg", "none.jpg"))
    np.testing.assert_array_equal(found.sizes, [[40, 30], [20, 50], [10, 10]])
    np.testing.assert_array_equal(found.object_image, [0, 1, 1])
    np.testing.assert_allclose(found.boxes, [[0, 0, 40.4, 30], [1, 2, 4, 6.5], [5, 5, 5, 7]])
    np.testing.assert_array_equal(found.classes, [0, 1, 0])
    np.testing.assert_array_equal(found.crowd, [False, False, True])
    np.testing.assert_allclose(found.areas, [600.5, 13.5, 0])
    assert not found.difficult.any()


def test_tags_without_boxes(write: Write) -> None:
    dataset = read_coco(write(content()))
    assert [(image.id, set(image.tags)) for image in dataset] == [
        ("7", {0}),
        ("3", {0, 1}),
        ("9", set()),
    ]


def test_agrees_with_a_slow_reading_of_the_same_file(write: Write) -> None:
    rng = np.random.default_rng(0)
    some = content()
    some["annotations"] = [
        {
            "id": i,
            "image_id": int(rng.choice([3, 7, 9])),
            "category_id": int(rng.choice([5, 90])),
            "bbox": rng.integers(0, 5, 4).tolist(),
        }
        for i in range(200)
    ]
    found = parse_coco(write(some))
    for index, image in enumerate(some["images"]):
        rows = [a for a in some["annotations"] if a["image_id"] == image["id"]]
        here = found.object_image == index
        assert found.classes[here].tolist() == [[5, 90].index(r["category_id"]) for r in rows]
        expected = [[x, y, x + w, y + h] for x, y, w, h in (r["bbox"] for r in rows)]
        np.testing.assert_array_equal(found.boxes[here].reshape(-1, 4), np.array(expected))


def test_text_ids_a_byte_order_mark_and_missing_extras_are_fine(write: Write) -> None:
    some = content()
    some["images"] = [{"id": "x", "file_name": "a.jpg"}]
    some["annotations"] = [{"image_id": "x", "category_id": 5, "bbox": [0, 0, 5, 5]}]
    found = parse_coco(write(b"\xef\xbb\xbf" + json.dumps(some).encode()))
    assert found.image_ids == ("x",)
    np.testing.assert_array_equal(found.sizes, [[0, 0]])
    np.testing.assert_array_equal(found.areas, [25])


def change(path: str, value: Any) -> Content:
    """The content with one place changed, like `annotations.0.bbox`; `None` removes it."""
    some = content()
    *parents, last = path.split(".")
    place: Any = some
    for part in parents:
        place = place[int(part) if part.isdigit() else part]
    key: Any = int(last) if last.isdigit() else last
    if value is None:
        del place[key]
    else:
        place[key] = value
    return some


BAD = [
    ("images", [], "lists no image"),
    ("images", None, "missing required field `images`"),
    ("categories", None, "missing required field `categories`"),
    ("annotations.1.bbox", None, r"annotations\[1\].*missing required field `bbox`"),
    ("annotations.1.bbox", [1, 2, 3], r"annotations\[1\].bbox: .*length 4.*\[1, 2, 3\]"),
    ("annotations.2.bbox", [1, 2, "3", 4], r"annotations\[2\].bbox\[2\]: .*`str`"),
    ("annotations.0.bbox", [1, 2, -3, 4], r"annotations\[0\]: .*1, 2, -2, 6 .*inverted"),
    ("annotations.0.bbox", [1, 2, 30, 4], r"annotations\[0\]: .*20 x 50 is outside"),
    ("annotations.0.bbox", [1e308, 2, 1e308, 4], "not finite|outside"),
    ("annotations.0.image_id", 4, r"annotations\[0\]: the image_id 4 is not in"),
    ("annotations.0.image_id", "7", r"annotations\[0\]: the image_id '7' is not in"),
    ("annotations.2.category_id", 1, r"annotations\[2\]: the category_id 1 is not in"),
    ("annotations.2.id", 1, "annotation id 1 is used twice"),
    ("annotations.1.area", -1, r"annotations\[1\].area: .*>= 0"),
    ("images.1.id", 7, "image id '7' is used twice"),
    ("images.1.id", "7", "image id '7' is used twice"),
    ("images.0.width", -1, r"images\[0\].width: .*>= 0"),
    ("images.0.width", "wide", r"images\[0\].width: .*`str`"),
    ("images.0.file_name", "c.jpg", r"'c\.jpg' is not in"),
    ("images.0.file_name", "../a.jpg", r"images\[0\]: the image path '\.\./a\.jpg' leaves"),
    ("images.0.file_name", "/etc/passwd", "absolute"),
    ("categories.0.id", 5, "category id 5 is used twice"),
    ("categories.0.name", "zebra", "category name 'zebra' is used twice"),
]


@pytest.mark.parametrize(("place", "value", "says"), BAD)
def test_bad_content_is_named(write: Write, place: str, value: Any, says: str) -> None:
    with pytest.raises(InputError, match=f"^.*instances_all.json: .*(?:{says})"):
        read_coco(write(change(place, value)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("[1, 2]", "Expected `object`, got `array`"),
        (json.dumps(content())[:-40], "truncated"),
        (json.dumps(content()).replace("4.5", "NaN"), r"near .*NaN.*not JSON numbers"),
        (json.dumps(content()).replace("4.5", "1e400"), r"annotations\[0\].bbox\[3\]: .*range"),
        (json.dumps(content()).replace('"id": 7', '"id": ' + "7" * 5000), r"images\[0\].id"),
        ("[" * 100 + "]" * 100, "got `array`"),
        ('{"images": ' + "[" * 100_000 + "]" * 100_000 + "}", "Expected `object`|deep"),
        ('{"info": ' + "[" * 100_000 + "]" * 100_000 + "}", "deep"),
        (b"\xff\xfe{\x00", "not JSON"),
        (json.dumps(content()).encode().replace(b"cup", b"c\xffp"), "not JSON|UTF-8|utf-8"),
    ],
)
def test_broken_text_is_an_input_error(write: Write, text: str | bytes, says: str) -> None:
    with pytest.raises(InputError, match=f"^.*instances_all.json.*(?:{says})"):
        read_coco(write(text))


def test_two_things_wrong_at_once_are_one_error(write: Write) -> None:
    """The name missing from the first image is found before the key that is not UTF-8."""
    some = json.dumps(change("images.0.file_name", None)).encode()
    with pytest.raises(InputError, match=r"images\[0\]: .*file_name"):
        parse_coco(write(some[:-1] + b', "\x80": 1}'))


def test_deep_nesting_where_nobody_looks_is_harmless(write: Write) -> None:
    text = json.dumps(content()).replace("2026", "[" * 100 + "]" * 100)
    assert len(read_coco(write(text))) == 3


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_coco(tmp_path / "nothing.json")


def test_scoring_needs_no_images_but_training_does(write: Write) -> None:
    file = write(content())
    (file.parent / "b.jpg").unlink()
    (file.parent / "none.jpg").unlink()
    assert parse_coco(file).paths[1] == file.parent / "b.jpg"
    with pytest.raises(InputError, match=r"'b\.jpg' is not in .* nor are 1 others"):
        read_coco(file)


LAYOUTS = {
    "official": ("annotations/instances_train2017.json", "train2017"),
    "images/split": ("annotations/instances_train2017.json", "images/train2017"),
    "images": ("annotations/train.json", "images"),
    "roboflow": ("train/_annotations.coco.json", "train"),
    "flat": ("train.json", "."),
    "images beside": ("train.json", "images"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_are_found_in_the_usual_places(tmp_path: Path, layout: str) -> None:
    file, images = (tmp_path / place for place in LAYOUTS[layout])
    file.parent.mkdir(parents=True, exist_ok=True)
    images.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content()))
    for name in ("a.jpg", "b.jpg", "none.jpg"):
        (images / name).touch()
    assert read_coco(tmp_path, split="train")[0].path.samefile(images / "a.jpg")
    assert read_coco(tmp_path)[0].path.samefile(images / "a.jpg")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"is not in .*empty"):
        read_coco(file, images=tmp_path / "empty")
    assert read_coco(file, images=images)[2].path == images / "none.jpg"


def test_a_folder_of_several_splits_asks_which(tmp_path: Path) -> None:
    (tmp_path / "annotations").mkdir()
    for name in ("instances_train2017", "instances_val2017", "captions_val2017"):
        (tmp_path / "annotations" / f"{name}.json").write_text(json.dumps(content()))
    with pytest.raises(InputError, match=r"2 files of a COCO data set.*train2017, val2017"):
        parse_coco(tmp_path)
    with pytest.raises(InputError, match=r"no files of the split test.*train2017, val2017"):
        parse_coco(tmp_path, split="test")
    assert len(parse_coco(tmp_path, split="val").image_ids) == 3
    assert len(parse_coco(tmp_path, split="val2017").image_ids) == 3


def test_a_split_beside_a_file_is_said_to_be_ignored(write: Write) -> None:
    with pytest.warns(UserWarning, match="split val is not looked at"):
        read_coco(write(content()), split="val")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_coco(write(content()))
