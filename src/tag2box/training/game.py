"""The min-max game of Eq. 5: the detector descends on the loss, Concrete DropBlock ascends.

One pass serves both players, because Concrete DropBlock sees detached features: the gradient of its
parameters is that of the loss, and only the sign in which it is used differs. The reference plays
in turns instead, with a second pass over the photos on the detector that has just moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from tag2box.training.distributed import Processes
from tag2box.training.objective import Objective
from tag2box.training.player import Player
from tag2box.training.samples import Sample


@dataclass(frozen=True, eq=False)
class Game:
    """Who plays for what, on how many photos a step."""

    objective: Objective
    players: tuple[Player, ...]
    """The detector and, with Concrete DropBlock, its adversary."""
    processes: Processes
    images_per_step: int
    """Photos a step averages over, on all processes together."""
    in_turns: bool = False
    """Whether each player has a pass of its own."""

    def step(self, samples: Sequence[Sample], step: int) -> dict[str, float]:
        """Move the players once; returns the mean losses, which move nobody if not finite."""
        return self._in_turns(samples, step) if self.in_turns else self._together(samples, step)

    def _together(self, samples: Sequence[Sample], step: int) -> dict[str, float]:
        losses = self.gather(samples, self.players)
        if finite(losses):
            for player in self.players:
                player.move(step)
        return losses

    def _in_turns(self, samples: Sequence[Sample], step: int) -> dict[str, float]:
        losses: dict[str, float] = {}
        for turn, player in enumerate(self.players):
            with holding_still([other for other in self.players if other is not player]):
                answer = self.gather(samples, (player,), turn)
            if not finite(answer):
                return answer
            player.move(step)
            losses = losses or answer
        return losses

    def gather(
        self, samples: Sequence[Sample], players: Sequence[Player], turn: int = 0
    ) -> dict[str, float]:
        """Gradients of the mean loss over the photos of all processes, and the mean of each term.

        The host waits for the device once, for the terms.
        """
        for player in players:
            player.forget()
        sums: dict[str, Tensor] = {}
        for sample in samples:
            terms = self.objective(sample, turn)
            total = torch.stack(list(terms.values())).sum() / self.images_per_step
            total.backward()  # type: ignore[no-untyped-call]
            for name, value in terms.items():
                sums[name] = sums.get(name, torch.zeros_like(value)) + value.detach()
        means = torch.stack(list(sums.values())) / self.images_per_step
        gradients = [gradient for player in players for gradient in player.gradients()]
        self.processes.add_up([means, *gradients])
        return dict(zip(sums, means.tolist(), strict=True))


def finite(losses: dict[str, float]) -> bool:
    """Whether every loss is a number one can learn from; the same answer on every process."""
    return all(abs(value) < float("inf") for value in losses.values())


@contextmanager
def holding_still(players: Sequence[Player]) -> Iterator[None]:
    """No gradient is computed for these players' parameters."""
    still = [parameter for player in players for parameter in player.parameters]
    for parameter in still:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in still:
            parameter.requires_grad_(True)
