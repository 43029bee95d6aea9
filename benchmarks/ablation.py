"""The method step by step on real photos: the tables of the paper, from one list of runs.

    python benchmarks/ablation.py [--data VOC-LAYOUT] [--list FILE.toml] [--out runs/ablation]
                                  [--only WORD] [--processes 2] [--kept] [--write docs/results.md]

Every row of the list is trained with every seed, on the tags of the train split alone, and scored
on the boxes of the val split; CorLoc is that of the photos trained on. A finished run is kept and
an interrupted one goes on, so the same command may be stopped and repeated. Runs go side by side,
one core each; their times are therefore those of one core.

Without `--data` the photos are those of ../shared/voc-mini, where they are. `--write` also writes
the tables, a plot, and below `--out` a report with the baseline and the best run side by side. The
last line is a JSON object with the means.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import torch

from pages import put_section
from supervised import train_on_boxes
from tag2box.data.doctor import examine
from tag2box.data.findings import Finding
from tag2box.data.reading import read_dataset
from tag2box.data.transforms import resized_shape
from tag2box.evaluation.corloc import corloc
from tag2box.evaluation.ground_truth import GroundTruth, read_ground_truth
from tag2box.evaluation.recall import average_recall
from tag2box.evaluation.voc import average_precision
from tag2box.files import write_text
from tag2box.inference.gating import gated
from tag2box.inference.merging import merge
from tag2box.inference.scores import class_boxes, class_scores
from tag2box.models.context import area
from tag2box.models.detector import Detector
from tag2box.models.trained import read_trained
from tag2box.outputs.report import write_report
from tag2box.outputs.run_folder import read_run
from tag2box.proposals.supply import ProposalSupply, open_supply
from tag2box.recipe import InferenceSettings, MergingSettings, ReadingSettings, Recipe
from tag2box.recipe_file import recipe_named, with_changes
from tag2box.structures import Dataset, Detections, TaggedImage
from tag2box.training import players
from tag2box.training.feature_cache import FeatureCache, as_cached
from tag2box.training.metrics import read_metrics
from tag2box.training.run import build_samples, train
from tag2box.training.samples import Sample, loaded_ahead
from tag2box.training.views import View
from tag2box.verbs.looking import Looking, look

HERE = Path(__file__).parent
PHOTOS = HERE.parents[1] / "shared" / "voc-mini"
SCORES = "scores.json"


@dataclass(frozen=True)
class Row:
    """One line of a table: what is changed in the recipe."""

    name: str
    table: str
    seeds: tuple[int, ...]
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    boxes: bool = False
    """Learn from the true boxes: the upper bound."""
    tags: str = "true"
    """`true`, or `shuffled` over the photos."""
    classes: tuple[str, ...] = ()
    """Only photos with these classes, and nothing but these classes."""
    chance: str = ""
    """Nothing is learnt: `random` regions, or the `largest`, of random classes."""

    @property
    def title(self) -> str:
        """Unique in the list."""
        return f"{self.table}: {self.name}"

    def folder(self, out: Path, seed: int) -> Path:
        """Where a run of it is kept."""
        plain = "".join(letter if letter.isalnum() else "-" for letter in self.title.lower())
        return out / "-".join(filter(None, plain.split("-"))) / str(seed)


@dataclass(frozen=True)
class Plan:
    """The list of runs."""

    recipe: Recipe
    rows: tuple[Row, ...]

    def row_titled(self, title: str) -> Row:
        """The one row; other titles may begin with the same words."""
        return next(row for row in self.rows if row.title == title)

    def recipe_of(self, row: Row, seed: int, out: Path) -> Recipe:
        """The settings of a run; proposals and frozen features are shared by all runs."""
        recipe = with_changes(self.recipe, row.changes)
        training = replace(recipe.training, seed=seed, feature_cache=out / "features")
        return replace(recipe, training=training)


def read_plan(path: Path) -> Plan:
    """A TOML file: `recipe`, `seeds`, `changes` of all rows, and the rows."""
    plain = tomllib.loads(path.read_text(encoding="utf-8"))
    recipe = with_changes(recipe_named(plain["recipe"]), plain.get("changes", {}))
    rows = []
    for row in plain["rows"]:
        lists = {key: tuple(row.pop(key)) for key in ("classes",) if key in row}
        seeds = tuple(row.pop("seeds", plain["seeds"]))
        rows.append(Row(seeds=seeds, **lists, **row))
    return Plan(recipe, tuple(rows))


@dataclass(frozen=True)
class Photos:
    """Tags to learn from, and apart from them the boxes to score with."""

    train: Dataset
    train_truth: GroundTruth
    val: Dataset
    val_truth: GroundTruth


def read_photos(data: Path, row: Row, seed: int) -> Photos:
    """The photos of a row."""
    listed = data / "classes.txt"
    classes = row.classes or (tuple(listed.read_text().split()) if listed.exists() else ())
    train_reading = ReadingSettings(split="train", classes=classes)
    val_reading = ReadingSettings(split="val", classes=classes)
    tagged = read_dataset([data], train_reading)
    if row.classes:
        tagged = replace(tagged, images=tuple(one for one in tagged if one.tags))
    if row.tags == "shuffled":
        order = np.random.default_rng(seed).permutation(len(tagged))
        images = (replace(one, tags=tagged[i].tags) for one, i in zip(tagged, order, strict=True))
        tagged = replace(tagged, images=tuple(images))
    return Photos(
        train=tagged,
        train_truth=read_ground_truth([data], train_reading),
        val=read_dataset([data], val_reading),
        val_truth=read_ground_truth([data], val_reading),
    )


def run_one(plan: Plan, row: Row, seed: int, data: Path, out: Path) -> dict[str, Any]:
    """Train, look, score."""
    run = row.folder(out, seed)
    recipe, photos = plan.recipe_of(row, seed, out), read_photos(data, row, seed)
    supply = open_supply(recipe.proposals)
    started = trained = time.perf_counter()
    if row.chance:
        random = np.random.default_rng(seed)
        unseen = [guess(one, supply, photos.val, random, row.chance) for one in photos.val]
        seen = [guess(one, supply, photos.train, random, row.chance) for one in photos.train]
    else:
        if row.boxes:
            train_on_boxes(photos.train, photos.train_truth, recipe, run, supply)
        else:
            train(photos.train, recipe, run, supply)
        trained = time.perf_counter()
        detector, recipe = read_trained(run)
        cache = players.build_feature_cache(detector, recipe)
        unseen = list(find(detector, recipe, photos.val, supply, cache, gate=False))
        seen = list(find(detector, recipe, photos.train, supply, cache, gate=True))
    looked = time.perf_counter()
    precision = average_precision(photos.val_truth, unseen)
    recall = average_recall(photos.val_truth, unseen).overall
    scores = {
        "ap50": 100 * precision.mean,
        "corloc": 100 * corloc(photos.train_truth, seen).mean,
        "ap50_by_class": {one.name: 100 * one.average_precision for one in precision.classes},
        "recall": {name: 100 * value for name, value in vars(recall).items()},
        "train_seconds": trained - started,
        "steps": recipe.training.steps,
        "photos_per_step": recipe.training.images_per_step,
        "look_seconds": looked - trained,
        "photos_looked_at": len(seen) + len(unseen),
        "doctor": [one.what for one in examine(photos.train, quick=True).findings if fatal(one)],
    }
    write_text(run / SCORES, json.dumps(scores, indent=1))
    return scores


def fatal(finding: Finding) -> bool:
    """Whether training is pointless."""
    return finding.severity == "fatal"


def guess(
    photo: TaggedImage,
    supply: ProposalSupply,
    photos: Dataset,
    random: np.random.Generator,
    chance: str,
) -> Detections:
    """What somebody finds who has learnt nothing."""
    boxes = torch.from_numpy(supply.get(photo).boxes)  # (R, 4)
    each = boxes[:, None].expand(-1, len(photos.class_names), -1)  # (R, C, 4)
    if chance == "random":
        scores = torch.from_numpy(random.random(each.shape[:2]))
    else:
        share = area(boxes) / area(boxes).max().clamp(min=1)
        scores = share[:, None] * torch.from_numpy(random.random((1, each.shape[1])))
    return merge(scores, each, class_names=photos.class_names, image_id=photo.id)


@dataclass(frozen=True)
class InOrder:
    """Every photo once, as it is."""

    short_side: int

    def __getitem__(self, index: int) -> View:
        return View(index, index, self.short_side, mirrored=False, seed=0)


@torch.no_grad()
def find(
    detector: Detector,
    recipe: Recipe,
    photos: Dataset,
    supply: ProposalSupply,
    cache: FeatureCache | None,
    *,
    gate: bool,
) -> Iterator[Detections]:
    """What a detector finds, looking once; the frozen features are those of training."""
    samples = build_samples(photos, recipe, cache, supply)
    sides = recipe.training.short_sides
    samples = replace(samples, views=InOrder(sides[len(sides) // 2]))
    precision = getattr(torch, recipe.training.precision)
    for sample in loaded_ahead(samples, iter(range(len(photos))), workers=1):
        boxes = sample.boxes
        with torch.autocast("cpu", precision, enabled=precision != torch.float32):
            features = features_of(detector, sample, cache)
            outputs = detector.outputs(features, boxes, detector.neck(features, boxes))
        (width, height), scores = sample.photo_size, class_scores(outputs)
        seen = resized_shape(height, width, sample.view.short_side, recipe.training.long_side)
        found = class_boxes(outputs, boxes, width=seen[1], height=seen[0])  # (R, C, 4)
        yield merge(
            gated(scores, sample.photo.tags) if gate else scores,
            found / found.new_tensor([seen[1] / width, seen[0] / height] * 2),
            class_names=photos.class_names,
            image_id=sample.photo.id,
        )


def features_of(detector: Detector, sample: Sample, cache: FeatureCache | None) -> torch.Tensor:
    """Of the base, from the cache where they are there."""
    if sample.features is not None:
        return sample.features
    assert sample.image is not None
    features: torch.Tensor = detector.base(detector.pixels.normalise(sample.image))
    if cache is not None and sample.cache_key is not None:
        cache.put(sample.cache_key, sample.photo_size, features)
    return as_cached(features)


STEPS, BEYOND, BOUND = "steps of the paper", "beyond the paper", "upper bound"
"""Tables."""
BASELINE = "WSDDN"
Kept = dict[tuple[str, str], list[dict[str, Any]]]
"""Scores by table and name of a row, one a seed."""


def run_all(plan: Plan, listed: Path, data: Path, out: Path, count: int) -> None:
    """Every run not kept yet, `count` at a time, each a process with its share of the cores."""
    cores = max(1, (os.cpu_count() or 1) // count)
    environment = os.environ | {"OMP_NUM_THREADS": str(cores), "MKL_NUM_THREADS": str(cores)}

    def start(row: Row, seed: int) -> None:
        if (row.folder(out, seed) / SCORES).exists():
            return
        one = ["--list", str(listed), "--data", str(data), "--out", str(out)]
        command = [sys.executable, __file__, *one, "--only", row.title, "--seed", str(seed)]
        started = time.perf_counter()
        log = row.folder(out, seed) / "log.txt"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as file:
            code = subprocess.call(command, env=environment, stdout=file, stderr=file)
        said = "done" if code == 0 else f"failed, see {log}"
        seconds = time.perf_counter() - started
        print(f"{row.title}, seed {seed}: {said} in {seconds:.0f} s", file=sys.stderr)

    # The first seed of every row comes first, so that an early stop leaves a whole table.
    seeds = sorted({seed for row in plan.rows for seed in row.seeds})
    runs = [(row, seed) for seed in seeds for row in plan.rows if seed in row.seeds]
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(lambda run: start(*run), runs))


def kept_scores(plan: Plan, out: Path) -> Kept:
    """What has been measured so far."""
    kept: Kept = {}
    for row in plan.rows:
        runs = [row.folder(out, seed) for seed in row.seeds]
        found = [
            json.loads((run / SCORES).read_text()) | waited_in(run)
            for run in runs
            if (run / SCORES).exists()
        ]
        if found:
            kept[row.table, row.name] = found
    return kept


def waited_in(run: Path) -> dict[str, float]:
    """The share of its time that a run's steps waited for photos, where it logged them."""
    lines = read_metrics(run)
    seconds = [1 / line["images_per_second"] for line in lines]
    waited = [second * line["waited"] for second, line in zip(seconds, lines, strict=True)]
    return {"waited": sum(waited) / sum(seconds)} if lines else {}


