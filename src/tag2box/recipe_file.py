"""Settings in TOML: read strictly, written plainly."""

import dataclasses
import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import msgspec

from tag2box.errors import InputError
from tag2box.recipe import Recipe

Settings = TypeVar("Settings")

SHIPPED = Path(__file__).with_name("recipes")
"""The recipes that come with the package; in the repository a link to the folder at its top."""


def recipe_named(word: str | os.PathLike[str]) -> Recipe:
    """The recipe of a file, or one that comes with the package by its name: `laptop`."""
    shipped = {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}
    path = Path(word)
    if path.suffix == ".toml" or len(path.parts) > 1 or path.exists():
        return read_recipe(path)
    if path.name not in shipped:
        remedy = f"use one of {', '.join(shipped)}, or name a TOML file"
        raise InputError("--recipe", f"{path.name!r} is no recipe", remedy)
    return read_recipe(shipped[path.name])


def read_recipe(path: Path) -> Recipe:
    """The settings of a TOML file over the defaults; an unknown key or wrong type is an error."""
    try:
        with path.open("rb") as file:
            table = tomllib.load(file)
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "name a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(path, f"is not TOML ({error})", "mend that line") from None
    return settings_from(table, Recipe, path)


def with_changes(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """The recipe with some settings changed, by section: `{"training": {"steps": 600}}`."""
    plain: dict[str, Any] = settings_to_plain(recipe)
    for section, values in changes.items():
        if isinstance(values, Mapping):
            plain[section] = plain.get(section, {}) | dict(values)
        else:
            plain[section] = values
    return settings_from(plain, Recipe, "settings")


def settings_from(table: dict[str, Any], kind: type[Settings], where: object) -> Settings:
    """A settings dataclass from plain values, every key known and every value of its type."""
    _refuse_unknown_keys(table, kind, where, prefix="")
    try:
        return msgspec.convert(table, kind, dec_hook=lambda kind, value: kind(value))
    except msgspec.ValidationError as error:
        problem, _, key = str(error).partition(" - at `$.")
        raise InputError(
            where, f"{key.rstrip('`') or 'a value'} is wrong ({problem})", "give such a value"
        ) from None


def settings_to_plain(settings: Any) -> dict[str, Any]:
    """Plain values of a settings dataclass as TOML holds them; what is None is left out."""
    plain = msgspec.to_builtins(settings, enc_hook=str)  # of a Path
    assert isinstance(plain, dict)
    return _without_none(plain)


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _without_none(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if value is not None
    }


def _refuse_unknown_keys(
    table: dict[str, Any], kind: type[Any], where: object, prefix: str
) -> None:
    known = get_type_hints(kind)
    for key, value in table.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
            raise InputError(
                where, f"the key {prefix}{key} is unknown", f"did you mean {prefix}{close[0]}?"
            )
        if dataclasses.is_dataclass(known[key]) and isinstance(value, dict):
            _refuse_unknown_keys(value, known[key], where, f"{prefix}{key}.")
