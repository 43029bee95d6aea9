"""From tags alone the whole method finds more than WSDDN does in as many steps; both beat chance.

Three seeds, each of other scenes, other first weights and another order. Measured on scenes that
were not learnt from.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tag2box
from tag2box.data.scene_files import write_scenes
from tag2box.evaluation.corloc import corloc
from tag2box.evaluation.ground_truth import read_ground_truth
from tag2box.evaluation.voc import average_precision
from tag2box.recipe import ReadingSettings
from tag2box.recipe_file import recipe_named
from tag2box.structures import Detections
from tag2box.verbs.demo import ADVERSARY, BASELINE, recipes

ABOVE_CHANCE = 0.15
"""Margin of both, in average precision and in CorLoc."""


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_learns(seed: int, tmp_path: Path) -> None:
    write_scenes(tmp_path / "scenes", train=200, val=60, seed=seed)
    photos = tag2box.read(tmp_path / "scenes", split="train")
    unseen = tag2box.read(tmp_path / "scenes", split="val")
    demo = recipe_named("demo")
    training = replace(demo.training, seed=seed, feature_cache=tmp_path / "features")
    made = recipes(replace(demo, training=training))
    found = {}
    for name in (BASELINE, ADVERSARY):
        run = tag2box.train(photos, recipe=made[name], out=tmp_path / name)
        found[name] = list(run.predict(unseen, inference={"least_score": 0.0}))
    truth = read_ground_truth([tmp_path / "scenes"], ReadingSettings(split="val"))
    found["chance"] = by_chance(found[BASELINE], seed)
    for measure in (average_precision, corloc):
        ours, theirs, chance = (
            measure(truth, found[name]).mean for name in (ADVERSARY, BASELINE, "chance")
        )
        assert ours > theirs, measure
        assert min(ours, theirs) > chance + ABOVE_CHANCE, measure


def by_chance(found: Sequence[Detections], seed: int) -> list[Detections]:
    """The same boxes, classes and scores drawn at random."""
    rng = np.random.default_rng(seed)
    return [
        replace(
            one,
            classes=rng.integers(len(one.class_names), size=len(one)),
            scores=rng.random(len(one)).astype(np.float32),
        )
        for one in found
    ]
