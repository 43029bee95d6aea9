import pytest
import torch

from tag2box.models.necks import Cells, ConvolutionalNeck, FullyConnectedNeck, OneLayerNeck
from tag2box.models.noise import RegionNoise


@pytest.mark.parametrize("count", [0, 1, 6])
def test_two_layers_and_no_dropout_without_noise(count: int) -> None:
    neck = FullyConnectedNeck(3 * 4, 5)
    pooled = torch.randn(count, 3, 2, 2)
    x = torch.relu(pooled.reshape(count, 12) @ neck.fc6.weight.T + neck.fc6.bias)
    x = torch.relu(x @ neck.fc7.weight.T + neck.fc7.bias)
    torch.testing.assert_close(neck(pooled, None), x)


@pytest.mark.parametrize("count", [0, 1, 6])
def test_one_layer_and_no_dropout_without_noise(count: int) -> None:
    neck = OneLayerNeck(3 * 4, 5)
    pooled = torch.randn(count, 3, 2, 2)
    x = torch.relu(pooled.reshape(count, 12) @ neck.layer.weight.T + neck.layer.bias)
    torch.testing.assert_close(neck(pooled, None), x)


@pytest.mark.parametrize("neck", [FullyConnectedNeck(4, 8), OneLayerNeck(4, 8)])
def test_dropout_halves_and_doubles(neck: torch.nn.Module) -> None:
    with torch.no_grad():
        for layer in neck.children():
            assert isinstance(layer, torch.nn.Linear)
            layer.weight.zero_()
            layer.bias.fill_(1.0)
    out = neck(torch.zeros(4000, 1, 2, 2), RegionNoise.of(1, 4000))
    assert set(out.unique().tolist()) == {0.0, 2.0}
    assert abs(out.mean().item() - 1) < 5 / 32_000**0.5


def test_convolutional_neck_is_a_mean_over_cells() -> None:
    pooled = torch.randn(3, 4, 5, 5)
    neck = ConvolutionalNeck(torch.nn.ReLU())
    torch.testing.assert_close(neck(pooled, None), pooled.relu().mean(dim=(2, 3)))


@pytest.mark.parametrize("width", [8, 4096])
@pytest.mark.parametrize("kind", [FullyConnectedNeck, OneLayerNeck])
def test_features_keep_their_scale_in_layers_of_any_width(
    kind: type[FullyConnectedNeck | OneLayerNeck], width: int
) -> None:
    torch.manual_seed(0)
    out = kind(2 * 3 * 3, width)(torch.randn(500, 2, 3, 3), None)
    assert 0.2 < out.square().mean().item() < 5


@pytest.mark.parametrize("count", [0, 1, 6])
def test_cells_are_the_heads_inputs_in_the_order_of_the_fully_connected(count: int) -> None:
    pooled = torch.randn(count, 4, 3, 3)
    cells = Cells()(pooled, None)
    assert cells.shape == (count, 36)
    for region in range(count):
        for place, (k, y, x) in enumerate(
            (k, y, x) for k in range(4) for y in range(3) for x in range(3)
        ):
            assert cells[region, place] == pooled[region, k, y, x] / 3
