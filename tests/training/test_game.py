"""Eq. 5: one step lowers the loss for the detector and raises it for Concrete DropBlock."""

import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from resume import FixedSupply, make_photos, tiny_recipe
from tag2box.models import concrete_dropblock
from tag2box.models.build import detector_from
from tag2box.training.distributed import Processes
from tag2box.training.game import Game, finite, holding_still
from tag2box.training.players import build_game
from tag2box.training.run import build_samples
from tag2box.training.samples import Sample

ALONE = Processes(rank=0, count=1, device=torch.device("cpu"))


@pytest.fixture
def game(tmp_path: Path) -> Game:
    return make_game(tmp_path, students=3)


def make_game(folder: Path, students: int) -> Game:
    """In float64, with heads that already tell regions apart."""
    recipe = tiny_recipe(folder)
    recipe = replace(recipe, model=replace(recipe.model, students=students))
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = detector_from(recipe.model, recipe.dropout, num_classes=2)
    for parameter in detector.heads.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    for parameter in detector.neck.neck.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    detector.double().train()
    return build_game(detector, recipe, ALONE)


@pytest.fixture
def samples(tmp_path: Path) -> list[Sample]:
    dataset = make_photos(tmp_path / "photos")
    made = build_samples(dataset, tiny_recipe(tmp_path), None, FixedSupply())
    batch = [made[i] for i in range(2)]
    return [_double(sample) for sample in batch]


def _double(sample: Sample) -> Sample:
    assert sample.image is not None
    return Sample(**{**vars(sample), "image": sample.image.double()})


def loss(game: Game, samples: list[Sample], turn: int = 0) -> float:
    terms = [term for sample in samples for term in game.objective(sample, turn).values()]
    return torch.stack(terms).sum().item() / len(samples)


@pytest.fixture(autouse=True)
def normalised_in_double(monkeypatch: pytest.MonkeyPatch) -> None:
    from tag2box.models.pixels import PixelStatistics

    normalise = PixelStatistics.normalise
    monkeypatch.setattr(
        PixelStatistics, "normalise", lambda self, image: normalise(self, image).double()
    )


def slope(
    game: Game, samples: list[Sample], parameters: list[Tensor], along: list[Tensor]
) -> float:
    """Change of the loss per unit along a direction, by central differences."""
    width = 1e-6
    values = []
    for sign in (1, -1):
        for parameter, direction in zip(parameters, along, strict=True):
            parameter.data.add_(direction, alpha=sign * width)
        values.append(loss(game, samples))
        for parameter, direction in zip(parameters, along, strict=True):
            parameter.data.add_(direction, alpha=-sign * width)
    return (values[0] - values[1]) / (2 * width)


@pytest.mark.parametrize(("side", "sign"), [(0, -1), (1, 1)])
def test_a_step_goes_down_for_the_detector_and_up_for_its_adversary(
    samples: list[Sample], side: int, sign: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Finite differences along the step each player takes.

    The hard mask is put aside for its relaxation, whose gradient the adversary is given; and the
    students are left out, because their lessons follow the scores without a gradient.
    """
    game = make_game(tmp_path / "game", students=0)

    class Relaxed:
        @staticmethod
        def apply(hard: Tensor, relaxed: Tensor) -> Tensor:  # noqa: ARG004
            return relaxed

    monkeypatch.setattr(concrete_dropblock, "_StraightThrough", Relaxed)
    player = game.players[side]
    before = [p.detach().clone() for p in player.parameters]
    game.gather(samples, game.players)
    gradient = [p.grad.clone() for p in player.parameters if p.grad is not None]
    for group in player.optimizer.param_groups:
        group["weight_decay"] = 0.0
    player.move(200)
    taken = [p.detach() - old for p, old in zip(player.parameters, before, strict=True)]
    for parameter, old in zip(player.parameters, before, strict=True):
        parameter.data.copy_(old)
    length = torch.stack([step.square().sum() for step in taken]).sum().sqrt()
    assert length > 0
    along = [step / length for step in taken]
    measured = slope(game, samples, player.parameters, along)
    expected = sum(float((g * d).sum()) for g, d in zip(gradient, along, strict=True))
    assert measured * sign > 0
    assert measured == pytest.approx(expected, rel=1e-3)


def test_one_pass_gives_the_adversary_the_gradient_of_a_pass_of_its_own(
    game: Game, samples: list[Sample]
) -> None:
    learner, adversary = game.players
    game.gather(samples, game.players)
    together = [g.clone() for g in adversary.gradients()]
    assert any(g.abs().max() > 0 for g in together)
    with holding_still([learner]):
        game.gather(samples, (adversary,))
    for one, other in zip(together, adversary.gradients(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-14)


def test_in_turns_the_second_player_meets_a_detector_that_has_moved(
    game: Game, samples: list[Sample]
) -> None:
    in_turns = Game(game.objective, game.players, ALONE, game.images_per_step, in_turns=True)
    learner, adversary = game.players
    before = [[p.detach().clone() for p in player.parameters] for player in game.players]
    losses = in_turns.step(samples, 200)
    assert sum(losses.values()) > 0
    for player, old in zip(game.players, before, strict=True):
        assert any(not torch.equal(p, o) for p, o in zip(player.parameters, old, strict=True))
    assert all(p.requires_grad for player in game.players for p in player.parameters)
    used = [gradient / adversary.direction for gradient in adversary.gradients()]
    for parameter, old in zip(adversary.parameters, before[1], strict=True):
        parameter.data.copy_(old)
    with holding_still([learner]):
        game.gather(samples, (adversary,), turn=1)  # on the detector that has moved
    for one, other in zip(used, adversary.gradients(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-14)


def test_another_turn_meets_other_noise(game: Game, samples: list[Sample]) -> None:
    assert loss(game, samples) == loss(game, samples)
    assert loss(game, samples) != loss(game, samples, turn=1)


def test_a_loss_that_is_not_finite_moves_nobody(game: Game, samples: list[Sample]) -> None:
    game.objective.detector.heads.classes.weight.data[0, 0] = float("nan")
    before = [p.detach().clone() for player in game.players for p in player.parameters]
    assert not finite(game.step(samples, 0))
    after = [p for player in game.players for p in player.parameters]
    for one, other in zip(before, after, strict=True):
        torch.testing.assert_close(one, other.detach(), rtol=0, atol=0, equal_nan=True)


def test_losses_are_the_mean_over_the_photos(game: Game, samples: list[Sample]) -> None:
    both = game.gather(samples, game.players)
    each = [game.objective(sample) for sample in samples]
    for name, value in both.items():
        assert value == pytest.approx(sum(terms[name].item() for terms in each) / 2)
