import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tag2box.boxes import iou
from tag2box.data.coco import parse_coco
from tag2box.data.reading import read_dataset
from tag2box.data.scene_files import FIRST_VAL, write_scenes
from tag2box.data.scene_objects import CLASS_NAMES, HEADS, LOADS
from tag2box.data.scene_rendering import coverage, overlap
from tag2box.data.scenes import Challenge, Scene, extents, make_scene
from tag2box.errors import InputError
from tag2box.recipe import ReadingSettings


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    return [make_scene(i, difficulty=d) for d in (0.0, 0.5, 1.0) for i in range(25)]


def same(one: Scene, other: Scene) -> bool:
    return all(np.array_equal(getattr(one, f), getattr(other, f)) for f in Scene.__annotations__)


def slow_extent(pixels: np.ndarray) -> list[int]:
    inside = [
        (x, y) for y in range(pixels.shape[0]) for x in range(pixels.shape[1]) if pixels[y, x]
    ]
    xs, ys = zip(*inside, strict=True) if inside else ((0, -1), (0, -1))
    return [min(xs), min(ys), max(xs) + 1, max(ys) + 1]


def test_a_scene_depends_on_its_seed_and_index_only() -> None:
    first = make_scene(3, seed=1)
    make_scene(2, seed=1)
    assert same(make_scene(3, seed=1), first)
    assert not same(make_scene(3, seed=2), first)
    assert not same(make_scene(4, seed=1), first)


def test_one_to_five_objects_of_one_to_three_classes(scenes: list[Scene]) -> None:
    assert {len(s.classes) for s in scenes} == {1, 2, 3, 4, 5}
    assert {len(s.tags) for s in scenes} == {1, 2, 3}
    assert set().union(*(s.tags for s in scenes)) == set(range(len(CLASS_NAMES)))
    assert set(HEADS) | set(LOADS) == set(CLASS_NAMES)


def test_boxes_and_part_boxes_bound_what_is_visible(scenes: list[Scene]) -> None:
    for scene in scenes[::15]:
        for i in range(len(scene.classes)):
            mine = scene.owners == i
            assert scene.boxes[i].tolist() == slow_extent(mine)
            assert scene.part_boxes[i].tolist() == slow_extent(mine & scene.parts)
        assert not scene.parts[scene.owners < 0].any()


def test_extents_of_an_owner_without_pixels_is_nothing() -> None:
    owners = np.full((4, 5), -1, np.int8)
    owners[1:3, 2:4] = 1
    assert extents(owners, 2).tolist() == [[0, 0, 0, 0], [2, 1, 4, 3]]
    assert extents(owners, 0).shape == (0, 4)


def test_a_part_is_a_small_piece_of_its_object(scenes: list[Scene]) -> None:
    boxes = np.concatenate([s.boxes for s in scenes])
    parts = np.concatenate([s.part_boxes for s in scenes])
    assert np.all(parts[:, :2] >= boxes[:, :2])
    assert np.all(parts[:, 2:] <= boxes[:, 2:])
    overlap = np.diag(iou(boxes, parts))
    assert np.all(overlap > 0)
    assert np.median(overlap) < 0.25
    assert np.mean(overlap < 0.5) > 0.98  # a detector of parts finds no object


def test_touching_objects_of_one_class_share_a_cluster(scenes: list[Scene]) -> None:
    clusters = apart = 0
    for scene in scenes:
        for cluster in np.unique(scene.clusters):
            members = np.flatnonzero(scene.clusters == cluster)
            assert len(set(scene.classes[members].tolist())) == 1
            grown = scene.boxes[members] + np.array([-3, -3, 3, 3])
            touching = iou(grown, grown) > 0
            clusters += len(members) > 1
            apart += len(members) > 1 and np.any(touching.sum(axis=1) < 2)
    assert clusters >= 10
    assert apart <= 0.05 * clusters  # someone else may stand in front of where they touch


def explained(values: np.ndarray, groups: np.ndarray) -> float:
    """Share of the variance of the rows of `values` that lies between the groups."""
    within = sum(values[groups == g].var(axis=0).sum() * (groups == g).mean() for g in set(groups))
    return float(1 - within / values.var(axis=0).sum())


@pytest.mark.parametrize(("difficulty", "least", "most"), [(0.0, 0.4, 0.9), (1.0, 0.0, 0.15)])
def test_the_rest_of_an_object_tells_its_class_less_surely_than_the_part(
    monkeypatch: pytest.MonkeyPatch, difficulty: float, least: float, most: float
) -> None:
    """By colour, among animals and among trucks; the harder, the more objects wear any coat."""
    monkeypatch.setattr(Challenge, "contrast", lambda _self, _rng: 1.0)
    scenes = [make_scene(i, seed=5, difficulty=difficulty) for i in range(60)]
    classes = np.concatenate([s.classes for s in scenes])
    for is_part, low, high in ((False, least, most), (True, 0.5, 1.0)):
        colors = np.array(
            [
                s.image[(s.owners == i) & (s.parts == is_part)].mean(axis=0)
                for s in scenes
                for i in range(len(s.classes))
            ]
        )  # (M, 3)
        for family in (classes < len(HEADS), classes >= len(HEADS)):
            assert low <= explained(colors[family], classes[family]) <= high


