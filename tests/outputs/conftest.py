from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from outputs.browser import CHROMIUM, DRIVER, Browser, started
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.outputs.report_data import RunReport
from tag2box.structures import Detections

NAMES = ("cat", "dog")
MakeRun = Callable[..., RunReport]


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """A run of photos (100 x 80), each with the detections given: box, class, score."""

    def make(
        *photos: list[tuple[list[float], str, float]],
        name: str = "run",
        class_names: tuple[str, ...] = NAMES,
        file_names: tuple[str, ...] = (),
        disagreement: dict[str, float] | None = None,
    ) -> RunReport:
        made = []
        for index, rows in enumerate(photos):
            path = tmp_path / (file_names[index] if file_names else f"photo{index}.png")
            if not path.exists():
                Image.new("RGB", (100, 80), (40 * index % 256, 120, 90)).save(path, "PNG")
            one = found(f"photo{index}", rows, class_names)
            apart = (disagreement or {}).get(one.image_id)
            made.append(PhotoBoxes(path, 100, 80, one, apart))
        return RunReport(name=name, photos=tuple(made))

    return make


def found(
    image_id: str, rows: list[tuple[list[float], str, float]], class_names: tuple[str, ...]
) -> Detections:
    return Detections(
        boxes=np.array([box for box, _, _ in rows], np.float32).reshape(-1, 4),
        scores=np.array([score for _, _, score in rows], np.float32),
        classes=np.array([class_names.index(name) for _, name, _ in rows], np.int64),
        class_names=class_names,
        image_id=image_id,
    )


@pytest.fixture
def truth() -> GroundTruth:
    """A cat in photo0; a dog and a cat in photo1; nothing in photo2."""
    boxes = np.array([[10.0, 10, 50, 50], [0, 0, 40, 40], [50, 40, 90, 80]])
    return GroundTruth(
        class_names=NAMES,
        image_ids=("photo0", "photo1", "photo2"),
        sizes=np.full((3, 2), [100, 80]),
        object_image=np.array([0, 1, 1]),
        boxes=boxes,
        classes=np.array([0, 1, 0]),
        difficult=np.zeros(3, bool),
        crowd=np.zeros(3, bool),
        areas=np.full(3, 1600.0),
    )


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if not (CHROMIUM and DRIVER):
        pytest.skip("needs Debian's chromium and chromium-driver")
    with started(tmp_path_factory.mktemp("browser")) as one:
        yield one
