"""One HTML file that shows a run, or two side by side, to whoever opens it; nothing is loaded.

N photos.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from tag2box.data.findings import Diagnosis
from tag2box.errors import printable
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.files import write_text
from tag2box.outputs.report_data import RunReport
from tag2box.outputs.report_gallery import gallery
from tag2box.outputs.report_photos import common_photos
from tag2box.outputs.report_scores import Judged, judged
from tag2box.outputs.report_tables import (
    class_table,
    data_summary,
    error_bars,
    extremes,
    loss_charts,
    precision_charts,
)
from tag2box.outputs.thumbnails import thumbnails

_SCRIPTS = ("drawing.js", "gallery.js", "page.js")


def write_report(
    path: Path,
    *,
    title: str,
    runs: Sequence[RunReport],
    truth: GroundTruth | None = None,
    diagnosis: Diagnosis | None = None,
    most_photos: int = 2000,
    thumbnail_side: int = 320,
    max_megapixels: float = 200.0,
    workers: int = 4,
    on_photo: Callable[[], object] = lambda: None,
) -> None:
    """Write the report of one run, or of two over the photos both have seen.

    Args:
        path: the HTML file.
        title: what it is of.
        runs: one or two.
        truth: the true boxes, where they are known; the report is then of the photos they cover.
        diagnosis: what the doctor said of the photos of training.
        most_photos: of more, so many are shown, evenly spaced; scores are of all.
        thumbnail_side: longest side of a shown photo in pixels.
        max_megapixels: larger photos are shown as empty frames.
        workers: threads that make thumbnails.
        on_photo: called once for every photo shown, from several threads.
    """
    assert len(runs) in (1, 2), "one run, or two side by side"
    runs, truth = common_photos(runs, truth)
    count = len(runs[0].photos)
    chosen = np.unique(np.linspace(0, count - 1, min(count, most_photos)).round().astype(int))
    small = thumbnails(
        [runs[0].photos[index].path for index in chosen],
        side=thumbnail_side,
        max_megapixels=max_megapixels,
        workers=workers,
        on_photo=on_photo,
    )
    found = [[photo.detections for photo in run.photos] for run in runs]
    judgements = [judged(truth, one) for one in found] if truth else []
    shown = gallery(runs, small, chosen.tolist(), truth=truth, judgements=judgements)
    view = _view(runs, shown, judgements) | {
        "title": printable(title),
        "data": data_summary(diagnosis) if diagnosis else None,
    }
    write_text(path, _page(view, shown))


def _view(
    runs: Sequence[RunReport], shown: Mapping[str, Any], judgements: Sequence[Judged]
) -> dict[str, Any]:
    """What the template shows besides the photos."""
    scores = [judgement.scores for judgement in judgements]
    return {
        "runs": shown["runs"],
        "photos": len(runs[0].photos),
        "shown": len(shown["photos"]),
        "boxes": [sum(len(photo.detections) for photo in run.photos) for run in runs],
        "table": class_table(scores),
        "precision": precision_charts(scores, shown["runs"]),
        "errors": error_bars([judgement.errors for judgement in judgements]),
        "extremes": extremes([photo["quality"] for photo in shown["photos"]]),
        "losses": loss_charts([run.metrics for run in runs], shown["runs"]),
        "settings": _side_by_side([run.settings for run in runs]),
    }


def _side_by_side(settings: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """Rows of a setting's name and its value in each run; `–` where it is the default."""
    names = sorted({name for one in settings for name in one})
    return [[printable(n), *(printable(one.get(n, "–")) for one in settings)] for n in names]


def _page(view: Mapping[str, Any], shown: Mapping[str, Any]) -> str:
    environment = Environment(
        loader=PackageLoader("tag2box.outputs", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = _percent
    environment.filters["thousands"] = "{:,}".format
    script = Markup("\n").join(_source(environment, name) for name in _SCRIPTS)
    style = _source(environment, "report.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("report.html").render(
        **view, script=script, style=style, script_digest=digest, json=htmlsafe_json_dumps(shown)
    )


def _source(environment: Environment, name: str) -> Markup:
    """A file of ours, put into the page as it is."""
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.1f}"
