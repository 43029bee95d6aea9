"""Streams that look at a region against its surroundings (after Kantorov et al., ContextLocNet).

On few photos the streams of Eq. 1 settle on whatever part tells a class best. Here a region is
scored for detection by what it shows minus what a frame around it shows, so that a part of an
object, which has more of the object around it, is worth less than the whole. Both streams are
linear in the cells of the base's map and averaged over the region: class maps are made once an
image, and pooling a region costs next to nothing.
R regions, K channels of the base, C classes. Column 0 of C+1 is background.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import grid_sample, pad

from tag2box.models.regions import grown, in_one_precision


class ContextStreams(nn.Module):
    """Class and detection logits from the base's map.

    Args:
        channels: K.
        num_classes: C.
        stride: pixels of the image a cell of the map.
        surroundings: sides of the frame's outer edge over those of the region.
        area_power: detection starts in proportion to this power of a region's area. With 0 it
            starts uniform over the regions, most of which are small.
    """

    def __init__(
        self,
        channels: int,
        num_classes: int,
        *,
        stride: int,
        surroundings: float = 1.5,
        area_power: float = 1.0,
    ) -> None:
        super().__init__()
        self.stride = stride
        self.surroundings = surroundings
        self.area_power = area_power
        self.classes = nn.Conv2d(channels, num_classes + 1, 1)
        self.detections = nn.Conv2d(channels, num_classes + 1, 1, bias=False)
        for layer in (self.classes, self.detections):
            nn.init.normal_(layer.weight, std=0.001)
        assert self.classes.bias is not None
        nn.init.zeros_(self.classes.bias)

    def forward(self, features: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor]:
        """Features (1, K, h, w), boxes (R, 4) in pixels of the image -> twice (R, C+1)."""
        class_maps, detection_maps, cells = in_one_precision(
            self.classes(features), self.detections(features), boxes / self.stride
        )
        cells = inside(cells, features.shape[3], features.shape[2])
        around = inside(grown(cells, self.surroundings), features.shape[3], features.shape[2])
        contrast = mean_in(detection_maps, cells) - mean_between(detection_maps, cells, around)
        share = area(cells) / (features.shape[2] * features.shape[3])  # (R,)
        prior = self.area_power * share.clamp(min=1e-6).log()
        return mean_in(class_maps, cells), contrast + prior[:, None]


def mean_in(maps: Tensor, boxes: Tensor) -> Tensor:
    """Mean of maps (1, K, h, w) over boxes (R, 4) in cells -> (R, K); 0 over an empty box."""
    return sum_in(maps, boxes) / area(boxes).clamp(min=1e-6)[:, None]


def mean_between(maps: Tensor, inner: Tensor, outer: Tensor) -> Tensor:
    """Mean over what is in the outer boxes but not in the inner ones; 0 where that is nothing."""
    between = area(outer) - area(inner)  # (R,)
    sums = sum_in(maps, outer) - sum_in(maps, inner)
    return torch.where(between[:, None] > 0.25, sums / between.clamp(min=0.25)[:, None], 0)


def sum_in(maps: Tensor, boxes: Tensor) -> Tensor:
    """Sum of maps (1, K, h, w), each cell a square, over boxes (R, 4) within them -> (R, K).

    A sum over a box is four values of the map's integral, so that it costs the same whatever the
    box holds; RoI align would sample every cell (benchmarks/pooling.py prints the ratio).
    """
    integral = pad(maps.cumsum(2).cumsum(3), (1, 0, 1, 0))  # (1, K, h + 1, w + 1)
    corners = boxes[:, [[0, 1], [2, 3], [0, 3], [2, 1]]]  # (R, 4, 2)
    places = 2 * corners / boxes.new_tensor([maps.shape[3], maps.shape[2]]) - 1
    values: Tensor = grid_sample(integral, places[None], align_corners=True)  # (1, K, R, 4)
    return (values @ values.new_tensor([1.0, 1.0, -1.0, -1.0]))[0].T


def inside(boxes: Tensor, width: int, height: int) -> Tensor:
    """Boxes (R, 4) cut at the border of a map."""
    x, y = boxes[:, 0::2].clamp(0, width), boxes[:, 1::2].clamp(0, height)
    return torch.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], dim=1)


def area(boxes: Tensor) -> Tensor:
    """(R, 4) -> (R,)."""
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
