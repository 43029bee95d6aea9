import pytest
import torch
from torch import nn

from tag2box.training.player import Player, player
from tag2box.training.schedule import constant, stepped


def make(layer: nn.Module, **changes: object) -> Player:
    settings = {
        "optimizer": "sgd",
        "learning_rate": 0.1,
        "bias_rate_factor": 2.0,
        "weight_decay": 0.5,
        "momentum": 0.0,
        "schedule": constant(),
    }
    return player(layer.named_parameters(), **(settings | changes))


def test_biases_move_twice_as_fast_and_do_not_decay() -> None:
    layer = nn.Linear(2, 3)
    before = {name: p.detach().clone() for name, p in layer.named_parameters()}
    side = make(layer)
    for parameter in layer.parameters():
        parameter.grad = torch.ones_like(parameter)
    side.move(0)
    torch.testing.assert_close(
        layer.weight.detach(), before["weight"] - 0.1 * (1 + 0.5 * before["weight"])
    )
    torch.testing.assert_close(layer.bias.detach(), before["bias"] - 0.2)


def test_adamw_moves_by_its_rate_whatever_the_size_of_the_gradient() -> None:
    layer = nn.Linear(2, 3)
    before = {name: p.detach().clone() for name, p in layer.named_parameters()}
    side = make(layer, optimizer="adamw", momentum=0.9)
    for size, parameter in zip((1e-3, 1e3), layer.parameters(), strict=True):
        parameter.grad = torch.full_like(parameter, size)
    side.move(0)
    torch.testing.assert_close(
        layer.weight.detach(), before["weight"] * (1 - 0.1 * 0.5) - 0.1, rtol=1e-4, atol=1e-4
    )
    torch.testing.assert_close(layer.bias.detach(), before["bias"] - 0.2, rtol=1e-4, atol=1e-4)


def test_the_schedule_moves_every_group() -> None:
    side = make(nn.Linear(2, 3), schedule=stepped((5,), 0.1))
    side.gradients()
    assert side.move(4) == 1
    assert side.move(5) == pytest.approx(0.1)
    assert [g["lr"] for g in side.optimizer.param_groups] == pytest.approx([0.01, 0.02])


def test_frozen_parameters_are_left_alone() -> None:
    layer = nn.Linear(2, 3)
    layer.weight.requires_grad_(False)
    assert [p.shape for p in make(layer).parameters] == [layer.bias.shape]


def test_clipping_bounds_the_step() -> None:
    layer = nn.Linear(2, 1, bias=False)
    before = layer.weight.detach().clone()
    side = make(layer, clip=1.0, weight_decay=0.0, learning_rate=1.0)
    layer.weight.grad = torch.full_like(layer.weight, 100.0)
    side.move(0)
    assert torch.linalg.norm(layer.weight.detach() - before) == pytest.approx(1, rel=1e-4)


def test_gradients_are_complete_even_where_the_loss_did_not_reach() -> None:
    layer = nn.Linear(2, 3)
    layer.weight.grad = torch.ones_like(layer.weight)
    gathered = make(layer).gradients()
    assert [g.sum().item() for g in gathered] == [6, 0]


def test_an_adversary_climbs() -> None:
    layer = nn.Linear(2, 1, bias=False)
    before = layer.weight.detach().clone()
    side = make(layer, direction=-0.5, weight_decay=0.0)
    layer.weight.grad = torch.ones_like(layer.weight)
    side.move(0)
    torch.testing.assert_close(layer.weight.detach(), before + 0.05)
