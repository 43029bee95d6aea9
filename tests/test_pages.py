"""What the pages tell a person to type works as printed, in its order."""

import dataclasses
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tag2box.cli import main
from tag2box.training import run as training

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
TYPED = [README, ROOT / "docs" / "your-own-data.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[list[str]]:
    """Of the blocks in `sh` each line, of those in `python` the whole as the one word after it."""
    found = []
    for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "sh":
            found += [shlex.split(line, comments=True) for line in block.splitlines()]
        elif kind == "python":
            found.append(["python", block])
    return [command for command in found if command]


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the pages suppose it: photos, their tags, and boxes to score with."""
    from tag2box.data.scene_files import write_scenes

    write_scenes(tmp_path / "scenes", train=10, val=2, seed=0)
    (tmp_path / "photos").symlink_to(tmp_path / "scenes" / "images")
    (tmp_path / "tags.csv").symlink_to(tmp_path / "scenes" / "images" / "tags.csv")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps instead of some minutes: what is learnt is nothing, what is written is all."""
    train = training.train

    def two_steps(dataset: Any, recipe: Any, *others: Any, **settings: Any) -> bool:
        quick = dataclasses.replace(recipe.training, steps=2)
        return train(dataset, dataclasses.replace(recipe, training=quick), *others, **settings)

    monkeypatch.setattr(training, "train", two_steps)


def run_make(arguments: list[str]) -> int:
    """Only looked up: this very test is part of `make test`, and tests/verbs/ runs the demo."""
    return subprocess.run(["make", "--dry-run", *arguments], cwd=ROOT, check=False).returncode


def run_python(arguments: list[str]) -> int:
    exec(compile(arguments[0], "snippet", "exec"), {})
    return 0


def run_torchrun(arguments: list[str]) -> int:
    """As one process; tests/training/ and tests/verbs/ start several."""
    return main(arguments[arguments.index("tag2box)") + 1 :])


PROGRAMS: dict[str, Callable[[list[str]], int]] = {
    "make": run_make,
    "tag2box": main,
    "torchrun": run_torchrun,
    "python": run_python,
}


@pytest.mark.slow
@pytest.mark.usefixtures("workshop", "short_training")
@pytest.mark.parametrize("page", TYPED, ids=lambda page: page.name)
def test_everything_to_type_works_in_its_order(page: Path) -> None:
    for program, *arguments in commands(page):
        assert PROGRAMS[program](arguments) == 0, (program, arguments)


def test_the_first_screen_shows_a_picture_and_the_two_commands() -> None:
    first_screen = "\n".join(README.read_text(encoding="utf-8").splitlines()[:40])
    assert re.search(r"!\[.+\]\(docs/.+\.png\)", first_screen)
    assert {"make demo", "make test"} <= {" ".join(command) for command in commands(README)}


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
