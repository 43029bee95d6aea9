from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tag2box.data.voc import VOC_CLASSES, parse_voc, read_voc
from tag2box.errors import InputError

VOC_MINI = Path(__file__).parents[2].parent / "shared" / "voc-mini"

Thing = tuple[str, tuple[float, ...], int]  # name, xmin ymin xmax ymax, difficult

PART = (
    "<part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax>"
    "</bndbox></part>"
)


def xml(
    *things: Thing, size: tuple[int, int] = (40, 30), folder: str = "mine", filename: str = ""
) -> str:
    objects = "".join(
        f"<object><name>{name}</name><pose>Left</pose><difficult>{difficult}</difficult>"
        f"{PART}<bndbox><xmax>{x2}</xmax><xmin>{x1}</xmin><ymin>{y1}</ymin><ymax>{y2}</ymax></bndbox>"
        "</object>"
        for name, (x1, y1, x2, y2), difficult in things
    )
    return (
        f"<annotation><folder>{folder}</folder><filename>{filename}</filename>"
        f"<size><width>{size[0]}</width><height>{size[1]}</height><depth>3</depth></size>"
        f"{objects}</annotation>"
    )


def fill(root: Path, files: dict[str, str], images: str = "JPEGImages") -> Path:
    (root / "Annotations").mkdir(parents=True, exist_ok=True)
    (root / images).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (root / "Annotations" / f"{name}.xml").write_text(text, encoding="utf-8")
        (root / images / f"{name}.jpg").touch()
    return root


@pytest.fixture
def three(tmp_path: Path) -> Path:
    root = fill(
        tmp_path,
        {
            "a": xml(("kite", (1, 1, 40, 30), 0), ("ant", (5, 6, 7.5, 8.25), 1)),
            "b": xml(),
            "c": xml(("kite", (3, 3, 3, 3), 1), ("kite", (0, 0, 41, 31), 0)),
        },
    )
    sets = root / "ImageSets" / "Main"
    sets.mkdir(parents=True)
    (sets / "train.txt").write_text("c\na\n\n")
    (sets / "kite_val.txt").write_text("b -1\r\nc  1\r\n")
    return root


def test_boxes_in_our_convention(three: Path) -> None:
    found = parse_voc(three)
    assert found.class_names == ("ant", "kite")
    assert found.image_ids == ("a", "b", "c")
    assert found.paths == tuple(three / "JPEGImages" / f"{name}.jpg" for name in "abc")
    np.testing.assert_array_equal(found.sizes, [[40, 30]] * 3)
    np.testing.assert_array_equal(found.object_image, [0, 0, 2, 2])
    np.testing.assert_allclose(
        found.boxes, [[0, 0, 40, 30], [4, 5, 7.5, 8.25], [2, 2, 3, 3], [-1, -1, 41, 31]]
    )
    np.testing.assert_array_equal(found.classes, [1, 0, 1, 1])
    np.testing.assert_array_equal(found.difficult, [False, True, True, False])
    np.testing.assert_allclose(found.areas[:3], [1200, 3.5 * 3.25, 1])


def test_only_difficult_objects_make_no_tag_unless_wished(three: Path) -> None:
    assert [set(image.tags) for image in read_voc(three)] == [{1}, set(), {1}]
    wished = read_voc(three, difficult_makes_tag=True)
    assert [set(image.tags) for image in wished] == [{0, 1}, set(), {1}]


def test_splits_are_lists_in_their_own_order(three: Path) -> None:
    assert parse_voc(three, split="train").image_ids == ("c", "a")
    assert parse_voc(three, split="kite_val").image_ids == ("b", "c")


@pytest.mark.parametrize("split", ["test", "../train", "a/b", ""])
def test_an_unknown_split_names_the_known(three: Path, split: str) -> None:
    with pytest.raises(InputError, match=r"its splits are train|not the name of a split"):
        parse_voc(three, split=split)


