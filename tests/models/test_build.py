import warnings

import pytest
import torch

from tag2box.errors import InputError
from tag2box.models.build import build_backbone, build_detector, build_dropout, detector_from
from tag2box.models.concrete_dropblock import ConcreteDropBlock
from tag2box.models.dropblock import DropBlock
from tag2box.models.pixels import CAFFE, TENSORFLOW
from tag2box.models.regions import RoIAlign, RoIMaxPool
from tag2box.models.spatial_dropout import SpatialDropout
from tag2box.recipe import DropoutSettings, ModelSettings


def test_the_default_settings_read_the_installed_weights_and_warn_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detector = detector_from(ModelSettings(), DropoutSettings(), 4)
    assert detector.pixels == TENSORFLOW
    assert detector.heads.num_classes == 4
    assert detector.training
    assert isinstance(detector.neck.pool, RoIAlign)


def test_settings_reach_the_parts() -> None:
    model = ModelSettings(
        weights="none",
        frozen_stages=0,
        pooling="max",
        students=1,
        regression=False,
        channel_order=CAFFE.channel_order,
        pixel_mean=CAFFE.mean,
        pixel_std=CAFFE.std,
    )
    detector = detector_from(model, DropoutSettings(kind="block", share=0.2, block_size=2), 3)
    assert detector.pixels == CAFFE
    assert isinstance(detector.neck.pool, RoIMaxPool)
    assert len(detector.heads.students) == 1
    assert len(detector.heads.deltas) == 0
    assert isinstance(detector.neck.region_dropout, DropBlock)
    assert (detector.neck.region_dropout.share, detector.neck.region_dropout.block_size) == (0.2, 2)
    assert all(parameter.requires_grad for parameter in detector.parameters())


@pytest.mark.parametrize(
    ("kind", "image", "region"),
    [
        ("none", type(None), type(None)),
        ("image", SpatialDropout, type(None)),
        ("region", type(None), SpatialDropout),
        ("block", type(None), DropBlock),
        ("concrete", type(None), ConcreteDropBlock),
    ],
)
def test_five_kinds_of_dropout(kind, image, region) -> None:
    parts = build_dropout(DropoutSettings(kind=kind), 8)
    assert (type(parts[0]), type(parts[1])) == (image, region)


def test_frozen_random_stages_are_said() -> None:
    with pytest.warns(UserWarning, match="2 frozen stages stay random"):
        detector_from(ModelSettings(weights="none"), DropoutSettings(), 2)


@pytest.mark.parametrize(
    ("model", "dropout", "words"),
    [
        ({"frozen_stages": -1}, {}, "model.frozen_stages: is -1"),
        ({"students": -1}, {}, "model.students: is -1"),
        ({"pixel_std": (1.0, 0.0, 1.0)}, {}, "model.pixel_std"),
        ({}, {"share": 1.0}, "dropout.share: is 1.0"),
        ({}, {"block_size": 0}, "dropout.block_size: is 0"),
        ({}, {"block_size": 9}, "7 x 7 cells"),
        ({"neck": "fully-connected", "pool_size": 3}, {"block_size": 4}, "3 x 3 cells"),
        ({"neck": "fully-connected", "base_stages": 8}, {}, "model.base_stages: is 8"),
        ({"pool_size": 3}, {}, "need a new neck"),
        ({"region_growth": 0.5}, {}, "model.region_growth: is 0.5"),
        ({"surroundings": float("nan")}, {}, "model.surroundings: is nan"),
        ({"neck": "fully-connected", "frozen_neck": True}, {}, "model.frozen_neck"),
        ({"backbone": "timm:test_efficientnet", "frozen_neck": True}, {}, "model.frozen_neck"),
        ({}, {"temperature": 0.0}, "dropout.temperature: is 0.0"),
    ],
)
def test_impossible_numbers_are_named(model, dropout, words: str) -> None:
    with pytest.raises(InputError, match=words):
        detector_from(ModelSettings(**model), DropoutSettings(**dropout), 2)


def test_unknown_names_are_one_sentence() -> None:
    with pytest.raises(InputError, match=r"'vgg' is not a backbone; use one of .*vgg16"):
        build_backbone("vgg", weights="none")
    with pytest.raises(InputError, match="no such file"):
        build_backbone("vgg16", weights="absent.pth")


def test_own_pooling_is_the_backbones(tiny_backbone) -> None:
    detector = build_detector(tiny_backbone, 2)
    assert isinstance(detector.neck.pool, RoIMaxPool)
    assert (detector.neck.pool.size, detector.neck.pool.stride) == (7, 4)
    assert torch.equal(detector.heads.classes.bias, torch.zeros(3))
