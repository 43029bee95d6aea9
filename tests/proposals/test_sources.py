import functools
import importlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from tag2box.errors import InputError
from tag2box.proposals import sources
from tag2box.proposals.packing import unpack
from tag2box.proposals.protocol import Proposals
from tag2box.proposals.sources import UnreadablePhoto, source_from, source_named


def module_level(image: np.ndarray) -> list[list[int]]:
    return [[0, 0, *image.shape[1::-1]]]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "is not a source"),
        ("selective_search", "use one of selective-search, edges, grid"),
        ("module:", "is not a source"),
        (":function", "is not a source"),
        ("a b:function", "is not a source"),
        ("module:function()", "is not a source"),
        ("../module:function", "is not a source"),
        ("no_such_module:propose", "there is no module no_such_module"),
        ("json.no_such_part:propose", "there is no module"),
    ],
)
def test_a_wrong_name_is_one_sentence(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        source_named(name)


def test_settings_and_code_make_the_identity(source_module: str, tmp_path: Path) -> None:
    name = f"{source_module}:propose"
    first = source_named(name).identity
    assert source_named(name).identity == first
    assert source_named(name, more=1).identity != first
    with (tmp_path / "my_boxes.py").open("a") as file:
        file.write("# changed\n")
    assert source_named(name).identity == first  # the code this process has imported
    sources._digest.cache_clear()  # as a new process
    assert source_named(name).identity != first
    fast, quality = (source_named("selective-search", mode=m, seed=0) for m in ("fast", "quality"))
    assert fast.identity != quality.identity
    assert json.loads(fast.identity)[0] == "selective-search"


def test_a_user_s_module_is_not_imported_before_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "half_done.py").write_text("raise RuntimeError('not yet')\n")
    importlib.invalidate_caches()
    source = source_named("half_done:propose")
    with pytest.raises(InputError, match="RuntimeError: not yet"):
        _ = source.function


def test_a_function_that_can_be_imported_is_its_name() -> None:
    source = source_from(module_level)
    assert source.given is None
    assert source.name == f"{__name__}:module_level"


@pytest.mark.parametrize(
    "function", [lambda image: image, functools.partial(module_level), print.__call__]
)
def test_any_other_function_stays_here(function: object) -> None:
    source = source_from(function)  # type: ignore[arg-type]
    assert source.given is function


def test_answers_are_checked_and_packed(photos: list[Path], source_module: str) -> None:
    source = source_named(f"{source_module}:propose")
    packed = source.packed_boxes(photos[0], max_megapixels=1)
    proposals, width, height = unpack(packed)
    assert (width, height) == (30, 20)
    assert proposals.boxes[1].tolist() == [0, 0, 30, 20]
    assert proposals.scores is not None
    with pytest.raises(InputError, match=r"function:.*photo 0"):
        source_from(lambda _: [[5, 5, 1, 1]]).packed_boxes(photos[0], max_megapixels=1)


def test_who_is_at_fault(photos: list[Path], source_module: str) -> None:
    good, broken = (source_named(f"{source_module}:{name}") for name in ("propose", "broken"))
    with pytest.raises(UnreadablePhoto, match="megapixels"):
        good.packed_boxes(photos[0], max_megapixels=1e-6)
    with pytest.raises(InputError, match="KeyError") as caught:
        broken.packed_boxes(photos[0], max_megapixels=1)
    assert not isinstance(caught.value, UnreadablePhoto)


@pytest.mark.parametrize("name", sources.BUILT_IN)
def test_built_in_sources(name: str, photos: list[Path]) -> None:
    module, _, _ = sources.BUILT_IN[name]
    if importlib.util.find_spec(module) is None:
        pytest.skip("not there yet")
    settings = {"mode": "fast", "seed": 0} if name == "selective-search" else {}
    source = source_named(name, **settings)
    assert isinstance(source.function(np.zeros((9, 12, 3), np.uint8)), Proposals)
    assert len(unpack(source.packed_boxes(photos[1], max_megapixels=1))[0]) > 0
    assert os.getcwd()
