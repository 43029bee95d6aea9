import logging

import pytest
import timm
import torch

from tag2box.errors import InputError
from tag2box.models.build import build_backbone, build_detector
from tag2box.models.timm_adapter import timm_backbone


@pytest.mark.parametrize("name", ["resnet10t", "mobilenetv3_small_050", "vit_tiny_patch16_224"])
def test_any_model_with_feature_maps_makes_a_detector(name: str) -> None:
    backbone = build_backbone(f"timm:{name}", weights="none", neck_width=8)
    detector = build_detector(backbone, 3).eval()
    image = torch.randn(3, 70, 101)  # no whole number of cells
    features = detector.base(image)
    assert features.shape == (1, backbone.channels, 5, 7)
    out = detector(image, torch.tensor([[0.0, 0, 60, 50], [30, 20, 101, 70]]))
    assert out.class_logits.shape == (2, 4)
    assert out.class_logits.isfinite().all()


@torch.no_grad()
def test_a_state_dict_is_loaded_and_the_new_neck_announced() -> None:
    network = timm.create_model("resnet10t")
    weights = {name: value + 0.01 for name, value in network.state_dict().items()}
    network.load_state_dict(weights)
    with pytest.warns(UserWarning, match="neck is new"):
        backbone = timm_backbone("resnet10t", weights, where="file", dimension=4)
    images = torch.randn(1, 3, 64, 64)
    x = network.maxpool(network.eval().act1(network.bn1(network.conv1(images))))
    expected = network.layer3(network.layer2(network.layer1(x)))
    torch.testing.assert_close(backbone.base(images[0]), expected, rtol=1e-3, atol=1e-4)
    assert backbone.pixels.mean == pytest.approx((123.675, 116.28, 103.53))


def test_a_state_dict_that_lacks_a_key_is_refused() -> None:
    weights = timm.create_model("resnet10t").state_dict()
    del weights["layer1.0.conv1.weight"]
    with pytest.raises(InputError, match=r"missing: layer1\.0\.conv1\.weight"):
        timm_backbone("resnet10t", weights, where="file", dimension=4)


def test_unusable_models_are_one_sentence() -> None:
    with pytest.raises(InputError, match="did you mean resnet50"):
        build_backbone("timm:resnet5O", weights="none")
    with pytest.raises(InputError, match="images of any size"):
        build_backbone("timm:mixer_s16_224", weights="none")
    with pytest.raises(InputError, match="stride 32"):
        build_backbone("timm:mixer_s32_224", weights="none")


def test_no_network_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    create = timm.create_model
    hub = logging.getLogger("huggingface_hub.utils._http")
    told = hub.isEnabledFor(logging.WARNING)

    def offline(name: str, **options: object) -> object:
        if options.get("pretrained"):
            assert not hub.isEnabledFor(logging.WARNING)  # it would tell each of its retries
            raise OSError("Name or service not known\nmore lines")
        return create(name, **options)

    monkeypatch.setattr(timm, "create_model", offline)
    with pytest.raises(
        InputError, match=r"timm:resnet10t: its weights cannot be downloaded \(Name"
    ):
        build_backbone("timm:resnet10t", weights="imagenet")
    assert hub.isEnabledFor(logging.WARNING) == told