COLUMNS = {
    "AP50": lambda scores: scores["ap50"],
    "CorLoc": lambda scores: scores["corloc"],
    "AR@1": lambda scores: scores["recall"]["at_1"],
    "AR@10": lambda scores: scores["recall"]["at_10"],
    "AR@100": lambda scores: scores["recall"]["at_100"],
}


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over the seeds."""
    return f"{mean(values):.1f} ± {stdev(values):.1f}" if len(values) > 1 else f"{values[0]:.1f}"


def tables(kept: Kept) -> Iterator[str]:
    """Markdown, readable as it is."""
    for table in dict.fromkeys(table for table, _ in kept):
        yield f"\n### {table[0].upper()}{table[1:]}\n"
        yield "| | seeds | " + " | ".join(COLUMNS) + " | least minutes |"
        yield "|---|---|" + "---|" * len(COLUMNS) + "---|"
        for (of, name), scores in kept.items():
            if of == table:
                cells = [spread([value(one) for one in scores]) for value in COLUMNS.values()]
                cells.append(f"{min(one['train_seconds'] for one in scores) / 60:.1f}")
                yield f"| {name} | {len(scores)} | " + " | ".join(cells) + " |"


def gains(kept: Kept, before: tuple[str, str], after: tuple[str, str]) -> Iterator[str]:
    """The classes by what the second row gains over the first, most first."""
    if before not in kept or after not in kept:
        return
    names = list(kept[before][0]["ap50_by_class"])
    gain = {
        name: mean(one["ap50_by_class"][name] for one in kept[after])
        - mean(one["ap50_by_class"][name] for one in kept[before])
        for name in names
    }
    yield f"\n### AP50 of {after[1]} over {before[1]}, by class\n"
    ranked = sorted(gain, key=lambda name: -gain[name])
    yield "| " + " | ".join(ranked) + " |"
    yield "|" + "---|" * len(ranked)
    yield "| " + " | ".join(f"{gain[name]:+.1f}" for name in ranked) + " |"


def conclusions(kept: Kept) -> Iterator[str]:
    """What the rows say of each other: our share of the upper bound, and the doctor's word."""
    share = share_of_bound(kept)
    if share is not None:
        yield f"\n{best_of(kept)} reaches {share:.0f} % of the AP50 that true boxes teach."
        yield "The paper's share, of other photos and networks, is 78 %."
    waits = [100 * one["waited"] for scores in kept.values() for one in scores if "waited" in one]
    if waits:
        yield f"\nSteps waited for photos for {mean(waits):.1f} % of their time, "
        yield f"{min(waits):.1f} to {max(waits):.1f} % by run."
    for (_, name), scores in kept.items():
        if any(one["doctor"] for one in scores):
            yield f'\n`tag2box check` says of "{name}": {"; ".join(scores[0]["doctor"])}: fatal.'


