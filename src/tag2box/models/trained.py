"""A trained detector in a folder: `model.safetensors` and the `recipe.toml` that rebuilds it.

The recipe is a plain one: the class names are its `reading.classes`, in column order, and the pixel
statistics stand in its `model` section. So it also serves to train again.
"""

import dataclasses
from pathlib import Path

import tomli_w
from safetensors import SafetensorError
from safetensors.torch import save_file

from tag2box.errors import InputError
from tag2box.files import write_text, written_whole
from tag2box.models.build import detector_from
from tag2box.models.detector import Detector
from tag2box.models.pixels import PixelStatistics
from tag2box.models.weights import load_by_name, read_state_dict
from tag2box.recipe import ModelSettings, Recipe
from tag2box.recipe_file import read_recipe, settings_to_plain

WEIGHTS = "model.safetensors"
RECIPE = "recipe.toml"


def write_trained(folder: Path, detector: Detector, recipe: Recipe) -> None:
    """Write both files; `recipe.reading.classes` names the classes of the detector's columns."""
    tensors = {name: tensor.contiguous() for name, tensor in detector.state_dict().items()}
    try:
        write_text(folder / RECIPE, tomli_w.dumps(settings_to_plain(recipe)))
        with written_whole(folder / WEIGHTS) as temporary:
            save_file(tensors, temporary)
    except (OSError, SafetensorError) as error:
        remedy = "free some disk or name another folder"
        raise InputError(folder, f"cannot be written ({error})", remedy) from error


def read_trained(folder: Path) -> tuple[Detector, Recipe]:
    """The detector, ready for inference, and its recipe."""
    for name in (RECIPE, WEIGHTS):
        if not (folder / name).is_file():
            raise InputError(folder, f"holds no {name}", "name the folder of a finished run")
    recipe = read_recipe(folder / RECIPE)
    if not recipe.reading.classes:
        raise InputError(folder / RECIPE, "names no classes", "add them as reading.classes")
    detector = detector_from(
        recipe.model, recipe.dropout, len(recipe.reading.classes), read_weights=False
    )
    weights = read_state_dict(folder / WEIGHTS)
    load_by_name(detector.state_dict(), weights, folder / WEIGHTS)
    return detector.eval(), recipe


def with_pixels(model: ModelSettings, pixels: PixelStatistics) -> ModelSettings:
    """The same settings, with the pixel statistics of the weights written out."""
    return dataclasses.replace(
        model,
        channel_order=pixels.channel_order,
        pixel_mean=pixels.mean,
        pixel_std=pixels.std,
    )
