"""The tables and charts of a report as plain values for its template. One entry a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from tag2box.data.findings import Diagnosis
from tag2box.errors import printable
from tag2box.evaluation.errors_by_kind import ERRORS, ErrorsByKind, Kind
from tag2box.evaluation.scores import Scores
from tag2box.evaluation.voc import ClassPrecision
from tag2box.outputs.charts import Line, binned, line_chart

_POINTS, _SMOOTH = 300, 40
_EXTREMES = 6
_MOST_CURVES = 100
_NOT_LOSSES = ("learning_rate_factor", "skipped", "images_per_second", "waited", "memory_gigabytes")


@dataclass(frozen=True)
class Cell:
    """One metric of one class: its value in each run, and with two runs the gain of the second."""

    values: tuple[float, ...]

    @property
    def gain(self) -> float | None:
        """Of the second run over the first."""
        return self.values[1] - self.values[0] if len(self.values) == 2 else None


def class_table(scores: Sequence[Scores]) -> dict[str, Any] | None:
    """Headings of the metrics, a row a class, and the means."""
    if not scores:
        return None
    columns = [_columns(one) for one in scores]
    headings = list(columns[0])
    rows = [
        {
            "name": printable(name, 60),
            "objects": objects,
            "cells": [Cell(tuple(c[heading][name] for c in columns)) for heading in headings],
        }
        for name, objects in scores[0].objects.items()
    ]
    means = [Cell(tuple(c[heading][None] for c in columns)) for heading in headings]
    return {"headings": headings, "rows": rows, "means": means}


def _columns(scores: Scores) -> dict[str, dict[str | None, float]]:
    """Metric by metric the value of each class, and under None their mean."""
    assert scores.voc is not None
    assert scores.corloc is not None
    assert scores.coco is not None
    return {
        "AP at 0.5": {c.name: c.average_precision for c in scores.voc.classes}
        | {None: scores.voc.mean},
        "CorLoc": {c.name: c.corloc for c in scores.corloc.classes} | {None: scores.corloc.mean},
        "AP .5:.95": {name: c.ap for name, c in scores.coco.classes.items()}
        | {None: scores.coco.overall.ap},
    }


def precision_charts(scores: Sequence[Scores], names: Sequence[str]) -> list[tuple[str, Markup]]:
    """A chart of precision over recall for each class that has objects."""
    classes = [one.voc.classes for one in scores if one.voc]
    charts = []
    for curves in list(zip(*classes, strict=True))[:_MOST_CURVES]:
        if curves[0].objects:
            name = printable(curves[0].name, 60)
            lines = [
                Line(_envelope(curve), f"run-{run}", names[run]) for run, curve in enumerate(curves)
            ]
            chart = line_chart(
                lines,
                x_label="recall",
                label=f"Precision over recall of {name}",
                x_range=(0, 1),
                y_range=(0, 1),
            )
            charts.append((name, chart))
    return charts


def _envelope(curve: ClassPrecision) -> np.ndarray[Any, np.dtype[np.float64]]:
    """At each hundredth of recall that is reached the best precision from it on: (N, 2)."""
    recalls = np.arange(101) / 100
    best = np.maximum.accumulate(curve.precision[::-1])[::-1]
    first = np.searchsorted(curve.recall, recalls - 1e-12)
    reached = first < len(best)
    return np.column_stack([recalls[reached], best[first[reached]]])


def error_bars(errors: Sequence[ErrorsByKind]) -> list[dict[str, Any]]:
    """For each run what its confident boxes found, and the objects they missed."""
    kinds = (Kind.RIGHT, *ERRORS)
    return [
        {
            "min_score": one.min_score,
            "boxes": one.boxes,
            "objects": one.objects,
            "missed": one.missed,
            "precision": one.precision,
            "recall": one.recall,
            "kinds": [
                {
                    "name": kind.name.lower().replace("_", " "),
                    "style": kind.name.lower().replace("_", "-"),
                    "count": one.counts[kind],
                    "share": one.counts[kind] / max(1, one.boxes),
                }
                for kind in kinds
            ],
        }
        for one in errors
    ]


def extremes(quality: Sequence[float | None]) -> dict[str, list[int]] | None:
    """The photos with the highest and with the lowest quality, as indexes."""
    if not quality or quality[0] is None:
        return None
    ranked = sorted(range(len(quality)), key=lambda index: -(quality[index] or 0.0))
    count = min(_EXTREMES, len(ranked) // 2)
    return {"best": ranked[:count], "worst": ranked[::-1][:count]}


def loss_charts(
    metrics: Sequence[Sequence[Mapping[str, float]]], names: Sequence[str]
) -> list[tuple[str, Markup]]:
    """A chart over the steps for the sum of the losses, each loss, and what else was measured."""
    keys = dict.fromkeys(key for lines in metrics for line in lines for key in line)
    ordered = [k for k in keys if k not in ("step", "loss", *_NOT_LOSSES)]
    ordered = ["loss", *ordered, *(k for k in _NOT_LOSSES if k in keys)] if keys else []
    return [
        (
            printable(key.replace("_", " "), 60),
            line_chart(
                list(_losses(metrics, key, names)), x_label="step", label=f"{key} over the steps"
            ),
        )
        for key in ordered
    ]


def _losses(
    metrics: Sequence[Sequence[Mapping[str, float]]], key: str, names: Sequence[str]
) -> Iterator[Line]:
    """Per run what was measured, faint, and its mean over some steps."""
    for run, lines in enumerate(metrics):
        pairs = [(line["step"], line[key]) for line in lines if key in line]
        points = np.array(pairs, np.float64).reshape(-1, 2)
        yield Line(binned(points, _POINTS), f"run-{run} faint", names[run])
        yield Line(binned(points, _SMOOTH), f"run-{run}", names[run])


def data_summary(diagnosis: Diagnosis) -> dict[str, Any]:
    """What the doctor said, names made safe to show, the most frequent class first."""
    ranked = sorted(diagnosis.photos_of_class.items(), key=lambda item: -item[1])
    most = max([count for _, count in ranked], default=0) or 1
    return {
        "photos": diagnosis.photos,
        "negatives": diagnosis.negatives,
        "learnable": diagnosis.learnable,
        "classes": [(printable(name, 60), count, count / most) for name, count in ranked],
        "tags": list(diagnosis.tags_per_photo.items()),
        "findings": [
            {
                "severity": finding.severity,
                "what": printable(finding.what),
                "effect": printable(finding.effect),
                "remedy": printable(finding.remedy),
                "examples": [printable(example, 120) for example in finding.examples],
            }
            for finding in diagnosis.findings
        ],
    }