def test_a_list_may_not_name_what_is_not_there_nor_twice(three: Path) -> None:
    sets = three / "ImageSets" / "Main"
    for text, says in {
        "a\nz": r"val\.txt:2: z\.xml is not in",
        "a\nb\na": r"val\.txt:3: 'a' is listed twice",
        "../../secret": r"val\.txt:1: .* leaves",
        "": "holds no image",
    }.items():
        (sets / "val.txt").write_text(text)
        with pytest.raises(InputError, match=says):
            parse_voc(three, split="val")
    (sets / "val.txt").write_bytes(b"a\n\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        parse_voc(three, split="val")


def test_a_devkit_is_read_as_one(tmp_path: Path) -> None:
    for year, name, split in (("VOC2007", "000001", "test"), ("VOC2012", "2008_000001", "val")):
        root = fill(
            tmp_path / "VOCdevkit" / year, {name: xml(("dog", (1, 1, 9, 9), 0), folder=year)}
        )
        (root / "ImageSets" / "Main").mkdir(parents=True)
        for listed in (split, "trainval"):
            (root / "ImageSets" / "Main" / f"{listed}.txt").write_text(name)
    for path in (tmp_path, tmp_path / "VOCdevkit"):
        assert read_voc(path).class_names == VOC_CLASSES
        assert parse_voc(path, split="trainval").image_ids == ("000001", "2008_000001")
        assert parse_voc(path, split="test").image_ids == ("000001",)
        with pytest.raises(InputError, match="its splits are test, trainval"):
            parse_voc(path, split="train")
    assert len(read_voc(tmp_path / "VOCdevkit" / "VOC2012")) == 1


def test_class_names_of_other_data_are_those_that_occur(tmp_path: Path) -> None:
    fill(tmp_path, {"a": xml(("dog", (1, 1, 9, 9), 0), ("cat", (1, 1, 9, 9), 0))})
    assert read_voc(tmp_path).class_names == ("cat", "dog")


def test_labels_beside_images_and_kaggle_names(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "a.xml").write_text(xml(("dog", (1, 1, 9, 9), 0)))
    (tmp_path / "train" / "a.PNG").touch()
    assert read_voc(tmp_path, split="train")[0].path == tmp_path / "train" / "a.PNG"
    assert read_voc(tmp_path / "train")[0].id == "a"
    with pytest.raises(InputError, match="neither a folder Annotations nor XML"):
        read_voc(tmp_path, split="val")
    kaggle = tmp_path / "kaggle"
    fill(kaggle, {"a": xml()}, images="images")
    (kaggle / "Annotations").rename(kaggle / "annotations")
    assert read_voc(kaggle)[0].path == kaggle / "images" / "a.jpg"


def test_an_image_of_another_name_is_found_by_filename(tmp_path: Path) -> None:
    root = fill(tmp_path, {"a": xml(filename="photo 1.jpg")})
    (root / "JPEGImages" / "a.jpg").rename(root / "JPEGImages" / "photo 1.jpg")
    assert read_voc(root)[0].path.name == "photo 1.jpg"
    fill(root, {"b": xml(filename="../../etc/passwd")})
    (root / "JPEGImages" / "b.jpg").unlink()
    with pytest.raises(InputError, match=r"b\.xml: .* leaves the image folder"):
        read_voc(root)


def test_scoring_needs_no_images_but_training_does(three: Path) -> None:
    (three / "JPEGImages" / "b.jpg").unlink()
    assert len(parse_voc(three).paths) == 3
    with pytest.raises(InputError, match=r"'b\.jpg' is not in"):
        read_voc(three)
    assert len(read_voc(three, split="train", images=three / "JPEGImages")) == 2


BOMB = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>
<annotation><filename>&b;</filename></annotation>"""
EXTERNAL = """<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotation>&x;</annotation>"""
GOOD = xml(("kite", (5, 6, 17, 18), 0))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BOMB, "declares entities"),
        (EXTERNAL, "declares entities"),
        ("", "is not XML"),
        (GOOD[:-30], "is not XML"),
        ('<?xml version="1.0" encoding="martian"?><annotation/>', "is not XML"),
        ("<html/>", "holds <html>"),
        (GOOD.replace("<name>kite</name>", ""), "object 1: has no <name>"),
        (GOOD.replace("bndbox", "box"), "object 1: has no <bndbox>"),
        (GOOD.replace("<xmin>5</xmin>", ""), "object 1: has no <xmin>"),
        (GOOD.replace(">17<", ">wide<"), "object 1: <xmax> is 'wide', not a number"),
        (GOOD.replace(">17<", ">nan<"), "object 1: the box .* is not finite"),
        (GOOD.replace(">17<", ">1e400<"), "object 1: the box .* is not finite"),
        (GOOD.replace(">17<", ">3<"), "object 1: the box .* is inverted"),
        (GOOD.replace(">17<", ">99<"), "object 1: the box .* 40 x 30 is outside"),
        (GOOD.replace(">5<", ">-9<"), "object 1: the box .* is outside"),
        (GOOD.replace("<difficult>0", "<difficult>maybe"), "object 1: <difficult> is 'maybe'"),
        (GOOD.replace(">40<", ">-40<"), "size: <width> is -40"),
        (GOOD.replace(">40<", ">nan<"), "size: <width> is nan"),
        (GOOD.replace(">40<", ">4O<"), "size: <width> is '4O', not a number"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=f"bad.xml: {says}"):
        read_voc(fill(tmp_path, {"good": GOOD, "bad": text}))


@pytest.mark.parametrize("change", [("<size>", "<sizes>"), (">40<", "><"), (">40<", ">0<")])
def test_a_size_need_not_be_stated(tmp_path: Path, change: tuple[str, str]) -> None:
    text = GOOD.replace(*change).replace(
        "</size>", "</sizes>" if change[0] == "<size>" else "</size>"
    )
    assert parse_voc(fill(tmp_path, {"a": text})).sizes[0, 0] == 0


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither"):
        read_voc(tmp_path)
    with pytest.raises(InputError, match="holds no image"):
        read_voc(fill(tmp_path, {}))


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    root = fill(tmp_path / "voc", {"a": xml()})
    (tmp_path / "secret.jpg").touch()
    (root / "JPEGImages" / "a.jpg").unlink()
    (root / "JPEGImages" / "a.jpg").symlink_to(tmp_path / "secret.jpg")
    with pytest.raises(InputError, match="link out of the folder"):
        read_voc(root)


@pytest.mark.skipif(not VOC_MINI.is_dir(), reason="voc-mini is not here")
def test_real_files(count_elements: Callable[[Path], int]) -> None:
    found = parse_voc(VOC_MINI, split="val")
    assert len(found.image_ids) == 320
    assert found.class_names == VOC_CLASSES
    total = sum(count_elements(VOC_MINI / "Annotations" / f"{i}.xml") for i in found.image_ids)
    assert len(found.classes) == total
    assert (found.boxes[:, 2:] <= found.sizes[found.object_image]).all()
    assert (found.boxes >= 0).all()


@pytest.fixture
def count_elements() -> Callable[[Path], int]:
    """Counts objects without an XML reader."""
    return lambda file: file.read_text().count("\n\t<object>")
