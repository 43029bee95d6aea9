from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tag2box.data.yolo import parse_yolo, read_yolo
from tag2box.errors import InputError

NAMES = "names: [cat, dog, no]\n"
YAML = f"path: .\ntrain: images/train\nval: images/val\n{NAMES}nc: 3\n"


def photo(file: Path, size: tuple[int, int] = (40, 20), orientation: int = 1) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.new("L", size).save(file, exif=exif)


def fill(root: Path, labels: dict[str, str | None], yaml: str = YAML) -> Path:
    """Images `train/a` with the text of their label files, or without one."""
    for name, text in labels.items():
        photo(root / "images" / f"{name}.jpg")
        if text is not None:
            file = root / "labels" / f"{name}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    (root / "data.yaml").write_text(yaml)
    return root


@pytest.fixture
def some(tmp_path: Path) -> Path:
    return fill(
        tmp_path,
        {
            "train/a": "1 0.5 0.5 0.5 1\n\n0 0.25 0.5 0.1 0.2\n",
            "train/b": None,
            "train/sub/c": "2 0.1 0.1 0.3 0.1 0.2 0.5\n",
            "val/d": "",
        },
    )


def test_boxes_in_our_convention(some: Path) -> None:
    found = parse_yolo(some)
    assert found.class_names == ("cat", "dog", "no")
    assert found.image_ids == tuple(
        f"images/{name}.jpg" for name in ("train/a", "train/b", "train/sub/c", "val/d")
    )
    assert found.paths[0] == some / "images" / "train" / "a.jpg"
    np.testing.assert_array_equal(found.object_image, [0, 0, 2])
    np.testing.assert_allclose(found.boxes, [[10, 0, 30, 20], [8, 8, 12, 12], [4, 2, 12, 10]])
    np.testing.assert_array_equal(found.classes, [1, 0, 2])
    np.testing.assert_allclose(found.areas, [400, 16, 64])
    np.testing.assert_array_equal(found.sizes, np.zeros((4, 2)))


def test_tags_need_no_pixels(some: Path) -> None:
    (some / "images" / "train" / "a.jpg").write_bytes(b"")
    dataset = read_yolo(some / "data.yaml")
    assert [set(image.tags) for image in dataset] == [{0, 1}, set(), {2}, set()]
    with pytest.raises(InputError, match=r"a\.jpg"):
        parse_yolo(some)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_boxes_are_in_the_frame_a_viewer_shows(some: Path, orientation: int) -> None:
    photo(some / "images" / "train" / "a.jpg", orientation=orientation)
    box = [10, 0, 30, 20] if orientation < 5 else [5, 0, 15, 40]
    np.testing.assert_allclose(parse_yolo(some).boxes[0], box)


def test_splits(some: Path) -> None:
    assert len(read_yolo(some, split="train")) == 3
    assert [image.id for image in read_yolo(some, split="val")] == ["images/val/d.jpg"]
    with pytest.raises(InputError, match="no split 'test'; name one of train, val"):
        read_yolo(some, split="test")


ENTRIES = {
    "folder": "images/train",
    "dots": "./images/train/",
    "roboflow": "../images/train",
    "list of folders": "[images/train/sub, images/train]",
    "list file": "train.txt",
    "list of list files": "[train.txt]",
}


@pytest.mark.parametrize("kind", ENTRIES)
def test_a_split_is_a_folder_a_list_or_a_text_file(some: Path, kind: str) -> None:
    (some / "data.yaml").write_text(f"train: {ENTRIES[kind]}\n{NAMES}")
    (some / "train.txt").write_text(
        "./images/train/a.jpg\nimages/train/sub/c.jpg\n\nimages/train/b.jpg\n"
    )
    ids = {image.id.removeprefix("images/train/") for image in read_yolo(some)}
    assert ids == {"a.jpg", "b.jpg", "sub/c.jpg"}


def test_a_list_may_name_images_relative_to_itself(some: Path) -> None:
    (some / "images" / "train.txt").write_text("./train/a.jpg\n")
    (some / "data.yaml").write_text(f"train: images/train.txt\n{NAMES}")
    assert read_yolo(some)[0].id == "images/train/a.jpg"


