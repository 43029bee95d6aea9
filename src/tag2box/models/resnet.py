"""ResNet-50 and -101 in their C4 form: stages 1 to 4 as base, stage 5 as neck, batch norm frozen.

Regions are pooled to 14 x 14; the first block of stage 5 halves that to 7 x 7, as it was trained.
"""

from collections.abc import Mapping
from typing import Literal

import torchvision
from torch import Tensor, nn
from torchvision.models.resnet import Bottleneck
from torchvision.ops import FrozenBatchNorm2d

from tag2box.models.backbone import Backbone, Base
from tag2box.models.necks import ConvolutionalNeck
from tag2box.models.pixels import IMAGENET
from tag2box.models.weights import load_by_name

UNUSED = ("fc.weight", "fc.bias")
"""The 1000-way classifier."""


def resnet(
    depth: Literal[50, 101],
    weights: Mapping[str, Tensor] | None = None,
    *,
    where: object = "resnet",
    stride_in_1x1: bool = False,
    frozen_stages: int = 2,
) -> Backbone:
    """ResNet cut before its last stage.

    Args:
        depth: 50 or 101.
        weights: a state dict with torchvision's names; random when None.
        where: what the weights come from, for the error.
        stride_in_1x1: stages 3 to 5 halve the map in the first 1x1 convolution of a stage, as
            weights converted from Caffe expect; else in its 3x3, as torchvision's expect.
        frozen_stages: stages that do not learn; the stem is the first.
    """
    build = {50: torchvision.models.resnet50, 101: torchvision.models.resnet101}[depth]
    network = build(weights=None, norm_layer=FrozenBatchNorm2d)
    if weights is not None:
        own = {k: v for k, v in network.state_dict().items() if k not in UNUSED}
        counters = tuple(key for key in weights if key.endswith("num_batches_tracked"))
        load_by_name(own, weights, where, unused=UNUSED + counters)
    if stride_in_1x1:
        for stage in (network.layer2, network.layer3, network.layer4):
            _stride_in_1x1(stage[0])
    stem = nn.Sequential(network.conv1, network.bn1, network.relu, network.maxpool)
    base = Base(stem, network.layer1, network.layer2, network.layer3)
    base.freeze(frozen_stages)
    return Backbone(
        base=base,
        neck=ConvolutionalNeck(network.layer4),
        stride=16,
        channels=1024,
        dimension=2048,
        pooling="max",
        pool_size=14,
        pixels=IMAGENET,
    )


def _stride_in_1x1(block: Bottleneck) -> None:
    block.conv1.stride, block.conv2.stride = block.conv2.stride, block.conv1.stride
