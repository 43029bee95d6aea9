import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tag2box.cli import main


def photos(root: Path, *classes: str, count: int = 8) -> Path:
    for seed, name in enumerate(name for name in classes for _ in range(count)):
        pixels = np.random.default_rng([seed, len(str(root))]).integers(0, 256, (70, 80, 3))
        (root / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(root / name / f"{seed}.png")
    return root


def run(*arguments: object) -> int:
    return main(["check", *map(str, arguments)])


def test_good_data_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(photos(tmp_path, "dog", "sheep"), "--few-photos", 5) == 0
    printed = capsys.readouterr().out
    assert "one folder per class" in printed
    assert "This data can be learnt from; warnings: 0." in printed
    assert "sheep" in printed


def test_pointless_data_has_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(photos(tmp_path, "dog"), "--quick") == 1
    printed = capsys.readouterr().out
    assert "cannot be learnt from" in printed
    assert "fatal" in printed


def test_json_is_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(photos(tmp_path, "dog", "sheep"), "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["photos_of_class"] == {"dog": 8, "sheep": 8}
    assert report["learnable"] is True
    assert [finding["kind"] for finding in report["findings"]] == ["few-photos"]
    assert {"severity", "what", "effect", "remedy", "examples"} < set(report["findings"][0])


def test_a_second_set_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train, val = photos(tmp_path / "train", "dog", "cat"), photos(tmp_path / "val1", "dog", "cat")
    (val / "dog" / "0.png").write_bytes((train / "dog" / "0.png").read_bytes())
    for arguments in ((train, "--val", val), (tmp_path, "--split", "train", "--val-split", "val1")):
        assert run(*arguments, "--json") == 0
        kinds = {finding["kind"] for finding in json.loads(capsys.readouterr().out)["findings"]}
        assert "overlap" in kinds
    assert run(train, "--val", val, "--classes", "cat", "--json") == 0


def test_tags_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = photos(tmp_path / "photos", "all", count=12)
    lines = [f"all/{n}.png,{'dog' if n % 2 else '[red]'}" for n in range(12)]
    (tmp_path / "tags.csv").write_text("\n".join(lines))
    (tmp_path / "val.csv").write_text("\n".join(lines[:2]))
    assert run(root, "--tags", tmp_path / "tags.csv", "--val", tmp_path / "val.csv") == 0
    printed = capsys.readouterr().out
    assert "[red]" in printed
    assert "a table of tags" in printed


def bad_inputs(root: Path) -> dict[str, list[object]]:
    """Every kind of bad input there is a sentence for: arguments by name."""
    good = photos(root / "good", "dog", "sheep", count=1)
    (root / "outside.png").write_bytes((good / "dog" / "0.png").read_bytes())
    (root / "empty").mkdir()
    (good / "linked.png").symlink_to(root / "outside.png")
    (root / "linked").mkdir()
    (root / "linked" / "dog").symlink_to(good)
    contents: dict[str, str | bytes] = {
        "missing.csv": "image,tags\nabsent.png,dog\n",
        "column.csv": "foto,tags\ndog/0.png,dog\n",
        "out.csv": "../outside.png,dog\n",
        "absolute.csv": f"{root}/outside.png,dog\n",
        "link.csv": "linked.png,dog\n",
        "latin.csv": b"dog/0.png,h\xfcnd\n",
        "twice.csv": "dog/0.png,dog\ndog/0.png,cat\n",
        "nothing.csv": "",
        "no_tags.csv": "dog/0.png,\n",
        "deep.json": "[" * 100 + "]" * 100,
        "deeper.json": '{"a":' * 100_000 + "1" + "}" * 100_000,
        "twice.json": '{"dog/0.png": ["dog"], "dog/0.png": ["cat"]}',
        "words.json": "not json",
        "twice.jsonl": '{"image": "dog/0.png", "tags": []}\n' * 2,
    }
    for name, content in contents.items():
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    cases: dict[str, list[object]] = {n: [good, "--tags", root / n] for n in contents}
    return cases | {
        "nowhere": [root / "nowhere"],
        "no data": [],
        "a photo": [good / "dog" / "0.png"],
        "empty folder": [root / "empty"],
        "linked folder": [root / "linked"],
        "unknown class": [good, "--classes", "dgo"],
        "unknown split": [good, "--split", "trian"],
        "absent list": [good, "--image-list", root / "absent.txt"],
        "absent tags": [good, "--tags", root / "absent.csv"],
        "named twice": [good, good],
        "two and tags": [good, good, "--tags", root / "missing.csv"],
    }


CASES = (
    *("missing.csv", "column.csv", "out.csv", "absolute.csv", "link.csv", "latin.csv"),
    *("twice.csv", "nothing.csv", "no_tags.csv", "deep.json", "deeper.json", "twice.json"),
    *("words.json", "twice.jsonl", "nowhere", "no data", "a photo", "empty folder"),
    *("linked folder", "unknown class", "unknown split", "absent list", "absent tags"),
    *("named twice", "two and tags"),
)


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_sentence(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = bad_inputs(tmp_path)
    assert set(cases) == set(CASES)
    assert run(*cases[case]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tag2box: ")
    assert captured.err.count("\n") == 1
    assert "; " in captured.err


def test_an_unreadable_folder_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    root = photos(tmp_path, "dog", "sheep", count=1)
    monkeypatch.setattr("os.scandir", refuse)
    assert run(root) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_unreadable_photo_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = photos(tmp_path, "dog", "sheep")
    (root / "dog" / "0.png").write_bytes(b"no photo")
    assert run(root, "--json") == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert "0.png" in next(f for f in findings if f["kind"] == "unreadable")["examples"][0]
