import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from tag2box.errors import InputError
from tag2box.inference.passes import Pass, averaged
from tag2box.inference.predictor import Predictor
from tag2box.recipe import MergingSettings
from tag2box.structures import Detections, TaggedImage

Photos = Callable[..., list[TaggedImage]]


def same(one: Detections, other: Detections) -> bool:
    return (
        np.array_equal(one.boxes, other.boxes)
        and np.array_equal(one.scores, other.scores)
        and np.array_equal(one.classes, other.classes)
        and (one.class_names, one.image_id) == (other.class_names, other.image_id)
    )


def test_boxes_lie_in_the_photo_and_every_class_may_come(
    predictor: Predictor, photos: Photos
) -> None:
    (photo,) = photos("a")
    found = predictor(photo)
    assert found.image_id == "a"
    assert set(found.classes.tolist()) == {0, 1, 2}
    assert (found.boxes >= 0).all()
    assert (found.boxes <= [64, 48, 64, 48]).all()
    assert (np.diff(found.scores) <= 0).all()


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_many_photos_are_found_in_order_whatever_the_threads(
    predictor: Predictor, photos: Photos, threads: int
) -> None:
    many = photos(*"abcdefghijk")
    predictor = dataclasses.replace(predictor, threads=threads)
    found = list(predictor.find(many))
    assert [one.id for one in found] == list("abcdefghijk")
    assert all(same(one.detections, predictor(p)) for one, p in zip(found, many, strict=True))
    assert {(one.width, one.height) for one in found} == {(64, 48)}


def test_the_frame_is_that_of_the_photo_whatever_the_size_looked_at(
    predictor: Predictor, photos: Photos
) -> None:
    (photo,) = photos("a")
    for side, long_side in ((24, 2000), (96, 2000), (96, 64)):
        looked = dataclasses.replace(predictor, passes=(Pass(side),), long_side=long_side)
        found = looked(photo)
        assert found.boxes.max() > 40
        assert (found.boxes <= [64, 48, 64, 48]).all()


def test_the_rotation_of_a_camera_is_applied(predictor: Predictor, photos: Photos) -> None:
    (photo,) = photos("a")
    turned = photo.path.with_name("turned.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.open(photo.path).transpose(Image.Transpose.ROTATE_90).save(turned, exif=exif)
    found = predictor(dataclasses.replace(photo, path=turned))
    assert same(found, predictor(photo))


def test_the_gate_lets_only_tags_through_and_each_of_them(
    predictor: Predictor, photos: Photos
) -> None:
    strict = MergingSettings(score_threshold=0.99)
    for merging in (MergingSettings(), strict):
        gate = dataclasses.replace(predictor, gate=True, merging=merging)
        for photo, found in zip(photos(*"abcdef"), gate.find(photos(*"abcdef")), strict=True):
            assert set(found.detections.classes.tolist()) == photo.tags
            assert (found.disagreement is None) == (not photo.tags)


def test_students_disagree_about_what_is_looked_for(predictor: Predictor, photos: Photos) -> None:
    some = [photo for photo in photos(*"abcdef") if photo.tags]
    every = [one.disagreement for one in predictor.find(some)]
    gated = [one.disagreement for one in dataclasses.replace(predictor, gate=True).find(some)]
    assert all(0 < tags <= classes <= 1 for tags, classes in zip(gated, every, strict=True))
    assert gated != every


def test_a_negative_is_not_even_decoded(
    predictor: Predictor, photos: Photos, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("decoded")

    *_, negative = photos("a", "b", "c")
    monkeypatch.setattr("tag2box.inference.loading.read_image", refuse)
    (found,) = dataclasses.replace(predictor, gate=True).find([negative])
    assert (len(found.detections), found.width, found.height) == (0, 64, 48)


def test_a_photo_without_proposals(predictor: Predictor, photos: Photos) -> None:
    (photo,) = photos("empty")
    assert len(predictor(photo)) == 0
    found = dataclasses.replace(predictor, gate=True)(photo)
    assert found.classes.tolist() == [0]


def test_boxes_without_an_area_are_no_detections(
    predictor: Predictor, photos: Photos, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flat(*arguments: object, **keywords: object) -> object:
        scores, boxes = averaged(*arguments, **keywords)  # type: ignore[arg-type]
        boxes[:, 1, 2] = boxes[:, 1, 0]
        return scores, boxes

    monkeypatch.setattr("tag2box.inference.predictor.averaged", flat)
    (photo,) = photos("a")
    assert set(predictor(photo).classes.tolist()) == {0, 2}


def test_unreadable_photos_stop_or_are_skipped(predictor: Predictor, photos: Photos) -> None:
    many = photos("a", "b", "c")
    many[1].path.write_bytes(b"no photo")
    looking = predictor.find(many)
    assert next(looking).id == "a"
    with pytest.raises(InputError, match=r"b\.png"):
        next(looking)
    skipping = dataclasses.replace(predictor, unreadable="skip")
    with pytest.warns(UserWarning, match=r"skipped: .*b\.png"):
        assert [one.id for one in skipping.find(many)] == ["a", "c"]


def test_bfloat16_gives_nearly_the_same_scores(predictor: Predictor, photos: Photos) -> None:
    import torch

    (photo,) = photos("a")
    found = dataclasses.replace(predictor, precision=torch.bfloat16)(photo)
    assert found.scores.dtype == np.float32
    assert abs(found.scores[0] - predictor(photo).scores[0]) < 0.1
