import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    """Six small photos of noise, the last a copy of the first."""
    folder = tmp_path / "photos"
    folder.mkdir()
    rng = np.random.default_rng(0)
    paths = [folder / f"photo {i} ü.png" for i in range(6)]
    for i, path in enumerate(paths[:5]):
        Image.fromarray(rng.integers(0, 255, (20 + i, 30, 3), np.uint8)).save(path)
    paths[5].write_bytes(paths[0].read_bytes())
    return paths


@pytest.fixture
def source_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A user's module in the working folder; its boxes depend on the pixels of the photo."""
    (tmp_path / "my_boxes.py").write_text(
        "import os, time\n"
        "def propose(image):\n"
        "    print('a source may print')\n"
        "    first = int(image[0, 0, 0]) % 10\n"
        "    return [[first, 0, first + 5, 7.5], [0, 0, *image.shape[1::-1]]], [0.5, 0.25]\n"
        "def slow(image):\n"
        "    time.sleep(0.3)\n"
        "    return propose(image)\n"
        "def broken(image):\n"
        "    raise KeyError('no such thing')\n"
        "def deadly(image):\n"
        "    os._exit(3)\n"
    )
    monkeypatch.delitem(sys.modules, "my_boxes", raising=False)  # another test's, elsewhere
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "my_boxes"
