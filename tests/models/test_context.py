import math

import pytest
import torch
from torch import Tensor

from tag2box.models.build import detector_from
from tag2box.models.context import ContextStreams, inside, mean_between, sum_in
from tag2box.models.regions import grown
from tag2box.recipe import DropoutSettings, ModelSettings
from tag2box.training.objective import frozen_part

STRIDE, CELLS = 16, 12
SMALL = ModelSettings(
    neck="fully-connected", neck_width=8, pool_size=3, streams="context", frozen_stages=7
)


def some_boxes(count: int, seed: int) -> Tensor:
    """Corners on cells, where pooling is the mean of whole cells."""
    random = torch.Generator().manual_seed(seed)
    low = torch.randint(0, CELLS - 4, (count, 2), generator=random)
    sides = 2 * torch.randint(1, 3, (count, 2), generator=random)
    return torch.cat([low, low + sides], dim=1).float()


def streams_of(channels: int = 3, **settings: float) -> ContextStreams:
    torch.manual_seed(0)
    return ContextStreams(channels, 2, stride=STRIDE, **settings).double()  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, 1, 6])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_a_region_is_compared_with_what_is_around_it(count: int, power: float) -> None:
    streams = streams_of(surroundings=2.0, area_power=power)
    maps = torch.randn(1, 3, CELLS, CELLS, dtype=torch.float64)
    cells = some_boxes(count, seed=count).double()
    shown, where = streams(maps, cells * STRIDE)
    assert shown.shape == where.shape == (count, 3)
    for region, (x1, y1, x2, y2) in enumerate(cells.int().tolist()):
        half_width, half_height = (x2 - x1) // 2, (y2 - y1) // 2
        within, around = [], []
        for y in range(CELLS):
            for x in range(CELLS):
                if x1 <= x < x2 and y1 <= y < y2:
                    within.append(maps[0, :, y, x])
                elif (
                    x1 - half_width <= x < x2 + half_width
                    and y1 - half_height <= y < y2 + half_height
                ):
                    around.append(maps[0, :, y, x])
        inner, outer = torch.stack(within).mean(0), torch.stack(around).mean(0)
        f, g = streams.classes.weight.flatten(1), streams.detections.weight.flatten(1)
        torch.testing.assert_close(shown[region], f @ inner + streams.classes.bias)
        prior = power * math.log((x2 - x1) * (y2 - y1) / CELLS**2)
        torch.testing.assert_close(where[region], g @ (inner - outer) + prior)


@pytest.mark.parametrize("count", [0, 1, 9])
def test_a_sum_counts_cells_by_what_of_them_is_in_the_box(count: int) -> None:
    maps = torch.randn(1, 2, 3, 5, dtype=torch.float64)
    corners = torch.rand(2, count, 2, dtype=torch.float64) * torch.tensor([5.0, 3.0])
    boxes = torch.cat([corners.amin(0), corners.amax(0)], dim=1)
    sums = sum_in(maps, boxes)
    assert sums.shape == (count, 2)
    for region, (x1, y1, x2, y2) in enumerate(boxes.tolist()):
        expected = torch.zeros(2, dtype=torch.float64)
        for y in range(3):
            for x in range(5):
                across = max(0.0, min(x2, x + 1) - max(x1, x))
                down = max(0.0, min(y2, y + 1) - max(y1, y))
                expected += across * down * maps[0, :, y, x]
        torch.testing.assert_close(sums[region], expected)


def test_nothing_is_around_the_whole_photo() -> None:
    whole = torch.tensor([[0.0, 0.0, CELLS, CELLS]])
    around = inside(grown(whole, 1.5), CELLS, CELLS)
    torch.testing.assert_close(around, whole)
    maps = torch.randn(1, 3, CELLS, CELLS)
    assert mean_between(maps, whole, around).tolist() == [[0, 0, 0]]


def test_the_whole_object_beats_its_part_and_its_surroundings() -> None:
    maps = torch.zeros(1, 1, CELLS, CELLS)
    maps[..., 2:8, 2:8] = 1
    streams = ContextStreams(1, 1, stride=1, area_power=0)
    torch.nn.init.ones_(streams.detections.weight)
    boxes = torch.tensor([[2.0, 2, 8, 8], [3, 3, 6, 6], [0, 0, 12, 12]])
    whole, part, photo = streams(maps, boxes)[1][:, 1].tolist()
    assert whole > part
    assert whole > photo


def test_detection_starts_in_proportion_to_the_area() -> None:
    streams = ContextStreams(1, 1, stride=1, area_power=1)
    boxes = torch.tensor([[0.0, 0, 2, 2], [0, 0, 4, 4]])
    start = streams(torch.zeros(1, 1, CELLS, CELLS), boxes)[1].detach().softmax(0)[:, 1]
    assert float(start[1] / start[0]) == pytest.approx(4)


def test_gradients() -> None:
    streams = streams_of(area_power=0.5)
    maps = torch.randn(1, 3, CELLS, CELLS, dtype=torch.float64, requires_grad=True)
    boxes = some_boxes(3, seed=1).double() * STRIDE + 3.3
    assert torch.autograd.gradcheck(lambda x: torch.cat(streams(x, boxes)), maps)


def test_the_detector_has_these_streams_in_place_of_its_own() -> None:
    detector = detector_from(SMALL, DropoutSettings(), 4)
    names = set(detector.learned_parameters())
    assert {"streams.classes.weight", "streams.detections.weight"} <= names
    assert not any(name.startswith("heads.classes") for name in names)
    outputs = detector(torch.rand(3, 64, 96), torch.tensor([[0.0, 0, 30, 30], [8, 8, 96, 60]]))
    assert outputs.class_logits.shape == outputs.detection_logits.shape == (2, 5)
    assert outputs.student_logits.shape == (3, 2, 5)


def test_the_map_is_what_is_kept_of_a_frozen_detector() -> None:
    detector = detector_from(SMALL, DropoutSettings(), 4)
    detector.neck.requires_grad_(False)
    assert frozen_part(detector) == "base"