def share_of_bound(kept: Kept) -> float | None:
    """AP50 of the best row over that of the true boxes, in percent."""
    bounds = [mean_of(scores, "ap50") for (table, _), scores in kept.items() if table == BOUND]
    best = [mean_of(scores, "ap50") for (_, name), scores in kept.items() if name == best_of(kept)]
    return 100 * best[0] / bounds[0] if bounds and best else None


def best_of(kept: Kept) -> str:
    """The row that learns from tags with the highest AP50."""
    rows = {
        name: mean_of(scores, "ap50")
        for (table, name), scores in kept.items()
        if table in (STEPS, BEYOND)
    }
    return max(rows, key=lambda name: rows[name], default="")


def mean_of(scores: Sequence[dict[str, Any]], key: str) -> float:
    """Over the seeds."""
    return mean(one[key] for one in scores)


def machine() -> str:
    """What it was measured on."""
    return f"{os.cpu_count()} cores ({platform.machine()}), torch {torch.__version__}"


def figures(kept: Kept) -> dict[str, Any]:
    """Means by table and row, and the share of the upper bound."""
    rows = {
        f"{table}: {name}": {
            "ap50": round(mean_of(scores, "ap50"), 2),
            "corloc": round(mean_of(scores, "corloc"), 2),
            "seeds": len(scores),
        }
        for (table, name), scores in kept.items()
    }
    share = share_of_bound(kept)
    return rows | {"share_of_upper_bound": None if share is None else round(share / 100, 3)}


