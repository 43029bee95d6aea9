"""The upper bound: the same detector, proposals and steps, taught by the true boxes (Fast R-CNN).

For measuring only, which is why it lives here: nothing in the package can train on a box. Run by
`benchmarks/ablation.py` as one of its rows.
R proposals, C classes, M true boxes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tag2box import boxes as geometry
from tag2box.box_coding import encode
from tag2box.data.transforms import resized_shape
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.learning.assignment import PseudoLabels
from tag2box.learning.overlap import iou
from tag2box.learning.pseudo_boxes import PseudoBoxes
from tag2box.learning.student_loss import classification_loss, regression_loss
from tag2box.models.build import detector_from
from tag2box.models.outputs import Outputs
from tag2box.models.trained import with_pixels, write_trained
from tag2box.proposals.supply import ProposalSupply
from tag2box.recipe import Recipe
from tag2box.structures import Dataset
from tag2box.training.distributed import processes
from tag2box.training.loop import run_steps
from tag2box.training.objective import Objective
from tag2box.training.players import build_game
from tag2box.training.run import build_samples, stream
from tag2box.training.samples import Sample


def train_on_boxes(
    photos: Dataset, truth: GroundTruth, recipe: Recipe, run: Path, supply: ProposalSupply
) -> None:
    """As `tag2box.training.run.train`, with boxes for tags and no checkpoints."""
    settings = recipe.training
    torch.manual_seed(settings.seed)
    detector = detector_from(recipe.model, recipe.dropout, len(photos.class_names))
    recipe = replace(
        recipe,
        model=with_pixels(recipe.model, detector.pixels),
        reading=replace(recipe.reading, classes=photos.class_names),
    )
    with processes(settings.device) as ours:
        game = build_game(detector.to(ours.device).train(), recipe, ours)
        plain = game.objective
        kept = {f.name: getattr(plain, f.name) for f in fields(Objective) if f.init}
        game = replace(game, objective=TaughtByBoxes(**kept, truth=truth, recipe=recipe))
        samples = build_samples(photos, recipe, plain.cache, supply)
        run_steps(
            game,
            stream(samples, settings, ours, 0),
            first=0,
            last=settings.steps,
            save=lambda *_: None,
            save_every=settings.steps,
            log=lambda _: None,
            non_finite="stop",
            dump=lambda *_: "the loss is not finite",
        )
    write_trained(run, detector, recipe)


@dataclass(eq=False, kw_only=True)
class TaughtByBoxes(Objective):
    """The losses of a photo by its true boxes; its tags are not looked at."""

    truth: GroundTruth
    recipe: Recipe

    def __call__(self, sample: Sample, turn: int = 0) -> dict[str, Tensor]:
        """Named losses."""
        true_boxes, classes = self._true_boxes(sample)
        self.losses = lambda outputs, boxes, _: box_losses(outputs, boxes, true_boxes, classes)
        return super().__call__(sample, turn)

    def _true_boxes(self, sample: Sample) -> tuple[Tensor, Tensor]:
        """(M, 4) in pixels of the view, and (M,) classes; difficult ones are left out as in VOC."""
        truth, settings = self.truth, self.recipe.training
        of_photo = truth.object_image == truth.image_ids.index(sample.photo.id)
        chosen = of_photo & ~truth.difficult
        width, height = sample.photo_size
        view = sample.view
        seen = resized_shape(height, width, view.short_side, settings.long_side)
        boxes = geometry.scale(truth.boxes[chosen], seen[1] / width, seen[0] / height)
        if view.mirrored:
            boxes = geometry.flip(boxes, seen[1])
        return (
            torch.from_numpy(boxes.astype(np.float32)),
            torch.from_numpy(truth.classes[chosen].astype(np.int64)),
        )


def box_losses(
    outputs: Outputs, boxes: Tensor, true_boxes: Tensor, classes: Tensor
) -> dict[str, Tensor]:
    """Fast R-CNN's two losses for every student: all proposals count alike."""
    taught = lesson(boxes, true_boxes, classes)
    named = {}
    for i, logits in enumerate(outputs.student_logits):
        named[f"loss_cls{i}"] = classification_loss(logits, taught)
        if outputs.student_deltas is not None:
            named[f"loss_reg{i}"] = regression_loss(outputs.student_deltas[i], taught)
    return named


def lesson(boxes: Tensor, true_boxes: Tensor, classes: Tensor) -> PseudoLabels:
    """Each of R proposals follows the true box it overlaps most, from an IoU of 0.5."""
    nobody = torch.zeros(len(boxes), dtype=torch.int64)
    none = PseudoBoxes(nobody[:0], nobody[:0], boxes.new_zeros(0), nobody[:0].bool())
    if len(true_boxes) == 0 or len(boxes) == 0:
        return PseudoLabels(
            nobody, boxes.new_ones(len(boxes)), torch.zeros_like(boxes), nobody, none
        )
    overlap, followed = iou(boxes, true_boxes).max(dim=1)
    return PseudoLabels(
        labels=torch.where(overlap >= 0.5, classes[followed] + 1, 0),
        weights=boxes.new_ones(len(boxes)),
        targets=encode(true_boxes[followed], boxes),
        followed=followed,
        pseudo_boxes=none,
    )
