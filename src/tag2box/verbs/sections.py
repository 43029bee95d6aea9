"""Where the settings of a verb come from: a recipe, or the run that it looks with."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_type_hints

from tag2box.recipe import Recipe
from tag2box.recipe_file import read_recipe


def sections_of(verb: type[Any], recipe: Recipe) -> dict[str, Any]:
    """By field of the verb, which may have its own kind of a section."""
    names = {field.name for field in dataclasses.fields(Recipe)}
    kinds = get_type_hints(verb)
    return {
        field.name: kinds[field.name](**vars(getattr(recipe, field.name)))
        for field in dataclasses.fields(verb)
        if field.name in names
    }


def recipe_of_run(run: Path | None, sections: Sequence[str]) -> Recipe:
    """The defaults, but these sections are those of the run."""
    if run is None or not sections or not (run / "recipe.toml").is_file():
        return Recipe()
    of_run = read_recipe(run / "recipe.toml")
    return dataclasses.replace(Recipe(), **{name: getattr(of_run, name) for name in sections})
