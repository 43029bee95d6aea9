import numpy as np
import pytest

from tag2box.data import transforms


@pytest.mark.parametrize(
    ("size", "short", "long", "expected"),
    [
        ((375, 500), 480, 2000, (480, 640)),
        ((500, 375), 480, 2000, (640, 480)),
        ((100, 1000), 480, 2000, (200, 2000)),
        ((3, 3000), 480, 2000, (2, 2000)),
        ((1, 4000), 480, 2000, (1, 2000)),
    ],
)
def test_short_side_unless_the_long_side_is_too_long(
    size: tuple[int, int], short: int, long: int, expected: tuple[int, int]
) -> None:
    assert transforms.resized_shape(*size, short, long) == expected


def test_resize_keeps_what_is_where() -> None:
    image = np.zeros((40, 60, 3), np.uint8)
    image[10:20, 30:45] = 200
    larger = transforms.resize(image, 80, 120)
    assert larger.shape == (80, 120, 3)
    assert larger[30, 75].tolist() == [200, 200, 200]
    assert larger[30, 20].tolist() == [0, 0, 0]
    assert transforms.resize(image, 40, 60) is image


def test_mirror_twice_changes_nothing() -> None:
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    np.testing.assert_array_equal(transforms.mirror(image)[:, 0], image[:, -1])
    np.testing.assert_array_equal(transforms.mirror(transforms.mirror(image)), image)


def test_relight_shifts_all_pixels_alike_and_by_little() -> None:
    image = np.full((4, 4, 3), 128, np.uint8)
    random = np.random.default_rng(0)
    shifts = np.array([transforms.relight(image, 0.1, random)[0, 0] for _ in range(400)]) - 128.0
    assert abs(shifts.mean()) < 1
    expected = 25.5 * np.linalg.norm(
        transforms.LIGHT_DIRECTIONS * transforms.LIGHT_STRENGTHS, axis=1
    )
    np.testing.assert_allclose(shifts.std(axis=0), expected, rtol=0.15)
