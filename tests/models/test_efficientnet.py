from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image, ImageOps
from torch import nn

from tag2box.models.efficientnet import efficientnet_lite0, embedded_weights

PHOTOS = Path(__file__).parents[3] / "shared" / "voc-mini" / "JPEGImages"


@torch.no_grad()
def test_base_and_neck_together_are_timms_with_the_embedded_weights() -> None:
    network = timm.create_model("tf_efficientnet_lite0").eval()
    network.load_state_dict(embedded_weights())
    backbone = efficientnet_lite0(embedded_weights())
    image = torch.randn(3, 128, 96)
    features = backbone.base(image)
    assert features.shape == (1, backbone.channels, 8, 6)
    expected = network.forward_head(network.forward_features(image[None]), pre_logits=True)
    torch.testing.assert_close(backbone.neck(features, None), expected, rtol=1e-4, atol=1e-5)


@torch.no_grad()
@pytest.mark.skipif(not PHOTOS.is_dir(), reason="no photos beside the checkout")
@pytest.mark.parametrize(("photo", "imagenet_class"), [("2008_000009", 345), ("2008_000033", 404)])
def test_the_embedded_weights_know_an_ox_and_an_airliner(photo: str, imagenet_class: int) -> None:
    """The ox is recognised with these pixel statistics only, not with channels swapped."""
    network = timm.create_model("tf_efficientnet_lite0").eval()
    network.load_state_dict(embedded_weights())
    image = ImageOps.fit(Image.open(PHOTOS / f"{photo}.jpg").convert("RGB"), (224, 224))
    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)
    normalised = efficientnet_lite0().pixels.normalise(pixels)
    assert network(normalised[None]).argmax().item() == imagenet_class


@pytest.mark.parametrize("regions", [0, 1, 3])
def test_regions_do_not_mix_and_statistics_do_not_move(regions: int) -> None:
    backbone = efficientnet_lite0()
    backbone.base.train()
    neck = backbone.neck.train()
    before = {name: value.clone() for name, value in neck.state_dict().items()}
    pooled = torch.randn(regions, backbone.channels, 7, 7)
    out = neck(pooled, None)
    assert out.shape == (regions, backbone.dimension)
    for r in range(regions):
        torch.testing.assert_close(neck(pooled[r : r + 1], None)[0], out[r], rtol=1e-4, atol=1e-5)
    assert all(torch.equal(value, before[name]) for name, value in neck.state_dict().items())
    assert not any(type(m) is nn.BatchNorm2d for m in neck.modules())


def test_the_first_stages_are_frozen() -> None:
    base = efficientnet_lite0(frozen_stages=3).base
    learning = {name.split(".")[0] for name, p in base.named_parameters() if p.requires_grad}
    assert learning == {"3", "4"}


def test_with_a_new_neck_all_stages_are_the_base() -> None:
    """Stages 5 and 6 are dilated instead of halving the map; their weights are the embedded."""
    backbone = efficientnet_lite0(
        embedded_weights(), frozen_stages=7, new_neck="fully-connected", neck_width=16
    ).base
    own = efficientnet_lite0(embedded_weights())
    assert not any(parameter.requires_grad for parameter in backbone.parameters())
    image = torch.randn(3, 64, 96)
    with torch.no_grad():
        features = backbone.eval()(image)
        before = own.base.eval()(image)
    assert features.shape == (1, 320, 4, 6)
    assert before.shape == (1, 112, 4, 6)
    weights = [tensor for tensor in own.neck.state_dict().values() if tensor.shape[:1] == (320,)]
    kept = list(backbone.state_dict().values())
    assert all(any(torch.equal(w, k) for k in kept if k.shape == w.shape) for w in weights)


def test_a_shorter_base_and_smaller_regions_for_a_new_neck() -> None:
    backbone = efficientnet_lite0(
        frozen_stages=7, new_neck="fully-connected", neck_width=16, base_stages=5, pool_size=3
    )
    own = efficientnet_lite0(frozen_stages=7)
    assert [len(s.state_dict()) for s in backbone.base] == [len(s.state_dict()) for s in own.base]
    assert (backbone.channels, backbone.pool_size) == (112, 3)
    pooled = torch.randn(2, 112, 3, 3)
    assert backbone.neck(pooled, None).shape == (2, 16)
