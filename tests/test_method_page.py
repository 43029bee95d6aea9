"""The page that leads from an equation to its function and its test names things that exist."""

import dataclasses
import importlib
import re
from pathlib import Path

import pytest

from tag2box.recipe import Recipe

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
SECTIONS = "|".join(field.name for field in dataclasses.fields(Recipe))
ROOMS = "models|learning|training|inference|box_coding"


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\b(test_\w+)`", PAGE))))
def test_named_tests_exist(name: str) -> None:
    assert f"def {name}(" in TESTS


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(?:tests/\w+/)?(test_\w+\.py)", PAGE))))
def test_named_files_exist(name: str) -> None:
    assert list((ROOT / "tests").rglob(name))


@pytest.mark.parametrize("name", sorted(set(re.findall(rf"`((?:{ROOMS})\.[\w.]+)`", PAGE))))
def test_named_functions_exist(name: str) -> None:
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(["tag2box", *parts[:end]]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[end:]:
            found = getattr(found, attribute)
        return
    raise AssertionError(name)


@pytest.mark.parametrize(
    "name",
    sorted(set(re.findall(rf"`((?:{SECTIONS})\.\w+)(?: = \S+)?`", PAGE)) - {"model.safetensors"}),
)
def test_named_settings_exist(name: str) -> None:
    section, key = name.split(".")
    assert hasattr(getattr(Recipe(), section), key)


@pytest.mark.parametrize("code", re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S))
def test_snippets_run(code: str) -> None:
    exec(compile(code, "docs/method.md", "exec"), {})
