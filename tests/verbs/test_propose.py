import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tag2box.cli import main
from tag2box.proposals.files import ProposalFile
from tag2box.structures import TaggedImage

SHARED = Path(__file__).parents[2].parent / "shared"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "cache" / "tag2box" / "proposals"


@pytest.fixture
def voc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two photos with a cat and a difficult dog, and a module whose boxes hit the cat half."""
    root = tmp_path / "VOC"
    for name in ("JPEGImages", "Annotations", "ImageSets/Main"):
        (root / name).mkdir(parents=True)
    for number in ("000005", "000012"):
        Image.new("RGB", (100, 80), (int(number), 0, 0)).save(root / f"JPEGImages/{number}.jpg")
        objects = [("cat", 0, (1, 1, 40, 40)), ("dog", 1, (50, 50, 60, 60))]
        boxes = "".join(
            f"<object><name>{name}</name><difficult>{difficult}</difficult><bndbox><xmin>{x1}"
            f"</xmin><ymin>{y1}</ymin><xmax>{x2}</xmax><ymax>{y2}</ymax></bndbox></object>"
            for name, difficult, (x1, y1, x2, y2) in objects
        )
        (root / f"Annotations/{number}.xml").write_text(
            f"<annotation><filename>{number}.jpg</filename><size><width>100</width>"
            f"<height>80</height><depth>3</depth></size>{boxes}</annotation>"
        )
    (root / "ImageSets/Main/train.txt").write_text("000005\n000012\n")
    (tmp_path / "half.py").write_text(
        "def propose(image):\n    return [[90, 70, 99, 79]] * 2 + [[0, 0, 40, 24]]\n"
    )
    monkeypatch.chdir(tmp_path)
    return root


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> tuple[str, str]:
    assert main(["propose", *(str(argument) for argument in arguments)]) == code
    printed = capsys.readouterr()
    return printed.out, printed.err


def test_fills_once_and_states_numbers(
    voc: Path, own_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (voc, "--split", "train", "--proposals", "half:propose", "--stats")
    out, said = run(capsys, *arguments)
    assert f"tag2box: {voc}: Pascal VOC, split train\n" in said
    assert "2 photos, the proposals of 2 computed now" in out
    assert len(list(own_cache.glob("half-propose-*/*.boxes"))) == 1
    out, _ = run(capsys, *arguments)
    assert "the proposals of 0 computed now" in out
    rows = [re.findall(r"[\w.]+", line) for line in out.splitlines()]
    assert ["2", "2", "2"] in rows  # duplicates are gone
    # The difficult dog counts neither way; the cat is 40 x 40 and its best box 40 x 24.
    assert ["all", "100.0", "0.0", "60.0"] in rows
    limits = [row[0] for row in rows if len(row) == 4 and "." in row[1]]
    assert limits == ["100", "500", "1000", "all"]


def test_numbers_for_a_program(voc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, said = run(capsys, voc, "--split", "train", "--proposals", "half:propose", "--json")
    assert "2 photos, the proposals of 2 computed now" in said
    numbers = json.loads(out)
    assert (numbers["images"], numbers["objects"], numbers["maximum"]) == (2, 2, 2)
    everything = numbers["recalls"][-1]
    assert (everything["limit"], everything["recall_50"], everything["recall_70"]) == (None, 1, 0)
    assert everything["average_best_overlap"] == pytest.approx(0.6)


def test_a_folder_of_photos_needs_no_tags(
    voc: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (voc / "JPEGImages", "--proposals", "half:propose", "--stats", "--out", "a.npz")
    out, _ = run(capsys, *arguments)
    assert "2 photos" in out
    assert "recall" not in out
    file = ProposalFile(tmp_path / "a.npz")
    boxes = file.boxes_of(TaggedImage("000005.jpg", Path("000005.jpg"), frozenset())).boxes
    np.testing.assert_array_equal(boxes, [[90, 70, 99, 79], [0, 0, 40, 24]])
    out, _ = run(capsys, voc, "--split", "train", "--proposals", "file:a.npz", "--stats")
    assert "60.0" in out


def test_settings_of_clean_up(voc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (voc / "JPEGImages", "--proposals", "half:propose", "--out", "a.npz")
    run(capsys, *arguments, "--proposals.duplicates", "keep", "--proposals.minimum-side", "8")
    assert np.load("a.npz")["count"].tolist() == [3, 3]
    run(capsys, *arguments, "--proposals.maximum-count", "1", "--proposals.minimum-side", "10")
    assert np.load("a.npz")["boxes"].tolist() == [[0, 0, 40, 24]] * 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--proposals", "selectivesearch"], "is not a source"),
        (["--proposals", "no_module:propose"], "there is no module no_module"),
        (["--proposals", "half:other"], "has no function other"),
        (["--proposals", "file:none.pkl"], "does not exist"),
    ],
)
def test_a_wrong_source_is_one_sentence(
    voc: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = run(capsys, voc / "JPEGImages", *arguments, code=2)
    sentence = next(line for line in err.splitlines() if line.startswith("tag2box: "))
    assert words in sentence
    assert "Traceback" not in err


def test_a_photo_the_file_lacks_is_found_at_the_start(
    voc: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, voc / "JPEGImages", "--proposals", "half:propose", "--out", "a.npz")
    Image.new("RGB", (9, 9)).save(voc / "JPEGImages" / "more.jpg")
    _, err = run(capsys, voc / "JPEGImages", "--proposals", "file:a.npz", code=2)
    assert "has no boxes for 1 of 3 photos (more.jpg" in err
    assert tmp_path


def test_unreadable_photos(voc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (voc / "JPEGImages" / "bad.jpg").write_bytes(b"no photo")
    arguments = (voc / "JPEGImages", "--proposals", "half:propose", "--stats")
    _, err = run(capsys, *arguments, code=2)
    assert "bad.jpg" in err
    out, err = run(capsys, *arguments, "--images.unreadable", "skip")
    assert "bad.jpg" in err
    assert ["2", "2", "2"] in [re.findall(r"[\w.]+", line) for line in out.splitlines()]


def test_no_torch_is_loaded(voc: Path) -> None:
    code = (
        "import sys; from tag2box.cli import main\n"
        "code = main(['propose', sys.argv[1], '--proposals', 'half:propose', '--stats'])\n"
        "sys.exit(code or 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(voc / "JPEGImages")],
        env=dict(os.environ),
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not (SHARED / "voc-mini").exists(), reason="needs ../shared/voc-mini")
def test_voc_mini_from_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    source = f"file:{SHARED / 'voc-mini' / 'proposals' / 'opencv_fast_val.npz'}"
    out, _ = run(capsys, SHARED / "voc-mini", "--split", "val", "--proposals", source, "--stats")
    rows = [re.findall(r"[\w.]+", line) for line in out.splitlines()]
    (everything,) = (row for row in rows if row and row[0] == "all")
    assert 80 < float(everything[1]) < 100
