"""Imports follow the flow of data, and no room before evaluation can reach a box of the truth."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "tag2box"

# A room may import from the rooms before it. `base` is what lies at the top of the package.
ROOMS = [
    "base",
    "data",
    "proposals",
    "models",
    "learning",
    "training",
    "inference",
    "evaluation",
    "outputs",
    "verbs",
    "api",
]
API = {"__init__", "cli", "api", "run"}

# Who may import what holds or reads boxes of the truth.
MAY_SEE_TRUTH = {"evaluation", "outputs", "verbs", "api"}
TRUTH_IN_DATA = ("annotations", "scenes", "scene_files", "clips", "clip_files", "clip_layers")


def room_of(parts: tuple[str, ...]) -> str:
    if len(parts) > 1:
        return parts[0]
    return "api" if parts[0] in API else "base"


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def imports_of(path: Path) -> set[str]:
    """Full dotted names of everything imported from the package, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write the full name of an import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "tag2box"}


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_follow_the_flow_of_data(path: Path) -> None:
    here = room_of(path.relative_to(SOURCE).with_suffix("").parts)
    for name in imports_of(path):
        parts = tuple(name.split(".")[1:])
        if not parts or not ((SOURCE / parts[0]).is_dir() or (SOURCE / f"{parts[0]}.py").exists()):
            continue  # the package itself, or a name lazily loaded from it
        there = parts[0] if (SOURCE / parts[0]).is_dir() else room_of((parts[0],))
        assert ROOMS.index(there) <= ROOMS.index(here), f"{here} imports {name}"


def test_every_room_is_known() -> None:
    assert {p.parent.name for p in SOURCE.glob("*/__init__.py")} <= set(ROOMS)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_boxes_of_the_truth_stay_out_of_training(path: Path) -> None:
    """A reader may hold `Annotations` in its own file; nobody else before evaluation may."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    if room_of(parts) in MAY_SEE_TRUTH:
        return
    for name in imports_of(path):
        assert not name.startswith("tag2box.evaluation"), f"{path.name} imports {name}"
        if room_of(parts) != "data":
            module = name.split(".")[2] if name.startswith("tag2box.data.") else ""
            assert module not in TRUTH_IN_DATA, f"{path.name} imports {name}"
            assert ".parse_" not in name, f"{path.name} imports {name}: it returns boxes"
