import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tag2box.proposals.clean_up import clean_up, drawn, first_of_equals
from tag2box.proposals.protocol import Proposals

WIDTH, HEIGHT = 30, 20


def slow_clean_up(boxes: list[list[float]], minimum_side: float, duplicates: str) -> list[int]:
    """Indexes kept, one box at a time."""
    kept: list[int] = []
    seen: set[tuple[float, ...]] = set()
    for i, (x1, y1, x2, y2) in enumerate(boxes):
        x1, x2 = (min(max(x, 0), WIDTH) for x in (x1, x2))
        y1, y2 = (min(max(y, 0), HEIGHT) for y in (y1, y2))
        side = min(x2 - x1, y2 - y1)
        if side < minimum_side or side <= 0:
            continue
        box = tuple(float(np.rint(v)) if duplicates == "rounded" else v for v in (x1, y1, x2, y2))
        if duplicates == "keep" or box not in seen:
            kept.append(i)
        seen.add(box)
    return kept


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    count=st.integers(0, 60),
    minimum_side=st.sampled_from([0.0, 2.0, 7.5]),
    duplicates=st.sampled_from(["rounded", "exact", "keep"]),
)
def test_clean_up_against_a_loop(
    seed: int, count: int, minimum_side: float, duplicates: str
) -> None:
    rng = np.random.default_rng(seed)
    corners = np.sort(rng.integers(-8, 60, (count, 2, 2)) / 2, axis=1)  # many ties and halves
    boxes = corners.reshape(count, 4).astype(np.float32)
    scores = np.linspace(1, 0, count, dtype=np.float32)
    cleaned = clean_up(
        Proposals(boxes, scores),
        width=WIDTH,
        height=HEIGHT,
        image_id="a",
        minimum_side=minimum_side,
        duplicates=duplicates,
    )
    kept = slow_clean_up(boxes.tolist(), minimum_side, duplicates)
    if not kept:
        assert cleaned.boxes.tolist() == [[0, 0, WIDTH, HEIGHT]]
        return
    expected = np.clip(boxes[kept], 0, [WIDTH, HEIGHT, WIDTH, HEIGHT])
    np.testing.assert_array_equal(cleaned.boxes, expected)
    np.testing.assert_array_equal(cleaned.scores, scores[kept])


def cleaned_boxes(count: int, image_id: str = "a", **keywords: float) -> list[list[float]]:
    boxes = np.array([[0, 0, 5, 5 + i] for i in range(count)], np.float32)
    cleaned = clean_up(
        Proposals(boxes),
        width=1000,
        height=1000,
        image_id=image_id,
        **keywords,  # type: ignore[arg-type]
    )
    return cleaned.boxes.tolist()


def test_a_smaller_share_is_part_of_a_larger_one_and_order_is_kept() -> None:
    everything = cleaned_boxes(100)
    larger, smaller = (cleaned_boxes(100, random_share=share) for share in (0.6, 0.2))
    assert (len(larger), len(smaller)) == (60, 20)
    assert [box for box in everything if box in larger] == larger
    assert [box for box in larger if box in smaller] == smaller


def test_a_share_is_of_the_photo_and_the_seed() -> None:
    first = cleaned_boxes(100, random_share=0.5)
    assert cleaned_boxes(100, random_share=0.5) == first
    assert cleaned_boxes(100, image_id="b", random_share=0.5) != first
    assert cleaned_boxes(100, random_share=0.5, seed=1) != first


def test_the_first_are_kept() -> None:
    assert cleaned_boxes(10, maximum_count=3) == cleaned_boxes(10)[:3]
    assert cleaned_boxes(2, maximum_count=3) == cleaned_boxes(2)


@pytest.mark.parametrize("count", [0, 1])
def test_a_share_of_almost_nothing_is_one(count: int) -> None:
    assert drawn(count, 0.001, "a").tolist() == list(range(count))


def test_the_draw_is_the_same_on_every_machine() -> None:
    assert drawn(10, 0.5, "0 000005").tolist() == [0, 1, 2, 4, 9]


def test_first_of_equals_of_nothing() -> None:
    assert first_of_equals(np.zeros((0, 4))).tolist() == []
