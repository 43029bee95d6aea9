"""One side of the game: parameters, their optimiser and how its learning rate moves.

Equation 5 of the paper has two: the detector minimises the loss, Concrete DropBlock maximises it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer

from tag2box.training.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Player:
    """Takes the gradients its parameters have gathered and moves them."""

    optimizer: Optimizer
    rates: tuple[float, ...]
    """Learning rate of each parameter group before the schedule."""
    schedule: Schedule
    clip: float = 0.0
    """Longest gradient; 0 for any."""
    direction: float = 1.0
    """Factor of the gradient: below 0 for the player who wants the loss to rise."""

    @property
    def parameters(self) -> list[Tensor]:
        """Everything this player moves."""
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def gradients(self) -> list[Tensor]:
        """What was gathered; zeros where the loss did not reach, as on other processes."""
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [p.grad for p in self.parameters if p.grad is not None]

    def move(self, step: int) -> float:
        """One step of the optimiser; returns the factor of the learning rate."""
        factor = self.schedule(step)
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * factor
        if self.direction != 1:
            for gradient in self.gradients():
                gradient.mul_(self.direction)
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.optimizer.step()
        return factor

    def forget(self) -> None:
        """Drop the gathered gradients."""
        self.optimizer.zero_grad(set_to_none=True)


def player(
    parameters: Iterable[tuple[str, nn.Parameter]],
    *,
    optimizer: Literal["sgd", "adamw"],
    learning_rate: float,
    bias_rate_factor: float,
    weight_decay: float,
    momentum: float,
    schedule: Schedule,
    clip: float = 0.0,
    direction: float = 1.0,
) -> Player:
    """A player for the named parameters that can be trained; biases faster and without decay."""
    trained = [(name, p) for name, p in parameters if p.requires_grad]
    biases = [p for name, p in trained if name.endswith("bias")]
    weights = [p for name, p in trained if not name.endswith("bias")]
    rates = (learning_rate, bias_rate_factor * learning_rate)
    groups = [
        {"params": weights, "lr": rates[0], "weight_decay": weight_decay},
        {"params": biases, "lr": rates[1], "weight_decay": 0.0},
    ]
    built: Optimizer = (
        SGD(groups, lr=learning_rate, momentum=momentum)
        if optimizer == "sgd"
        else AdamW(groups, lr=learning_rate, betas=(momentum, 0.999))
    )
    return Player(built, rates, schedule, clip, direction)
