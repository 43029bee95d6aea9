"""From a sample to the losses of its photo: the frozen part once, the rest every time.

R regions, D neck channels, K base channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tag2box.models.detector import Detector
from tag2box.models.necks import Cells, FullyConnectedNeck, OneLayerNeck
from tag2box.models.noise import RegionNoise
from tag2box.models.outputs import Outputs
from tag2box.models.sequential import sequential
from tag2box.training.feature_cache import FeatureCache, as_cached
from tag2box.training.memory import Split, batch_for, bytes_per_region, free_memory, kept_for
from tag2box.training.samples import Sample

Losses = Callable[[Outputs, Tensor, Sequence[int]], dict[str, Tensor]]
"""(outputs, boxes (R, 4), tags) -> named scalars."""
Frozen = Literal["nothing", "base", "base and neck"]


@dataclass(eq=False)
class Objective:
    """The losses of one photo as a function of what can still learn."""

    detector: Detector
    losses: Losses
    device: torch.device
    split: Split | None
    """How regions are evaluated; None chooses by free memory."""
    precision: torch.dtype = torch.float32
    recompute_base: bool = False
    cache: FeatureCache | None = None
    frozen: Frozen = field(init=False)
    """Which part of the detector gives the same features in every epoch."""
    bytes_per_region: float | None = None
    """What a region costs in training; measured when it is first needed."""
    regions_per_batch: int | None = None
    """Chosen with it and kept, also by a run that goes on: another sub-batch rounds otherwise."""

    def __post_init__(self) -> None:
        self.frozen = frozen_part(self.detector)

    def __call__(self, sample: Sample, turn: int = 0) -> dict[str, Tensor]:
        """Named losses. Another `turn` at the same sample meets other noise."""
        boxes = sample.boxes.to(self.device)
        noise = RegionNoise.of(sample.view.seed + turn, len(boxes), self.device)
        with torch.autocast(
            self.device.type, self.precision, enabled=self.precision != torch.float32
        ):
            features = self._features(sample, boxes)
            vectors = (
                features
                if self.frozen == "base and neck"
                else self._neck_outputs(features, boxes, noise)
            )
            outputs = self.detector.outputs(features, boxes, vectors)
        return self.losses(outputs, boxes, sorted(sample.photo.tags))

    def _features(self, sample: Sample, boxes: Tensor) -> Tensor:
        """Base features (1, K, h, w), or neck outputs (R, D) where the neck is frozen too."""
        if sample.features is not None:
            return sample.features.to(self.device)
        assert sample.image is not None
        image = self.detector.pixels.normalise(sample.image.to(self.device))
        if self.frozen == "nothing":
            if self.recompute_base:
                return checkpoint(self.detector.base, image, use_reentrant=False)  # type: ignore[no-any-return]
            return self.detector.base(image)  # type: ignore[no-any-return]
        with torch.no_grad():
            features = self.detector.base(image)
            if self.frozen == "base and neck":
                features = self._neck_outputs(features, boxes, None)
        if self.cache is not None and sample.cache_key is not None:
            self.cache.put(sample.cache_key, sample.photo_size, features)
        return as_cached(features)

    def _neck_outputs(self, features: Tensor, boxes: Tensor, noise: RegionNoise | None) -> Tensor:
        split = self.split or self._split_by_memory(features, boxes)
        return sequential(
            self.detector.neck,
            features,
            boxes,
            noise,
            regions_per_batch=split.regions_per_batch,
            kept_regions=split.kept_regions,
        )

    def _split_by_memory(self, features: Tensor, boxes: Tensor) -> Split:
        free = free_memory(self.device)
        if self.bytes_per_region is None or self.regions_per_batch is None:
            box = boxes.new_tensor([0, 0, *features.shape[:-3:-1]])
            self.bytes_per_region = bytes_per_region(self.detector.neck, features, box)
            self.regions_per_batch = batch_for(self.bytes_per_region, free)
        kept = kept_for(self.bytes_per_region, self.regions_per_batch, free)
        return Split(self.regions_per_batch, kept)


def frozen_part(detector: Detector) -> Frozen:
    """What nothing in training can change: no parameter that learns, no dropout, no noise."""
    if _learns(detector.base):
        return "nothing"
    regions = detector.neck
    dropped = (
        regions.image_dropout is not None
        or regions.region_dropout is not None
        or isinstance(regions.neck, FullyConnectedNeck | OneLayerNeck | Cells)
    )
    if dropped or _learns(regions) or detector.streams is not None:
        return "base"
    return "base and neck"


def _learns(module: nn.Module) -> bool:
    return any(parameter.requires_grad for parameter in module.parameters())
