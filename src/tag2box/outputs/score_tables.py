"""Scores as tables for people, in percent."""

import math
from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from tag2box.errors import printable
from tag2box.evaluation.coco import CocoNumbers
from tag2box.evaluation.recall import RecallNumbers
from tag2box.evaluation.scores import Scores

Column = tuple[str, dict[str, float], float]  # heading, value of each class, value over all


def score_tables(scores: Scores) -> list[Table]:
    """A table of the classes, then COCO's numbers over all of them."""
    tables = [_classes(scores)]
    if scores.coco:
        tables.append(_precision(scores.coco.overall))
    if scores.ar:
        tables.append(_recall(scores.ar.overall))
    return tables


def _classes(scores: Scores) -> Table:
    columns = list(_columns(scores))
    table = Table("class", title="By class, in percent", title_justify="left")
    for heading in ("objects", *(heading for heading, _, _ in columns)):
        table.add_column(heading, justify="right")
    for name, objects in scores.objects.items():
        numbers = (_percent(values[name]) for _, values, _ in columns)
        table.add_row(Text(printable(name)), str(objects), *numbers)
    table.add_section()
    total = sum(scores.objects.values())
    table.add_row("all", str(total), *(_percent(overall) for _, _, overall in columns))
    return table


def _columns(scores: Scores) -> Iterator[Column]:
    if scores.voc:
        at = f"@{scores.voc.iou:g}"
        area = {c.name: c.average_precision for c in scores.voc.classes}
        points = {c.name: c.average_precision_07 for c in scores.voc.classes}
        yield f"VOC AP{at}", area, scores.voc.mean
        yield f"VOC07 AP{at}", points, scores.voc.mean_07
    if scores.corloc:
        located = {c.name: c.corloc for c in scores.corloc.classes}
        yield f"CorLoc@{scores.corloc.iou:g}", located, scores.corloc.mean
    if scores.coco:
        precision = {name: numbers.ap for name, numbers in scores.coco.classes.items()}
        yield "COCO AP", precision, scores.coco.overall.ap
    if scores.ar:
        recall = {name: numbers.at_100 for name, numbers in scores.ar.classes.items()}
        yield "AR 100", recall, scores.ar.overall.at_100


def _precision(numbers: CocoNumbers) -> Table:
    headings = {
        "AP": numbers.ap,
        "AP50": numbers.ap_50,
        "AP75": numbers.ap_75,
        "small": numbers.ap_small,
        "medium": numbers.ap_medium,
        "large": numbers.ap_large,
    }
    return _one_row("COCO average precision", headings)


def _recall(numbers: RecallNumbers) -> Table:
    headings = {
        "AR 1": numbers.at_1,
        "AR 10": numbers.at_10,
        "AR 100": numbers.at_100,
        "small": numbers.small,
        "medium": numbers.medium,
        "large": numbers.large,
    }
    return _one_row("Average recall with 1, 10, 100 boxes a photo; by size", headings)


def _one_row(title: str, values: dict[str, float]) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in values:
        table.add_column(heading, justify="right")
    table.add_row(*(_percent(value) for value in values.values()))
    return table


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.1f}"
