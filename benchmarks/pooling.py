"""Pooling on a CPU: ours against torchvision's RoI align, forwards and with the backward pass.

    python benchmarks/pooling.py [--regions 600] [--threads 1]

One photo of the laptop recipe: 320 channels, 24 x 36 cells, 5 x 5 cells a region; and the means of
22 class maps over whole regions. Both sides give the same numbers (the means: of cells as squares
instead of samples between them). The last line is a JSON object.
"""

import argparse
import json
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torchvision.ops import roi_align

from tag2box.models import bags
from tag2box.models.context import mean_in

HEIGHT, WIDTH, STRIDE = 24, 36, 16
ROUNDS = 7

Pool = Callable[[Tensor], Tensor]


def make_boxes(count: int) -> Tensor:
    """Boxes of a quarter to three quarters of the map's sides, in its cells."""
    random = torch.Generator().manual_seed(0)
    size = torch.tensor([WIDTH, HEIGHT])
    sides = (0.25 + 0.5 * torch.rand(count, 2, generator=random)) * size
    corners = torch.rand(count, 2, generator=random) * (size - sides)
    return torch.cat([corners, corners + sides], dim=1)


def seconds(pool: Pool, channels: int, *, backward: bool) -> float:
    """Least of some rounds."""
    features = torch.randn(1, channels, HEIGHT, WIDTH, requires_grad=backward)
    least = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        pooled = pool(features)
        if backward:
            pooled.sum().backward()  # type: ignore[no-untyped-call]
        least = min(least, time.perf_counter() - started)
    return least


def main() -> None:
    """Both kinds of pooling, both ways."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--regions", type=int, default=600)
    options.add_argument("--threads", type=int, default=1)
    asked = options.parse_args()
    torch.set_num_threads(asked.threads)
    boxes = make_boxes(asked.regions)
    pixels = boxes * STRIDE
    ways: dict[str, tuple[int, Pool, Pool]] = {
        "cells of regions": (
            320,
            lambda maps: bags.align(maps, pixels, 5, 1 / STRIDE, 2),
            lambda maps: roi_align(maps, [pixels], 5, 1 / STRIDE, 2, aligned=True),
        ),
        "means of regions": (
            22,
            lambda maps: mean_in(maps, boxes),
            lambda maps: roi_align(maps, [boxes], 1, 1.0, 0, aligned=True),
        ),
    }
    print(f"{asked.regions} regions, {asked.threads} threads, torch {torch.__version__}")
    print(f"{'':>18} {'pass':>10} {'ours, ms':>10} {'RoI align, ms':>14} {'ratio':>7}")
    ratios = {}
    for name, (channels, ours, theirs) in ways.items():
        for backward in (False, True):
            one, other = (seconds(pool, channels, backward=backward) for pool in (ours, theirs))
            way = "both ways" if backward else "forwards"
            print(f"{name:>18} {way:>10} {1e3 * one:10.2f} {1e3 * other:14.2f} {other / one:7.1f}")
            ratios[f"{name}, {way}"] = round(other / one, 2)
    print(json.dumps(ratios))


if __name__ == "__main__":
    main()
