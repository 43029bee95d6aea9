"""COCO's twelve numbers, by hotcoco: pycocotools' arithmetic in Rust.

Average precision (AP) is the mean over 101 recalls, average recall (AR) the largest recall with so
many detections an image; both are means over the overlaps .50:.05:.95 and over the classes. Small
objects are below 32 x 32 pixels, large ones from 96 x 96 on.

A COCO crowd is ignored as COCO does it: any number of detections may lie in it. COCO knows no
`difficult`; such an object is ignored as COCO ignores an object of another size: it need not be
found, and one detection of it counts neither way.

T thresholds, K classes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tag2box.evaluation.detection_table import AnyDetections, DetectionTable, tabulate
from tag2box.evaluation.ground_truth import GroundTruth

_OUTSIDE_EVERY_SIZE = -1.0
_ALL, _SMALL, _MEDIUM, _LARGE = range(4)
_AT_1, _AT_10, _AT_100 = range(3)
_IOU_50, _IOU_75 = 0, 5


@dataclass(frozen=True)
class CocoNumbers:
    """The twelve, in COCO's order, shares in [0, 1]; NaN where no object is of the kind."""

    ap: float
    ap_50: float
    ap_75: float
    ap_small: float
    ap_medium: float
    ap_large: float
    ar_1: float
    ar_10: float
    ar_100: float
    ar_small: float
    ar_medium: float
    ar_large: float


@dataclass(frozen=True)
class CocoScores:
    """The twelve numbers of all classes together and of each."""

    overall: CocoNumbers
    classes: dict[str, CocoNumbers]


def coco_scores(
    truth: GroundTruth, detections: AnyDetections, *, count_difficult: bool = False
) -> CocoScores:
    """COCO's numbers for any data set.

    With `count_difficult` difficult objects are to be found like any other.
    """
    from hotcoco import COCOeval

    table = tabulate(truth, detections)
    objects = _coco_objects(truth, count_difficult=count_difficult)
    found = objects.load_res(_coco_results(truth, table))
    evaluation = COCOeval(objects, found, "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    curves = evaluation.eval
    assert curves is not None, "accumulate() has run"
    precision = curves["precision"]  # (T, recalls, K, sizes, counts), -1 for unknown
    recall = curves["recall"]  # (T, K, sizes, counts)
    return CocoScores(
        overall=_numbers(precision, recall),
        classes={
            name: _numbers(precision[:, :, [k]], recall[:, [k]])
            for k, name in enumerate(truth.class_names)
        },
    )


def _coco_objects(truth: GroundTruth, *, count_difficult: bool) -> Any:
    from hotcoco import COCO

    ignored = np.zeros_like(truth.difficult) if count_difficult else truth.difficult
    return COCO.from_arrays(
        [{"id": int(n), "width": 0, "height": 0} for n in np.sort(_image_numbers(truth))],
        [{"id": k, "name": name} for k, name in enumerate(truth.class_names)],
        _image_numbers(truth)[truth.object_image],
        truth.classes,
        _corner_and_size(truth.boxes),
        area=np.where(ignored, _OUTSIDE_EVERY_SIZE, truth.areas),
        iscrowd=truth.crowd,
    )


def _coco_results(truth: GroundTruth, table: DetectionTable) -> npt.NDArray[np.float64]:
    """Rows of image, x, y, width, height, score, class: (D, 7)."""
    return np.column_stack(
        [
            _image_numbers(truth)[table.images],
            _corner_and_size(table.boxes),
            table.scores,
            table.classes,
        ]
    )


def _image_numbers(truth: GroundTruth) -> npt.NDArray[np.int64]:
    """A number for each image; detections of equal score are ranked by it.

    COCO's own numbers keep their order, so that ties fall as they do in pycocotools.
    """
    ids = truth.image_ids
    if all(image_id.isdecimal() for image_id in ids):
        order = sorted(range(len(ids)), key=lambda i: int(ids[i]))
    else:
        order = list(range(len(ids)))
    numbers = np.empty(len(ids), np.int64)
    numbers[order] = np.arange(1, len(ids) + 1)
    return numbers


def _corner_and_size(boxes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)


def _numbers(precision: npt.NDArray[np.float64], recall: npt.NDArray[np.float64]) -> CocoNumbers:
    return CocoNumbers(
        ap=_known_mean(precision[..., _ALL, _AT_100]),
        ap_50=_known_mean(precision[_IOU_50, ..., _ALL, _AT_100]),
        ap_75=_known_mean(precision[_IOU_75, ..., _ALL, _AT_100]),
        ap_small=_known_mean(precision[..., _SMALL, _AT_100]),
        ap_medium=_known_mean(precision[..., _MEDIUM, _AT_100]),
        ap_large=_known_mean(precision[..., _LARGE, _AT_100]),
        ar_1=_known_mean(recall[..., _ALL, _AT_1]),
        ar_10=_known_mean(recall[..., _ALL, _AT_10]),
        ar_100=_known_mean(recall[..., _ALL, _AT_100]),
        ar_small=_known_mean(recall[..., _SMALL, _AT_100]),
        ar_medium=_known_mean(recall[..., _MEDIUM, _AT_100]),
        ar_large=_known_mean(recall[..., _LARGE, _AT_100]),
    )


def _known_mean(values: npt.NDArray[np.float64]) -> float:
    known = values[values > -1]
    return float(known.mean()) if known.size else float("nan")
