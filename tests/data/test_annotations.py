from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tag2box.data.annotations import Annotations, refuse_impossible_boxes
from tag2box.errors import InputError

CLASSES = ("cat", "cow", "dog")

objects = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans()), max_size=12
)  # image, class, difficult


def annotations(rows: list[tuple[int, int, bool]], num_images: int) -> Annotations:
    rows = sorted(rows)
    count = len(rows)
    return Annotations(
        class_names=CLASSES,
        image_ids=tuple(f"photo{i}" for i in range(num_images)),
        paths=tuple(Path(f"{i}.jpg") for i in range(num_images)),
        sizes=np.zeros((num_images, 2), np.int64),
        object_image=np.array([row[0] for row in rows], np.int64),
        boxes=np.tile([0.0, 0, 1, 1], (count, 1)),
        classes=np.array([row[1] for row in rows], np.int64),
        difficult=np.array([row[2] for row in rows], bool),
        crowd=np.zeros(count, bool),
        areas=np.ones(count),
    )


@settings(max_examples=60, deadline=None)
@given(objects, st.booleans())
def test_tags_are_the_classes_of_an_image(
    rows: list[tuple[int, int, bool]], difficult_makes_tag: bool
) -> None:
    expected: list[set[int]] = [set() for _ in range(4)]
    for image, klass, difficult in rows:
        if difficult_makes_tag or not difficult:
            expected[image].add(klass)
    dataset = annotations(rows, 4).tags(difficult_makes_tag=difficult_makes_tag)
    assert [set(image.tags) for image in dataset] == expected
    assert [image.id for image in dataset] == ["photo0", "photo1", "photo2", "photo3"]
    assert dataset.class_names == CLASSES


def test_no_image_is_no_dataset_entry() -> None:
    assert len(annotations([], 0).tags(difficult_makes_tag=False)) == 0


@pytest.mark.parametrize(
    "box", [[0, 0, 10, 20], [-1, -1, 11, 21], [3, 3, 3, 3], [9.99, 0, 10.5, 0.5]]
)
def test_a_box_may_be_empty_and_reach_a_pixel_over_the_border(box: list[float]) -> None:
    refuse_impossible_boxes(np.array([box], float), np.array([[10, 20]]), str)


@pytest.mark.parametrize(
    ("box", "problem"),
    [
        ([0, 0, np.nan, 1], "not finite"),
        ([0, -np.inf, 1, 1], "not finite"),
        ([5, 0, 4, 1], "inverted"),
        ([0, 5, 1, 4], "inverted"),
        ([-1.5, 0, 4, 1], "outside"),
        ([0, 0, 4, 21.5], "outside"),
        ([30, 0, 40, 1], "outside"),
    ],
)
def test_an_impossible_box_is_named_with_its_place(box: list[float], problem: str) -> None:
    boxes = np.array([[0, 0, 1, 1], box], float)
    with pytest.raises(InputError, match=f"^object 1: the box .* {problem}"):
        refuse_impossible_boxes(boxes, np.array([[10, 20]] * 2), "object {}".format)


def test_an_unknown_size_bounds_nothing_but_the_absurd() -> None:
    sizes = np.zeros((1, 2), np.int64)
    refuse_impossible_boxes(np.array([[0.0, 0, 1e5, 1e5]]), sizes, str)
    with pytest.raises(InputError, match="outside"):
        refuse_impossible_boxes(np.array([[0.0, 0, 1e300, 1]]), sizes, str)
