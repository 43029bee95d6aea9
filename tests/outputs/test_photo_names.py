from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tag2box.outputs.photo_names import file_names, flat_names


def test_ids_that_are_names_are_taken_else_the_path_below_the_common_folder() -> None:
    paths = [Path("/d/photos/train/a.jpg"), Path("/d/photos/val/a.jpg")]
    assert file_names(["train/a.jpg", "val/a.jpg"], paths) == ["train/a.jpg", "val/a.jpg"]
    assert file_names(["1", "2"], paths) == ["train/a.jpg", "val/a.jpg"]
    assert file_names(["a"], [Path("/d/photos/train/a.jpg")]) == ["a.jpg"]
    assert file_names([], []) == []


def test_flat_names() -> None:
    assert flat_names(["a.jpg", "x/b.jpg"]) == ["a.jpg", "b.jpg"]
    assert flat_names(["x/a.jpg", "y/a.jpg"]) == ["x_a.jpg", "y_a.jpg"]
    assert flat_names(["a.jpg", "a.png"]) == ["a.jpg", "a-2.png"]
    assert flat_names(["x/a.jpg", "y/a.jpg", "x_a.jpg"]) == ["x_a.jpg", "y_a.jpg", "x_a-2.jpg"]
    assert flat_names(["A.jpg", "b/a.jpg"]) == ["A.jpg", "b_a.jpg"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.from_regex(r"([ab_]{1,2}/){0,2}[abA-]{1,2}(-2)?\.(jpg|png)", fullmatch=True)))
def test_flat_names_never_clash(names: list[str]) -> None:
    flat = flat_names(names)
    stems = [Path(name).stem.lower() for name in flat]
    assert len(set(stems)) == len(names)
    assert all("/" not in name for name in flat)
    assert [Path(name).suffix for name in flat] == [Path(name).suffix for name in names]
