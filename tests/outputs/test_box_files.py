from pathlib import Path

import pytest

from oracle.found_boxes import NAMES, found_on_disk
from tag2box.errors import InputError
from tag2box.outputs.box_files import FORMATS, check_formats, write_boxes
from tag2box.structures import TaggedImage


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_said_to_be_written_is_there(tmp_path: Path, name: str) -> None:
    photos = found_on_disk(tmp_path / "p", "a.png", "b/a.png")
    for _ in range(2):  # a second time in place of the first
        files = write_boxes(name, tmp_path / "out", photos, NAMES, model_version="m")
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
            file.name for file in files
        )


@pytest.mark.parametrize("bad", ["a\nb", "half\udcff", " cat"])
@pytest.mark.parametrize("name", FORMATS)
def test_what_would_fail_at_the_end_is_said_at_the_beginning(
    tmp_path: Path, name: str, bad: str
) -> None:
    """The check before the work and the writer after it say the same, of classes and of photos."""

    def refused(photo: str, names: tuple[str, ...]) -> tuple[bool, bool]:
        try:
            found = found_on_disk(tmp_path / "p", photo, names=names)
        except UnicodeEncodeError:
            pytest.skip("this disk cannot hold the name")
        images = [TaggedImage(one.id, one.path, frozenset()) for one in found]
        outcomes = []
        for attempt in (
            lambda: check_formats([name], images, names),
            lambda: write_boxes(name, tmp_path / "out", found, names, model_version="m"),
        ):
            try:
                attempt()
                outcomes.append(False)
            except InputError:
                outcomes.append(True)
        return outcomes[0], outcomes[1]

    before, after = refused("a.png", (*NAMES[:2], bad))
    assert before == after
    before, after = refused(f"{bad}.png", NAMES)
    assert before == after


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(InputError, match=r"'pdf' is not a format; use some of coco, voc"):
        check_formats(["coco", "pdf"], [], NAMES)
