from pathlib import Path

import numpy as np
import pytest

from tag2box.data.imagenet_vid import VID_CLASSES, parse_imagenet_vid, read_imagenet_vid
from tag2box.data.vid_frames import spaced
from tag2box.errors import InputError

DOG, BIRD = "n02084071", "n01503061"


def xml(*things: tuple[str, tuple[float, ...]]) -> str:
    objects = "".join(
        f"<object><trackid>0</trackid><name>{name}</name><bndbox><xmax>{x2}</xmax><xmin>{x1}</xmin>"
        f"<ymax>{y2}</ymax><ymin>{y1}</ymin></bndbox><occluded>0</occluded></object>"
        for name, (x1, y1, x2, y2) in things
    )
    size = "<size><width>64</width><height>36</height></size>"
    return (
        f"<annotation><folder>clip</folder><filename>000000</filename>{size}{objects}</annotation>"
    )


def add_clip(root: Path, clip: str, frames: list[str]) -> None:
    for kind in ("Annotations", "Data"):
        (root / kind / "VID" / clip).mkdir(parents=True)
    for number, text in enumerate(frames):
        (root / "Annotations" / "VID" / clip / f"{number:06d}.xml").write_text(text)
        (root / "Data" / "VID" / clip / f"{number:06d}.JPEG").touch()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ILSVRC2015"
    add_clip(root, "train/part_0000/clip_a", [xml((DOG, (0, 1, 10, 11)))] * 30 + [xml()] * 15)
    add_clip(
        root, "train/part_0001/clip_b", [xml((BIRD, (1, 1, 2, 2)), (DOG, (-5, 0, 64, 40)))] * 3
    )
    add_clip(root, "val/clip_c", [xml()] * 20)
    (root / "ImageSets" / "VID").mkdir(parents=True)
    return root


def write_list(root: Path, name: str, text: str) -> None:
    (root / "ImageSets" / "VID" / f"{name}.txt").write_text(text)


def test_boxes_in_our_convention(root: Path) -> None:
    found = parse_imagenet_vid(root, split="train", key_frames=2)
    assert found.class_names == tuple(VID_CLASSES.values())
    assert found.image_ids == (
        "train/part_0000/clip_a/000011",
        "train/part_0000/clip_a/000033",
        "train/part_0001/clip_b/000000",
        "train/part_0001/clip_b/000002",
    )
    assert found.paths[0] == root / "Data" / "VID" / f"{found.image_ids[0]}.JPEG"
    np.testing.assert_array_equal(found.object_image, [0, 2, 2, 3, 3])
    np.testing.assert_allclose(found.boxes[:3], [[0, 1, 11, 12], [1, 1, 3, 3], [0, 0, 64, 36]])
    names = [found.class_names[i] for i in found.classes]
    assert names == ["dog", "bird", "dog", "bird", "dog"]
    np.testing.assert_array_equal(found.sizes, [[64, 36]] * 4)


def test_tags_are_those_of_a_frame(root: Path) -> None:
    dataset = read_imagenet_vid(root.parent, split="train", key_frames=3)
    dog, bird = dataset.class_names.index("dog"), dataset.class_names.index("bird")
    assert [set(image.tags) for image in dataset] == [{dog}, {dog}, set(), *[{dog, bird}] * 3]


def test_all_splits_and_all_frames(root: Path) -> None:
    assert len(read_imagenet_vid(root)) == 15 + 3 + 15
    assert len(read_imagenet_vid(root, key_frames=0)) == 45 + 3 + 20
    assert len(read_imagenet_vid(root, split="val", key_frames=100)) == 20


@pytest.mark.parametrize("length", [1, 2, 14, 15, 16, 300, 301])
@pytest.mark.parametrize("count", [1, 2, 15])
def test_key_frames_are_the_middles_of_equal_parts(length: int, count: int) -> None:
    frames = [str(i) for i in range(length)]
    chosen = [int(frame) for frame in spaced(frames, count)]
    assert len(chosen) == len(set(chosen)) == min(length, count)
    if length > count:
        for part, frame in enumerate(chosen):
            assert frame <= (part + 0.5) * length / count < frame + 1
    assert spaced(frames, 0) == frames


def test_key_frames_of_the_published_list() -> None:
    assert spaced([str(i) for i in range(300)], 15) == [str(i) for i in range(10, 300, 20)]


