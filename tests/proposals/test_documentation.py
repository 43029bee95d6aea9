import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tag2box import recipe
from tag2box.cli import main
from tag2box.proposals import protocol
from tag2box.proposals.files import READERS
from tag2box.proposals.sources import BUILT_IN

PAGE = (Path(__file__).parents[2] / "docs" / "proposals.md").read_text(encoding="utf-8")


def test_the_ten_lines_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len([line for line in example.splitlines() if line]) <= 10
    (tmp_path / "my_module.py").write_text(example)
    (tmp_path / "my_segmenter.py").write_text(
        "def generate_masks(image):\n"
        "    return [image[:, :, 0] > 99, image[:, :, 1] > 99, image[:, :, 2] > 99]\n"
    )
    photo = np.zeros((40, 60, 3), np.uint8)
    photo[5:20, 10:30, 0] = 255  # nothing is green
    photo[:, 50:, 2] = 255
    (tmp_path / "photos").mkdir()
    Image.fromarray(photo).save(tmp_path / "photos" / "a.png")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["propose", "photos", "--proposals", "my_module:propose", "--out", "a.npz"]) == 0
    assert np.load("a.npz")["boxes"].tolist() == [[10, 5, 30, 20], [50, 0, 60, 40]]


def test_the_example_is_that_of_the_protocol() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    code = [line.partition("#")[0].strip() for line in example.splitlines()]
    told = [line.partition("#")[0].strip() for line in (protocol.__doc__ or "").splitlines()]
    assert [line for line in code if line and line not in told] == []


def test_every_source_ending_and_setting_is_named() -> None:
    assert all(f"| `{name}` |" in PAGE for name in BUILT_IN)
    assert all(f"| `{ending}` |" in PAGE for ending in READERS)
    named = set(re.findall(r"--proposals\.([a-z-]+)", PAGE))
    fields = {name.replace("_", "-") for name in recipe.ProposalSettings.__dataclass_fields__}
    assert named <= fields
    assert fields - named <= {"source", "rank-seed"}


def test_defaults_are_as_stated() -> None:
    rows = re.findall(r"\| `--proposals\.([a-z-]+)` \| `?(\w+)`? \|", PAGE)
    defaults = recipe.ProposalSettings()
    assert len(rows) == 4
    for name, stated in rows:
        value = getattr(defaults, name.replace("-", "_"))
        assert str(value) == stated or float(stated) == value
