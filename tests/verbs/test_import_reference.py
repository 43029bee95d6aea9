from pathlib import Path

import pytest
import torch

from tag2box.cli import main
from tag2box.models.build import build_detector
from tag2box.models.pixels import CAFFE
from tag2box.models.reference_checkpoint import reference_name
from tag2box.models.trained import read_trained
from tag2box.models.vgg import vgg16


def checkpoint(path: Path, classes: int) -> None:
    detector = build_detector(vgg16(dimension=4), classes)
    state = {f"module.{reference_name(n)}": t for n, t in detector.state_dict().items()}
    torch.save({"model": state, "iteration": 1}, path)


def test_a_checkpoint_becomes_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint(tmp_path / "voc.pth", 20)
    assert main(["import-reference", str(tmp_path / "voc.pth"), str(tmp_path / "run")]) == 0
    assert "20 classes, aeroplane to tvmonitor" in capsys.readouterr().out
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [
        "model.safetensors",
        "recipe.toml",
    ]
    detector, recipe = read_trained(tmp_path / "run")
    assert recipe.reading.classes[4] == "bottle"
    assert recipe.model.backbone == "vgg16"
    assert detector.pixels == CAFFE
    assert (detector.base(torch.randn(3, 32, 32)) < 0).any()  # no ReLU after conv5_3
    assert main(["import-reference", str(tmp_path / "voc.pth"), str(tmp_path / "run")]) == 2
    assert "is there already" in capsys.readouterr().err


def test_other_classes_must_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint(tmp_path / "own.pth", 3)
    command = ["import-reference", str(tmp_path / "own.pth"), str(tmp_path / "run")]
    assert main(command) == 2
    assert "--classes A,B,C" in capsys.readouterr().err
    assert main([*command, "--classes", "a,b"]) == 2
    assert "2 different names" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    assert main([*command, "--classes", "a,b,c"]) == 0
    assert read_trained(tmp_path / "run")[1].reading.classes == ("a", "b", "c")
