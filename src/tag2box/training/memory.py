"""How many regions to evaluate at once, and of how many to keep the inside, from free memory.

R regions. "Inside" is what automatic differentiation stores between a region's pooled features and
its neck output.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tag2box.models.noise import RegionNoise
from tag2box.models.sequential import Neck

LARGEST_BATCH = 512
"""More regions at once make no device faster, they only cost memory."""
SHARE = 0.5
"""Of the free memory that regions may take: gradients and other programs want theirs."""
CONTAINER = Path("/sys/fs/cgroup")
"""Where Linux tells a container its limit."""


@dataclass(frozen=True)
class Split:
    """How the regions of an image are evaluated."""

    regions_per_batch: int
    kept_regions: int


def batch_for(bytes_per_region: float, free: float) -> int:
    """The largest sub-batch that is useful and takes at most half of what regions may take."""
    return max(1, min(LARGEST_BATCH, _affordable(bytes_per_region, free) // 2))


def kept_for(bytes_per_region: float, regions_per_batch: int, free: float) -> int:
    """As many regions kept whole as memory allows beside a sub-batch."""
    return max(0, _affordable(bytes_per_region, free) - regions_per_batch)


def _affordable(bytes_per_region: float, free: float) -> int:
    return int(SHARE * free / max(1.0, bytes_per_region))


def free_memory(device: torch.device) -> int:
    """Bytes this process can allocate on the device; processes on one CPU share evenly."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return free + cached
    import psutil  # a GPU needs none

    left = min(psutil.virtual_memory().available, _left_to_container(CONTAINER))
    return int(left) // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def _left_to_container(folder: Path) -> float:
    """Of the limit a container sets, what its programs have not taken; files can be dropped."""
    try:
        limit = int((folder / "memory.max").read_text())
        taken = int((folder / "memory.current").read_text())
        counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return math.inf
    return max(0, limit - taken + int(counts.get("inactive_file", 0)))


def bytes_per_region(neck: Neck, features: Tensor, box: Tensor, noise_seed: int = 0) -> float:
    """Bytes that training stores for one region, by evaluating two and four. The box is (4,)."""
    stored = []
    for count in (2, 4):
        noise = RegionNoise.of(noise_seed, count, features.device)
        stored.append(_stored_bytes(neck, features, box.expand(count, 4).contiguous(), noise))
    return (stored[1] - stored[0]) / 2


def _stored_bytes(neck: Neck, features: Tensor, boxes: Tensor, noise: RegionNoise) -> int:
    storages: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
        output = neck(features.detach().requires_grad_(), boxes, noise)
    del output
    return sum(storages.values())
