"""The examples of docs/formats.md are read as the page says."""

import json
import re
import shlex
from pathlib import Path

import pytest
from PIL import Image

from tag2box.cli import main

PAGE = (Path(__file__).parents[1] / "docs" / "formats.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:\*\*`(?P<name>[^`]+)`\*\*\n)?```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL)
VID_NAMES = {"n02084071": "dog", "n02411705": "sheep"}


def examples() -> list[tuple[str, list[re.Match[str]]]]:
    """Each command with the blocks before it, since the last command."""
    found: list[tuple[str, list[re.Match[str]]]] = []
    blocks: list[re.Match[str]] = []
    for block in BLOCK.finditer(PAGE):
        if block["kind"] == "bash":
            found.append((block["text"].strip(), blocks))
            blocks = []
        else:
            blocks.append(block)
    return found


def lay_out(root: Path, blocks: list[re.Match[str]]) -> None:
    for block in blocks:
        if block["kind"] == "tree":
            for name in block["text"].split():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.new("RGB", (64, 48), (ord(path.stem), 0, 0)).save(path)
        else:
            path = root / block["name"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["text"], encoding="utf-8")


def test_every_format_has_an_example() -> None:
    assert len(examples()) == 10


@pytest.mark.parametrize(("command", "blocks"), examples(), ids=[one[0] for one in examples()])
def test_an_example_is_read_as_the_page_says(
    command: str,
    blocks: list[re.Match[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, blocks)
    program, *arguments = shlex.split(command)
    assert program == "tag2box"
    assert main([*arguments, "--json", "--quick"]) == 1  # three photos are not enough to learn
    report = json.loads(capsys.readouterr().out)
    photos = {VID_NAMES.get(name, name): n for name, n in report["photos_of_class"].items() if n}
    assert photos == {"dog": 2, "sheep": 1}
    assert report["photos"] == 3
    assert report["negatives"] == 1
