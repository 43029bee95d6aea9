import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.scored_data import Case, make_case
from tag2box.errors import InputError
from tag2box.evaluation.detection_table import DetectionTable, tabulate
from tag2box.evaluation.detections_file import read_results, write_results
from tag2box.evaluation.ground_truth import GroundTruth

TRUTH = replace(
    make_case(0, images=3).truth,
    image_ids=("7", "2008_000002", "val/photo.jpg"),
    category_ids=(1, 17, 90),
)


def results_file(folder: Path, *rows: dict[str, Any], text: str | None = None) -> Path:
    path = folder / "results.json"
    path.write_text(json.dumps(rows) if text is None else text)
    return path


def row(**changes: Any) -> dict[str, Any]:
    return {"image_id": 7, "category_id": 17, "bbox": [1, 2, 3, 4], "score": 0.5} | changes


def test_round_trip(tmp_path: Path, case: Case) -> None:
    truth = replace(case.truth, category_ids=(1, 17, 90))
    path = tmp_path / "results.json"
    write_results(path, case.found, numbers=truth.numbers())
    expected, table = tabulate(truth, case.found), read_results(path, truth)
    for column in ("images", "boxes", "scores", "classes"):
        np.testing.assert_array_equal(getattr(table, column), getattr(expected, column))


def test_without_category_ids_the_classes_are_counted_from_one(tmp_path: Path, case: Case) -> None:
    path = tmp_path / "results.json"
    write_results(path, case.found)
    numbers = {entry["category_id"] for entry in json.loads(path.read_text())}
    assert numbers <= {1, 2, 3}
    table = read_results(path, case.truth)
    np.testing.assert_array_equal(table.classes, tabulate(case.truth, case.found).classes)


def test_plain_numbers_are_written_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    found = make_case(1, images=1).found[0]
    for image_id, written in (("139", 139), ("000005", "000005"), ("a", "a"), ("-1", "-1")):
        write_results(path, [replace(found, image_id=image_id)])
        assert json.loads(path.read_text())[0]["image_id"] == written


@pytest.mark.parametrize(
    ("image_id", "index"),
    [
        (7, 0),
        ("7", 0),
        ("2008_000002", 1),
        (2008000002, 1),
        ("val/photo.jpg", 2),
        ("photo.jpg", 2),
        ("photo", 2),
    ],
)
def test_an_image_answers_to_its_number_and_its_name(
    tmp_path: Path, image_id: int | str, index: int
) -> None:
    table = read_results(results_file(tmp_path, row(image_id=image_id)), TRUTH)
    assert table.images.tolist() == [index]
    np.testing.assert_array_equal(table.boxes, [[1, 2, 4, 6]])


@pytest.mark.parametrize("image_id", ["2008_000002.jpg", "JPEGImages/2008_000002.JPG"])
def test_an_image_without_a_suffix_answers_to_its_file(tmp_path: Path, image_id: str) -> None:
    truth = replace(TRUTH, image_ids=("7", "2008_000002", "2008_000003"))
    table = read_results(results_file(tmp_path, row(image_id=image_id)), truth)
    assert table.images.tolist() == [1]


def test_a_whole_number_may_be_written_as_a_float(tmp_path: Path) -> None:
    table = read_results(results_file(tmp_path, row(image_id=7.0, category_id=90.0)), TRUTH)
    assert (table.images.tolist(), table.classes.tolist()) == ([0], [2])


def test_a_name_that_two_images_have_is_unknown(tmp_path: Path) -> None:
    truth = replace(TRUTH, image_ids=("a/1.jpg", "b/1.jpg", "1"))
    assert read_results(results_file(tmp_path, row(image_id=1)), truth).images.tolist() == [2]
    with pytest.raises(InputError, match=r"'1\.jpg' is not in the ground truth"):
        read_results(results_file(tmp_path, row(image_id="1.jpg")), truth)


