"""Memory and time of a training step against the number of regions, as in the paper's figure.

    python benchmarks/memory.py [--quick | --full] [--device cuda] [--plot FILE] [--write PAGE]

ResNet-101-C4 with random weights and all losses of the method, on one photo of noise: plain
back-propagation against the sequential one, whose sub-batch is half the smallest count. Each point
is a fresh process: on a GPU its peak is that of CUDA's allocator, on a CPU its largest resident
size, interpreter and libraries included, with a malloc that gives large blocks back. `--full` is
the paper's setting: 600 x 600 pixels, 1,000 to 5,000 regions, and 20,000. `--quick`, the default
without a GPU, has 224 x 224 pixels and 40 to 200 regions, and 800; its 5k and 20k are five and
twenty times the smallest count. `--multiples 1 5` measures only it and these multiples of it; a
figure that needs another is then null.

A second table shows what keeping the inside of more regions, instead of computing it again, saves
in time and costs in memory. The last line is a JSON object; `--read FILE` prints and draws one
that was kept. `--write PAGE` puts what is printed into a page of Markdown, with the plot beside it.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pages import put_section
from tag2box.learning.losses import losses
from tag2box.models.detector import Detector
from tag2box.models.heads import Heads
from tag2box.models.noise import RegionNoise
from tag2box.models.regions import Regions, RoIMaxPool
from tag2box.models.resnet import resnet
from tag2box.models.sequential import sequential

CLASSES = 20
DIMENSION = 2048
"""Of the neck's outputs."""
TAGS = (3, 11)
MULTIPLES = (1, 2, 3, 4, 5, 20)
"""Of the smallest count; plain back-propagation goes up to five."""
GIVES_BACK = {"MALLOC_MMAP_THRESHOLD_": str(2**20)}
"""glibc otherwise raises this bound up to 32 MB and keeps what was freed below it: the resident
size would then tell how blocks of a hundred sizes happened to fit, and not what a step needs."""
OUT_OF_MEMORY = ("out of memory", "not enough memory", "allocate memory", "MemoryError")


@dataclass(frozen=True)
class Sizes:
    """How large a measurement is."""

    side: int
    """Of the square photo, in pixels."""
    smallest: int
    """Count of regions the others are multiples of."""

    @property
    def sub_batch(self) -> int:
        """The paper's 500 of 1,000."""
        return self.smallest // 2


QUICK = Sizes(side=224, smallest=40)
FULL = Sizes(side=600, smallest=1000)


@dataclass(frozen=True)
class Point:
    """What one process measures."""

    device: str
    side: int
    regions: int
    sub_batch: int
    """Regions evaluated at once; all of them is plain back-propagation."""
    kept: int = 0
    repeats: int = 1


def make_detector(device: str) -> Detector:
    """Random weights with faint residual branches, as trained networks have.

    33 blocks that each double the variance would make features of 100,000.
    """
    torch.manual_seed(0)
    backbone = resnet(101)
    for name, scale in [*backbone.base.named_buffers(), *backbone.neck.named_buffers()]:
        if name.endswith("bn3.weight"):
            scale.fill_(0.2)
    regions = Regions(RoIMaxPool(backbone.pool_size, backbone.stride), backbone.neck)
    heads = Heads(DIMENSION, CLASSES)
    return Detector(backbone.base, regions, heads, backbone.pixels).to(device).train()


def make_input(point: Point) -> tuple[Tensor, Tensor]:
    """A photo of noise, normalised, and boxes of the sizes that selective search gives."""
    random = torch.Generator().manual_seed(1)
    image = torch.randn(3, point.side, point.side, generator=random)
    sides = torch.exp(torch.rand(point.regions, 2, generator=random) * 3 - 3) * point.side
    corners = torch.rand(point.regions, 2, generator=random) * (point.side - sides)
    boxes = torch.cat([corners, corners + sides], dim=1)
    return image.to(point.device), boxes.to(point.device)


def loss_of(detector: Detector, image: Tensor, boxes: Tensor, sub_batch: int, kept: int) -> Tensor:
    """The sum of all losses."""
    noise = RegionNoise.of(0, len(boxes), boxes.device)
    features = detector.base(image)
    if sub_batch < len(boxes):
        outputs = sequential(
            detector.neck, features, boxes, noise, regions_per_batch=sub_batch, kept_regions=kept
        )
    else:
        outputs = detector.neck(features, boxes, noise)
    return torch.stack(list(losses(detector.heads(outputs), boxes, TAGS).values())).sum()


