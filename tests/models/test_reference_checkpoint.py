from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tag2box.errors import InputError
from tag2box.models.build import build_detector
from tag2box.models.reference_checkpoint import (
    COCO_CLASSES,
    VOC_CLASSES,
    class_names_for,
    read_reference,
    reference_name,
)
from tag2box.models.vgg import vgg16

CONVOLUTIONS = {
    0: (64, 3), 2: (64, 64), 5: (128, 64), 7: (128, 128), 10: (256, 128), 12: (256, 256),
    14: (256, 256), 17: (512, 256), 19: (512, 512), 21: (512, 512), 24: (512, 512),
    26: (512, 512), 28: (512, 512),
}  # fmt: skip


def reference_shapes(classes: int, width: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes as the reference's model has them."""
    layers: dict[str, tuple[int, ...]] = {}
    for index, (outputs, inputs) in CONVOLUTIONS.items():
        layers[f"backbone.body.features.{index}"] = (outputs, inputs, 3, 3)
    layers["roi_heads.feature_extractor.classifier.1"] = (width, 25088)
    layers["roi_heads.feature_extractor.classifier.4"] = (width, width)
    for name in ("cls_score", "det_score", "ref1", "ref2", "ref3"):
        layers[f"roi_heads.predictor.{name}"] = (classes + 1, width)
    for i in (1, 2, 3):
        layers[f"roi_heads.predictor.bbox_pred{i}"] = (4 * (classes + 1), width)
    weights = {f"{name}.weight": shape for name, shape in layers.items()}
    return weights | {f"{name}.bias": shape[:1] for name, shape in layers.items()}


def reference_state(classes: int = 20, width: int = 16) -> dict[str, Tensor]:
    return {
        name: torch.randn(shape) * (2 / max(1, torch.Size(shape[1:]).numel())) ** 0.5
        for name, shape in reference_shapes(classes, width).items()
    }


def dropblock_state() -> dict[str, Tensor]:
    """The reference's Concrete DropBlock, which inference does not need."""
    norm = {"weight": 8, "bias": 8, "running_mean": 8, "running_var": 8}
    convolutions = {"conv1": (8, 8, 3, 3), "conv2": (2, 8, 3, 3), "downsample": (2, 8, 1, 1)}
    state = {f"conv.{name}.weight": torch.randn(shape) for name, shape in convolutions.items()}
    state |= {f"conv.bn1.{name}": torch.randn(size) for name, size in norm.items()}
    return state | {"conv.bn1.num_batches_tracked": torch.tensor(30_000)}


def checkpoint_of(state: dict[str, Tensor], *, gpus: int, dropblock: bool) -> dict[str, object]:
    """All that a training run of the reference saves."""
    prefix = "module." if gpus > 1 else ""
    groups = [{"lr": 0.01, "momentum": 0.9, "params": [0]}]
    content: dict[str, object] = {
        "model": OrderedDict((prefix + name, value) for name, value in state.items()),
        "optimizer": {"state": {0: {"momentum_buffer": torch.ones(3)}}, "param_groups": groups},
        "scheduler": {"milestones": (20_000, 26_700), "base_lrs": [0.01], "last_epoch": 30_000},
        "iteration": 30_000,
    }
    if not dropblock:
        return content | {"iter_size": 1}
    own = {prefix + name: value for name, value in dropblock_state().items()}
    return content | {"model_cdb": OrderedDict(own)}


@pytest.mark.parametrize("classes", [20, 80])
def test_names_and_shapes_of_the_released_models(classes: int) -> None:
    with torch.device("meta"):
        detector = build_detector(vgg16(), classes)
    ours = {reference_name(name): tuple(t.shape) for name, t in detector.state_dict().items()}
    assert ours == reference_shapes(classes, 4096)
    if classes == 20:
        assert sum(t.numel() for t in detector.state_dict().values()) == 135_723_173


@torch.no_grad()
@pytest.mark.parametrize(
    ("gpus", "dropblock", "classes", "zipped"), [(8, True, 20, False), (1, False, 80, True)]
)
def test_the_forward_pass_is_the_references(
    tmp_path: Path, gpus: int, dropblock: bool, classes: int, zipped: bool
) -> None:
    """Written from its description: no ReLU after conv5_3, fc6, fc7, parallel linear heads.

    PyTorch 1.0, which trained the released models, did not zip its files.
    """
    state = reference_state(classes)
    content = checkpoint_of(state, gpus=gpus, dropblock=dropblock)
    torch.save(content, tmp_path / "voc07.pth", _use_new_zipfile_serialization=zipped)
    detector, settings = read_reference(tmp_path / "voc07.pth")
    assert (settings.students, settings.regression, settings.last_relu) == (3, True, False)
    assert settings.channel_order == "BGR"
    image, boxes = torch.randn(3, 40, 56), torch.tensor([[0.0, 0, 40, 40], [9, 3, 50, 38]])

    def layer(x: Tensor, name: str) -> Tensor:
        return nn.functional.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])

    x = image[None]
    for index in CONVOLUTIONS:
        dilation = 2 if index >= 24 else 1
        name = f"backbone.body.features.{index}"
        x = nn.functional.conv2d(
            x, state[f"{name}.weight"], state[f"{name}.bias"], padding=dilation, dilation=dilation
        )
        x = x if index == 28 else torch.relu(x)
        x = nn.functional.max_pool2d(x, 2) if index in (2, 7, 14) else x
    assert (x < 0).any()
    x = detector.neck.pool(x, boxes).flatten(1)
    for index in (1, 4):
        x = torch.relu(layer(x, f"roi_heads.feature_extractor.classifier.{index}"))
    out = detector.eval()(image, boxes)
    assert out.student_deltas is not None
    pairs = [("cls_score", out.class_logits), ("det_score", out.detection_logits)]
    pairs += [(f"ref{i + 1}", logits) for i, logits in enumerate(out.student_logits)]
    pairs += [(f"bbox_pred{i + 1}", deltas) for i, deltas in enumerate(out.student_deltas)]
    for name, ours in pairs:
        torch.testing.assert_close(ours, layer(x, f"roi_heads.predictor.{name}"))


def test_a_model_without_regression_or_students(tmp_path: Path) -> None:
    state = {n: v for n, v in reference_state(width=4).items() if "bbox" not in n}
    torch.save(state, tmp_path / "no_regression.pth")
    detector, settings = read_reference(tmp_path / "no_regression.pth")
    assert (settings.students, settings.regression) == (3, False)
    assert len(detector.heads.deltas) == 0


def test_wrong_files_are_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "wrong.pth"
    state = reference_state(width=4)
    del state["backbone.body.features.7.bias"]
    wrong = [
        ({"model": state}, r"missing: backbone\.body\.features\.7\.bias"),
        ({"conv1.weight": torch.ones(2)}, r"has no matrix roi_heads\.predictor\.cls_score"),
        ({"model": [1, 2]}, "holds no state dict"),
    ]
    for content, words in wrong:
        torch.save(content, path)
        with pytest.raises(InputError, match=words):
            read_reference(path)


def test_class_names() -> None:
    assert len(VOC_CLASSES.split(",")) == 20
    assert sorted(VOC_CLASSES.split(",")) == VOC_CLASSES.split(",")
    assert len(set(COCO_CLASSES.split(","))) == 80
    assert class_names_for(20, "f")[0] == "aeroplane"
    assert class_names_for(80, "f")[-1] == "toothbrush"
    with pytest.raises(InputError, match=r"7 classes.*--classes"):
        class_names_for(7, "f")
