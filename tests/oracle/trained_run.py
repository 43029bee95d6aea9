"""A run folder with an untrained detector, photos with tags, and a file of their proposals."""

import dataclasses
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn

from tag2box.models.build import detector_from
from tag2box.models.trained import write_trained
from tag2box.proposals.npz import write_npz
from tag2box.proposals.protocol import Proposals
from tag2box.recipe import ProposalSettings, ReadingSettings, Recipe, TrainingSettings

NAMES = ("cat", "dog", "owl")
TAGS = {"a.png": "cat", "b.png": "dog;owl", "c.png": "", "d.png": "owl"}


def write_photos(root: Path, names: tuple[str, ...] = tuple(TAGS)) -> None:
    """Photos of 90 x 64 pixels in `photos/`, `tags.csv` and `proposals.npz` beside it."""
    (root / "photos").mkdir(parents=True)
    random = np.random.default_rng(0)
    proposals = []
    for name in names:
        pixels = random.integers(0, 256, (64, 90, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(root / "photos" / name)
        low = random.random((20, 2)) * [50, 30]
        boxes = np.concatenate([low, low + 10 + random.random((20, 2)) * [30, 20]], axis=1)
        proposals.append(Proposals(boxes.astype(np.float32)))
    write_npz(root / "proposals.npz", list(names), proposals)
    lines = [f"{name},{TAGS.get(name, 'cat')}" for name in names]
    (root / "tags.csv").write_text("\n".join(["image,tags", *lines]) + "\n")


def write_run(
    root: Path,
    *,
    class_names: tuple[str, ...] = NAMES,
    proposals: ProposalSettings | None = None,
) -> Path:
    """`root/run`, whose recipe names the proposals beside it and three small sizes."""
    torch.manual_seed(0)
    recipe = Recipe()
    recipe = dataclasses.replace(
        recipe,
        reading=ReadingSettings(classes=class_names),
        training=TrainingSettings(short_sides=(48, 64, 80)),
        proposals=proposals or ProposalSettings(source=f"file:{root / 'proposals.npz'}"),
    )
    detector = detector_from(recipe.model, recipe.dropout, len(class_names)).eval()
    for layer in detector.heads.students:
        nn.init.normal_(layer.weight, std=0.05)
    write_trained(root / "run", detector, recipe)
    return root / "run"
