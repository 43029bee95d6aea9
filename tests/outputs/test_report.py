import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from outputs.conftest import NAMES, MakeRun, found
from tag2box.data.findings import Diagnosis, Finding
from tag2box.errors import InputError
from tag2box.evaluation.errors_by_kind import Kind
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.outputs.report import write_report
from tag2box.outputs.report_gallery import scale_end, uncertainty
from tag2box.outputs.report_photos import common_photos
from tag2box.outputs.report_scores import UNKNOWN, judged, photo_quality

RIGHT = ([10.0, 10.0, 50.0, 50.0], "cat", 0.9)
PART = ([10.0, 10.0, 25.0, 25.0], "cat", 0.8)
HOSTILE = "</script><script>alert(1)</script><!--"
DIAGNOSIS = Diagnosis(
    photos=3,
    negatives=1,
    photos_of_class={"cat": 2, HOSTILE: 1},
    tags_per_photo={0: 1, 1: 1, 2: 1},
    findings=(Finding("few", "warning", "few photos", "it learns by heart", "add", (HOSTILE,)),),
)


class Texts(HTMLParser):
    """What the page shows, and which tags it has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words, self.tags = [], []
        self.feed(page)
        self.text = " ".join(" ".join(self.words).split())

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append((tag, dict(attrs)))


def block(page: str) -> dict:
    return json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.S)[1])


def test_the_page_has_what_was_given(make_run: MakeRun, truth: GroundTruth, tmp_path: Path) -> None:
    runs = [make_run([PART], [], [], name="old"), make_run([RIGHT], [], [], name="new")]
    write_report(tmp_path / "r.html", title="Cats", runs=runs, truth=truth, diagnosis=DIAGNOSIS)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    shown = Texts(page).text
    for words in (
        "Cats",
        "mAP at 0.5",
        "old : 1 box scored 0.5 or more",
        "missed 3 of 3 objects",
        "3 photos, 1 of them without a tag",
        "warning few photos: it learns by heart.",
    ):
        assert words in shown
    data = block(page)
    assert data["runs"] == ["old", "new"]
    assert data["classes"] == ["cat", "dog"]
    photo = data["photos"][0]
    assert photo["found"] == [
        [[10, 10, 25, 25, 0.8, 0, Kind.PART]],
        [[10, 10, 50, 50, 0.9, 0, Kind.RIGHT]],
    ]
    assert photo["objects"] == [[10, 10, 50, 50, 0, 1]]
    assert (photo["quality"], photo["gain"]) == (0.5, 1.0)


def test_hostile_names_are_no_markup(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run([([0, 0, 9, 9], HOSTILE, 0.5)], class_names=(HOSTILE,), name=HOSTILE)
    plain = make_run([([0, 0, 9, 9], "cat", 0.5)])
    tags = []
    for one, title in ((run, HOSTILE), (plain, "plain")):
        write_report(tmp_path / "r.html", title=title, runs=[one], diagnosis=DIAGNOSIS)
        page = (tmp_path / "r.html").read_text(encoding="utf-8")
        tags.append([tag for tag, _ in Texts(page).tags])
    assert tags[0] == tags[1]
    write_report(tmp_path / "r.html", title="", runs=[run])
    assert block((tmp_path / "r.html").read_text())["classes"] == [HOSTILE]


def test_the_page_refers_to_nothing_outside(
    make_run: MakeRun, truth: GroundTruth, tmp_path: Path
) -> None:
    write_report(tmp_path / "r.html", title="t", runs=[make_run([RIGHT], [], [])], truth=truth)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert re.findall(r"https?://[^\"'\s]*", page) == ["http://www.w3.org/2000/svg"]  # a name
    attributes = [attrs for _, attrs in Texts(page).tags]
    links = [a[k] for a in attributes for k in ("src", "href", "action") if k in a]
    assert links == ["data:,"]
    assert str(tmp_path) not in page


def test_a_photo_that_cannot_be_read_is_an_empty_frame(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run([RIGHT], [])
    run.photos[0].path.write_bytes(b"no photo")
    write_report(tmp_path / "r.html", title="t", runs=[run])
    photos = block((tmp_path / "r.html").read_text())["photos"]
    assert photos[0]["jpeg"] is None
    assert photos[1]["jpeg"].startswith("/9j/")


def test_of_many_photos_some_are_shown_and_all_are_scored(
    make_run: MakeRun, truth: GroundTruth, tmp_path: Path
) -> None:
    made: list[int] = []
    write_report(
        tmp_path / "r.html",
        title="t",
        runs=[make_run([RIGHT], [], [])],
        truth=truth,
        most_photos=2,
        on_photo=lambda: made.append(1),
    )
    page = (tmp_path / "r.html").read_text()
    assert [photo["name"] for photo in block(page)["photos"]] == ["photo0.png", "photo2.png"]
    assert "2 of 3 photos are shown, evenly spaced; scores are of all." in Texts(page).text
    assert len(made) == 2


def test_without_a_box_anywhere_there_is_a_page(
    make_run: MakeRun, truth: GroundTruth, tmp_path: Path
) -> None:
    write_report(tmp_path / "r.html", title="t", runs=[make_run([], [], [])], truth=truth)
    assert "0 boxes scored 0.5 or more" in Texts((tmp_path / "r.html").read_text()).text


def test_kinds_stand_beside_their_boxes(truth: GroundTruth) -> None:
    names = ("bird", "cat", "dog")
    rows = [([0.0, 0, 9, 9], "bird", 0.95), PART, RIGHT]
    photos = [found("photo0", rows, names), found("photo1", [], names)]
    verdict = judged(truth.select(["photo0", "photo1"]), photos)
    assert [kinds.tolist() for kinds in verdict.kinds] == [[UNKNOWN, Kind.PART, Kind.RIGHT], []]
    assert verdict.errors.min_score == pytest.approx(0.9)
    assert verdict.quality == (1.0, 0.0)


def test_quality_is_f1() -> None:
    quality = photo_quality(np.array([1, 0, 0, 2]), np.array([2, 1, 0, 2]), np.array([1, 0, 0, 2]))
    assert quality == (pytest.approx(2 / 3), 0.0, 1.0, 1.0)


def test_a_photo_is_as_uncertain_as_its_least_certain_class() -> None:
    rows = [([0.0, 0, 1, 1], "cat", s) for s in (0.9, 0.5)]
    assert uncertainty(found("a", rows, NAMES)) == pytest.approx(0.2)  # only its best score counts
    rows.append(([0.0, 0, 1, 1], "dog", 0.3))
    assert uncertainty(found("a", rows, NAMES)) == pytest.approx(0.6)
    assert uncertainty(found("a", [], NAMES)) == 0.0


def test_a_slider_reaches_the_best_score() -> None:
    assert [scale_end(best) for best in (0.0, 0.6, 1.0, 0.5)] == [1.0, 1.0, 1.0, 0.5]
    assert scale_end(0.42) == pytest.approx(0.5)
    assert scale_end(0.0031) == pytest.approx(0.004)


def test_photos_of_the_truth_are_found_by_name_and_number(
    make_run: MakeRun, truth: GroundTruth
) -> None:
    run = make_run([RIGHT], [PART], disagreement={"photo1": 0.4})
    ids = ("a/photo0.jpg", "000007.jpg")
    renamed = [found(i, [RIGHT], NAMES) for i in ids]
    photos = tuple(replace(p, detections=d) for p, d in zip(run.photos, renamed, strict=True))
    run = replace(run, photos=photos)
    other = type(truth)(**{**vars(truth), "image_ids": ("photo0", "7", "photo2")})
    (run,), common = common_photos([run], other)
    assert [photo.id for photo in run.photos] == ["photo0", "7"]
    assert [photo.disagreement for photo in run.photos] == [None, 0.4]
    assert common is not None
    assert common.image_ids == ("photo0", "7")


def test_nothing_in_common_is_one_sentence(make_run: MakeRun, truth: GroundTruth) -> None:
    run = make_run([RIGHT])
    stranger = type(truth)(**{**vars(truth), "image_ids": ("x", "y", "z")})
    with pytest.raises(InputError, match="no photo in common"):
        common_photos([run], stranger)


def test_runs_of_one_name_are_numbered(make_run: MakeRun) -> None:
    runs, _ = common_photos([make_run([RIGHT], []), make_run([PART])], None)
    assert [run.name for run in runs] == ["run (1)", "run (2)"]
    assert [len(run.photos) for run in runs] == [1, 1]