def write_page(page: Path, kept: Kept, plan: Plan) -> None:
    """The tables and a plot beside them, with what they were measured on."""
    steps = plan.recipe.training.steps
    photos = steps * plan.recipe.training.images_per_step
    plot = page.with_name("ablation.svg")
    lines = [
        "`python benchmarks/ablation.py --write docs/results.md`: 640 photos of ten VOC classes to",
        "learn from, their tags only; 320 others to score on, at an IoU of 0.5 (AP50: area under",
        "the curve; CorLoc: of the photos learnt from; AR: COCO's average recall). Mean ± standard",
        "deviation over the seeds, in percent.",
        f"Each run: recipe `laptop`, {steps} steps, {photos} views of photos. Measured on",
        f"{machine()}, two runs side by side, one core each, in bfloat16; minutes are those of",
        "training, of the fastest seed, on one core and without proposals; the frozen features are",
        "shared by all runs and fall to the first. These numbers do not compare with published",
        "tables of VOC 2007.",
        "[The log of the recipe](laptop-recipe.md) says how to read them.\n",
        f"![AP50 of every row, one point a seed]({plot.name})",
        *tables(kept),
        *conclusions(kept),
        *gains(kept, (STEPS, "MIST"), (STEPS, "MIST + Concrete DropBlock")),
    ]
    put_section(page, "The method step by step on real photos", "\n".join(lines))
    draw(plot, kept)


