import pytest
import torch
import torchvision
from torch import nn

from tag2box.models.resnet import resnet


def randomised(network: nn.Module) -> nn.Module:
    """With batch norm statistics that matter."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(std=0.1)
            module.running_var.uniform_(0.5, 1.5)
            module.weight.data.uniform_(0.5, 1)
            module.bias.data.normal_(std=0.1)
    return network.eval()


@torch.no_grad()
@pytest.mark.parametrize("depth", [50, 101])
def test_base_and_neck_together_are_torchvisions(depth: int) -> None:
    network = randomised(getattr(torchvision.models, f"resnet{depth}")())
    expected = []
    network.fc.register_forward_pre_hook(lambda _, inputs: expected.append(inputs[0]))
    backbone = resnet(depth, network.state_dict())
    image = torch.randn(3, 96, 64)
    network(image[None])
    features = backbone.base(image)
    assert features.shape == (1, backbone.channels, 6, 4)
    torch.testing.assert_close(backbone.neck(features, None), expected[0], rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_stride_in_the_1x1_halves_before_the_3x3() -> None:
    network = randomised(torchvision.models.resnet50())
    ours = resnet(50, network.state_dict(), stride_in_1x1=True)
    x = torch.randn(2, 1024, 6, 6)
    block = network.layer4[0]
    inner = torch.relu(block.bn1(block.conv1(x)))[..., ::2, ::2]
    conv2 = torch.nn.functional.conv2d(inner, block.conv2.weight, padding=1)
    inner = block.bn3(block.conv3(torch.relu(block.bn2(conv2))))
    expected = network.layer4[1:](torch.relu(inner + block.downsample(x))).mean(dim=(2, 3))
    torch.testing.assert_close(ours.neck(x, None), expected, rtol=1e-4, atol=1e-4)


def test_batch_norm_and_the_first_stages_are_frozen() -> None:
    backbone = resnet(50)
    backbone.base.train()
    assert not any(isinstance(m, nn.BatchNorm2d) for m in backbone.base.modules())
    assert not any(isinstance(m, nn.BatchNorm2d) for m in backbone.neck.modules())
    learning = {
        name.split(".")[0] for name, p in backbone.base.named_parameters() if p.requires_grad
    }
    assert learning == {"2", "3"}  # stem and layer1 are 0 and 1
