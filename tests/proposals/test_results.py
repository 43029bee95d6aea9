import json
from pathlib import Path

import pytest

from tag2box.errors import InputError
from tag2box.proposals.results import read_results


def test_boxes_are_gathered_by_photo_best_first(tmp_path: Path) -> None:
    results = [
        {"image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.25},
        {"image_id": "b", "bbox": [0.5, 0, 1, 1.5]},
        {"image_id": 7, "category_id": 2, "bbox": [0, 0, 5, 5], "score": 0.5, "area": 25},
        {"image_id": "b", "bbox": [0, 0, 2, 2], "score": 0.5},
    ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(results))
    listing = read_results(path)
    assert listing.names == ["7", "b"]
    first, second = listing.proposals(0), listing.proposals(1)
    assert first.boxes.tolist() == [[0, 0, 5, 5], [1, 2, 4, 6]]
    assert first.scores is not None
    assert first.scores.tolist() == [0.5, 0.25]
    assert second.boxes.tolist() == [[0.5, 0, 1.5, 1.5], [0, 0, 2, 2]]
    assert second.scores is None  # one box has none


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '[{"image_id": 1}]',
        '[{"image_id": 1, "bbox": [1, 2, 3]}]',
        '[{"image_id": 1, "bbox": [1, 2, 3, "4"]}]',
        '[{"image_id": 1, "bbox": [1, 2, 3, NaN]}]',
        '[{"image_id": null, "bbox": [1, 2, 3, 4]}]',
        "[" * 100_000,
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ],
)
def test_what_is_no_results_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match="is no COCO results file"):
        read_results(tmp_path / "a.json")
