"""VGG16 as the paper uses it (appendix A.1): stride 8, dilated conv5, fc6 and fc7 as the neck.

Layers carry the names of torchvision's VGG16 (`features.N`, `classifier.0` and `.3` for fc6, fc7).
"""

from collections.abc import Mapping

from torch import Tensor, nn

from tag2box.models.backbone import Backbone, Base
from tag2box.models.necks import FullyConnectedNeck
from tag2box.models.pixels import IMAGENET
from tag2box.models.weights import load_by_name

STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))
"""Channels and number of 3x3 convolutions of each stage."""

POOL_SIZE = 7
NECK = {"fc6": "classifier.0", "fc7": "classifier.3"}
UNUSED = ("classifier.6.weight", "classifier.6.bias")
"""The 1000-way classifier."""


def vgg16(
    weights: Mapping[str, Tensor] | None = None,
    *,
    where: object = "vgg16",
    dilated: bool = True,
    last_relu: bool = True,
    frozen_stages: int = 2,
    random_neck: bool = False,
    dimension: int = 4096,
) -> Backbone:
    """VGG16 up to conv5_3, and fc6 with fc7.

    Args:
        weights: a state dict with torchvision's names; random when None.
        where: what the weights come from, for the error.
        dilated: drop pool4 and dilate conv5 by 2 (stride 8); else plain VGG16 (stride 16).
        last_relu: the ReLU after conv5_3, which the reference leaves out.
        frozen_stages: stages that do not learn.
        random_neck: accept weights without fc6 and fc7, with a warning.
        dimension: of fc6 and fc7.
    """
    features = _features(dilated=dilated, last_relu=last_relu)
    neck = FullyConnectedNeck(STAGES[-1][0] * POOL_SIZE**2, dimension)
    if weights is not None:
        names = {f"features.{key}": value for key, value in features.state_dict().items()}
        neck_names = {
            f"{NECK[layer]}.{kind}": getattr(getattr(neck, layer), kind)
            for layer in NECK
            for kind in ("weight", "bias")
        }
        load_by_name(
            names | neck_names,
            weights,
            where,
            unused=UNUSED,
            may_stay_random=tuple(neck_names) if random_neck else (),
            remedy="name weights of VGG16; where only fc6 and fc7 lack, set model.random_neck",
        )
    base = Base(*_stages(features))
    base.freeze(frozen_stages)
    return Backbone(
        base=base,
        neck=neck,
        stride=8 if dilated else 16,
        channels=STAGES[-1][0],
        dimension=dimension,
        pooling="max",
        pool_size=POOL_SIZE,
        pixels=IMAGENET,
    )


def _features(*, dilated: bool, last_relu: bool) -> nn.Sequential:
    """The convolutions, each at torchvision's index."""
    layers: list[nn.Module] = []
    channels = 3
    for stage, (width, count) in enumerate(STAGES, start=1):
        dilation = 2 if dilated and stage == 5 else 1
        for _ in range(count):
            conv = nn.Conv2d(channels, width, 3, padding=dilation, dilation=dilation)
            nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
            assert conv.bias is not None
            nn.init.zeros_(conv.bias)
            layers += [conv, nn.ReLU(inplace=True)]
            channels = width
        pooled = stage < 4 or (stage == 4 and not dilated)
        layers.append(nn.MaxPool2d(2) if pooled else nn.Identity())
    end = len(layers) - (1 if last_relu else 2)
    return nn.Sequential(*layers[:end])


def _stages(features: nn.Sequential) -> list[nn.Sequential]:
    """The layers up to each pooling, which ends its stage."""
    stages, start = [], 0
    for _, count in STAGES:
        end = start + 2 * count + 1
        stages.append(features[start:end])
        start = end
    return stages
