from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torchvision.models.vgg import cfgs, make_layers

from tag2box.errors import InputError
from tag2box.models.build import build_detector
from tag2box.models.vgg import vgg16
from tag2box.models.weights import read_state_dict

SHARED = Path(__file__).parents[3] / "shared" / "weights"
CONVOLUTIONS = SHARED / "vgg16_imagenet_conv_torchvision_fp16.pth"


class TorchvisionVGG16(nn.Module):
    """torchvision's, with a narrow classifier so that it is quick."""

    def __init__(self) -> None:
        super().__init__()
        self.features = make_layers(cfgs["D"], batch_norm=False)
        self.classifier = nn.Sequential(
            nn.Linear(512 * 49, 16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 16), nn.ReLU()
        )


@pytest.fixture(scope="module")
def torchvision_vgg() -> TorchvisionVGG16:
    torch.manual_seed(0)
    network = TorchvisionVGG16().eval()
    for layer in network.features:
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    return network


@torch.no_grad()
def test_undilated_equals_torchvisions(torchvision_vgg: TorchvisionVGG16) -> None:
    """Pooling a box of 14 x 14 cells to 7 x 7 is torchvision's last pooling."""
    backbone = vgg16(torchvision_vgg.state_dict(), dilated=False, dimension=16)
    detector = build_detector(backbone, 2).eval()
    image = torch.randn(3, 224, 224)
    features = detector.base(image)
    torch.testing.assert_close(features, torchvision_vgg.features[:-1](image[None]))
    pooled = torchvision_vgg.features(image[None])
    expected = torchvision_vgg.classifier(F.adaptive_avg_pool2d(pooled, 7).flatten(1))
    box = torch.tensor([[0.0, 0, 209, 209]])  # its last pixel, 208, is in the last cell
    torch.testing.assert_close(detector.neck(features, box), expected)


@torch.no_grad()
@pytest.mark.parametrize("last_relu", [True, False])
def test_dilated_differs_by_pool4_dilation_and_the_last_relu(
    torchvision_vgg: TorchvisionVGG16, last_relu: bool
) -> None:
    backbone = vgg16(torchvision_vgg.state_dict(), last_relu=last_relu, dimension=16)
    image = torch.randn(3, 64, 48)
    x = torchvision_vgg.features[:23](image[None])  # up to conv4_3 and its ReLU
    for index in (24, 26, 28):
        conv = torchvision_vgg.features[index]
        x = F.conv2d(x, conv.weight, conv.bias, padding=2, dilation=2)
        if index < 28 or last_relu:
            x = torch.relu(x)
    features = backbone.base(image)
    assert features.shape == (1, 512, 8, 6)
    torch.testing.assert_close(features, x)


def test_the_first_stages_are_frozen() -> None:
    base = vgg16(dimension=4).base
    learning = [name for name, p in base.named_parameters() if p.requires_grad]
    assert [name for name in learning if name.endswith("weight")] == [
        f"{stage}.{index}.weight"
        for stage, indexes in [(2, (10, 12, 14)), (3, (17, 19, 21)), (4, (24, 26, 28))]
        for index in indexes
    ]


def mirrored(weight: Tensor) -> Tensor:
    return (weight + weight.flip(-1)) / 2


@torch.no_grad()
def test_flipping_image_and_boxes_flips_nothing_else() -> None:
    """With kernels that are their own mirror image the outputs stay, exactly but for rounding.

    That holds for RoI align on widths of whole cells; RoI max pooling rounds corners to cells and
    counts the end cell in, which no mirror keeps.
    """
    backbone = vgg16(dimension=8)
    for module in backbone.base.modules():
        if isinstance(module, nn.Conv2d):
            module.weight.copy_(mirrored(module.weight))
    fc6 = backbone.neck.fc6.weight
    fc6.copy_(mirrored(fc6.view(8, 512, 7, 7)).flatten(1))
    detector = build_detector(backbone, 3, pooling="align").eval()
    image = torch.randn(3, 48, 64)
    boxes = torch.tensor([[3.0, 5, 40, 41], [0, 0, 64, 48], [20.5, 1, 63, 30]])
    plain = detector(image, boxes)
    flipped_boxes = torch.stack(
        [64 - boxes[:, 2], boxes[:, 1], 64 - boxes[:, 0], boxes[:, 3]], dim=1
    )
    flipped = detector(image.flip(-1), flipped_boxes)
    assert plain.class_logits.std() > 0
    torch.testing.assert_close(flipped.class_logits, plain.class_logits)
    torch.testing.assert_close(flipped.student_logits, plain.student_logits)


@pytest.mark.skipif(not CONVOLUTIONS.is_file(), reason="no weights beside the checkout")
def test_weights_without_the_neck_need_permission_and_say_so(
    torchvision_vgg: TorchvisionVGG16,
) -> None:
    weights = read_state_dict(CONVOLUTIONS)
    with pytest.raises(InputError, match=r"missing: classifier\.0\.weight.*model\.random_neck"):
        vgg16(weights, where=CONVOLUTIONS.name, dimension=16)
    with pytest.warns(UserWarning, match=r"classifier\.0\.weight.*start random"):
        backbone = vgg16(weights, where=CONVOLUTIONS.name, dimension=16, random_neck=True)
    torchvision_vgg.features.load_state_dict(
        {name.removeprefix("features."): value for name, value in weights.items()}
    )
    image = torch.randn(3, 32, 32)
    with torch.no_grad():
        conv4 = torch.nn.Sequential(*list(backbone.base)[:4])(image[None])
        torch.testing.assert_close(conv4, torchvision_vgg.features[:23](image[None]))
