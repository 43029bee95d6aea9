import itertools

import pytest
import torch
import torch.nn.functional as F

from tag2box.models.concrete_dropblock import ConcreteDropBlock, blocks, sample
from tag2box.models.noise import RegionNoise


def sigmoid_of_heat(module: ConcreteDropBlock, features: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(module.heat_map(features)[:, :1])


@pytest.mark.parametrize(
    ("ceiling", "formula"),
    [
        ("share", lambda p: torch.minimum(p, torch.tensor(0.3)) / 9),
        ("minimum", lambda p: torch.minimum(p, torch.tensor(0.3))),
        ("scaled", lambda p: p * 0.3 / 9),
    ],
)
def test_the_ceiling(ceiling, formula) -> None:
    module = ConcreteDropBlock(6, threshold=0.3, block_size=3, ceiling=ceiling)
    with torch.no_grad():
        module.heat_map.skip.weight.normal_()
    features = torch.randn(4, 6, 7, 7)
    p = sigmoid_of_heat(module, features)
    assert (p > 0.3).any()
    assert (p < 0.3).any()
    torch.testing.assert_close(module.probabilities(features), formula(p))


def test_the_learned_probability_starts_below_its_ceiling() -> None:
    """Above it no gradient returns."""
    module = ConcreteDropBlock(64, threshold=0.3)
    p = sigmoid_of_heat(module, torch.relu(torch.randn(20, 64, 7, 7)))
    assert p.max() < 0.3
    assert p.min() > 0.05


@pytest.mark.parametrize("block", [1, 2, 3, 4, 5])
def test_blocks_against_a_slow_loop(block: int) -> None:
    centers = (torch.rand(3, 1, 6, 6) < 0.08).float()
    slow = torch.zeros_like(centers)
    for r, y, x in itertools.product(range(3), range(6), range(6)):
        if centers[r, 0, y, x]:
            up = (block - 1) // 2
            top, left = y - up, x - up
            slow[r, 0, max(top, 0) : top + block, max(left, 0) : left + block] = 1
    assert torch.equal(blocks(centers, block), slow)


def test_samples_are_bernoulli() -> None:
    probability = torch.tensor([0.0, 0.02, 0.3, 0.9, 1.0]).expand(20_000, 1, 1, 5)
    drawn = sample(probability, RegionNoise.of(4, 20_000), 0.5)
    assert set(drawn.unique().tolist()) == {0.0, 1.0}
    expected = probability[0, 0, 0]
    tolerance = 5 * (expected * (1 - expected) / 20_000).sqrt() + 1e-6
    assert ((drawn.mean(dim=0)[0, 0] - expected).abs() <= tolerance).all()


@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_the_gradient_is_that_of_the_relaxation(temperature: float) -> None:
    """F.gumbel_softmax's relaxed value, written out from the same uniform numbers."""
    probability = torch.rand(3, 1, 4, 4, requires_grad=True)
    direction = torch.randn(3, 1, 4, 4)
    (gradient,) = torch.autograd.grad(
        (sample(probability, RegionNoise.of(5, 3), temperature) * direction).sum(), probability
    )
    uniform = RegionNoise.of(5, 3).uniform(2, 4, 4)
    gumbel = -torch.log(-torch.log(uniform))
    both = torch.cat([probability, 1 - probability], dim=1).log()
    relaxed = torch.softmax((both + gumbel) / temperature, dim=1)[:, :1]
    (expected,) = torch.autograd.grad((relaxed * direction).sum(), probability)
    torch.testing.assert_close(gradient, expected)
    hard = sample(probability, RegionNoise.of(5, 3), temperature)
    assert torch.equal(hard, (relaxed > 0.5).float())


def test_output_is_mask_and_rescale_and_the_input_is_detached() -> None:
    module = ConcreteDropBlock(5, threshold=0.3)
    features = torch.randn(40, 5, 7, 7, requires_grad=True)
    out = module(features, RegionNoise.of(6, 40))
    centers = sample(module.probabilities(features), RegionNoise.of(6, 40), module.temperature)
    keep = 1 - blocks(centers, 3)
    factor = (keep * 49 / keep.sum(dim=(1, 2, 3), keepdim=True)).detach()
    assert 0 < (keep == 0).float().mean() <= 0.3
    torch.testing.assert_close(out, features * factor)
    gradients = torch.autograd.grad(out.square().sum(), [features, *module.parameters()])
    torch.testing.assert_close(gradients[0], 2 * features * factor**2)
    assert all(gradient.abs().sum() > 0 for gradient in gradients[1:])


def test_ascending_on_theta_hides_what_the_loss_needs() -> None:
    """The detector sees one bright cell; the adversary learns to drop it more than the rest."""
    module = ConcreteDropBlock(4, threshold=0.5, block_size=1)
    parameters = list(module.parameters())
    features = torch.randn(64, 4, 5, 5) * 0.1
    features[:, :, 2, 3] += 2
    for step in range(30):
        loss = -module(features, RegionNoise.of(step, 64))[:, :, 2, 3].mean()
        for parameter, gradient in zip(
            parameters, torch.autograd.grad(loss, parameters), strict=True
        ):
            parameter.data += 0.5 * gradient
    p = module.probabilities(features).mean(dim=(0, 1))
    assert p[2, 3] > 2 * (p.sum() - p[2, 3]) / 24


def test_no_region_touches_another_unless_the_reference_is_asked_for() -> None:
    features = torch.randn(6, 8, 5, 5)
    other = features.clone()
    other[3:] = 7 * torch.randn(3, 8, 5, 5)
    for options, alone in [
        ({}, True),
        ({"reference_block": True}, False),
        ({"over_all_regions": True}, False),
    ]:
        module = ConcreteDropBlock(8, threshold=0.9, block_size=1, ceiling="minimum", **options)
        with torch.no_grad():
            module.heat_map.skip.weight.normal_()
        first = module(features, RegionNoise.of(7, 6))[:3]
        second = module(other, RegionNoise.of(7, 6))[:3]
        assert torch.equal(first, second) == alone, options


def test_the_references_block_against_its_description() -> None:
    """Two channels, batch norm on both convolutions of the main path, none on the skip."""
    module = ConcreteDropBlock(8, reference_block=True, ceiling="scaled", over_all_regions=True)
    block = module.heat_map
    features = torch.randn(10, 8, 7, 7)

    def batch_norm(x: torch.Tensor) -> torch.Tensor:
        mean, variance = x.mean(dim=(0, 2, 3)), x.var(dim=(0, 2, 3), unbiased=False)
        return (x - mean[:, None, None]) / (variance[:, None, None] + 1e-5).sqrt()

    inner = torch.relu(batch_norm(F.conv2d(features, block.conv1.weight, padding=1)))
    logits = batch_norm(F.conv2d(inner, block.conv2.weight, padding=1))
    logits = logits + F.conv2d(features, block.skip.weight)
    torch.testing.assert_close(block(features), logits)
    expected = torch.sigmoid(logits[:, :1]) * 0.3 / 9
    torch.testing.assert_close(module.probabilities(features), expected)
    module(features, RegionNoise.of(8, 10)).square().sum().backward()
    assert block.skip.weight.grad is not None
    assert block.skip.weight.grad[0].abs().sum() > 0
    assert block.skip.weight.grad[1].abs().sum() == 0  # the second channel is discarded
