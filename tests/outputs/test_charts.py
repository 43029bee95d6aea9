import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from tag2box.outputs.charts import HEIGHT, WIDTH, Line, binned, line_chart, ticks


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 30_000, [0, 10_000, 20_000, 30_000]),
        (2.03, 2.98, [2.2, 2.4, 2.6, 2.8]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
        (0, 0.004, [0, 0.001, 0.002, 0.003, 0.004]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_ticks_are_few_and_inside() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        low = rng.normal() * 10.0 ** rng.integers(-4, 6)
        high = low + rng.random() * 10.0 ** rng.integers(-3, 6) + 1e-3
        found = ticks(low, high)
        slack = 1e-6 * (high - low)
        assert 1 <= len(found) <= 6
        assert low - slack <= found[0] <= found[-1] <= high + slack


def test_bins_hold_the_mean() -> None:
    points = np.column_stack([np.arange(10.0), np.arange(10.0) ** 2])
    np.testing.assert_array_equal(binned(points, 20), points)
    halves = binned(points, 2)
    np.testing.assert_allclose(halves, [[2, 6], [7, 51]])
    points[3, 1] = np.nan
    assert len(binned(points, 100)) == 9
    assert binned(np.zeros((0, 2)), 5).shape == (0, 2)


@pytest.mark.parametrize(
    "points",
    [np.zeros((0, 2)), np.ones((1, 2)), np.zeros((3, 2)), np.array([[0, np.nan], [1, np.inf]])],
)
def test_any_points_make_a_chart(points: np.ndarray) -> None:
    chart = line_chart([Line(points, "run-0")], x_label="step", label="loss")
    assert ElementTree.fromstring(chart).tag == "svg"
    assert "nan" not in chart
    assert "inf" not in chart


def test_a_curve_lies_where_its_values_are() -> None:
    points = np.array([[0.0, 0.0], [0.5, 1.0], [1.0, 0.5]])
    chart = line_chart(
        [Line(points, "run-0")], x_label="x", label="l", x_range=(0, 1), y_range=(0, 1)
    )
    curve = ElementTree.fromstring(chart).find("polyline")
    assert curve is not None
    xy = np.array([[float(v) for v in pair.split(",")] for pair in curve.attrib["points"].split()])
    assert np.all((xy > 0) & (xy < [WIDTH, HEIGHT]))
    assert xy[1, 0] == pytest.approx((xy[0, 0] + xy[2, 0]) / 2, abs=0.1)
    assert xy[2, 1] == pytest.approx((xy[0, 1] + xy[1, 1]) / 2, abs=0.1)


def test_names_are_escaped() -> None:
    chart = line_chart([Line(np.ones((2, 2)), "run-0", "<b>")], x_label="<i>", label='"<u>')
    assert "<b>" not in chart
    assert "<i>" not in chart
    assert "<u>" not in chart
    ElementTree.fromstring(chart)
