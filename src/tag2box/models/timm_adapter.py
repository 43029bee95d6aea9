"""Any timm model that offers `features_only`, as a backbone: `timm:NAME`.

Its coarsest map of stride 16 or less is the base. What follows such a map differs from model to
model, so the neck is two new fully connected layers. Batch norm is frozen.
"""

import difflib
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import timm
import torch
import torch.nn.functional as F
from timm.layers import freeze_batch_norm_2d  # type: ignore[attr-defined]
from torch import Tensor, nn

from tag2box.errors import InputError
from tag2box.models.backbone import Backbone, Base
from tag2box.models.necks import FullyConnectedNeck
from tag2box.models.pixels import PixelStatistics
from tag2box.models.weights import downloading, load_by_name

MAX_STRIDE = 16
POOL_SIZE = 7


class TimmMap(nn.Module):
    """One map of a timm network, which is fed whole cells."""

    def __init__(self, network: nn.Module, stride: int) -> None:
        super().__init__()
        self.network = network
        self.stride = stride

    def forward(self, images: Tensor) -> Tensor:
        """(1, 3, H, W) -> (1, K, h, w); zeros (the mean colour) fill the last row and column."""
        height, width = images.shape[-2:]
        whole = F.pad(images, (0, -width % self.stride, 0, -height % self.stride))
        features: Tensor = self.network(whole)[0]
        return features


def timm_backbone(
    name: str, weights: Mapping[str, Tensor] | str, *, where: object, dimension: int
) -> Backbone:
    """A timm network with a new neck; no stage is frozen, because timm does not name them.

    Args:
        name: timm's name of the model.
        weights: `imagenet` (timm's own, downloaded), `none`, or a state dict with timm's names.
        where: what the weights come from, for the error.
        dimension: of the neck.
    """
    probe = _network(name)
    strides = probe.feature_info.reduction()
    level = max((i for i, stride in enumerate(strides) if stride <= MAX_STRIDE), default=None)
    if level is None:
        problem = f"its finest map has stride {min(strides)}"
        raise InputError(f"timm:{name}", problem, "choose a model with maps of stride 16 or less")
    options: dict[str, Any] = {"out_indices": (level,)}
    if weights == "imagenet":
        with downloading(f"timm:{name}"), _without_retries_told():
            network = _network(name, pretrained=True, **options)
    elif isinstance(weights, str):
        network = _network(name, **options)
    else:
        overlay = {"state_dict": _checked(name, weights, where)}
        network = _network(name, pretrained=True, pretrained_cfg_overlay=overlay, **options)
    stride, channels = network.feature_info.reduction()[0], network.feature_info.channels()[0]
    base = Base(TimmMap(with_frozen_batch_norm(network), stride))
    _require_any_size(base, name)
    if weights != "none":
        warnings.warn(f"timm:{name}: its neck is new and starts random.", stacklevel=2)
    config = _config(network)
    return Backbone(
        base=base,
        neck=FullyConnectedNeck(channels * POOL_SIZE**2, dimension),
        stride=stride,
        channels=channels,
        dimension=dimension,
        pooling="align",
        pool_size=POOL_SIZE,
        pixels=PixelStatistics("RGB", _times_255(config["mean"]), _times_255(config["std"])),
    )


@contextmanager
def _without_retries_told() -> Iterator[None]:
    """The hub's client warns at each of a dozen tries; what failed in the end is enough."""
    hub = logging.getLogger("huggingface_hub")
    before = hub.level
    hub.setLevel(logging.ERROR)
    try:
        yield
    finally:
        hub.setLevel(before)


def _network(name: str, **options: Any) -> Any:
    """The model as timm makes it, for images of any size where it has that choice."""
    if not timm.is_model(name):
        close = difflib.get_close_matches(name, timm.list_models(), n=1, cutoff=0.0)
        raise InputError(f"timm:{name}", "timm knows no such model", f"did you mean {close[0]}?")
    try:
        return timm.create_model(name, features_only=True, dynamic_img_size=True, **options)
    except TypeError:
        pass  # only vision transformers have that choice
    try:
        return timm.create_model(name, features_only=True, **options)
    except (RuntimeError, AttributeError) as error:
        problem = f"timm gives no feature maps of it ({error})"
        raise InputError(f"timm:{name}", problem, "choose another model") from None


def _checked(name: str, weights: Mapping[str, Tensor], where: object) -> dict[str, Tensor]:
    """The weights, once they are known to fit the whole model: timm's own loading is lenient."""
    model = timm.create_model(name)
    head = _config(model)["classifier"]
    classifier = {f"{head}.{kind}" for kind in ("weight", "bias")}
    own = {key: value for key, value in model.state_dict().items() if key not in classifier}
    load_by_name(own, weights, where, unused=classifier)
    return dict(model.state_dict())


def _require_any_size(base: Base, name: str) -> None:
    try:
        with torch.no_grad():
            base.eval()(torch.zeros(3, 64, 96))
    except (AssertionError, RuntimeError) as error:
        problem = f"it does not take images of any size ({error})"
        raise InputError(f"timm:{name}", problem, "choose a convolutional model") from None
    base.train()


def with_frozen_batch_norm(network: nn.Module) -> nn.Module:
    """The network with the statistics of every batch norm fixed: none may mix regions."""
    frozen: nn.Module = freeze_batch_norm_2d(network)  # type: ignore[no-untyped-call]
    return frozen


def _config(model: Any) -> dict[str, Any]:
    """What timm knows of the model's weights."""
    return dict(model.pretrained_cfg)


def _times_255(numbers: tuple[float, float, float]) -> tuple[float, float, float]:
    first, second, third = (255 * number for number in numbers)
    return first, second, third