def test_harder_scenes_have_smaller_and_more_hidden_objects() -> None:
    easy, hard = Challenge(0.0), Challenge(1.0)
    rng = np.random.default_rng(0)
    sizes = [np.mean([c.sizes(rng, 2) for _ in range(200)]) for c in (easy, hard)]
    assert sizes[0] > 1.2 * sizes[1]
    assert easy.least_visible > hard.least_visible
    assert easy.clutter < hard.clutter
    assert easy.contrast(rng) == 1.0


@pytest.mark.parametrize(("width", "height"), [(64, 64), (200, 97), (97, 200)])
def test_any_size_works(width: int, height: int) -> None:
    scene = make_scene(0, width=width, height=height, difficulty=1.0)
    assert scene.image.shape == (height, width, 3)
    assert scene.image.dtype == np.uint8
    assert len(scene.classes) >= 1


def test_coverage_is_the_share_of_each_pixel_inside_or_on_the_outline() -> None:
    square = np.array([[1.0, 2.0], [4.0, 2.0], [4.0, 5.0], [1.0, 5.0]])
    covered = coverage(square, 7, 6)
    assert covered.shape == (6, 7)
    assert np.all(covered[2:5, 1:4] == 1)
    assert 9 <= covered.sum() <= (3 + 1 / 3) ** 2 + 0.01


@pytest.mark.parametrize("at", [(0, 0), (-3, 2), (5, -2), (-9, -9), (9, 0), (3, 20)])
def test_overlap_of_a_sprite_with_a_picture(at: tuple[int, int]) -> None:
    x, y = at
    picture, sprite = np.zeros((6, 8), int), np.arange(1, 13).reshape(3, 4)
    into, of = overlap(picture.shape, sprite.shape, x, y)
    picture[into] = sprite[of]
    for row in range(6):
        for column in range(8):
            inside = 0 <= row - y < 3 and 0 <= column - x < 4
            assert picture[row, column] == (sprite[row - y, column - x] if inside else 0)


def test_written_scenes_say_what_the_scenes_are(tmp_path: Path) -> None:
    write_scenes(tmp_path, train=3, val=2, seed=4, width=160, height=120)
    rows = list(csv.DictReader((tmp_path / "images" / "tags.csv").open()))
    assert [row["split"] for row in rows] == ["train"] * 3 + ["val"] * 2
    for split, first in (("train", 0), ("val", FIRST_VAL)):
        coco = json.loads((tmp_path / "annotations" / f"instances_{split}.json").read_text())
        mine = [row for row in rows if row["split"] == split]
        for i, (row, entry) in enumerate(zip(mine, coco["images"], strict=True)):
            scene = make_scene(first + i, seed=4, width=160, height=120)
            assert row["image"] == f"{split}/{entry['file_name']}"
            stored = np.asarray(Image.open(tmp_path / "images" / row["image"]), dtype=float)
            assert np.abs(stored - scene.image).mean() < 8  # what JPEG loses
            assert (entry["width"], entry["height"]) == (160, 120)
            assert {CLASS_NAMES.index(t) for t in row["tags"].split(";")} == scene.tags
            objects = [a for a in coco["annotations"] if a["image_id"] == entry["id"]]
            assert [a["category_id"] - 1 for a in objects] == scene.classes.tolist()
            for key, boxes in (("bbox", scene.boxes), ("part_bbox", scene.part_boxes)):
                found = np.array([a[key] for a in objects])
                found[:, 2:] += found[:, :2]
                np.testing.assert_array_equal(found, boxes)
            assert [a["area"] for a in objects] == [
                (scene.owners == i).sum() for i in range(len(objects))
            ]


def test_more_train_scenes_leave_the_others_as_they_are(tmp_path: Path) -> None:
    for name, train in (("few", 1), ("more", 2)):
        write_scenes(tmp_path / name, train=train, val=1, width=96, height=64)
    for image in ("images/train/00001.jpg", "images/val/00001.jpg"):
        assert (tmp_path / "few" / image).read_bytes() == (tmp_path / "more" / image).read_bytes()


def test_the_readers_find_what_was_written(tmp_path: Path) -> None:
    write_scenes(tmp_path, train=3, val=2, width=96, height=64)
    table = read_dataset([tmp_path / "images"], ReadingSettings(split="val"))
    coco = read_dataset([tmp_path], ReadingSettings(split="val"))
    assert len(table) == len(coco) == 2
    scenes = [make_scene(FIRST_VAL + i, width=96, height=64) for i in range(2)]
    for row, entry, scene in zip(table, coco, scenes, strict=True):
        assert row.path == entry.path
        assert {table.class_names[t] for t in row.tags} == {CLASS_NAMES[t] for t in scene.tags}
        assert entry.tags == scene.tags
    truth = parse_coco(tmp_path, split="val")
    np.testing.assert_array_equal(truth.boxes, np.concatenate([s.boxes for s in scenes]))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"difficulty": 1.5}, "scenes.difficulty: 1.5 is no difficulty; give 0 to 1."),
        ({"difficulty": float("nan")}, "scenes.difficulty: nan is no difficulty; give 0 to 1."),
        ({"width": 10}, "scenes.width: 10 is too small; give 64 or more."),
        ({"train": -1}, "scenes.train: -1 is too small; give 0 or more."),
        ({"seed": -1}, "scenes.seed: -1 is too small; give 0 or more."),
    ],
)
def test_unusable_settings_are_refused(
    tmp_path: Path, settings: dict[str, float], sentence: str
) -> None:
    with pytest.raises(InputError) as error:
        write_scenes(tmp_path / "scenes", **settings)  # type: ignore[arg-type]
    assert str(error.value) == sentence
    assert not (tmp_path / "scenes").exists()
