import os
import pickle
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tag2box.errors import InputError
from tag2box.proposals.npz import write_npz
from tag2box.proposals.protocol import Proposals
from tag2box.proposals.sources import UnreadablePhoto, source_named
from tag2box.proposals.supply import ComputedSupply, default_cache, open_supply, store_folder
from tag2box.recipe import ProposalSettings
from tag2box.structures import TaggedImage


@pytest.fixture
def images(photos: list[Path]) -> list[TaggedImage]:
    return [TaggedImage(path.stem, path, frozenset()) for path in photos]


@pytest.fixture
def settings(tmp_path: Path, source_module: str) -> ProposalSettings:
    return ProposalSettings(source=f"{source_module}:propose", cache=tmp_path / "cache")


def test_the_same_boxes_computed_now_or_before(
    images: list[TaggedImage], settings: ProposalSettings
) -> None:
    now = [open_supply(settings).get(image).boxes for image in images]
    before = open_supply(replace(settings, cache=settings.cache / "other"))  # type: ignore[operator]
    assert before.fill(images, progress=False) == 5
    for image, boxes in zip(images, now, strict=True):
        np.testing.assert_array_equal(before.get(image).boxes, boxes)
    assert now[0].tolist()[1] == [0, 0, 30, 20]


def test_clean_up_needs_no_computing(images: list[TaggedImage], settings: ProposalSettings) -> None:
    open_supply(settings).fill(images, progress=False)
    supply = open_supply(replace(settings, maximum_count=1))
    assert supply.fill(images, progress=False) == 0
    assert len(supply.get(images[0])) == 1


def test_settings_that_change_boxes_have_their_own_store(
    images: list[TaggedImage], settings: ProposalSettings
) -> None:
    cache = settings.cache
    assert cache is not None
    open_supply(settings).get(images[0])
    module = Path("my_boxes.py")
    module.write_text(module.read_text().replace("7.5", "8.5"))
    done = subprocess.run(  # a module is imported once a process
        [sys.executable, "-c", ASK, settings.source, str(cache), str(images[0].path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "8.5" in done.stdout
    assert len(list(cache.iterdir())) == 2


ASK = """
import sys
from pathlib import Path
from tag2box.proposals.supply import open_supply
from tag2box.recipe import ProposalSettings
from tag2box.structures import TaggedImage
supply = open_supply(ProposalSettings(source=sys.argv[1], cache=Path(sys.argv[2])))
print(supply.get(TaggedImage("a", Path(sys.argv[3]), frozenset())).boxes.tolist())
"""


def test_a_damaged_entry_is_computed_again(
    images: list[TaggedImage], settings: ProposalSettings
) -> None:
    supply = open_supply(settings)
    expected = supply.get(images[0]).boxes
    assert isinstance(supply, ComputedSupply)
    for path in supply.store.folder.glob("*.boxes"):
        path.write_bytes(b"\xff" * path.stat().st_size)
    again = open_supply(settings)
    np.testing.assert_array_equal(again.get(images[0]).boxes, expected)


def test_training_goes_on_while_the_rest_is_filled(
    images: list[TaggedImage], settings: ProposalSettings
) -> None:
    slow = replace(settings, source=settings.source.replace("propose", "slow"), processes=1)
    supply = open_supply(slow)
    with supply.filling(images) as filler:
        assert filler is not None
        asked = [supply.get(image).boxes for image in reversed(images)]
        deadline = time.monotonic() + 30
        while filler.running and time.monotonic() < deadline:
            filler.wait(0.1)
    assert len(asked) == 6
    assert open_supply(slow).fill(images, progress=False) == 0


def test_a_function_given_in_python(images: list[TaggedImage], tmp_path: Path) -> None:
    calls: list[Any] = []

    def propose(image: np.ndarray) -> list[list[int]]:
        calls.append(image)
        return [[0, 0, 5, 5]]

    supply = open_supply(ProposalSettings(cache=tmp_path / "cache"), function=propose)
    with supply.filling(images):
        assert len(calls) == 5  # before training begins
        assert supply.get(images[0]).boxes.tolist() == [[0, 0, 5, 5]]
    assert len(calls) == 5
    assert not (tmp_path / "cache").exists()


def test_a_supply_travels_to_a_loader_process(
    images: list[TaggedImage], settings: ProposalSettings
) -> None:
    supply = open_supply(settings)
    supply.get(images[0])
    travelled = pickle.loads(pickle.dumps(supply))
    np.testing.assert_array_equal(travelled.get(images[0]).boxes, supply.get(images[0]).boxes)


def test_photos_at_fault(images: list[TaggedImage], settings: ProposalSettings) -> None:
    images[0].path.unlink()
    images[1].path.write_bytes(b"no photo")
    write_npz(Path("a.npz"), [i.id for i in images], [Proposals(np.ones((1, 4), "f4"))] * 6)
    for chosen in (settings, replace(settings, source="file:a.npz")):
        for image in images[:2]:
            with pytest.raises(UnreadablePhoto):
                open_supply(chosen).get(image)


def test_a_file_is_checked_before_and_while_it_is_used(
    images: list[TaggedImage], settings: ProposalSettings
) -> None:
    far = Proposals(np.array([[500, 500, 600, 600]], np.float32))
    write_npz(Path("a.npz"), [image.id for image in images[:5]], [far] * 5)
    supply = open_supply(replace(settings, source="file:a.npz"))
    assert supply.fill(images[:5]) == 0
    with pytest.raises(InputError, match="has no boxes for 1 of 6 photos"):
        supply.fill(images)
    with pytest.raises(InputError), supply.filling(images):
        pass
    with pytest.raises(InputError, match=r"a\.npz \(photo 0 ü\).*30 x 20 pixels"):
        supply.get(images[0])


def test_proposals_are_in_the_frame_a_viewer_shows(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (40, 20)).save(tmp_path / "a.jpg", exif=exif)
    write_npz(tmp_path / "a.npz", ["a"], [Proposals(np.array([[0, 0, 99, 99]], "f4"))])
    image = TaggedImage("a", tmp_path / "a.jpg", frozenset())
    supply = open_supply(ProposalSettings(source=f"file:{tmp_path / 'a.npz'}"))
    assert supply.get(image).boxes.tolist() == [[0, 0, 20, 40]]


def test_names_of_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "tag2box" / "proposals"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache() == tmp_path / ".cache" / "tag2box" / "proposals"
    folder = store_folder(source_named("selective-search", mode="fast", seed=0), tmp_path)
    assert folder.parent == tmp_path
    assert folder.name.startswith("selective-search-")
    assert os.sep not in folder.name


@pytest.mark.parametrize(
    "change",
    [
        {"random_share": 0.0},
        {"random_share": 1.5},
        {"minimum_side": -1.0},
        {"minimum_side": float("nan")},
        {"maximum_count": -1},
        {"processes": -2},
    ],
)
def test_impossible_settings(change: dict[str, Any]) -> None:
    (name,) = change
    with pytest.raises(InputError, match=f"proposals.{name}: is "):
        open_supply(ProposalSettings(**change))
