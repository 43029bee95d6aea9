"""Sequential batch back-propagation changes nothing but the memory."""

import pytest
import torch
from torch import Tensor, nn

from tag2box.models.concrete_dropblock import ConcreteDropBlock
from tag2box.models.dropblock import DropBlock
from tag2box.models.necks import ConvolutionalNeck, FullyConnectedNeck
from tag2box.models.noise import RegionNoise
from tag2box.models.regions import Regions, RoIAlign, RoIMaxPool
from tag2box.models.sequential import sequential
from tag2box.models.spatial_dropout import SpatialDropout

CHANNELS, DIMENSION = 4, 6
DROPOUTS = ("none", "image", "region", "block", "concrete")


def make_regions(dropout: str, neck: str = "fully connected", pool: str = "max") -> Regions:
    torch.manual_seed(0)
    parts = {
        "region": SpatialDropout(0.3),
        "block": DropBlock(0.3, 3),
        "concrete": ConcreteDropBlock(CHANNELS, temperature=1.0),
    }
    tail: nn.Module = (
        FullyConnectedNeck(CHANNELS * 49, DIMENSION)
        if neck == "fully connected"
        else ConvolutionalNeck(nn.Conv2d(CHANNELS, DIMENSION, 3, stride=2, padding=1), nn.ReLU())
    )
    for parameter in tail.parameters():
        nn.init.normal_(parameter, std=0.2)
    return Regions(
        RoIMaxPool(7, 8) if pool == "max" else RoIAlign(7, 8),
        tail,
        image_dropout=SpatialDropout(0.3) if dropout == "image" else None,
        region_dropout=parts.get(dropout),
    ).train()


def make_input(count: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(count)
    features = torch.randn(1, CHANNELS, 12, 15, generator=generator, dtype=dtype)
    corners = torch.rand(count, 2, 2, generator=generator, dtype=dtype) * 80
    boxes = torch.cat([corners.amin(1), corners.amax(1) + 16], dim=1)
    return features, boxes


def loss_and_gradients(
    regions: Regions, features: Tensor, boxes: Tensor, per_batch: int | None, kept: int = 0
) -> list[Tensor]:
    """Outputs, and the gradients of all that learns, for a loss that mixes all regions."""
    regions.zero_grad()
    features = features.clone().requires_grad_()
    noise = RegionNoise.of(7, len(boxes))
    if per_batch is None:
        outputs = regions(features, boxes, noise)
    else:
        outputs = sequential(
            regions, features, boxes, noise, regions_per_batch=per_batch, kept_regions=kept
        )
    ((outputs.softmax(dim=0) * outputs).sum() + outputs.square().mean()).backward()
    assert features.grad is not None
    gradients = [torch.zeros(1) if p.grad is None else p.grad.clone() for p in regions.parameters()]
    return [outputs.detach(), features.grad, *gradients]


@pytest.mark.parametrize("dropout", DROPOUTS)
@pytest.mark.parametrize("neck", ["fully connected", "convolutional"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize(("per_batch", "count"), [(1, 23), (7, 23), (23, 23), (500, 520)])
def test_equal_to_one_piece(
    dropout: str, neck: str, dtype: torch.dtype, tolerance: float, per_batch: int, count: int
) -> None:
    regions = make_regions(dropout, neck).to(dtype)
    features, boxes = make_input(count, dtype)
    whole = loss_and_gradients(regions, features, boxes, None)
    parts = loss_and_gradients(regions, features, boxes, per_batch)
    for one, other in zip(whole, parts, strict=True):
        scale = one.abs().max().clamp(min=1e-30)
        assert ((one - other).abs().max() / scale).item() <= tolerance


@pytest.mark.parametrize("count", [0, 1])
def test_no_region_and_one(count: int) -> None:
    regions = make_regions("concrete")
    features, boxes = make_input(count, torch.float32)
    outputs = sequential(regions, features, boxes, RegionNoise.of(1, count), regions_per_batch=7)
    assert outputs.shape == (count, DIMENSION)
    outputs.sum().backward()


def test_under_autocast() -> None:
    regions = make_regions("concrete", "convolutional", "align")
    features, boxes = make_input(20, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        whole = loss_and_gradients(regions, features, boxes, None)
        parts = loss_and_gradients(regions, features, boxes, 6)
    assert whole[0].dtype == torch.bfloat16
    torch.testing.assert_close(whole[0], parts[0], rtol=0, atol=0)
    for one, other in zip(whole[1:], parts[1:], strict=True):
        assert (one - other).norm() <= 0.02 * one.norm() + 1e-6  # sums in another order, 8 bits


def test_at_inference_nothing_is_dropped_or_stored() -> None:
    regions = make_regions("block").eval()
    features, boxes = make_input(9, torch.float32)
    with torch.no_grad():
        parts = sequential(regions, features, boxes, None, regions_per_batch=4)
    assert not parts.requires_grad
    torch.testing.assert_close(parts, regions(features, boxes, None))


def test_inside_of_a_sub_batch_is_not_stored() -> None:
    """Bytes kept for the backward pass do not grow with the pooled features."""

    def stored(count: int, per_batch: int | None) -> int:
        sizes: dict[int, int] = {}

        def note(tensor: Tensor) -> Tensor:
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        regions = make_regions("concrete")
        features, boxes = make_input(count, torch.float32)
        features.requires_grad_()
        noise = RegionNoise.of(0, count)
        with torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
            if per_batch is None:
                outputs = regions(features, boxes, noise)
            else:
                outputs = sequential(regions, features, boxes, noise, regions_per_batch=per_batch)
        assert outputs.requires_grad
        return sum(sizes.values())

    pooled = 200 * CHANNELS * 49 * 4
    assert stored(400, None) - stored(200, None) > 3 * pooled
    assert stored(400, 10) - stored(200, 10) < pooled / 10


@pytest.mark.parametrize(("kept", "evaluations"), [(0, 4 + 3), (20, 4 + 2), (40, 4), (1000, 4)])
def test_the_last_regions_are_evaluated_once_and_the_others_twice(
    kept: int, evaluations: int
) -> None:
    """40 regions in four sub-batches, of which the last is kept in any case."""
    regions = make_regions("none")
    calls: list[int] = []

    def counted(features: Tensor, boxes: Tensor, noise: RegionNoise | None) -> Tensor:
        calls.append(len(boxes))
        return regions(features, boxes, noise)

    features, boxes = make_input(40, torch.float32)
    features.requires_grad_()
    noise = RegionNoise.of(0, 40)
    sequential(
        counted, features, boxes, noise, regions_per_batch=10, kept_regions=kept
    ).sum().backward()
    assert calls == [10] * evaluations


@pytest.mark.parametrize("kept", [5, 12, 20])
def test_how_much_is_kept_changes_no_bit(kept: int) -> None:
    """A run that goes on with other free memory goes on to the same bits."""
    regions = make_regions("concrete", "convolutional")
    features, boxes = make_input(20, torch.float32)
    one = loss_and_gradients(regions, features, boxes, 5)
    other = loss_and_gradients(regions, features, boxes, 5, kept=kept)
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
