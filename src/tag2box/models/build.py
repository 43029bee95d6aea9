"""From names and numbers to the parts of a detector, and from the parts to the detector."""

import dataclasses
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from torch import Tensor, nn

from tag2box.errors import InputError
from tag2box.models.backbone import Backbone, Pooling
from tag2box.models.concrete_dropblock import ConcreteDropBlock
from tag2box.models.context import ContextStreams
from tag2box.models.detector import Detector
from tag2box.models.dropblock import DropBlock
from tag2box.models.efficientnet import efficientnet_lite0, embedded_weights
from tag2box.models.heads import Heads
from tag2box.models.pixels import PixelStatistics
from tag2box.models.regions import Regions, RoIAlign, RoIMaxPool
from tag2box.models.resnet import resnet
from tag2box.models.spatial_dropout import SpatialDropout
from tag2box.models.timm_adapter import timm_backbone
from tag2box.models.vgg import vgg16
from tag2box.models.weights import read_state_dict, torchvision_weights
from tag2box.recipe import DropoutSettings, ModelSettings

BACKBONES = ("efficientnet_lite0", "resnet50", "resnet101", "vgg16")


def detector_from(
    model: ModelSettings, dropout: DropoutSettings, num_classes: int, *, read_weights: bool = True
) -> Detector:
    """The detector that the settings describe, in training mode.

    Args:
        model: the backbone, its weights and the heads.
        dropout: what is dropped in training.
        num_classes: C, without background.
        read_weights: False when the weights of a whole trained detector will be loaded into it.
    """
    if read_weights and model.weights == "none" and model.frozen_stages:
        warnings.warn(
            f"weights none: the {model.frozen_stages} frozen stages stay random; "
            "to let them learn set --model.frozen-stages 0.",
            stacklevel=2,
        )
    _require_possible(model, dropout)
    backbone = build_backbone(
        model.backbone,
        weights=model.weights if read_weights else "none",
        frozen_stages=model.frozen_stages,
        random_neck=model.random_neck,
        neck=model.neck,
        neck_width=model.neck_width,
        base_stages=model.base_stages,
        pool_size=model.pool_size,
        dilated=model.dilated,
        last_relu=model.last_relu,
        stride_in_1x1=model.stride_in_1x1,
    )
    backbone = dataclasses.replace(backbone, pixels=_pixels(model, backbone.pixels))
    if model.frozen_neck:
        backbone.neck.requires_grad_(False)
    image_dropout, region_dropout = build_dropout(dropout, backbone.channels)
    return build_detector(
        backbone,
        num_classes,
        num_students=model.students,
        regression=model.regression,
        pooling=None if model.pooling == "own" else model.pooling,
        image_dropout=image_dropout,
        region_dropout=region_dropout,
        growth=model.region_growth,
        streams=_streams(model, backbone, num_classes),
    )


def build_detector(
    backbone: Backbone,
    num_classes: int,
    *,
    num_students: int = 3,
    regression: bool = True,
    pooling: Pooling | None = None,
    image_dropout: nn.Module | None = None,
    region_dropout: nn.Module | None = None,
    growth: float = 1.0,
    streams: ContextStreams | None = None,
) -> Detector:
    """Base, regions and heads around a backbone; its own kind of pooling unless one is named."""
    pool = {"max": RoIMaxPool, "align": RoIAlign}[pooling or backbone.pooling]
    regions = Regions(
        pool(backbone.pool_size, backbone.stride),
        backbone.neck,
        image_dropout=image_dropout,
        region_dropout=region_dropout,
        growth=growth,
    )
    heads = Heads(
        backbone.dimension,
        num_classes,
        num_students=num_students,
        regression=regression,
        streams=streams is None,
    )
    return Detector(backbone.base, regions, heads, backbone.pixels, streams)


def build_backbone(
    name: str,
    *,
    weights: str = "imagenet",
    frozen_stages: int = 2,
    random_neck: bool = False,
    neck: Literal["own", "fully-connected", "one-layer", "cells"] = "own",
    neck_width: int | None = None,
    base_stages: int = 7,
    pool_size: int = 7,
    dilated: bool = True,
    last_relu: bool = True,
    stride_in_1x1: bool = False,
) -> Backbone:
    """A backbone by name; each takes those of the settings that concern it."""
    if neck != "own" and name != "efficientnet_lite0":
        remedy = "use it with efficientnet_lite0, or take the backbone's own"
        raise InputError("model.neck", f"{name} has no neck {neck!r}", remedy)
    if name.startswith("timm:"):
        state = weights if weights in ("imagenet", "none") else read_state_dict(Path(weights))
        model = name.removeprefix("timm:")
        return timm_backbone(model, state, where=weights, dimension=neck_width or 1024)
    if name not in BACKBONES:
        known = f"{', '.join(BACKBONES)} or timm:NAME"
        raise InputError("model.backbone", f"{name!r} is not a backbone", f"use one of {known}")
    state_dict = _state_dict(name, weights)
    if name == "vgg16":
        return vgg16(
            state_dict,
            where=weights,
            dilated=dilated,
            last_relu=last_relu,
            frozen_stages=frozen_stages,
            random_neck=random_neck,
            dimension=neck_width or 4096,
        )
    if name == "efficientnet_lite0":
        return efficientnet_lite0(
            state_dict,
            where=weights,
            frozen_stages=frozen_stages,
            new_neck=None if neck == "own" else neck,
            neck_width=neck_width or 512,
            base_stages=base_stages,
            pool_size=pool_size,
        )
    return resnet(
        50 if name == "resnet50" else 101,
        state_dict,
        where=weights,
        stride_in_1x1=stride_in_1x1,
        frozen_stages=frozen_stages,
    )


