from pathlib import Path

import pytest
import torch

from tag2box.errors import InputError
from tag2box.models.build import detector_from
from tag2box.models.pixels import CAFFE
from tag2box.models.trained import read_trained, with_pixels, write_trained
from tag2box.recipe import DropoutSettings, ModelSettings, ReadingSettings, Recipe


def test_a_detector_comes_back_with_all_it_needs(tmp_path: Path) -> None:
    recipe = Recipe(
        reading=ReadingSettings(classes=("cat", "dog")),
        model=with_pixels(ModelSettings(frozen_stages=0), CAFFE),
        dropout=DropoutSettings(kind="concrete"),
    )
    detector = detector_from(recipe.model, recipe.dropout, 2)
    write_trained(tmp_path / "run", detector, recipe)
    again, recipe_again = read_trained(tmp_path / "run")
    assert recipe_again == recipe
    assert again.pixels == CAFFE
    assert not again.training
    image, boxes = torch.randn(3, 40, 40), torch.tensor([[0.0, 0, 30, 30]])
    expected = detector.eval()(image, boxes).class_logits
    assert torch.equal(again(image, boxes).class_logits, expected)


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    recipe = Recipe(model=ModelSettings(weights="none", frozen_stages=0))
    detector = detector_from(recipe.model, recipe.dropout, 2)
    with pytest.raises(InputError, match="cannot be written"):
        write_trained(tmp_path / "file" / "run", detector, recipe)


def test_an_unfinished_or_foreign_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no recipe\.toml"):
        read_trained(tmp_path)
    (tmp_path / "recipe.toml").write_text("")
    with pytest.raises(InputError, match=r"holds no model\.safetensors"):
        read_trained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match="names no classes"):
        read_trained(tmp_path)
    (tmp_path / "recipe.toml").write_text('[reading]\nclasses = ["cat"]\n')
    with pytest.raises(InputError, match="not a file of weights"):
        read_trained(tmp_path)
