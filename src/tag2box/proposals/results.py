"""Proposals in a COCO results file: a list of image_id, bbox (x, y, width, height) and score."""

from pathlib import Path

import msgspec
import numpy as np

from tag2box.errors import InputError
from tag2box.proposals.listing import Listing, ranked
from tag2box.proposals.protocol import Proposals


class _Result(msgspec.Struct):
    image_id: int | str
    bbox: tuple[float, float, float, float]
    score: float | None = None


def read_results(path: Path) -> Listing:
    """The boxes of a COCO results file, whatever their category."""
    try:
        results = msgspec.json.decode(path.read_bytes(), type=list[_Result])
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "name a file") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        remedy = 'give a list of {"image_id": 1, "bbox": [x, y, width, height], "score": 0.5}'
        raise InputError(path, f"is no COCO results file ({error})", remedy) from None
    by_image: dict[str, list[_Result]] = {}
    for result in results:
        by_image.setdefault(str(result.image_id), []).append(result)
    groups = list(by_image.values())

    def proposals(index: int) -> Proposals:
        group = groups[index]
        boxes = np.array([result.bbox for result in group], np.float32).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        scores = [result.score for result in group]
        return ranked(boxes, None if None in scores else np.array(scores, np.float32))

    return Listing(path, list(by_image), proposals)
