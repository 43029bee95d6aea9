"""The network as an ONNX file: an image and boxes go in, scores and boxes come out.

In: `image` (3, H, W) float32, RGB in 0..255, of any size; `boxes` (R, 4) float32 proposals, xyxy in
pixels of it. Out: `scores` (R, C) in [0, 1] and `class_boxes` (R, C, 4), where each class would be,
in the same pixels. The file's metadata has `class_names`, a JSON list. Proposals are made and boxes
are merged outside. R proposals, C classes, K channels.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from timm.layers.conv2d_same import Conv2dSame, conv2d_same
from torch import Tensor, nn

from tag2box.errors import InputError
from tag2box.files import written_whole
from tag2box.inference.scores import class_boxes, class_scores
from tag2box.models.detector import Detector

_SIZES = ((96, 128, 7), (131, 77, 12))
"""Height, width and number of boxes that the file is traced with, and of a second trial."""


def write_onnx(path: Path, detector: Detector, class_names: Sequence[str]) -> None:
    """Write the file; it appears only if onnxruntime computes with it what PyTorch computes."""
    try:
        import onnxruntime
        import onnxscript  # noqa: F401
    except ImportError as error:
        problem = f"the package {error.name} is not installed"
        raise InputError(path, problem, "pip install tag2box[export]") from None
    network = _Network(copy.deepcopy(detector).cpu().eval())
    program = _program(network)
    program.model.metadata_props["class_names"] = json.dumps(list(class_names))
    with written_whole(path) as temporary:
        program.save(temporary)
        session = onnxruntime.InferenceSession(temporary, providers=["CPUExecutionProvider"])
        for height, width, count in _SIZES:
            _compare(path, network, session, _trial(height, width, count))


class _Network(nn.Module):
    """From pixels and proposals to scores and boxes of classes."""

    def __init__(self, detector: Detector) -> None:
        super().__init__()
        self.detector = detector

    def forward(self, image: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor]:
        height, width = image.shape[1:]
        outputs = self.detector(self.detector.pixels.normalise(image), boxes)
        return class_scores(outputs), class_boxes(outputs, boxes, width=width, height=height)


def _program(network: _Network) -> Any:
    """The graph, for any size of the image and any number of boxes."""
    size = torch.export.Dim.DYNAMIC
    exported = copy.deepcopy(network)
    _with_one_operator(exported)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch's own future
        return torch.onnx.export(
            exported,
            _trial(*_SIZES[0]),
            dynamo=True,
            input_names=["image", "boxes"],
            output_names=["scores", "class_boxes"],
            dynamic_shapes={"image": {1: size, 2: size}, "boxes": {0: size}},
            custom_translation_table=_translations(),
            verbose=False,
        )


def _trial(height: int, width: int, count: int) -> tuple[Tensor, Tensor]:
    """Noise and boxes inside it."""
    random = np.random.default_rng(0)
    low = random.random((count, 2)) * [0.6 * width, 0.6 * height]
    boxes = np.concatenate([low, low + 4 + random.random((count, 2)) * [width / 3, height / 3]], 1)
    image = 255 * random.random((3, height, width), np.float32)
    return torch.from_numpy(image), torch.from_numpy(boxes.astype(np.float32))


@torch.no_grad()
def _compare(path: Path, network: _Network, session: Any, trial: tuple[Tensor, Tensor]) -> None:
    image, boxes = trial
    expected = network(image, boxes)
    found = session.run(None, {"image": image.numpy(), "boxes": boxes.numpy()})
    for here, there in zip(expected, found, strict=True):
        if not np.allclose(here.numpy(), there, rtol=1e-3, atol=1e-4):
            error = float(np.abs(here.numpy() - there).max())
            remedy = "update torch, onnx, onnxscript and onnxruntime together"
            raise InputError(path, f"onnxruntime differs from PyTorch by {error:g}", remedy)


@torch.library.custom_op("tag2box::same_convolution", mutates_args=())
def same_convolution(
    maps: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    dilation: list[int],
    groups: int,
) -> Tensor:
    """TensorFlow's convolution with padding SAME, which ONNX has and PyTorch has not.

    As one operator its padding, a function of the size, is no puzzle for the tracer.
    """
    both = (stride[0], stride[1]), (dilation[0], dilation[1])
    padded: Tensor = conv2d_same(maps, weight, bias, both[0], (0, 0), both[1], groups)
    return padded


@same_convolution.register_fake
def _(
    maps: Tensor,
    weight: Tensor,
    bias: Tensor | None,  # noqa: ARG001
    stride: list[int],
    dilation: list[int],  # noqa: ARG001
    groups: int,  # noqa: ARG001
) -> Tensor:
    sides = [(side + step - 1) // step for side, step in zip(maps.shape[2:], stride, strict=True)]
    return maps.new_empty(maps.shape[0], weight.shape[0], *sides)  # len() would fix R


class _SameConvolution(nn.Module):
    """A convolution of timm through that operator."""

    def __init__(self, layer: nn.Conv2d) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, maps: Tensor) -> Tensor:
        one = self.layer
        stride, dilation = list(one.stride), list(one.dilation)
        made: Tensor = same_convolution(maps, one.weight, one.bias, stride, dilation, one.groups)
        return made


def _with_one_operator(module: nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, Conv2dSame):
            setattr(module, name, _SameConvolution(child))
        else:
            _with_one_operator(child)


def _translations() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Operators the exporter does not know, each by one of ONNX."""
    from onnxscript import opset18 as onnx

    def convolution(
        maps: Any,
        weight: Any,
        bias: Any,
        stride: Sequence[int],
        dilation: Sequence[int],
        groups: int,
    ) -> Any:
        return onnx.Conv(
            *([maps, weight] if bias is None else [maps, weight, bias]),
            auto_pad="SAME_UPPER",
            strides=tuple(stride),
            dilations=tuple(dilation),
            group=groups,
        )

    def roi_pool(maps: Any, boxes: Any, scale: float, height: int, width: int) -> Any:
        """The second output, where each maximum was, is asked for by the gradient alone."""
        pooled = onnx.MaxRoiPool(maps, boxes, pooled_shape=(height, width), spatial_scale=scale)
        return pooled, onnx.Shape(pooled)

    return {
        torch.ops.tag2box.same_convolution.default: convolution,
        torch.ops.torchvision.roi_pool.default: roi_pool,
    }
