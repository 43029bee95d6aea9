import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from defusedxml.ElementTree import parse

from oracle.found_boxes import NAMES, found_in, found_on_disk
from tag2box.errors import InputError
from tag2box.outputs.labelstudio import write_labelstudio

HOSTILE = ("a b", "ünïcode", 'q"<&>', "=cmd", "../up")


def test_percent_become_the_same_boxes(tmp_path: Path) -> None:
    photos = found_on_disk(tmp_path / "p", "a.png", "b/c d&?.png", "z.png", "none.png")
    write_labelstudio(tmp_path / "t.json", photos, NAMES, model_version="tag2box birds")
    tasks = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    for photo, task in zip(photos, tasks, strict=True):
        address = urlsplit(task["data"]["image"])
        assert address.path == "/data/local-files/"
        assert parse_qs(address.query)["d"] == [f"p/{photo.id}"]  # below the folder above `p`
        (prediction,) = task["predictions"]
        assert prediction["model_version"] == "tag2box birds"
        boxes, classes, scores = [], [], []
        for result in prediction["result"]:
            assert result["type"] == "rectanglelabels"
            assert (result["original_width"], result["original_height"]) == (
                photo.width,
                photo.height,
            )
            value = result["value"]
            assert value["rotation"] == result["image_rotation"] == 0
            assert all(0 <= value[key] <= 100 for key in ("x", "y", "width", "height"))
            x, y = value["x"] * photo.width / 100, value["y"] * photo.height / 100
            width = value["width"] * photo.width / 100
            boxes.append([x, y, x + width, y + value["height"] * photo.height / 100])
            classes += value["rectanglelabels"]
            scores.append(result["score"])
        found = photo.detections
        np.testing.assert_allclose(np.reshape(boxes, (-1, 4)), found.boxes, atol=1e-4)
        assert classes == [NAMES[c] for c in found.classes]
        np.testing.assert_array_equal(np.array(scores, np.float32), found.scores)
        ids = [result["id"] for result in prediction["result"]]
        assert len(set(ids)) == len(ids)
        mean = float(found.scores.mean()) if len(found) else 0
        assert prediction["score"] == pytest.approx(mean)


def test_the_interface_has_the_names_the_tasks_use(tmp_path: Path) -> None:
    photos = [found_in(names=HOSTILE, boxes=30)]
    write_labelstudio(tmp_path / "t.json", photos, HOSTILE, model_version="m")
    view = parse(tmp_path / "t.xml").getroot()
    image, labels = view.find("Image"), view.find("RectangleLabels")
    assert [label.get("value") for label in labels] == list(HOSTILE)
    (task,) = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert set(task["data"]) == {image.get("value").removeprefix("$")}
    for result in task["predictions"][0]["result"]:
        assert (result["from_name"], result["to_name"]) == (labels.get("name"), image.get("name"))
        assert labels.get("toName") == result["to_name"]


def test_a_class_name_on_two_lines_is_refused(tmp_path: Path) -> None:
    names = (*NAMES[:2], "nl\nx")
    with pytest.raises(InputError, match="control characters"):
        write_labelstudio(tmp_path / "t.json", [found_in(names=names)], names, model_version="m")
    assert not (tmp_path / "t.json").exists()