def test_images_of_two_splits_count_once(some: Path) -> None:
    (some / "data.yaml").write_text(f"train: images/train\nval: images/train\n{NAMES}")
    assert len(read_yolo(some)) == 3


@pytest.mark.parametrize("path", ["/content/data", "../datasets/coco8", "coco8", "C:\\data", "{}"])
def test_the_path_of_another_machine_is_passed_over(some: Path, path: str) -> None:
    (some / "data.yaml").write_text(f"path: {path}\ntrain: images/train\n{NAMES}")
    assert len(read_yolo(some)) == 3


def test_the_root_can_be_named(some: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "set.yaml"
    elsewhere.write_text(YAML)
    with pytest.raises(InputError, match="train names 'images/train', which is not in"):
        read_yolo(elsewhere)
    assert len(read_yolo(elsewhere, images=some)) == 4


def test_names_by_number_and_as_plain_text(some: Path) -> None:
    text = "train: images\nnames:\n  1: yes\n  0: no\n  2: 3\n"
    (some / "data.yaml").write_text(text)
    assert read_yolo(some).class_names == ("no", "yes", "3")


def test_poses_keep_only_their_box(some: Path) -> None:
    (some / "data.yaml").write_text(f"{YAML}kpt_shape: [1, 2]\n")
    (some / "labels" / "train" / "sub" / "c.txt").write_text("2 0.5 0.5 0.2 0.2 0.9 0.9\n")
    np.testing.assert_allclose(parse_yolo(some).boxes[-1], [16, 8, 24, 12])


def test_only_a_class_list(some: Path) -> None:
    (some / "data.yaml").unlink()
    (some / "classes.txt").write_text("cat\nbig dog\n\nno\n")
    assert read_yolo(some).class_names == ("cat", "big dog", "no")
    assert len(read_yolo(some, split="val")) == len(read_yolo(some / "classes.txt", split="val"))


def test_labels_beside_their_images(tmp_path: Path) -> None:
    photo(tmp_path / "a.jpg")
    photo(tmp_path / "b.PNG")
    (tmp_path / "a.txt").write_text("1 0.5 0.5 1 1")
    (tmp_path / "classes.txt").write_text("cat\ndog")
    assert [(i.id, set(i.tags)) for i in read_yolo(tmp_path)] == [("a.jpg", {1}), ("b.PNG", set())]


def test_only_the_last_images_folder_is_swapped(tmp_path: Path) -> None:
    photo(tmp_path / "images" / "x" / "images" / "a.jpg")
    (tmp_path / "images" / "x" / "labels").mkdir()
    (tmp_path / "images" / "x" / "labels" / "a.txt").write_text("0 0.5 0.5 1 1")
    (tmp_path / "data.yaml").write_text(f"train: images\n{NAMES}")
    assert read_yolo(tmp_path)[0].tags == {0}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("3 0.5 0.5 0.1 0.1", r"a\.txt:2: the class 3 is not one of the 3 of .*data\.yaml"),
        ("-1 0.5 0.5 0.1 0.1", "the class -1"),
        ("0.5 0.5 0.5 0.1 0.1", "the class 0.5"),
        ("nan 0.5 0.5 0.1 0.1", "not a row of numbers"),
        ("0 nan 0.5 0.1 0.1", "not a row of numbers"),
        ("0 0.5 0.5 0.1 1e400", "not a row of numbers"),
        ("0 0.1 0.1 nan 0.1 0.2 0.5", "not a row of numbers"),
        ("cat 0.5 0.5 0.1 0.1", r"a\.txt:2: 'cat 0.5 0.5 0.1 0.1' is not a row of numbers"),
        ("0 0.5 0.5 0.1", r"a\.txt:2: has 4 numbers"),
        ("0", "has 1 numbers"),
        ("0 0.5 0.5 0.1 0.1 0.9", "has 6 numbers"),
        ("0 0.5 0.5 -0.1 0.1", r"a\.txt:2: the box .* is inverted"),
        ("0 20 10 5 5", r"a\.txt:2: the box .* 1 x 1 is outside"),
        ("0 0.9 0.5 0.3 0.1", r"a\.txt:2: the box .* is outside"),
    ],
)
def test_a_bad_line_is_named(some: Path, line: str, says: str) -> None:
    (some / "labels" / "train" / "a.txt").write_text(f"0 0.5 0.5 1 1\n{line}\n")
    with pytest.raises(InputError, match=says):
        read_yolo(some)


