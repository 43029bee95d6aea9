"""Several processes as one: `torchrun` starts them, gradients are averaged, one of them writes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed
from torch import Tensor


@dataclass(frozen=True)
class Processes:
    """This process among those of a run."""

    rank: int
    count: int
    device: torch.device

    @property
    def writes(self) -> bool:
        """Whether this is the one process that writes files and speaks to the person."""
        return self.rank == 0

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        """Replace each tensor by its sum over the processes, in one message a kind of number."""
        if self.count == 1:
            return
        by_type: dict[torch.dtype, list[Tensor]] = {}
        for tensor in tensors:
            by_type.setdefault(tensor.dtype, []).append(tensor)
        for group in by_type.values():
            flat = torch.cat([tensor.flatten() for tensor in group])
            torch.distributed.all_reduce(flat)
            parts = torch.split(flat, [tensor.numel() for tensor in group])
            for tensor, part in zip(group, parts, strict=True):
                tensor.copy_(part.view_as(tensor))

    def any(self, here: bool) -> bool:
        """Whether it is so on any process."""
        if self.count == 1:
            return here
        anywhere = torch.tensor(float(here), device=self.device)
        torch.distributed.all_reduce(anywhere)
        return bool(anywhere.item())

    def each(self, here: int | None) -> list[int | None]:
        """What it is on every process, in their order."""
        if self.count == 1:
            return [here]
        everywhere: list[int | None] = [None] * self.count
        torch.distributed.all_gather_object(everywhere, here)
        return everywhere

    def wait(self) -> None:
        """Until every process is here."""
        if self.count > 1:
            torch.distributed.barrier()


@contextmanager
def processes(device: str = "auto", *, alone: bool = False) -> Iterator[Processes]:
    """The processes `torchrun` started, or this one alone; on the GPU of its number if any."""
    count = 1 if alone else int(os.environ.get("WORLD_SIZE", "1"))
    use_gpu = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    place = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if use_gpu else None
    if place is not None:
        torch.cuda.set_device(place)
    if count > 1:
        torch.distributed.init_process_group("nccl" if use_gpu else "gloo")
    try:
        yield Processes(
            rank=int(os.environ.get("RANK", "0")), count=count, device=place or torch.device("cpu")
        )
    finally:
        if count > 1:
            torch.distributed.destroy_process_group()
