"""What the README tells a person to type works as printed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall(README) if kind == language]


def commands() -> list[str]:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [shlex.join(shlex.split(line, comments=True)) for line in lines if line.strip()]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the README supposes it: photos, their tags, and boxes to score with."""
    from tag2box.data.scene_files import write_scenes

    folder = tmp_path_factory.mktemp("workshop")
    write_scenes(folder / "scenes", train=16, val=8, seed=0)
    (folder / "photos").symlink_to(folder / "scenes" / "images")
    (folder / "tags.csv").symlink_to(folder / "scenes" / "images" / "tags.csv")
    return folder


def run(command: list[str], folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("command", commands())
def test_command(command: str, workshop: Path) -> None:
    words = shlex.split(command)
    if words[0] == "make":  # `make test` is running this very test, tests/verbs/ runs the demo
        run(["make", "--dry-run", *words[1:]], ROOT)
    else:
        run(words, workshop)


@pytest.mark.parametrize("code", blocks("python"))
def test_snippet(code: str, workshop: Path) -> None:
    run([sys.executable, "-c", code], workshop)


def test_the_first_screen_shows_a_picture_and_the_two_commands() -> None:
    first_screen = "\n".join(README.splitlines()[:40])
    assert re.search(r"!\[.+\]\(docs/.+\.png\)", first_screen)
    assert {"make demo", "make test"} <= set(commands())


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", path.read_text("utf-8")):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"
