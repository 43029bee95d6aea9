"""Sequential equals one piece on the tails of real networks."""

import pytest
import torch
from torch import Tensor, nn

from tag2box.models.backbone import Backbone
from tag2box.models.concrete_dropblock import ConcreteDropBlock
from tag2box.models.efficientnet import efficientnet_lite0
from tag2box.models.noise import RegionNoise
from tag2box.models.regions import Regions, RoIAlign, RoIMaxPool
from tag2box.models.resnet import resnet
from tag2box.models.sequential import sequential
from tag2box.models.vgg import vgg16

COUNT = 9


def tail(name: str) -> Backbone:
    match name:
        case "VGG16":
            return vgg16(dimension=48)
        case "ResNet-50":
            return resnet(50)
        case _:
            return efficientnet_lite0()


def outputs_and_gradients(
    regions: Regions, features: Tensor, boxes: Tensor, per_batch: int
) -> list[Tensor]:
    regions.zero_grad()
    features = features.clone().requires_grad_()
    noise = RegionNoise.of(3, len(boxes))
    outputs = sequential(regions, features, boxes, noise, regions_per_batch=per_batch)
    (outputs.softmax(dim=0) * outputs).sum().backward()
    assert features.grad is not None
    gradients = [p.grad.clone() for p in regions.parameters() if p.grad is not None]
    assert len(gradients) > 4
    return [outputs.detach(), features.grad, *gradients]


@pytest.mark.parametrize("name", ["VGG16", "ResNet-50", "EfficientNet-Lite0"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_equal_to_one_piece(name: str, dtype: torch.dtype, tolerance: float) -> None:
    torch.manual_seed(0)
    backbone = tail(name)
    pool: nn.Module = {"max": RoIMaxPool, "align": RoIAlign}[backbone.pooling](
        backbone.pool_size, backbone.stride
    )
    adversary = ConcreteDropBlock(backbone.channels, temperature=1.0, hidden_channels=4)
    regions = Regions(pool, backbone.neck, region_dropout=adversary).to(dtype).train()
    features = torch.rand(1, backbone.channels, 12, 12, dtype=dtype)
    corners = torch.rand(COUNT, 2, 2, dtype=dtype) * 8 * backbone.stride
    boxes = torch.cat([corners.amin(1), corners.amax(1) + 2 * backbone.stride], dim=1)
    whole = outputs_and_gradients(regions, features, boxes, COUNT)
    parts = outputs_and_gradients(regions, features, boxes, 4)
    for one, other in zip(whole, parts, strict=True):
        assert ((one - other).norm() / one.norm().clamp(min=1e-30)).item() <= tolerance
