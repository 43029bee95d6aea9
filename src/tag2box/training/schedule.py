"""The learning rate of a step, as a factor of the recipe's."""

import math
from collections.abc import Callable, Sequence

Schedule = Callable[[int], float]
"""Step (0-based) to factor."""


def warmed_up(schedule: Schedule, *, steps: int, start: float) -> Schedule:
    """The schedule, rising linearly from the share `start` of it over the first steps."""

    def factor(step: int) -> float:
        progress = min(1.0, (step + 1) / steps) if steps else 1.0
        return schedule(step) * (start + (1 - start) * progress)

    return factor


def stepped(at: Sequence[int], by: float) -> Schedule:
    """Multiplied by `by` from each of the given steps on (the paper: 0.1 at 20k and 26k)."""
    return lambda step: by ** sum(step >= decay for decay in at)


def cosine(steps: int) -> Schedule:
    """Half a cosine from 1 down to 0 at the last step."""
    return lambda step: 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))


def constant() -> Schedule:
    """Always 1."""
    return lambda _step: 1.0