def measure(point: Point) -> dict[str, float]:
    """Peak gigabytes and least seconds of a step, in this process."""
    detector = make_detector(point.device)
    optimizer = torch.optim.SGD(detector.learned_parameters().values(), lr=1e-6, momentum=0.9)
    image, boxes = make_input(point)

    def step(count: int) -> float:
        started = time.perf_counter()
        loss_of(detector, image, boxes[:count], point.sub_batch, point.kept).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if point.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - started

    # The first step of a process chooses kernels; on a GPU for each shape, so it sees all regions.
    step(point.regions if point.device == "cuda" else 4)
    seconds = min(step(point.regions) for _ in range(point.repeats))
    if point.device == "cuda":
        peak = torch.cuda.max_memory_allocated()
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"gigabytes": peak / 1e9, "seconds": seconds}


def gradient_error(point: Point) -> dict[str, float]:
    """Largest distance of a gradient from that of the evaluation in one piece, over its length."""
    torch.backends.cudnn.allow_tf32 = False
    detector = make_detector(point.device)
    image, boxes = make_input(point)
    gradients: list[list[Tensor]] = []
    for sub_batch in (point.regions, point.sub_batch):
        detector.zero_grad()
        loss_of(detector, image, boxes, sub_batch, point.kept).backward()
        parameters = detector.learned_parameters().values()
        gradients.append([p.grad.clone() for p in parameters if p.grad is not None])
    pairs = zip(*gradients, strict=True)
    return {"error": max(float((one - two).norm() / one.norm()) for one, two in pairs)}


def in_a_process(task: str, point: Point) -> dict[str, float] | None:
    """What `task` finds about a point; None where memory does not suffice."""
    command = [sys.executable, __file__, "--task", task, json.dumps(asdict(point))]
    environment = os.environ | GIVES_BACK
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode == 0:
        found: dict[str, float] = json.loads(done.stdout)
        return found
    if any(words in done.stderr for words in OUT_OF_MEMORY):
        return None
    raise RuntimeError(done.stderr)


def limit_memory() -> None:
    """On a CPU: more than the free memory is an error here, and not the end of another program."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = int(0.9 * free)
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


def collect(
    sizes: Sizes, device: str, repeats: int, multiples: Sequence[int] = MULTIPLES
) -> dict[str, Any]:
    """Every point of the figure and of the trade-off, told while they come."""
    smallest_that_did_not_fit = float("inf")

    def at(regions: int, *, plain: bool = False, kept: int = sizes.sub_batch) -> dict[str, Any]:
        nonlocal smallest_that_did_not_fit
        sub_batch = regions if plain else sizes.sub_batch
        whole = plain or kept >= regions
        found = None
        if not whole or regions < smallest_that_did_not_fit:
            point = Point(device, sizes.side, regions, sub_batch, kept, repeats)
            found = in_a_process("measure", point)
        if whole and not found:
            smallest_that_did_not_fit = min(smallest_that_did_not_fit, regions)
        way, kept = ("plain", regions) if plain else ("sequential", kept)
        row = {"way": way, "regions": regions, "kept": min(kept, regions), **(found or {})}
        print(told(row), file=sys.stderr, flush=True)
        return row

    factors = sorted({1, *multiples})
    counts = [factor * sizes.smallest for factor in factors if factor <= 5]
    curve = [at(count, plain=plain) for count in counts for plain in (True, False)]
    trade = [curve[-1], *(at(counts[-1], kept=factor * sizes.sub_batch) for factor in (4, 10))]
    curve += [at(factor * sizes.smallest) for factor in factors if factor > 5]
    small = Point(device, sizes.side, sizes.smallest, sizes.sub_batch)
    error = in_a_process("gradient_error", small)
    assert error is not None
    return {
        **asdict(sizes),
        "sub_batch": sizes.sub_batch,
        "machine": machine(device),
        "repeats": repeats,
        "curve": curve,
        "trade": trade,
        **error,
    }


def machine(device: str) -> str:
    """Where the figures come from."""
    name = (
        torch.cuda.get_device_name()
        if device == "cuda"
        else f"{os.cpu_count()} cores ({platform.machine()}), {torch.get_num_threads()} threads"
    )
    return f"{name}, torch {torch.__version__}"


def told(row: dict[str, Any]) -> str:
    """One line of a table."""
    figures = (
        f"{row['gigabytes']:10.2f} GB {row['seconds']:10.3f} s"
        if "seconds" in row
        else "    does not fit"
    )
    return f"{row['regions']:>8} {row['kept']:>8} {row['way']:>12} {figures}"


def summary(found: dict[str, Any]) -> dict[str, float | None]:
    """The figures that have a bar; null where a count they need was not measured."""
    points = {(row["way"], row["regions"]): row for row in found["curve"] if "seconds" in row}
    first, fifth, twentieth = (
        points.get(("sequential", factor * found["smallest"])) for factor in (1, 5, 20)
    )
    ratios = [
        points["sequential", count]["seconds"] / row["seconds"]
        for (way, count), row in points.items()
        if way == "plain"
    ]
    return {
        "growth_1k_5k": round(growth(first, fifth), 4) if first and fifth else None,
        "time_ratio": round(max(ratios), 3) if ratios else None,
        "gradient_relative_error": found["error"],
        "peak_gb_20k": round(twentieth["gigabytes"], 3) if twentieth else None,
    }


def growth(first: dict[str, Any], fifth: dict[str, Any]) -> float:
    """Of the peak, as a share of the first, beyond what the neck's outputs take."""
    outputs = (fifth["regions"] - first["regions"]) * DIMENSION * 4 / 1e9  # float32
    share: float = (fifth["gigabytes"] - first["gigabytes"] - outputs) / first["gigabytes"]
    return share


