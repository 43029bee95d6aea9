import dataclasses
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from tag2box.errors import InputError
from tag2box.inference.job import check_settings, find_boxes, predictor_from, results
from tag2box.inference.passes import Pass
from tag2box.inference.predictor import Predictor
from tag2box.inference.streaming import Stream
from tag2box.models.detector import Detector
from tag2box.recipe import (
    InferenceSettings,
    MergingSettings,
    ReadingSettings,
    Recipe,
    TrainingSettings,
)
from tag2box.structures import TaggedImage
from tag2box.training.distributed import Processes

Photos = Callable[..., list[TaggedImage]]
NAMES = ("cat", "dog", "owl")
TRAINED = dataclasses.replace(
    Recipe(),
    reading=ReadingSettings(classes=NAMES),
    training=TrainingSettings(short_sides=(32, 48, 64), long_side=500),
)


def alone() -> Processes:
    return Processes(rank=0, count=1, device=torch.device("cpu"))


class Together(Processes):
    """Threads that stand for processes: they wait for each other."""

    barrier: threading.Barrier

    def wait(self) -> None:
        self.barrier.wait(timeout=30)


def together(count: int) -> list[Processes]:
    Together.barrier = threading.Barrier(count)
    return [Together(rank=r, count=count, device=torch.device("cpu")) for r in range(count)]


def boxes(stream: Stream, photos: list[TaggedImage]) -> list[list[object]]:
    return [
        [one.id, one.detections.boxes.tolist(), one.detections.scores.tolist()]
        for one in results(stream, photos)
    ]


def test_a_stopped_job_goes_on_where_it_was(
    tmp_path: Path, predictor: Predictor, photos: Photos
) -> None:
    many = photos(*"abcdefgh")
    whole = Stream(tmp_path / "whole", NAMES, {})
    find_boxes(predictor, many, whole, alone())

    stream = Stream(tmp_path / "stopped", NAMES, {})
    get = predictor.supply.get

    def stop_at_f(photo: TaggedImage) -> object:
        if photo.id == "f":
            raise KeyboardInterrupt
        return get(photo)

    object.__setattr__(predictor.supply, "get", stop_at_f)
    with pytest.raises(KeyboardInterrupt):
        find_boxes(predictor, many, stream, alone())
    done = [one.id for one in results(stream, many)]
    assert done == list("abcde")

    object.__setattr__(predictor.supply, "get", get)
    predictor.supply.asked.clear()  # type: ignore[attr-defined]
    find_boxes(predictor, many, stream, alone())
    assert sorted(predictor.supply.asked) == list("fgh")  # type: ignore[attr-defined]
    assert boxes(stream, many) == boxes(whole, many)


@pytest.mark.parametrize("count", [2, 3, 9])
def test_processes_share_the_photos(
    tmp_path: Path, predictor: Predictor, photos: Photos, count: int
) -> None:
    many = photos(*"abcdefg")
    whole = Stream(tmp_path / "whole", NAMES, {})
    find_boxes(predictor, many, whole, alone())
    stream = Stream(tmp_path / "shared", NAMES, {})
    predictor.supply.asked.clear()  # type: ignore[attr-defined]
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(lambda ours: find_boxes(predictor, many, stream, ours), together(count)))
    assert sorted(predictor.supply.asked) == list("abcdefg")  # type: ignore[attr-defined]
    assert boxes(stream, many) == boxes(whole, many)


def test_a_job_stopped_on_several_processes_goes_on_with_another_number(
    tmp_path: Path, predictor: Predictor, photos: Photos
) -> None:
    many = photos(*"abcdefg")
    stream = Stream(tmp_path, NAMES, {})
    Together.barrier = threading.Barrier(1)
    second_of_three = Together(rank=1, count=3, device=torch.device("cpu"))
    find_boxes(predictor, many, stream, second_of_three)
    assert [one.id for one in results(stream, many)] == ["b", "e"]
    predictor.supply.asked.clear()  # type: ignore[attr-defined]
    find_boxes(predictor, many, stream, alone())
    assert sorted(predictor.supply.asked) == list("acdfg")  # type: ignore[attr-defined]
    assert len(results(stream, many)) == 7


def test_skipped_photos_are_missing_and_tried_again(
    tmp_path: Path, predictor: Predictor, photos: Photos
) -> None:
    many = photos("a", "b", "c")
    good = many[1].path.read_bytes()
    many[1].path.write_bytes(b"no photo")
    stream = Stream(tmp_path / "s", NAMES, {})
    skipping = dataclasses.replace(predictor, unreadable="skip")
    with pytest.warns(UserWarning, match="skipped"):
        find_boxes(skipping, many, stream, alone())
    assert [one.id for one in results(stream, many)] == ["a", "c"]
    many[1].path.write_bytes(good)
    find_boxes(skipping, many, stream, alone())
    assert [one.id for one in results(stream, many)] == ["a", "b", "c"]


def test_proposals_of_photos_without_a_tag_are_not_computed(
    tmp_path: Path, predictor: Predictor, photos: Photos
) -> None:
    gate = dataclasses.replace(predictor, gate=True)
    stream = Stream(tmp_path / "s", NAMES, {})
    many = photos("a", "b", "c")
    find_boxes(gate, many, stream, alone())
    assert predictor.supply.filled == ["a", "b"]  # type: ignore[attr-defined]
    found = results(stream, many)
    assert [sorted(set(one.detections.classes.tolist())) for one in found] == [[0], [1, 2], []]


def built(detector: Detector, supply: object, *, gate: bool, **settings: object) -> Predictor:
    return predictor_from(
        detector,
        TRAINED,
        supply,  # type: ignore[arg-type]
        inference=InferenceSettings(**settings),  # type: ignore[arg-type]
        merging=MergingSettings(top=7),
        gate=gate,
    )


def test_settings_become_a_predictor(detector: Detector, supply: object) -> None:
    six = tuple(Pass(side, flag) for side in (32, 48, 64) for flag in (False, True))
    assert built(detector, supply, gate=False).passes == (Pass(48),)
    assert built(detector, supply, gate=True).passes == six
    assert built(detector, supply, gate=False, passes="all").passes == six
    assert built(detector, supply, gate=True, passes="single").passes == (Pass(48),)
    named = built(detector, supply, gate=True, short_sides=(20, 30), mirror=False, long_side=90)
    assert named.passes == (Pass(20), Pass(30))
    assert (named.long_side, named.merging.top, named.class_names) == (90, 7, NAMES)
    assert built(detector, supply, gate=True).long_side == 500
    assert built(detector.train(), supply, gate=False).detector.training is False


@pytest.mark.parametrize(
    ("inference", "merging", "name"),
    [
        ({"short_sides": (480, 0)}, {}, "short_sides"),
        ({"long_side": -1}, {}, "long_side"),
        ({"least_score": 1.5}, {}, "least_score"),
        ({"least_score": np.nan}, {}, "least_score"),
        ({"regions_per_batch": 0}, {}, "regions_per_batch"),
        ({"threads": -1}, {}, "threads"),
        ({}, {"overlap": 2}, "overlap"),
        ({}, {"top": 0}, "top"),
        ({}, {"score_threshold": -0.1}, "score_threshold"),
    ],
)
def test_impossible_settings_are_named(inference: dict, merging: dict, name: str) -> None:
    with pytest.raises(InputError, match=name):
        check_settings(InferenceSettings(**inference), MergingSettings(**merging))
