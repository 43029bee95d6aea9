from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tag2box.data.annotations import Annotations
from tag2box.evaluation.ground_truth import GroundTruth, join


def annotations(path: Path, size: tuple[int, int], boxes: list[list[float]]) -> Annotations:
    count = len(boxes)
    return Annotations(
        class_names=("dog",),
        image_ids=(path.stem,),
        paths=(path,),
        sizes=np.array([size], np.int64),
        object_image=np.zeros(count, np.int64),
        boxes=np.array(boxes, np.float64).reshape(-1, 4),
        classes=np.zeros(count, np.int64),
        difficult=np.zeros(count, bool),
        crowd=np.zeros(count, bool),
        areas=np.ones(count),
    )


def photo(folder: Path, orientation: int, width: int = 40, height: int = 20) -> Path:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = folder / "photo.jpg"
    Image.new("RGB", (width, height)).save(path, exif=exif)
    return path


@pytest.fixture
def truth() -> GroundTruth:
    return GroundTruth(
        class_names=("cat", "dog", "cow"),
        image_ids=("a", "b", "c"),
        sizes=np.array([[10, 10], [20, 20], [30, 30]]),
        object_image=np.array([0, 0, 2, 2, 2]),
        boxes=np.arange(20, dtype=float).reshape(5, 4),
        classes=np.array([0, 1, 2, 0, 1]),
        difficult=np.array([False, True, False, False, False]),
        crowd=np.array([False, False, False, False, True]),
        areas=np.arange(5.0),
        category_ids=(3, 5, 9),
    )


def test_boxes_of_the_stored_frame_turn_with_the_photo(tmp_path: Path) -> None:
    path = photo(tmp_path, orientation=6)
    shown = GroundTruth.from_annotations(annotations(path, (40, 20), [[0, 0, 10, 5]]))
    np.testing.assert_array_equal(shown.boxes, [[15, 0, 20, 10]])
    np.testing.assert_array_equal(shown.sizes, [[20, 40]])


def test_a_half_turn_keeps_the_size_and_turns_the_box(tmp_path: Path) -> None:
    path = photo(tmp_path, orientation=3)
    shown = GroundTruth.from_annotations(annotations(path, (40, 20), [[0, 0, 10, 5]]))
    np.testing.assert_array_equal(shown.boxes, [[30, 15, 40, 20]])
    np.testing.assert_array_equal(shown.sizes, [[40, 20]])


@pytest.mark.parametrize("size", [(20, 40), (0, 0)])
def test_boxes_of_the_shown_frame_stay(tmp_path: Path, size: tuple[int, int]) -> None:
    path = photo(tmp_path, orientation=6)
    shown = GroundTruth.from_annotations(annotations(path, size, [[0, 0, 10, 5]]))
    np.testing.assert_array_equal(shown.boxes, [[0, 0, 10, 5]])


def test_a_photo_that_is_not_there_leaves_the_boxes_alone(tmp_path: Path) -> None:
    shown = GroundTruth.from_annotations(
        annotations(tmp_path / "no.jpg", (40, 20), [[0, 0, 10, 5]])
    )
    np.testing.assert_array_equal(shown.boxes, [[0, 0, 10, 5]])


def test_keep_classes_renumbers_in_the_order_asked_for(truth: GroundTruth) -> None:
    kept = truth.keep_classes(["cow", "cat"])
    assert kept.class_names == ("cow", "cat")
    assert kept.category_ids == (9, 3)
    assert kept.image_ids == truth.image_ids
    assert kept.classes.tolist() == [1, 0, 1]
    assert kept.areas.tolist() == [0, 2, 3]


def test_select_takes_the_images_in_the_order_asked_for(truth: GroundTruth) -> None:
    chosen = truth.select(["c", "a"])
    assert chosen.image_ids == ("c", "a")
    assert chosen.object_image.tolist() == [0, 0, 0, 1, 1]
    assert chosen.areas.tolist() == [2, 3, 4, 0, 1]
    assert chosen.sizes.tolist() == [[30, 30], [10, 10]]
    assert len(truth.select([])) == 0


def test_join_unites_the_class_names(truth: GroundTruth) -> None:
    other = replace(truth.keep_classes(["cow"]), class_names=("horse",), image_ids=("d", "e", "f"))
    both = join([truth, other])
    assert both.class_names == ("cat", "dog", "cow", "horse")
    assert both.image_ids == ("a", "b", "c", "d", "e", "f")
    assert both.object_image.tolist() == [0, 0, 2, 2, 2, 5]
    assert both.classes.tolist() == [0, 1, 2, 0, 1, 3]
    assert both.category_ids is None


def test_boxes_by_image_leave_out_crowds_and_on_request_the_difficult(truth: GroundTruth) -> None:
    assert [len(boxes) for boxes in truth.boxes_by_image()] == [2, 0, 2]
    assert [len(boxes) for boxes in truth.boxes_by_image(difficult=False)] == [1, 0, 2]
    np.testing.assert_array_equal(truth.boxes_by_image()[2], truth.boxes[2:4])
    assert truth.select([]).boxes_by_image() == []