def test_rounding_over_the_border_is_fine(some: Path) -> None:
    (some / "labels" / "train" / "a.txt").write_text("0 0.5 0.5 1.000001 1.01\n")
    assert len(read_yolo(some)) == 4


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nnames: *b\ntrain: images"


@pytest.mark.parametrize(
    ("yaml", "says"),
    [
        ("", "not a table"),
        ("[1, 2]", "not a table"),
        ("names: [a\ntrain: x", "data.yaml:2: is not YAML"),
        (BOMB, "uses aliases"),
        ("[" * 100_000, "nested too deeply"),
        ("names: " + "x" * 2_000_000, "larger than"),
        ('names: ["\\UFFFFFFFF"]\ntrain: images', "not YAML"),
        ('names: ["\\ud800"]\ntrain: images', "names is not a list"),
        ("train: images", "names is not a list"),
        ("names: []\ntrain: images", "names is not a list"),
        ("names: cat\ntrain: images", "names is not a list"),
        ("names: [a, [b]]\ntrain: images", "names is not a list"),
        ("names: [a, a]\ntrain: images", "class name 'a' is used twice"),
        ("names: {0: a, 2: b}\ntrain: images", "key '2' of names is not a number from 0 to 1"),
        ("names: {0: a, x: b}\ntrain: images", "key 'x' of names"),
        ("names: [a, b]\nnc: 3\ntrain: images", "nc is '3', but names holds 2"),
        (NAMES, "names no images"),
        (f"{NAMES}train: {{a: b}}", "train is not a path"),
        (f"{NAMES}train: nowhere", "train names 'nowhere'"),
        (f"{NAMES}train: /etc", "absolute"),
        (f"{NAMES}train: images/../../x", "leaves"),
        (f"{NAMES}train: {'x' * 5000}", "train names 'xxx"),
        (f"{NAMES}train: labels", "folders without images"),
        (f"{NAMES}train: bad.txt", r"bad\.txt:1: the image 'images/none\.jpg' is not in"),
        (f"{NAMES}train: worse.txt", r"worse\.txt:1: the image path '/etc/x\.jpg' is absolute"),
        (f"{NAMES}train: twice.txt", r"twice\.txt:2: 'images/train/a\.jpg' is listed twice"),
    ],
)
def test_a_bad_description_is_named(some: Path, yaml: str, says: str) -> None:
    (some / "bad.txt").write_text("images/none.jpg")
    (some / "worse.txt").write_text("/etc/x.jpg")
    (some / "twice.txt").write_text("images/train/a.jpg\nimages/train/a.jpg")
    (some / "data.yaml").write_text(yaml)
    with pytest.raises(InputError, match=says):
        read_yolo(some)


def test_no_description_and_no_labels(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"neither data\.yaml nor classes\.txt"):
        read_yolo(tmp_path)
    with pytest.raises(InputError, match="no label file for any image"):
        read_yolo(fill(tmp_path, {"train/a": None, "val/b": None}))
    (tmp_path / "data.yaml").rename(tmp_path / "classes.txt")
    (tmp_path / "classes.txt").write_text("\n")
    with pytest.raises(InputError, match="names no class"):
        read_yolo(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_yolo(tmp_path / "other.yaml")


def test_links_out_of_the_root_are_refused(
    some: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("secret")
    photo(secret / "s.jpg")
    (some / "images" / "train" / "s.jpg").symlink_to(secret / "s.jpg")
    with pytest.raises(InputError, match="link out of the folder"):
        read_yolo(some)
    (some / "images" / "train" / "s.jpg").unlink()
    (some / "images" / "test").symlink_to(secret)
    (some / "data.yaml").write_text(f"{YAML}test: images/test")
    with pytest.raises(InputError, match="link out of the folder"):
        read_yolo(some)
