"""JSON lines and CSV: boxes for programs and for spreadsheets."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from oracle.found_boxes import found_in, found_on_disk
from tag2box.errors import InputError
from tag2box.outputs.csv_rows import write_csv
from tag2box.outputs.json_lines import write_json_lines

HOSTILE = ("a b", "ünïcode", 'q"<&>', "nl\nx", 'comma,"', "=cmd", "\u2028")


def test_json_lines_are_the_same_boxes_to_the_last_bit(tmp_path: Path) -> None:
    photos = found_on_disk(tmp_path / "p", "a.png", "b/c.png", "z.png", "none.png", names=HOSTILE)
    write_json_lines(tmp_path / "b.jsonl", photos, HOSTILE)
    lines = (tmp_path / "b.jsonl").read_bytes().split(b"\n")
    assert lines.pop() == b""
    for photo, line in zip(photos, lines, strict=True):
        row = json.loads(line)
        assert (row["image"], row["file"]) == (photo.id, photo.id)
        assert (row["width"], row["height"]) == (photo.width, photo.height)
        found = photo.detections
        boxes = np.array([one["box"] for one in row["objects"]], np.float32).reshape(-1, 4)
        np.testing.assert_array_equal(boxes, found.boxes)
        scores = np.array([one["score"] for one in row["objects"]], np.float32)
        np.testing.assert_array_equal(scores, found.scores)
        assert [one["class"] for one in row["objects"]] == [HOSTILE[c] for c in found.classes]


def test_csv_rows_are_the_same_boxes_to_the_last_bit(tmp_path: Path) -> None:
    photos = found_on_disk(tmp_path / "p", "a.png", "b,c.png", "z.png", "none.png", names=HOSTILE)
    write_csv(tmp_path / "b.csv", photos, HOSTILE)
    with (tmp_path / "b.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expected = [(photo, one) for photo in photos for one in photo.objects()]
    for row, (photo, one) in zip(rows, expected, strict=True):
        assert (row["image"], row["class"]) == (photo.id, one.name)
        assert (int(row["width"]), int(row["height"])) == (photo.width, photo.height)
        assert tuple(float(row[key]) for key in ("x1", "y1", "x2", "y2")) == one.box
        assert float(row["score"]) == one.score


@pytest.mark.parametrize("write", [write_json_lines, write_csv])
def test_a_name_that_is_no_text_is_refused(tmp_path: Path, write) -> None:
    with pytest.raises(InputError, match="not UTF-8"):
        write(tmp_path / "out", [found_in()], ("cat", "dog\udcff", "owl"))
    assert not (tmp_path / "out").exists()