def build_dropout(
    settings: DropoutSettings, channels: int
) -> tuple[nn.Module | None, nn.Module | None]:
    """The module on the image's map and the one on the regions' maps, at most one of which is."""
    match settings.kind:
        case "image":
            return SpatialDropout(settings.share), None
        case "region":
            return None, SpatialDropout(settings.share)
        case "block":
            return None, DropBlock(settings.share, settings.block_size)
        case "concrete":
            return None, ConcreteDropBlock(
                channels,
                threshold=settings.share,
                block_size=settings.block_size,
                temperature=settings.temperature,
                ceiling=settings.ceiling,
                hidden_channels=channels if settings.reference_block else settings.hidden_channels,
                reference_block=settings.reference_block,
                over_all_regions=settings.rescale == "all",
            )
        case "none":
            return None, None


def _streams(model: ModelSettings, backbone: Backbone, num_classes: int) -> ContextStreams | None:
    if model.streams == "neck":
        return None
    return ContextStreams(
        backbone.channels,
        num_classes,
        stride=backbone.stride,
        surroundings=model.surroundings,
        area_power=model.area_power,
    )


def _require_possible(model: ModelSettings, dropout: DropoutSettings) -> None:
    """Numbers no detector can have are named before anything is built."""
    for where, number, least in (
        ("model.frozen_stages", model.frozen_stages, 0),
        ("model.students", model.students, 0),
        ("model.neck_width", model.neck_width or 1, 1),
        ("model.base_stages", model.base_stages, 5),
        ("model.pool_size", model.pool_size, 1),
        ("dropout.block_size", dropout.block_size, 1),
        ("dropout.hidden_channels", dropout.hidden_channels, 1),
    ):
        if number < least:
            raise InputError(where, f"is {number}", f"give at least {least}")
    for where, factor in (
        ("model.region_growth", model.region_growth),
        ("model.surroundings", model.surroundings),
    ):
        if not 1 <= factor < float("inf"):
            raise InputError(where, f"is {factor}", "give a number from 1")
    if model.base_stages > 7:
        raise InputError("model.base_stages", f"is {model.base_stages}", "give at most 7")
    if model.neck == "own" and (model.base_stages, model.pool_size) != (7, 7):
        remedy = "add --model.neck fully-connected, one-layer or cells"
        raise InputError("model", "base_stages and pool_size need a new neck", remedy)
    if model.frozen_neck and (model.neck != "own" or model.backbone.startswith("timm:")):
        raise InputError("model.frozen_neck", "a new neck would stay random", "let it learn")
    if dropout.block_size > model.pool_size:
        side = model.pool_size
        problem = f"is {dropout.block_size}, but regions may have only {side} x {side} cells"
        raise InputError("dropout.block_size", problem, f"give at most {side}")
    if not 0 < dropout.share < 1:
        raise InputError("dropout.share", f"is {dropout.share}", "give a number between 0 and 1")
    if not dropout.temperature > 0:
        raise InputError(
            "dropout.temperature", f"is {dropout.temperature}", "give a number above 0"
        )
    if model.pixel_std is not None and not min(model.pixel_std) > 0:
        raise InputError("model.pixel_std", f"is {model.pixel_std}", "give numbers above 0")


def _state_dict(name: str, weights: str) -> Mapping[str, Tensor] | None:
    """The weights a word or a path names."""
    if weights == "none":
        return None
    if weights != "imagenet":
        return read_state_dict(Path(weights))
    return embedded_weights() if name == "efficientnet_lite0" else torchvision_weights(name)


def _pixels(model: ModelSettings, own: PixelStatistics) -> PixelStatistics:
    """What the settings state over what travels with the backbone."""
    return PixelStatistics(
        own.channel_order if model.channel_order == "own" else model.channel_order,
        model.pixel_mean or own.mean,
        model.pixel_std or own.std,
    )