LISTS = {
    "train_5": ("part_0000/clip_a 1\npart_0001/clip_b 1\n", 15 + 3),
    "full": ("train/part_0000/clip_a\n", 15),
    "frames": ("clip_c/000000 1\nclip_c/000007 2\n", 2),
    "one_frame": ("clip_c/000000\n", 1),
    "VID_train_15frames": ("train/part_0000/clip_a 1 10 45\ntrain/part_0000/clip_a 1 44 45\n", 2),
    "VID_val_videos": ("val/clip_c 1 0 20\n", 15),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_image_sets(root: Path, name: str) -> None:
    text, count = LISTS[name]
    write_list(root, name, text)
    assert len(read_imagenet_vid(root, split=name)) == count


def test_a_list_names_its_frames(root: Path) -> None:
    write_list(root, "VID_train_15frames", LISTS["VID_train_15frames"][0])
    ids = parse_imagenet_vid(root, split="VID_train_15frames").image_ids
    assert ids == ("train/part_0000/clip_a/000010", "train/part_0000/clip_a/000044")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("clip_z 1", r"bad\.txt:1: the clip 'clip_z' is not in"),
        ("clip_c/000099 1", r"bad\.txt:1: val/clip_c/000099\.xml is not in"),
        ("val/clip_c 1 99 20", r"bad\.txt:1: val/clip_c/000099\.xml is not in"),
        ("val/clip_c 1 x 20", r"bad\.txt:1: 'x' is not a frame number"),
        ("clip_c 1\nclip_c 1", r"bad\.txt:2: 'clip_c 1' is listed twice"),
        ("clip_c/000001 1\nval/clip_c 1 1 20", r"bad\.txt:2: val/clip_c/000001 is listed twice"),
        ("../../../secret 1", r"bad\.txt:1: .* leaves"),
        ("/etc 1", r"bad\.txt:1: .* is absolute"),
        ("", "holds no annotated frame"),
    ],
)
def test_a_bad_list_is_named(root: Path, text: str, says: str) -> None:
    write_list(root, "bad", text)
    with pytest.raises(InputError, match=says):
        read_imagenet_vid(root, split="bad")


def test_unknown_ids_stay_as_they_are(root: Path) -> None:
    add_clip(root, "val/clip_d", [xml(("n00000001", (1, 1, 2, 2)), ("dog", (1, 1, 2, 2)))])
    found = parse_imagenet_vid(root, split="val")
    assert found.class_names == (*VID_CLASSES.values(), "n00000001")
    assert found.classes.tolist() == [30, list(VID_CLASSES.values()).index("dog")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (xml((DOG, (70, 1, 80, 2))), r"000000\.xml: object 1: the box .* is outside"),
        (xml((DOG, (5, 1, 2, 2))), r"000000\.xml: object 1: the box .* is inverted"),
        (xml((DOG, (float("nan"), 1, 2, 2))), r"000000\.xml: object 1: .* not finite"),
        ("<annotation>", r"000000\.xml: is not XML"),
    ],
)
def test_a_bad_frame_is_named(root: Path, text: str, says: str) -> None:
    add_clip(root, "val/clip_d", [text])
    with pytest.raises(InputError, match=says):
        read_imagenet_vid(root, split="val")


def test_bad_settings(root: Path, tmp_path: Path) -> None:
    for split in ("test", "../val", ""):
        with pytest.raises(InputError, match=r"name one (of train, val|like train)"):
            read_imagenet_vid(root, split=split)
    with pytest.raises(InputError, match="key_frames: is -1"):
        read_imagenet_vid(root, key_frames=-1)
    with pytest.raises(InputError, match="no folder Annotations/VID"):
        read_imagenet_vid(tmp_path / "elsewhere")


def test_scoring_needs_no_images_but_training_does(root: Path) -> None:
    (root / "Data" / "VID" / "val" / "clip_c" / "000003.JPEG").unlink()
    assert len(parse_imagenet_vid(root, split="val", key_frames=0).paths) == 20
    with pytest.raises(InputError, match=r"'val/clip_c/000003\.JPEG' is not in"):
        read_imagenet_vid(root, split="val", key_frames=0)
    moved = (root / "Data" / "VID").rename(root / "frames")
    assert read_imagenet_vid(root, split="train", images=moved)[0].path.is_relative_to(moved)
