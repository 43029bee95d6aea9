from pathlib import Path

import numpy as np
import pytest

from tag2box.structures import Dataset, Detections, TaggedImage


@pytest.fixture
def found() -> Detections:
    return Detections(
        boxes=np.arange(12, dtype=np.float32).reshape(3, 4),
        scores=np.array([0.9, 0.5, 0.1], np.float32),
        classes=np.array([1, 0, 1]),
        class_names=("cat", "dog"),
        image_id="a",
    )


def test_a_mask_indexes_and_a_slice_choose_the_same(found: Detections) -> None:
    for keep in (found.scores >= 0.5, np.array([0, 1]), slice(2)):
        chosen = found[keep]
        assert len(chosen) == 2
        np.testing.assert_array_equal(chosen.boxes, found.boxes[:2])
        assert chosen.scores.tolist() == found.scores[:2].tolist()
        assert chosen.classes.tolist() == [1, 0]
        assert (chosen.class_names, chosen.image_id) == (("cat", "dog"), "a")


def test_no_box_at_all() -> None:
    nothing = Detections.empty(["cat"], image_id="a")
    assert len(nothing) == len(nothing[nothing.scores > 0]) == 0
    assert nothing.boxes.shape == (0, 4)


@pytest.mark.parametrize(
    ("boxes", "scores", "classes"),
    [((2, 4), 3, [0, 1, 0]), ((3, 5), 3, [0, 1, 0]), ((2, 4), 2, [0]), ((2, 4), 2, [0, 2])],
)
def test_columns_that_do_not_fit_are_refused(
    boxes: tuple[int, int], scores: int, classes: list[int]
) -> None:
    with pytest.raises(AssertionError):
        Detections(
            boxes=np.zeros(boxes, np.float32),
            scores=np.zeros(scores, np.float32),
            classes=np.array(classes),
            class_names=("cat", "dog"),
        )


def test_to_supervision_keeps_boxes_scores_and_names(found: Detections) -> None:
    supervision = pytest.importorskip("supervision")
    theirs = found.to_supervision()
    assert isinstance(theirs, supervision.Detections)
    np.testing.assert_array_equal(theirs.xyxy, found.boxes)
    np.testing.assert_array_equal(theirs.confidence, found.scores)
    np.testing.assert_array_equal(theirs.class_id, found.classes)
    assert theirs.data["class_name"].tolist() == ["dog", "cat", "dog"]
    assert len(theirs[theirs.confidence > 0.3]) == 2
    assert len(Detections.empty(["cat"]).to_supervision()) == 0


def test_keep_classes_renumbers_the_tags() -> None:
    data = Dataset(
        class_names=("cat", "dog", "cow"),
        images=(
            TaggedImage("a", Path("a.jpg"), frozenset({0, 2})),
            TaggedImage("b", Path("b.jpg"), frozenset({1})),
        ),
    )
    kept = data.keep_classes(["cow", "cat"])
    assert kept.class_names == ("cow", "cat")
    assert [image.tags for image in kept] == [{0, 1}, frozenset()]
    assert len(kept) == 2
    assert kept[1].id == "b"
