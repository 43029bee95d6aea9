"""The loop: samples, a step of the game, a finite check, a line of metrics, a checkpoint."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Literal

from tag2box.errors import InputError
from tag2box.training.game import Game, finite
from tag2box.training.samples import Sample


@dataclass(frozen=True)
class Progress:
    """What a step tells whoever watches."""

    step: int
    """Steps done, this one included."""
    losses: dict[str, float]
    rate: float
    """Factor of the learning rate."""
    images: int
    """Photos of the step, on all processes."""
    seconds: float
    """The step took, waiting included."""
    waited: float
    """Of them for samples."""
    skipped: int
    """Steps so far whose loss was not finite."""


def run_steps(
    game: Game,
    samples: Iterator[Sample],
    *,
    first: int,
    last: int,
    save: Callable[[int, int], None],
    save_every: int,
    log: Callable[[Progress], None],
    non_finite: Literal["stop", "skip"],
    dump: Callable[[int, list[Sample], dict[str, float]], str],
    skipped: int = 0,
) -> bool:
    """Steps `first` to `last`; False when the person asked to stop, after saving.

    Args:
        game: who learns.
        samples: this process's samples, in the order of the steps.
        first: steps done already.
        last: steps to be done when this returns.
        save: writes a checkpoint after so many steps, of which so many were skipped.
        save_every: steps between checkpoints.
        log: told of every step.
        non_finite: what to do at a loss that is not finite.
        dump: keeps what led to such a loss and says where.
        skipped: steps skipped before.
    """
    share = game.images_per_step // game.processes.count
    with asked_to_stop() as asked:
        for step in range(first, last):
            started = time.perf_counter()
            batch = list(islice(samples, share))
            waited = time.perf_counter() - started
            losses = game.step(batch, step)
            if not finite(losses):
                skipped += 1
                if non_finite == "stop":
                    raise InputError(
                        f"step {step + 1}", dump(step, batch, losses), "lower the learning rate"
                    )
            log(
                Progress(
                    step=step + 1,
                    losses=losses,
                    rate=game.players[0].schedule(step),
                    images=game.images_per_step,
                    seconds=time.perf_counter() - started,
                    waited=waited,
                    skipped=skipped,
                )
            )
            stop = game.processes.any(asked())
            if stop or (step + 1) % save_every == 0 or step + 1 == last:
                save(step + 1, skipped)
            if stop:
                return False
    return True


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed; pressed again, it stops at once."""
    pressed = False

    def note(_signal: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
