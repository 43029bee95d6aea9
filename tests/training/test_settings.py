"""Settings of training that must do what they say."""

import dataclasses
import json
import math
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch

from resume import FixedSupply, equal, make_photos, tiny_recipe
from tag2box.errors import InputError
from tag2box.models.backbone import Base
from tag2box.models.necks import ConvolutionalNeck
from tag2box.recipe import DropoutSettings, ModelSettings
from tag2box.structures import Dataset
from tag2box.training import checkpoint, run
from tag2box.training.metrics import read_metrics

pytestmark = pytest.mark.filterwarnings("ignore:weights none")


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return make_photos(tmp_path / "photos")


def trained(
    dataset: Dataset,
    folder: Path,
    model: dict[str, Any] | None = None,
    dropout: str = "concrete",
    **changes: Any,
) -> dict[str, torch.Tensor]:
    plain = tiny_recipe(folder.parent)
    settings = {"steps": 3, "checkpoint_every": 3, **changes}
    recipe = dataclasses.replace(
        plain,
        training=dataclasses.replace(plain.training, **settings),
        model=dataclasses.replace(plain.model, **(model or {})),
        dropout=DropoutSettings(kind=dropout),
    )
    run.train(dataset, recipe, folder, FixedSupply())
    newest = checkpoint.load_newest(folder)
    assert newest is not None
    return dict(newest.weights)


def distance(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    """Largest difference of a tensor over its largest number."""
    floats = [name for name, value in one.items() if value.is_floating_point()]
    return max(
        float((one[n] - other[n]).abs().max() / one[n].abs().max().clamp(min=1e-3)) for n in floats
    )


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Shapes of the images that a base was evaluated on."""
    seen: list[tuple[int, ...]] = []
    forward = Base.forward

    def counted(self: Base, image: torch.Tensor) -> torch.Tensor:
        seen.append(tuple(image.shape))
        return forward(self, image)

    monkeypatch.setattr(Base, "forward", counted)
    return seen


def test_recomputing_the_base_evaluates_it_twice_and_changes_nothing(
    dataset: Dataset, tmp_path: Path, looks: list[tuple[int, ...]]
) -> None:
    plain = trained(dataset, tmp_path / "plain")
    once = len(looks)
    assert equal(plain, trained(dataset, tmp_path / "again", recompute_base=True))
    assert len(looks) == 2 * once + 6  # three steps of two photos


def test_bfloat16_computes_nearly_the_same(dataset: Dataset, tmp_path: Path) -> None:
    """Of the first step only: pseudo boxes are chosen, and a choice may fall otherwise."""
    exact = trained(dataset, tmp_path / "float32")
    rough = trained(dataset, tmp_path / "bfloat16", precision="bfloat16")
    assert distance(exact, rough) > 0
    assert all(value.dtype != torch.bfloat16 for value in rough.values())
    lines = [read_metrics(tmp_path / name) for name in ("float32", "bfloat16")]
    assert lines[0][0]["loss_img"] == pytest.approx(lines[1][0]["loss_img"], rel=0.02)
    assert all(math.isfinite(line["loss"]) for line in lines[1])


@pytest.mark.slow
def test_compiled_learns_the_same(dataset: Dataset, tmp_path: Path) -> None:
    plain = trained(dataset, tmp_path / "plain", short_sides=(64,))
    torch._dynamo.utils.counters.clear()
    fast = trained(dataset, tmp_path / "compiled", short_sides=(64,), compile=True)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] > 0
    assert distance(plain, fast) < 1e-3


def test_tensorboard_is_told_when_it_is_installed(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, float, int]] = []

    class SummaryWriter:
        def __init__(self, folder: Path, purge_step: int) -> None:
            assert folder == tmp_path / "run" / "tensorboard"
            assert purge_step == 1

        def add_scalar(self, name: str, value: float, step: int) -> None:
            told.append((name, value, step))

        def close(self) -> None:
            told.append(("closed", 0.0, 0))

    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    trained(dataset, tmp_path / "run")
    lines = [json.loads(text) for text in (tmp_path / "run/metrics.jsonl").open()]
    expected = [(k, v, line["step"]) for line in lines for k, v in line.items() if k != "step"]
    assert told == [*expected, ("closed", 0.0, 0)]
    assert {"loss_img", "images_per_second", "waited"} < {name for name, _, _ in told}


FROZEN = dataclasses.asdict(ModelSettings(neck="fully-connected", neck_width=8, frozen_stages=7))


def test_a_frozen_base_looks_at_each_view_once(
    dataset: Dataset, tmp_path: Path, looks: list[tuple[int, ...]]
) -> None:
    settings = {"steps": 9, "checkpoint_every": 9, "mirror": False, "short_sides": (48,)}
    first = trained(dataset, tmp_path / "first", FROZEN, **settings)
    assert len(looks) == len(dataset)  # of 18 views
    again = trained(dataset, tmp_path / "again", FROZEN, **settings)
    assert len(looks) == len(dataset)
    assert equal(first, again)
    other = {**settings, "long_side": 60}
    trained(dataset, tmp_path / "other", FROZEN, **{**other, "steps": 3})
    assert len(looks) == 2 * len(dataset)


def test_where_the_neck_is_frozen_too_the_features_of_regions_are_cached(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated: list[tuple[int, ...]] = []
    forward = ConvolutionalNeck.forward

    def counted(self: ConvolutionalNeck, pooled: torch.Tensor, noise: Any) -> torch.Tensor:
        evaluated.append(tuple(pooled.shape))
        return forward(self, pooled, noise)

    monkeypatch.setattr(ConvolutionalNeck, "forward", counted)
    model = dataclasses.asdict(ModelSettings(frozen_stages=5, frozen_neck=True))
    settings = {"mirror": False, "short_sides": (48,), "regions_per_batch": 12}
    before = trained(dataset, tmp_path / "first", model, "none", **settings, steps=1)
    after = trained(dataset, tmp_path / "second", model, "none", **settings, steps=9)
    assert len(evaluated) == len(dataset)  # of 18 views
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved
    assert all(name.startswith("heads") for name in moved)


@pytest.mark.parametrize(
    ("name", "number"),
    [("images_per_step", 0), ("short_sides", ()), ("regions_per_batch", 0), ("log_every", 0)],
)
def test_impossible_numbers_are_named(
    dataset: Dataset, tmp_path: Path, name: str, number: object
) -> None:
    with pytest.raises(InputError, match=rf"training\.{name}: is 0; give at least 1"):
        trained(dataset, tmp_path / "run", **{name: number})


def test_a_full_feature_cache_is_left_as_it_is(dataset: Dataset, tmp_path: Path) -> None:
    settings = {"mirror": False, "short_sides": (48,), "steps": 6, "checkpoint_every": 6}
    tiny = 1e-6  # a kilobyte: full after the first photo
    with pytest.warns(UserWarning, match="features is full"):
        full = trained(dataset, tmp_path / "tiny", FROZEN, feature_cache_gigabytes=tiny, **settings)
    kept = sum(path.stat().st_size for path in (tmp_path / "features").glob("*.boxes"))
    assert 0 < kept < 50_000
    none = tmp_path / "none"
    uncached = trained(dataset, none, FROZEN, feature_cache_gigabytes=0.0, **settings)
    assert equal(full, uncached)  # a run may go on with another bound
    assert sum(path.stat().st_size for path in (tmp_path / "features").glob("*.boxes")) == kept
