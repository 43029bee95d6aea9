import json
from pathlib import Path

import numpy as np
import pytest

from tag2box.data.findings import Diagnosis, Finding
from tag2box.errors import InputError
from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.inference.streaming import Stream
from tag2box.outputs.run_folder import read_diagnosis, read_run
from tag2box.structures import Detections, TaggedImage

ROW = {
    "image_id": "7",
    "path": "photos/7.jpg",
    "width": 64,
    "height": 48,
    "boxes": [[0, 1, 20.5, 30], [5, 5, 9, 9]],
    "scores": [0.9, 0.2],
    "classes": ["cat", "dog"],
}
STREAM = {
    "id": "7",
    "file": "/photos/7.jpg",
    "stamp": [1, 2],
    "tags": [],
    "width": 64,
    "height": 48,
    "boxes": [0, 1, 20.5, 30, 5, 5, 9, 9],
    "scores": [0.9, 0.2],
    "classes": [1, 0],
}
HEAD = {"depends_on": {"class_names": ["dog", "cat"], "weights": [1, 2]}}


def lines(path: Path, *rows: dict) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_detections_of_any_detector_are_read(tmp_path: Path) -> None:
    other = ROW | {"image_id": "8", "boxes": [], "scores": [], "classes": [], "disagreement": 0.5}
    lines(tmp_path / "run" / "detections.jsonl", ROW, other)
    run = read_run(tmp_path / "run")
    assert run.name == "run"
    first, second = run.photos
    assert (first.id, first.path, first.width, first.height) == ("7", Path("photos/7.jpg"), 64, 48)
    assert first.detections.boxes.tolist() == [[0, 1, 20.5, 30], [5, 5, 9, 9]]
    assert first.detections.class_names == ("cat", "dog")
    assert len(second.detections) == 0
    assert [photo.disagreement for photo in run.photos] == [None, 0.5]
    assert (run.metrics, dict(run.settings)) == ((), {})


@pytest.mark.parametrize("place", ["", "predict", "label"])
def test_the_stream_of_a_job_is_read(tmp_path: Path, place: str) -> None:
    lines(tmp_path / place / "stream" / "0.jsonl", HEAD, STREAM | {"scores": [0.1, 0.1]}, STREAM)
    lines(tmp_path / place / "stream" / "1.jsonl", HEAD, STREAM | {"id": "8", "file": "/8.jpg"})
    (first, second), run = (read_run(tmp_path).photos, read_run(tmp_path))
    assert (first.id, second.id, second.path) == ("7", "8", Path("/8.jpg"))
    assert first.detections.boxes.tolist() == [[0, 1, 20.5, 30], [5, 5, 9, 9]]
    assert first.detections.scores.tolist() == pytest.approx([0.9, 0.2])
    names = first.detections.class_names
    assert [names[c] for c in first.detections.classes] == ["cat", "dog"]
    assert run.name == tmp_path.name


def test_what_a_job_streams_is_read(tmp_path: Path) -> None:
    photo = TaggedImage("a/7.jpg", tmp_path / "a" / "7.jpg", frozenset({1}))
    photo.path.parent.mkdir()
    photo.path.write_bytes(b"a photo")
    boxes = np.array([[0, 1, 20.5, 30]], np.float32)
    score = np.array([0.25], np.float32)
    found = Detections(boxes, score, np.array([1]), ("dog", "cat"), image_id=photo.id)
    stream = Stream(tmp_path / "predict" / "stream", ("dog", "cat"), {"weights": [1, 2]})
    with stream.opened(0) as add:
        add(photo, PhotoBoxes(photo.path, 64, 48, found, 0.3))
    (read,) = read_run(tmp_path).photos
    assert (read.id, read.path, read.width, read.height) == (photo.id, photo.path, 64, 48)
    assert list(read.objects()) == [("cat", 0.25, (0, 1, 20.5, 30))]
    assert read.disagreement == 0.3


def test_what_training_wrote_is_read(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text("[training]\nsteps = 12\nseed = 0\n")
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": NaN}\n{"step": 2, "lo')
    lines(tmp_path / "label" / "detections.jsonl", ROW)
    for folder in (tmp_path, tmp_path / "label"):
        run = read_run(folder)
        assert run.name == tmp_path.name
        assert dict(run.settings) == {"training.steps": "12"}
        assert [line["step"] for line in run.metrics] == [1]


def test_the_diagnosis_comes_back(tmp_path: Path) -> None:
    assert read_diagnosis(tmp_path) is None
    findings = (Finding("few", "warning", "a", "b", "c", ("d",)),)
    said = Diagnosis(3, 1, {"cat": 2}, {0: 1, 2: 2}, findings)
    (tmp_path / "diagnosis.json").write_text(json.dumps(said.to_plain()))
    assert read_diagnosis(tmp_path) == said


def test_photos_may_lie_elsewhere_and_nowhere_else(tmp_path: Path) -> None:
    lines(tmp_path / "detections.jsonl", ROW)
    photos = tmp_path / "elsewhere"
    assert read_run(tmp_path, images=photos).photos[0].path == photos / "photos" / "7.jpg"
    lines(tmp_path / "detections.jsonl", ROW | {"path": "../../secret.jpg"})
    with pytest.raises(InputError, match=r"detections.jsonl:1: .* leaves the image folder"):
        read_run(tmp_path, images=photos)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"scores": [0.5]}, "differ in number"),
        ({"scores": [0.5, 2]}, "<= 1.0"),
        ({"boxes": [[0, 1, 2], [0, 0, 1, 1]]}, "length 4"),
        ({"boxes": [[0, 0, 1e30, 1], [0, 0, 1, 1]]}, "<= 1000000000"),
        ({"width": 0}, ">= 1"),
        ({"path": None}, "Expected `str`"),
    ],
)
def test_a_wrong_row_is_one_sentence(tmp_path: Path, change: dict, problem: str) -> None:
    path = lines(tmp_path / "detections.jsonl", ROW, ROW | {"image_id": "8"} | change)
    with pytest.raises(InputError, match=f"{path}:2: .*{problem}"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    "change", [{"classes": [0, 2]}, {"boxes": [1, 2, 3]}, {"classes": [0, -1]}]
)
def test_a_wrong_row_of_a_stream_is_one_sentence(tmp_path: Path, change: dict) -> None:
    path = lines(tmp_path / "stream" / "0.jsonl", HEAD, STREAM | change)
    with pytest.raises(InputError, match=f"{path}:2: "):
        read_run(tmp_path)


def test_what_is_no_run_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no detections\.jsonl and no stream"):
        read_run(tmp_path)
    with pytest.raises(InputError, match="is no folder"):
        read_run(tmp_path / "none")
    (tmp_path / "detections.jsonl").write_text("")
    with pytest.raises(InputError, match="holds no photo"):
        read_run(tmp_path)
    (tmp_path / "detections.jsonl").unlink()
    for place in ("predict", "label"):
        lines(tmp_path / place / "detections.jsonl", ROW)
    with pytest.raises(InputError, match="holds several results"):
        read_run(tmp_path)


@pytest.mark.parametrize("line", ["[]", '{"loss": 1}', '{"step": "one"}', "{", "[" * 100_000])
def test_wrong_metrics_are_one_sentence(tmp_path: Path, line: str) -> None:
    lines(tmp_path / "detections.jsonl", ROW)
    (tmp_path / "metrics.jsonl").write_text(line + "\n")
    with pytest.raises(InputError, match=r"metrics.jsonl:1"):
        read_run(tmp_path)
