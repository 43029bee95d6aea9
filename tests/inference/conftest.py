from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from tag2box.inference.passes import Pass
from tag2box.inference.predictor import Predictor
from tag2box.models.backbone import Base
from tag2box.models.detector import Detector
from tag2box.models.heads import Heads
from tag2box.models.necks import FullyConnectedNeck
from tag2box.models.pixels import IMAGENET
from tag2box.models.regions import Regions, RoIAlign
from tag2box.proposals.protocol import Proposals
from tag2box.structures import TaggedImage

NAMES = ("cat", "dog", "owl")


class FixedSupply:
    """Twelve proposals a photo, a function of its id; `empty` has none."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.filled: list[str] = []

    def get(self, image: TaggedImage) -> Proposals:
        self.asked.append(image.id)
        if image.id.startswith("empty"):
            return Proposals(np.zeros((0, 4), np.float32))
        random = np.random.default_rng(sum(image.id.encode()))
        low = random.random((12, 2)) * [30, 20]
        boxes = np.concatenate([low, low + 8 + random.random((12, 2)) * [20, 15]], axis=1)
        return Proposals(boxes.astype(np.float32))

    def fill(self, images: Sequence[TaggedImage], *, progress: bool = True) -> int:  # noqa: ARG002
        self.filled += [image.id for image in images]
        return len(images)


@pytest.fixture
def supply() -> FixedSupply:
    return FixedSupply()


@pytest.fixture
def detector() -> Detector:
    """Stride 4, three classes, two students that move boxes, dropout that must stay silent."""
    torch.manual_seed(0)
    base = Base(nn.Conv2d(3, 6, 5, stride=4, padding=2))
    regions = Regions(RoIAlign(3, 4), FullyConnectedNeck(6 * 9, 10))
    made = Detector(base, regions, Heads(10, len(NAMES), num_students=2), IMAGENET)
    for parameter in made.heads.parameters():
        nn.init.normal_(parameter, std=1.0)
    for parameter in made.neck.parameters():
        nn.init.normal_(parameter, std=0.3)
    return made.eval()


@pytest.fixture
def predictor(detector: Detector, supply: FixedSupply) -> Predictor:
    return Predictor(detector, NAMES, supply, passes=(Pass(48),))  # type: ignore[arg-type]


@pytest.fixture
def photos(tmp_path: Path) -> Callable[..., list[TaggedImage]]:
    """Photos of 64 x 48 pixels by id, with tags in turn: cat; dog and owl; nothing."""

    def make(*ids: str) -> list[TaggedImage]:
        made = []
        for number, name in enumerate(ids):
            random = np.random.default_rng(number)
            path = tmp_path / "photos" / f"{name}.png"
            path.parent.mkdir(exist_ok=True)
            pixels = random.integers(0, 256, (48, 64, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(path)
            tags = ({0}, {1, 2}, set())[number % 3]
            made.append(TaggedImage(name, path, frozenset(tags)))
        return made

    return make
