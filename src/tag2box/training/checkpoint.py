"""Checkpoints that are whole or absent, whenever the machine stops.

A checkpoint is a folder `checkpoints/STEP` with the weights (safetensors) and `state.pt` (what else
a step depends on, loadable with weights_only). It is written under another name, flushed to the
disk and renamed; so the newest folder with a step for a name is always complete.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from tag2box.errors import InputError

WEIGHTS = "model.safetensors"
STATE = "state.pt"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """All that the next step depends on."""

    step: int
    """Steps done."""
    weights: Mapping[str, Tensor]
    state: Mapping[str, Any]


def save(run: Path, checkpoint: Checkpoint, *, keep: int) -> None:
    """Write a checkpoint and remove all but the newest `keep`."""
    folder = run / "checkpoints"
    partial = folder / f".partial-{os.getpid()}"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        weights = {name: tensor.contiguous() for name, tensor in checkpoint.weights.items()}
        save_file(weights, partial / WEIGHTS)
        torch.save(dict(checkpoint.state), partial / STATE)
        for path in (partial / WEIGHTS, partial / STATE, partial):
            _flush(path)
        final = folder / f"{checkpoint.step:08d}"
        shutil.rmtree(final, ignore_errors=True)
        partial.rename(final)
        _flush(folder)
    except (OSError, SafetensorError, RuntimeError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise InputError(
            folder,
            f"the checkpoint of step {checkpoint.step} cannot be written ({error})",
            "free some disk and start again: the run continues from the checkpoint before",
        ) from error
    for old in _steps(folder)[keep:]:
        _remove(folder / f"{old:08d}")
    for left_over in folder.glob(".partial-*"):
        shutil.rmtree(left_over, ignore_errors=True)


def load_newest(run: Path) -> Checkpoint | None:
    """The newest checkpoint that can be read, or None."""
    folder = run / "checkpoints"
    for step in _steps(folder):
        try:
            return load(folder / f"{step:08d}")
        except InputError as error:
            warnings.warn(f"{error} Trying the one before.", stacklevel=2)
    return None


def load(folder: Path) -> Checkpoint:
    """One checkpoint; an error that names it if it was damaged."""
    try:
        return Checkpoint(
            step=int(folder.name),
            weights=load_file(folder / WEIGHTS),
            state=torch.load(folder / STATE, weights_only=True),
        )
    except Exception as error:  # a damaged file may fail in any way
        raise InputError(folder, f"is damaged ({error})", "remove it") from error


def _steps(folder: Path) -> list[int]:
    """Steps with a checkpoint, newest first."""
    names = [path.name for path in folder.glob("[0-9]*") if path.name.isdigit()]
    return sorted(map(int, names), reverse=True)


def _remove(folder: Path) -> None:
    """Rename first: half a removal must not look like a checkpoint."""
    doomed = folder.with_name(f".partial-{folder.name}")
    folder.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
