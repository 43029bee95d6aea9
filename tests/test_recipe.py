import ast
import inspect
import tomllib
from pathlib import Path

import pytest
import tomli_w

from tag2box import recipe, recipe_file
from tag2box.errors import InputError, printable

RECIPES = sorted((Path(__file__).parents[1] / "recipes").glob("*.toml"))


def test_settings_survive_toml() -> None:
    changed = recipe.Recipe(
        reading=recipe.ReadingSettings(classes=("dog",), images=Path("photos"), key_frames=3)
    )
    table = tomllib.loads(tomli_w.dumps(recipe_file.settings_to_plain(changed)))
    assert recipe_file.settings_from(table, recipe.Recipe, "here") == changed


@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.name)
def test_every_recipe_in_the_repository_is_readable(path: Path) -> None:
    recipe_file.read_recipe(path)


def test_every_setting_has_a_line_of_doc() -> None:
    """A field without a string under it would be silent in `--help`."""
    tree = ast.parse(inspect.getsource(recipe))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Settings"):
            for field, doc in zip(node.body, [*node.body[1:], None], strict=True):
                if isinstance(field, ast.AnnAssign):
                    assert isinstance(doc, ast.Expr), f"{node.name}.{ast.unparse(field.target)}"


def test_an_error_is_one_printable_line() -> None:
    error = InputError("a\nb", "evil \x1b[31m name \udcff", "mend it")
    assert "\n" not in str(error)
    assert "\x1b" not in str(error)
    assert len(printable("x" * 10_000)) <= 300
    assert isinstance(error, ValueError)
