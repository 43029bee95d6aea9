"""The notebook of the demo runs from its first cell to its last."""

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "demo.ipynb"
SIZES = "TRAIN, VAL, STEPS = "


def code_cells() -> list[str]:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_every_cell_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first, *others = code_cells()
    assert first.startswith(SIZES)
    names: dict[str, Any] = {}
    for source in (f"{SIZES}24, 2, 1", *others):
        exec(compile(source, NOTEBOOK.name, "exec"), names)
    printed = capsys.readouterr().out
    assert all(f"{name} " in printed for name in names["runs"])
    assert printed.count("CorLoc") == 3


def test_it_is_kept_without_outputs() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    for cell in notebook["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