def test_a_class_answers_to_its_number_and_its_name(tmp_path: Path) -> None:
    file = results_file(tmp_path, row(category_id=90), row(category_id="cat"))
    assert read_results(file, TRUTH).classes.tolist() == [2, 0]


def test_no_results_and_further_keys_are_legal(tmp_path: Path) -> None:
    assert len(read_results(results_file(tmp_path), TRUTH)) == 0
    assert len(read_results(results_file(tmp_path, row(segmentation=[], area=3)), TRUTH)) == 1
    assert len(read_results(results_file(tmp_path, text="\ufeff[]"), TRUTH)) == 0


def test_other_images_can_be_skipped(tmp_path: Path) -> None:
    file = results_file(tmp_path, row(image_id=8), row(score=0.25))
    assert read_results(file, TRUTH, other_images="skip").scores.tolist() == [0.25]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (row(image_id=8), "result [1]: the image_id 8 is not in the ground truth; name an image"),
        (row(image_id=None), "result [1].image_id: Expected `int | float | str`, got `null` in {"),
        (row(category_id=3), "result [1]: the category_id 3 is unknown; the classes are 1 cat, 17"),
        (row(category_id="yeti"), "result [1]: the category_id 'yeti' is unknown"),
        (row(bbox=[1, 2, -3, 4]), "result [1]: the bbox (1.0, 2.0, -3.0, 4.0) has a negative size"),
        (row(bbox=[1e308, 2, 1e308, 4]), "is outside any image"),
        (row(bbox=[1, 2, 3]), "result [1].bbox: Expected `array` of length 4"),
        (row(bbox=[1, 2, 3, float("nan")]), "result [1].bbox: [1, 2, 3, nan] is not finite"),
        (row(score=float("-inf")), "result [1].score: -inf is not finite; write finite numbers"),
        (row(score="high"), "result [1].score: Expected `float`, got `str` in {"),
        ({"image_id": 7}, "missing required field `category_id`"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, bad: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_results(results_file(tmp_path, row(), bad), TRUTH)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("[{", "is not JSON"),
        ('{"annotations": []}', "Expected `array`, got `object`; give a list of {image_id"),
        ("[1e400]", "result [0]: Number out of range"),
        ('[{"x": 1e400}]', "missing required field"),
        ("[" * 100_000, "result [0]: Expected `object`, got `array`; give a list"),
        ('[{"x": ' + "[" * 100_000, "is nested too deeply"),
        ("[NaN", "is not JSON"),
    ],
)
def test_a_file_that_is_no_results_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_results(results_file(tmp_path, text=text), TRUTH)
    assert message in str(caught.value)


def test_a_file_that_is_not_there_or_not_utf8(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_results(tmp_path / "no.json", TRUTH)
    path = tmp_path / "results.json"
    path.write_bytes(json.dumps([row(image_id="X")]).encode().replace(b"X", b"\xff"))
    with pytest.raises(InputError, match="is not JSON"):
        read_results(path, TRUTH)


GOOD = json.dumps([row(), row(image_id="2008_000002", score=1e-3), row(category_id="cow")])


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_an_input_error_or_a_right_table(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = bytearray(GOOD.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 20)))
        junk = st.one_of(
            st.binary(max_size=4),
            st.sampled_from([b"NaN", b"1e400", b"-5", b"null", b"[[[[", b'"7"', b"0.0"]),
        )
        text[start:end] = data.draw(junk)
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_bytes(bytes(text))
    with contextlib.suppress(InputError):
        assert_right(read_results(path, TRUTH), TRUTH)


def assert_right(table: DetectionTable, truth: GroundTruth) -> None:
    assert np.isfinite(table.boxes).all()
    assert np.isfinite(table.scores).all()
    assert (table.boxes[:, 2:] >= table.boxes[:, :2]).all()
    assert set(table.images) <= set(range(len(truth)))
    assert set(table.classes) <= set(range(len(truth.class_names)))
