from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tag2box.boxes import iou
from tag2box.errors import InputError
from tag2box.proposals.selective_search import _ranks, selective_search

MODES = ["fast", "quality"]


def scene(height: int = 150, width: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Two coloured rectangles, one inside another, on noise; and their boxes."""
    rng = np.random.default_rng(0)
    image = rng.integers(90, 120, (height, width, 3), np.uint8)
    boxes = np.array([[20, 30, 120, 130], [60, 50, 100, 90]])
    for (x1, y1, x2, y2), colour in zip(boxes, ([200, 30, 30], [30, 200, 60]), strict=True):
        image[y1:y2, x1:x2] = colour + rng.integers(-10, 10, (y2 - y1, x2 - x1, 3))
    return image, boxes


def assert_well_formed(boxes: np.ndarray, height: int, width: int) -> None:
    assert len(boxes) >= 1
    assert boxes.dtype == np.float32
    assert (boxes == np.rint(boxes)).all()
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2:] > boxes[:, :2]).all()
    assert (boxes[:, 2:] <= (width, height)).all()
    assert len(np.unique(boxes, axis=0)) == len(boxes)
    assert [0, 0, width, height] in boxes.tolist()


@pytest.mark.parametrize("mode", MODES)
def test_objects_are_found(mode: str) -> None:
    image, truth = scene()
    boxes = selective_search(image, mode=mode).boxes
    assert_well_formed(boxes, *image.shape[:2])
    assert iou(truth.astype(float), boxes.astype(float)).max(axis=1).min() > 0.9


@pytest.mark.parametrize("mode", MODES)
def test_same_photo_same_boxes_on_any_number_of_threads(mode: str) -> None:
    image, _ = scene()
    alone = selective_search(image, mode=mode).boxes
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: selective_search(image, mode=mode).boxes, range(8)))
    for boxes in found:
        np.testing.assert_array_equal(boxes, alone)


def test_the_seed_changes_the_order_and_nothing_else() -> None:
    image, _ = scene()
    first, second = (selective_search(image, seed=seed).boxes for seed in (0, -1))
    assert first.tolist() != second.tolist()
    assert sorted(first.tolist()) == sorted(second.tolist())


def test_large_regions_come_first() -> None:
    image = scene()[0]
    areas = [
        (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
        for boxes in (selective_search(image, seed=seed).boxes for seed in range(5))
    ]
    first, last = (
        [a[: len(a) // 4].mean() for a in areas],
        [a[-len(a) // 4 :].mean() for a in areas],
    )
    assert np.mean(first) > 2 * np.mean(last)


def test_ranks_are_fixed_for_ever() -> None:
    """The order of the boxes of all users hangs on these: the first numbers of splitmix64."""
    published = [0x06C45D188009454F, 0x6E789E6AA1B965F4, 0xE220A8397B1DCDAF]
    expected = [number / 2**64 * place for number, place in zip(published, (3, 2, 1), strict=True)]
    np.testing.assert_allclose(_ranks(3, 0, 0), expected, rtol=1e-12)
    many = _ranks(20_000, 5, 3) / np.arange(20_000, 0, -1)
    assert 0 <= many.min() < 0.001
    assert 0.999 < many.max() < 1
    assert abs(many.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(many, _ranks(20_000, 5, 4) / np.arange(20_000, 0, -1))[0, 1]) < 0.03


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(1, 1), (1, 2), (3, 2000), (2000, 3), (37, 41)])
@pytest.mark.parametrize("kind", ["constant", "noise"])
def test_odd_sizes(mode: str, size: tuple[int, int], kind: str) -> None:
    image = np.full((*size, 3), 255, np.uint8)
    if kind == "noise":
        image = np.random.default_rng(0).integers(0, 256, image.shape, np.uint8)
    boxes = selective_search(image, mode=mode).boxes
    assert_well_formed(boxes, *size)
    assert kind == "noise" or len(boxes) == 1


def test_twenty_megapixels() -> None:
    image = np.zeros((4000, 5000, 3), np.uint8)
    image[1000:3000, 500:2500] = 200
    boxes = selective_search(image).boxes
    assert_well_formed(boxes, 4000, 5000)
    truth = np.array([[500.0, 1000, 2500, 3000]])
    assert iou(truth, boxes.astype(float)).max() > 0.97


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 2**32 - 1), st.integers(1, 255))
def test_any_small_image(height: int, width: int, seed: int, levels: int) -> None:
    image = np.random.default_rng(seed).integers(0, levels + 1, (height, width, 3), np.uint8)
    assert_well_formed(selective_search(image, seed=seed).boxes, height, width)


def test_grey_photos_are_photos() -> None:
    grey = scene()[0][:, :, 0]
    coloured = selective_search(np.repeat(grey[:, :, None], 3, axis=2)).boxes
    np.testing.assert_array_equal(selective_search(grey).boxes, coloured)
    np.testing.assert_array_equal(selective_search(grey[:, :, None]).boxes, coloured)


def test_the_photo_is_not_written_to_and_may_lie_any_way_in_memory() -> None:
    image, _ = scene()
    expected = selective_search(image).boxes
    image.setflags(write=False)
    np.testing.assert_array_equal(selective_search(image).boxes, expected)
    np.testing.assert_array_equal(selective_search(np.asfortranarray(image)).boxes, expected)


@pytest.mark.parametrize(
    "wrong", [np.zeros((5, 5, 3)), np.zeros((5, 5, 4), np.uint8), np.zeros((0, 5, 3), np.uint8)]
)
def test_what_is_no_photo_is_named(wrong: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"uint8 \(height, width, 3\)"):
        selective_search(wrong)