def draw(path: Path, kept: Kept) -> None:
    """A point for every run."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 0.28 * len(kept) + 1))
    names = [f"{name}" for _, name in kept]
    for place, scores in enumerate(kept.values()):
        values = [one["ap50"] for one in scores]
        axes.plot(values, [place] * len(values), "o", color="tab:blue", alpha=0.5)
        axes.plot(mean(values), place, "|", color="black", markersize=14)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("AP50 in percent; a line marks the mean")
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def write_side_by_side(plan: Plan, data: Path, out: Path, best: str) -> None:
    """One page with what the baseline and the best run find in photos neither has seen."""
    shown = [row for row in plan.rows if row.name in (BASELINE, best)]
    runs = []
    for row in shown:
        run = row.folder(out, row.seeds[0])
        photos = read_photos(data, row, row.seeds[0])
        how = Looking(
            run=run,
            out=run / "predict",
            gate=False,
            inference=InferenceSettings(),
            merging=MergingSettings(),
            proposals=plan.recipe.proposals,
            images=plan.recipe.images,
        )
        look(lambda _, unseen=photos.val: unseen.images, how)
        runs.append(read_run(run / "predict"))
    write_report(
        out / "report.html",
        title=f"{BASELINE} and {best}",
        runs=runs,
        truth=read_photos(data, shown[0], 0).val_truth,
    )


def main() -> None:
    """Run what is missing, print what is there."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--data", type=Path, default=PHOTOS)
    options.add_argument("--list", type=Path, default=HERE / "ablation.toml")
    options.add_argument("--out", type=Path, default=Path("runs/ablation"))
    options.add_argument("--only", default="", help="only tables or rows with this word")
    options.add_argument("--kept", action="store_true", help="run nothing: what is there already")
    options.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options.add_argument("--write", type=Path, help="page the tables are written to")
    options.add_argument("--report", action="store_true", help="also the two runs side by side")
    options.add_argument(
        "--seed", type=int, help="only this run of the row titled --only, here and now"
    )
    asked = options.parse_args()
    if not asked.data.is_dir():
        print(f"{asked.data} is not there; name photos in VOC layout with --data")
        print(json.dumps({}))
        return
    plan = read_plan(asked.list)
    if asked.seed is not None:
        row = plan.row_titled(asked.only)
        print(json.dumps(run_one(plan, row, asked.seed, asked.data, asked.out)))
        return
    plan = replace(plan, rows=tuple(row for row in plan.rows if asked.only in row.title))
    if not asked.kept:
        run_all(plan, asked.list, asked.data, asked.out, asked.processes)
    kept = kept_scores(plan, asked.out)
    print("\n".join([*tables(kept), *conclusions(kept)]))
    if asked.write:
        write_page(asked.write, kept, plan)
    if asked.report:
        write_side_by_side(plan, asked.data, asked.out, best_of(kept))
    print(json.dumps(figures(kept)))


if __name__ == "__main__":
    main()
