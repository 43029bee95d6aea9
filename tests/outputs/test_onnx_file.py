import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

from tag2box.errors import InputError
from tag2box.inference.scores import class_boxes, class_scores
from tag2box.models.backbone import Base
from tag2box.models.build import build_backbone, build_detector
from tag2box.models.detector import Detector
from tag2box.models.heads import Heads
from tag2box.models.necks import FullyConnectedNeck
from tag2box.models.pixels import CAFFE
from tag2box.models.regions import Regions, RoIMaxPool
from tag2box.outputs import onnx_file
from tag2box.outputs.onnx_file import write_onnx

NAMES = ("cat", "dog", "owl")


def with_opinions(detector: Detector) -> Detector:
    """Heads that are not zero, so that scores and boxes differ."""
    torch.manual_seed(0)
    for parameter in detector.heads.parameters():
        nn.init.normal_(parameter, std=0.05)
    return detector.eval()


def a_bit_of_vgg() -> Detector:
    """RoI max pooling, fully connected layers, blue before red, no regression."""
    torch.manual_seed(0)
    base = Base(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4)))
    regions = Regions(RoIMaxPool(3, 4), FullyConnectedNeck(8 * 9, 10))
    return Detector(base, regions, Heads(10, 3, num_students=2, regression=False), CAFFE)


def compared(path: Path, detector: Detector, height: int, width: int, count: int) -> None:
    random = np.random.default_rng(height)
    image = random.integers(0, 256, (3, height, width)).astype(np.float32)
    low = random.random((count, 2)) * [width / 2, height / 2]
    sides = 1 + random.random((count, 2)) * [width / 2, height / 2]
    boxes = np.concatenate([low, low + sides], axis=1).astype(np.float32)
    session = onnxruntime.InferenceSession(path)
    scores, found = session.run(None, {"image": image, "boxes": boxes})
    with torch.no_grad():
        regions = torch.from_numpy(boxes)
        outputs = detector(detector.pixels.normalise(torch.from_numpy(image)), regions)
        expected = class_boxes(outputs, regions, width=width, height=height)
    assert scores.shape == (count, len(NAMES))
    assert np.ptp(scores) > 1e-3
    np.testing.assert_allclose(scores, class_scores(outputs), atol=1e-5)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_max_pooling_at_several_sizes(tmp_path: Path) -> None:
    detector, path = with_opinions(a_bit_of_vgg()), tmp_path / "small.onnx"
    write_onnx(path, detector, NAMES)
    for size in ((64, 48, 20), (50, 121, 3), (33, 32, 1)):
        compared(path, detector, *size)
    session = onnxruntime.InferenceSession(path)
    assert [one.name for one in session.get_inputs()] == ["image", "boxes"]
    assert [one.name for one in session.get_outputs()] == ["scores", "class_boxes"]
    assert json.loads(session.get_modelmeta().custom_metadata_map["class_names"]) == list(NAMES)


@pytest.mark.slow
def test_efficientnet_lite0_at_several_sizes(tmp_path: Path) -> None:
    """RoI align, and convolutions whose padding depends on the size, odd ones included."""
    detector = with_opinions(build_detector(build_backbone("efficientnet_lite0"), len(NAMES)))
    write_onnx(tmp_path / "lite0.onnx", detector, NAMES)
    for size in ((160, 128, 9), (101, 147, 4)):
        compared(tmp_path / "lite0.onnx", detector, *size)


def test_a_file_that_computes_something_else_does_not_appear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    detector = with_opinions(a_bit_of_vgg())
    real = onnx_file._program

    def changed(network: nn.Module) -> object:
        program = real(network)
        with torch.no_grad():
            network.detector.heads.students[0].weight.neg_()
        return program

    monkeypatch.setattr(onnx_file, "_program", changed)
    with pytest.raises(InputError, match="onnxruntime differs from PyTorch by"):
        write_onnx(tmp_path / "wrong.onnx", detector, NAMES)
    assert not list(tmp_path.iterdir())


def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"pip install tag2box\[export\]"):
        write_onnx(tmp_path / "x.onnx", a_bit_of_vgg(), NAMES)