def report(found: dict[str, Any]) -> str:
    """The tables."""
    lines = [
        f"ResNet-101-C4, {found['side']} x {found['side']} pixels, "
        f"sub-batches of {found['sub_batch']} regions",
        f"{found['machine']}; least of {found['repeats']} steps",
    ]
    if found["smallest"] != FULL.smallest:
        stand_in = ", ".join(str(n * found["smallest"]) for n in (1, 5, 20))
        lines.append(f"1k, 5k and 20k stand for {stand_in}")
    for title, rows in (("Peak and time of a step", "curve"), ("Keeping more", "trade")):
        heading = f"{'regions':>8} {'kept':>8} {'way':>12} {'peak':>13} {'time':>12}"
        lines += ["", title, heading, *map(told, found[rows])]
    return "\n".join(lines)


def write_page(found: dict[str, Any], page: Path) -> None:
    """What was printed, as a section of a page, and the plot beside it."""
    plot = page.with_name("memory.svg")
    draw(found, plot)
    size = "--full" if found["smallest"] == FULL.smallest else "--quick"
    text = f"""`python benchmarks/memory.py {size} --write docs/results.md`, which says what is
measured and how. Plain back-propagation against the sequential one of section 3.3 of the paper;
`kept` is how many regions keep their inside for the backward pass instead of computing it again.

![Peak memory and time against regions, and what keeping more saves]({plot.name})

```text
{report(found)}

{json.dumps(summary(found))}
```
"""
    put_section(page, "Memory and time of a training step against the number of regions", text)


def draw(found: dict[str, Any], path: Path) -> None:
    """The paper's figure, and the trade-off beside it."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    for way in ("plain", "sequential"):
        rows = [r for r in found["curve"] if r["way"] == way and "seconds" in r]
        rows = [r for r in rows if r["regions"] <= 5 * found["smallest"]]
        for axis, key in zip(axes, ("gigabytes", "seconds"), strict=False):
            axis.plot([r["regions"] for r in rows], [r[key] for r in rows], "o-", label=way)
            axis.set(xlabel="regions", ylabel=f"{key} of a step", ylim=(0, None))
    axes[0].legend()
    rows = [r for r in found["trade"] if "seconds" in r]
    most = found["trade"][0]["regions"]
    axes[2].plot([r["gigabytes"] for r in rows], [r["seconds"] for r in rows], "o-")
    for row in rows:
        axes[2].annotate(row["kept"], (row["gigabytes"], row["seconds"]))
    axes[2].set(xlabel="gigabytes", ylabel="seconds", title=f"regions kept of {most}")
    figure.suptitle(f"ResNet-101-C4, {found['side']} x {found['side']}; {found['machine']}")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    """Measure, or read what was measured; print and draw."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--quick", dest="sizes", action="store_const", const=QUICK)
    options.add_argument("--full", dest="sizes", action="store_const", const=FULL)
    options.add_argument("--repeats", type=int, default=2)
    options.add_argument("--multiples", type=int, nargs="+", choices=MULTIPLES, default=MULTIPLES)
    options.add_argument("--plot", type=Path)
    options.add_argument("--write", type=Path, metavar="PAGE")
    options.add_argument("--read", type=Path)
    options.add_argument("--task", nargs=2, help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.task:
        point = Point(**json.loads(asked.task[1]))
        if point.device == "cpu":
            limit_memory()
        task = {"measure": measure, "gradient_error": gradient_error}[asked.task[0]]
        print(json.dumps(task(point)))
        return
    if asked.read:
        found = json.loads(asked.read.read_text().splitlines()[-1])
    else:
        sizes = asked.sizes or (FULL if asked.device == "cuda" else QUICK)
        found = collect(sizes, asked.device, asked.repeats, asked.multiples)
    print(report(found))
    if asked.plot:
        draw(found, asked.plot)
    if asked.write:
        write_page(found, asked.write)
    print(json.dumps({**summary(found), **found}))


if __name__ == "__main__":
    main()
