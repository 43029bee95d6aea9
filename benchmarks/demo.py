"""The demo's table over several seeds: other scenes, other first weights, another order.

    python benchmarks/demo.py [--seeds 3]

The last line is JSON. With `--out` a stopped run is continued, and what it made is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from tag2box.cli import main as tag2box

Scores = dict[str, dict[str, float]]
"""By detector and measure, shares from 0 to 1."""
HEADINGS = {
    "average_precision": "AP50",
    "corloc": "CorLoc",
    "part": "part-boxes",
    "group": "groups",
    "missed": "missed",
}


def main() -> int:
    """Run the demo once a seed and print the means, with the least and the most."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--steps", type=int, default=0, help="those of the recipe when 0")
    options.add_argument("--out", type=Path, help="folder to keep the demos in, one a seed")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        out = asked.out or Path(temporary)
        started = time.perf_counter()
        runs = [scores_of(seed, asked.steps, out / str(seed)) for seed in range(asked.seeds)]
        minutes = (time.perf_counter() - started) / 60
    Console(width=100).print(table_of(runs))
    print(f"{asked.seeds} seeds, {minutes:.1f} minutes, {os.cpu_count()} cores")
    print(json.dumps({"torch": torch.__version__, "seeds": list(range(asked.seeds)), "runs": runs}))
    return 0


def scores_of(seed: int, steps: int, out: Path) -> Scores:
    """What the demo says."""
    command = ["demo", "--json", "--steps", str(steps), "--out", str(out)]
    with redirect_stdout(StringIO()) as printed:
        code = tag2box([*command, "--seed", str(seed), "--scenes.seed", str(seed)])
    if code:
        sys.exit(code)
    scores: Scores = json.loads(printed.getvalue())
    return scores


def table_of(runs: list[Scores]) -> Table:
    """A row a detector, in percent: the mean, and in brackets the least and the most."""
    title = "On unseen scenes, in percent: mean (least to most)"
    table = Table("detector", title=title, title_justify="left")
    for heading in HEADINGS.values():
        table.add_column(heading, justify="right")
    for name in runs[0]:
        several = [[100 * run[name][key] for run in runs] for key in HEADINGS]
        table.add_row(name, *map(_cell, several))
    return table


def _cell(percents: list[float]) -> str:
    return f"{statistics.mean(percents):.1f} ({min(percents):.1f} to {max(percents):.1f})"


if __name__ == "__main__":
    sys.exit(main())
