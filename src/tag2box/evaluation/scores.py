"""Every metric of a data set at once, for the command line and the report."""

import dataclasses
import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from tag2box.evaluation.coco import CocoScores, coco_scores
from tag2box.evaluation.corloc import CorrectLocalization, corloc
from tag2box.evaluation.detection_table import AnyDetections, tabulate
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.evaluation.recall import AverageRecall, recalls_among
from tag2box.evaluation.voc import VocPrecision, average_precision

Metric: TypeAlias = Literal["voc", "corloc", "coco", "ar"]
METRICS: tuple[Metric, ...] = get_args(Metric)


@dataclass(frozen=True, eq=False)
class Scores:
    """What was asked for; the rest is None."""

    images: int
    objects: dict[str, int]
    """How many objects each class has, difficult ones and crowds included."""
    detections: int
    voc: VocPrecision | None = None
    corloc: CorrectLocalization | None = None
    coco: CocoScores | None = None
    ar: AverageRecall | None = None

    def to_plain(self) -> dict[str, Any]:
        """Numbers for JSON: shares in [0, 1], None for what has no value. No curves."""
        plain: dict[str, Any] = {
            "images": self.images,
            "objects": self.objects,
            "detections": self.detections,
        }
        if self.voc:
            plain["voc"] = {
                "iou": self.voc.iou,
                "mean": self.voc.mean,
                "mean_07": self.voc.mean_07,
                "classes": {
                    c.name: {
                        "objects": c.objects,
                        "average_precision": c.average_precision,
                        "average_precision_07": c.average_precision_07,
                    }
                    for c in self.voc.classes
                },
            }
        if self.corloc:
            plain["corloc"] = {
                "iou": self.corloc.iou,
                "mean": self.corloc.mean,
                "classes": {
                    c.name: {"images": c.images, "located": c.located, "corloc": c.corloc}
                    for c in self.corloc.classes
                },
            }
        if self.coco:
            plain["coco"] = dataclasses.asdict(self.coco)
        if self.ar:
            plain["ar"] = dataclasses.asdict(self.ar)
        known: dict[str, Any] = _without_nan(plain)
        return known


def score(
    truth: GroundTruth,
    detections: AnyDetections,
    *,
    metrics: Collection[Metric] = METRICS,
    iou: float = 0.5,
    count_difficult: bool = False,
) -> Scores:
    """The metrics asked for; `iou` and `count_difficult` are as each of them says.

    VOC's average precision never counts difficult objects.
    """
    table = tabulate(truth, detections)
    of_class = [int((truth.classes == index).sum()) for index in range(len(truth.class_names))]
    difficult = {"count_difficult": count_difficult}
    by_coco = coco_scores(truth, table, **difficult) if {"coco", "ar"} & set(metrics) else None
    return Scores(
        images=len(truth),
        objects=dict(zip(truth.class_names, of_class, strict=True)),
        detections=len(table),
        voc=average_precision(truth, table, iou=iou) if "voc" in metrics else None,
        corloc=corloc(truth, table, iou=iou, **difficult) if "corloc" in metrics else None,
        coco=by_coco if "coco" in metrics else None,
        ar=recalls_among(by_coco) if by_coco and "ar" in metrics else None,
    )


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
