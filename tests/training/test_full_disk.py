"""A disk that fills up: one sentence, nothing lost, and the run goes on to the same bits."""

import dataclasses
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from resume import FixedSupply, equal, make_photos, tiny_recipe
from tag2box.errors import InputError
from tag2box.structures import Dataset
from tag2box.training import checkpoint, run

pytestmark = pytest.mark.filterwarnings("ignore:weights none")


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """Writes beyond fail as they do when the disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def train(dataset: Dataset, folder: Path, steps: int) -> checkpoint.Checkpoint:
    plain = tiny_recipe(folder.parent)
    training = dataclasses.replace(plain.training, steps=steps)
    recipe = dataclasses.replace(plain, training=training)
    run.train(dataset, recipe, folder, FixedSupply())
    newest = checkpoint.load_newest(folder)
    assert newest is not None
    return newest


@pytest.mark.parametrize(("size", "name"), [(60_000, "checkpoint of step 4"), (900, "metrics")])
def test_a_full_disk_is_a_sentence_and_the_run_goes_on(
    tmp_path: Path, size: int, name: str
) -> None:
    dataset = make_photos(tmp_path / "photos")
    whole = train(dataset, tmp_path / "whole", 4)
    train(dataset, tmp_path / "broken", 2)
    with no_file_longer_than(size), pytest.raises(InputError, match=f"{name}.* cannot be written"):
        train(dataset, tmp_path / "broken", 4)
    left = checkpoint.load_newest(tmp_path / "broken")
    assert left is not None
    assert left.step == 2
    after = train(dataset, tmp_path / "broken", 4)
    assert equal(dict(whole.weights), dict(after.weights))
    assert equal(whole.state["optimizers"], after.state["optimizers"])
