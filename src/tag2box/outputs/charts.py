"""Line charts as inline SVG; colours come from the page's style sheet.

N points.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from markupsafe import Markup, escape

Floats = npt.NDArray[np.float64]
Range = tuple[float, float]

WIDTH, HEIGHT = 300, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 10, 34


@dataclass(frozen=True, eq=False)
class Line:
    """One curve."""

    points: Floats
    """(N, 2) x and y; a y that is not finite interrupts nothing, it is left out."""
    style: str
    """Classes of the style sheet, like `run-0`."""
    name: str = ""
    """Shown where the pointer rests on it."""


def line_chart(
    lines: Sequence[Line],
    *,
    x_label: str,
    label: str,
    x_range: Range | None = None,
    y_range: Range | None = None,
) -> Markup:
    """The chart of some curves; `label` says to a screen reader what it shows."""
    known = [line.points[np.isfinite(line.points).all(axis=1)] for line in lines]
    together = np.concatenate([np.zeros((0, 2)), *known])
    x_range = x_range or _range(together[:, 0])
    y_range = y_range or _range(together[:, 1])
    curves = [
        _curve(line, _placed(points, x_range, y_range))
        for line, points in zip(lines, known, strict=True)
    ]
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(WIDTH, HEIGHT, label, Markup("").join([*_axes(x_range, y_range, x_label), *curves]))


def binned(points: Floats, count: int) -> Floats:
    """Means of about `count` runs of neighbouring points: (N, 2) -> (at most count, 2)."""
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) <= count:
        return points
    return np.array([part.mean(axis=0) for part in np.array_split(points, count)])


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round numbers from low to high, about `count` of them."""
    step = 10.0 ** math.floor(math.log10((high - low) / count))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (m * step) <= count + 1)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def _range(values: Floats) -> Range:
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    low = 0.0 if 0 <= low < 0.5 * high else low
    return (low, high) if high > low else (low, low + max(1.0, abs(low)))


def _placed(points: Floats, x_range: Range, y_range: Range) -> Floats:
    low = np.array([x_range[0], y_range[0]])
    span = np.array([x_range[1], y_range[1]]) - low
    x, y = ((points - low) / span).T
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    return np.column_stack([_LEFT + x * (right - _LEFT), bottom - y * (bottom - _TOP)])


def _curve(line: Line, placed: Floats) -> Markup:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
    return Markup('<polyline class="line {}" points="{}"><title>{}</title></polyline>').format(
        line.style, path, line.name
    )


def _axes(x_range: Range, y_range: Range, x_label: str) -> list[Markup]:
    """Grid lines and their numbers."""
    drawn = []
    for value in ticks(*y_range):
        y = _placed(np.array([[x_range[0], value]]), x_range, y_range)[0, 1]
        drawn.append(_rule(_LEFT, WIDTH - _RIGHT, y))
        drawn.append(_text(_LEFT - 6, y + 3.5, _number(value), "end"))
    for value in ticks(*x_range):
        x = _placed(np.array([[value, y_range[0]]]), x_range, y_range)[0, 0]
        drawn.append(_text(x, HEIGHT - _BOTTOM + 14, _number(value), "middle"))
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    return [*drawn, _text(middle, HEIGHT - 5, x_label, "middle")]


def _rule(x1: float, x2: float, y: float) -> Markup:
    return Markup(f'<line class="rule" x1="{x1}" x2="{x2}" y1="{y:.1f}" y2="{y:.1f}"/>')


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    place = Markup(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">')
    return place + escape(text) + Markup("</text>")


def _number(value: float) -> str:
    """Short: 0.25, 3, 20k."""
    return f"{value / 1000:g}k" if abs(value) >= 10_000 else f"{value:.6g}"
