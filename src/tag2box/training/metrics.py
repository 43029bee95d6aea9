"""What a run tells while it goes: a line a step in metrics.jsonl, a bar on the screen."""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from tag2box.errors import InputError
from tag2box.files import write_text
from tag2box.training.loop import Progress

METRICS = "metrics.jsonl"
Log = Callable[[Progress], None]


@contextmanager
def told(run: Path, *, first: int, last: int, every: int, device: torch.device) -> Iterator[Log]:
    """Something to log to. Lines of steps after `first` are of a run that was cut off: removed."""
    path = run / METRICS
    with _writing(path):
        write_text(path, "".join(_lines_until(path, first)))
    tensorboard = _tensorboard(run, first)
    columns = (
        BarColumn(bar_width=10),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[words]}"),
    )
    console = Console(file=sys.stderr)
    seconds = waited = 0.0
    with path.open("a", encoding="utf-8") as file, Bar(*columns, console=console) as bar:
        task = bar.add_task("training", total=last, completed=first, words="")

        def log(progress: Progress) -> None:
            nonlocal seconds, waited
            seconds += progress.seconds
            waited += progress.waited
            if progress.step % every == 0 or progress.step in (1, last):
                values = _values(progress, device)
                with _writing(path):
                    file.write(json.dumps({"step": progress.step, **values}) + "\n")
                    file.flush()
                    os.fsync(file.fileno())  # no checkpoint outlives the lines before it
                for name, value in values.items() if tensorboard else ():
                    tensorboard.add_scalar(name, value, progress.step)
            bar.update(task, completed=progress.step, words=_words(progress, device))

        yield log
    if tensorboard:
        tensorboard.close()
    if seconds:
        console.print(
            f"waited for photos {waited / seconds:.1%} of {seconds:.0f} s", highlight=False
        )


def read_metrics(run: Path) -> list[dict[str, float]]:
    """The lines of a run, oldest first."""
    return [json.loads(line) for line in _lines_until(run / METRICS, sys.maxsize)]


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """A full disk is one sentence."""
    try:
        yield
    except OSError as error:
        raise InputError(
            path,
            f"cannot be written ({error.strerror})",
            "free some disk and start again: the run goes on from its last checkpoint",
        ) from error


def _lines_until(path: Path, step: int) -> list[str]:
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("}\n")]
    return [line for line in whole if json.loads(line)["step"] <= step]


def _values(progress: Progress, device: torch.device) -> dict[str, float]:
    return {
        **progress.losses,
        "loss": sum(progress.losses.values()),
        "learning_rate_factor": progress.rate,
        "skipped": progress.skipped,
        "images_per_second": progress.images / progress.seconds,
        "waited": progress.waited / progress.seconds,
        "memory_gigabytes": _gigabytes(device),
    }


TIMED = ("images_per_second", "waited", "memory_gigabytes")
"""What differs between two runs that are otherwise equal to the bit."""


def _gigabytes(device: torch.device) -> float:
    """The most this process has held so far."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def _words(progress: Progress, device: torch.device) -> str:
    """The terms of the loss, the students' added up, speed and memory; on a line of 80."""
    terms: dict[str, float] = {}
    for name, value in progress.losses.items():
        term = name.removeprefix("loss_").removeprefix("ref_").rstrip("0123456789")
        terms[term] = terms.get(term, 0.0) + value
    told = "  ".join(f"{name} {value:.3g}" for name, value in terms.items())
    speed = progress.images / progress.seconds
    return f"{told}  {speed:.3g} photos/s  {_gigabytes(device):.1f} GB"


def _tensorboard(run: Path, first: int) -> Any:
    """TensorBoard's own files too, where it is installed; it forgets steps after `first`."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(run / "tensorboard", purge_step=first + 1)
