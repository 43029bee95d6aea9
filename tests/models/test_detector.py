import pytest
import torch
from torch import Tensor, nn

from tag2box.models.backbone import Backbone
from tag2box.models.build import build_detector, build_dropout
from tag2box.models.detector import Detector
from tag2box.models.noise import RegionNoise
from tag2box.models.outputs import Outputs
from tag2box.models.sequential import sequential
from tag2box.recipe import DropoutSettings

KINDS = ["none", "image", "region", "block", "concrete"]


def make(backbone: Backbone, kind: str = "none", **options: object) -> Detector:
    image, region = build_dropout(DropoutSettings(kind=kind, **options), backbone.channels)
    detector = build_detector(backbone, 3, image_dropout=image, region_dropout=region)
    with torch.no_grad():
        for head in detector.heads.modules():
            if isinstance(head, nn.Linear):
                head.weight.normal_()  # so that differences show
    return detector


def parts(outputs: Outputs) -> list[Tensor]:
    assert outputs.student_deltas is not None
    return [
        outputs.class_logits,
        outputs.detection_logits,
        *outputs.student_logits,
        *outputs.student_deltas,
    ]


@pytest.mark.parametrize("count", [0, 1, 6])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_shapes(
    tiny_backbone: Backbone, boxes: Tensor, kind: str, training: bool, count: int
) -> None:
    detector = make(tiny_backbone, kind).train(training)
    out = detector(torch.randn(3, 48, 64), boxes[:count])
    assert out.class_logits.shape == out.detection_logits.shape == (count, 4)
    assert out.student_logits.shape == (3, count, 4)
    assert out.student_deltas is not None
    assert out.student_deltas.shape == (3, count, 16)
    assert all(part.isfinite().all() for part in parts(out))


@pytest.mark.parametrize("kind", KINDS)
def test_permuting_the_regions_permutes_the_outputs(
    tiny_backbone: Backbone, boxes: Tensor, kind: str
) -> None:
    """Also with dropout: noise belongs to a region and moves with it."""
    detector = make(tiny_backbone, kind)
    image, order = torch.randn(3, 48, 64), torch.randperm(6)
    for training in (True, False):
        detector.train(training)
        plain = detector(image, boxes, RegionNoise.of(1, 6))
        moved_noise = RegionNoise(1, torch.arange(6, dtype=torch.int32)[order])
        permuted = detector(image, boxes[order], moved_noise)
        for a, b in zip(parts(plain), parts(permuted), strict=True):
            torch.testing.assert_close(a[order], b)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_dropout_acts_in_training_only(tiny_backbone: Backbone, boxes: Tensor, kind: str) -> None:
    detector = make(tiny_backbone, kind, ceiling="minimum")
    without = make(tiny_backbone).eval()
    without.heads = detector.heads
    image = torch.randn(3, 48, 64)
    first, second = detector(image, boxes), detector(image, boxes)
    assert not torch.equal(first.class_logits, second.class_logits)
    detector.eval()
    for noise in (None, RegionNoise.of(2, 6)):
        for a, b in zip(
            parts(detector(image, boxes, noise)), parts(without(image, boxes)), strict=True
        ):
            assert torch.equal(a, b)


def test_training_follows_torchs_seed(tiny_backbone: Backbone, boxes: Tensor) -> None:
    detector, image = make(tiny_backbone, "block"), torch.randn(3, 48, 64)
    runs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        runs.append(detector(image, boxes).class_logits)
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


@pytest.mark.parametrize("kind", KINDS)
def test_sub_batches_give_the_same_outputs_and_gradients(
    tiny_backbone: Backbone, boxes: Tensor, kind: str
) -> None:
    detector = make(tiny_backbone, kind, ceiling="minimum")
    image, noise = torch.randn(3, 48, 64), RegionNoise.of(3, 6)

    def gradients(neck_outputs: Tensor) -> list[Tensor]:
        out = detector.heads(neck_outputs)
        loss = sum(part.square().mean() for part in parts(out))
        return list(torch.autograd.grad(loss, list(detector.parameters()), allow_unused=True))

    whole = detector.neck(detector.base(image), boxes, noise[0:6])
    split = sequential(detector.neck, detector.base(image), boxes, noise, regions_per_batch=4)
    torch.testing.assert_close(split, whole)
    for a, b in zip(gradients(split), gradients(whole), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("kind", ["none", "concrete"])
def test_bfloat16_autocast(tiny_backbone: Backbone, boxes: Tensor, kind: str) -> None:
    detector, image = make(tiny_backbone, kind), torch.randn(3, 48, 64)
    noise = RegionNoise.of(4, 6)
    exact = detector(image, boxes, noise[0:6])
    with torch.autocast("cpu", torch.bfloat16):
        rough = detector(image, boxes, noise[0:6])
        loss = sum(part.float().square().mean() for part in parts(rough))
    loss.backward()
    assert rough.class_logits.dtype == torch.bfloat16
    scale = exact.class_logits.std()
    assert (rough.class_logits.float() - exact.class_logits).abs().max() < 0.1 * scale
    assert all(p.grad is not None and p.grad.isfinite().all() for p in detector.parameters())


def test_the_two_players_share_no_parameter(tiny_backbone: Backbone) -> None:
    tiny_backbone.base.freeze(1)
    detector = make(tiny_backbone, "concrete")
    adversary = {id(parameter) for parameter in detector.adversary_parameters()}
    learned = detector.learned_parameters()
    assert not adversary & {id(parameter) for parameter in learned.values()}
    frozen = {name for name, p in detector.named_parameters() if not p.requires_grad}
    assert frozen == {"base.0.0.weight", "base.0.0.bias"}
    assert len(adversary) + len(learned) + len(frozen) == len(list(detector.parameters()))
    assert make(tiny_backbone, "block").adversary_parameters() == []
