"""Sub-batches by free memory: within it, and never a matter of bits."""

import dataclasses
import math
import warnings
from pathlib import Path

import pytest
import torch

from resume import FixedSupply, equal, make_photos, tiny_recipe
from tag2box.models.necks import ConvolutionalNeck
from tag2box.models.regions import Regions, RoIMaxPool
from tag2box.training import checkpoint, memory, objective, run
from tag2box.training.memory import LARGEST_BATCH, SHARE, batch_for, bytes_per_region, kept_for


@pytest.mark.parametrize("free", [0, 1e6, 1e8, 1e9, 1e12])
@pytest.mark.parametrize("a_region", [1e3, 1e6])
def test_a_sub_batch_and_what_is_kept_fit_into_the_share(free: float, a_region: float) -> None:
    batch = batch_for(a_region, free)
    kept = kept_for(a_region, batch, free)
    assert 1 <= batch <= LARGEST_BATCH
    assert kept >= 0
    if batch > 1:
        assert (batch + kept) * a_region <= SHARE * free


def test_a_region_costs_what_its_layers_store() -> None:
    """Pooled 4 x 7 x 7, then a convolution to 6 x 7 x 7 whose ReLU is stored, and the indices."""
    neck = ConvolutionalNeck(torch.nn.Conv2d(4, 6, 1), torch.nn.ReLU())
    regions = Regions(RoIMaxPool(7, 8), neck).train()
    measured = bytes_per_region(regions, torch.randn(1, 4, 9, 9), torch.tensor([0.0, 0, 50, 50]))
    numbers = 4 * 49 + 6 * 49 + 4 * 49  # pooled, after ReLU, where each maximum was
    assert measured == pytest.approx(4 * numbers, rel=0.05)


@pytest.mark.parametrize(
    ("limit", "expected"), [("3000", 3000 - 1200 + 200), ("1000", 0), ("max", math.inf)]
)
def test_a_container_allows_what_its_programs_have_not_taken(
    tmp_path: Path, limit: str, expected: float
) -> None:
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text("1200\n")
    (tmp_path / "memory.stat").write_text("anon 900\ninactive_file 200\n")
    assert memory._left_to_container(tmp_path) == expected
    assert memory._left_to_container(tmp_path / "nowhere") == math.inf


def test_processes_on_one_cpu_share_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_left_to_container", lambda _folder: 8e6)
    assert memory.free_memory(torch.device("cpu")) == 8_000_000
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert memory.free_memory(torch.device("cpu")) == 2_000_000


def test_other_free_memory_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings.simplefilter("ignore")
    dataset = make_photos(tmp_path / "photos")
    plain = tiny_recipe(tmp_path)

    def train(name: str, steps: int, free: float) -> dict[str, torch.Tensor]:
        monkeypatch.setattr(objective, "free_memory", lambda _device: free)
        training = dataclasses.replace(plain.training, steps=steps, regions_per_batch="auto")
        recipe = dataclasses.replace(plain, training=training)
        run.train(dataset, recipe, tmp_path / name, FixedSupply())
        newest = checkpoint.load_newest(tmp_path / name)
        assert newest is not None
        chosen.extend(newest.state["regions_per_batch"])
        return dict(newest.weights)

    chosen: list[int] = []
    whole = train("whole", 4, free=1e6)
    train("broken", 2, free=1e6)
    assert equal(whole, train("broken", 4, free=1e9))
    assert equal(whole, train("broken again", 4, free=1e6))
    assert len(set(chosen)) == 1
    assert chosen[0] < 12  # regions of a photo
