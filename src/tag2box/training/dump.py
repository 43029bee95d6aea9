"""What is left to look at when a loss was not finite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from tag2box.training.game import finite
from tag2box.training.objective import Objective
from tag2box.training.samples import Sample


@torch.no_grad()
def dump(
    run: Path, objective: Objective, step: int, samples: Sequence[Sample], losses: dict[str, float]
) -> str:
    """Find the photo and the term, keep both in a file, and say so.

    The step is evaluated again, one photo at a time: with the same weights and noise it fails as
    before. Every process looks at its own photos, so the file is named by the view too.
    """
    for sample in samples:
        terms = {name: value.item() for name, value in objective(sample).items()}
        if not finite(terms):
            path = run / "non_finite" / f"step_{step + 1}_view_{sample.view.index}.pt"
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save(
                {
                    "image_id": sample.photo.id,
                    "image": sample.image,
                    "features": sample.features,
                    "boxes": sample.boxes,
                    "tags": sorted(sample.photo.tags),
                    "losses": terms,
                    "weights": objective.detector.state_dict(),
                },
                path,
            )
            bad = next(name for name, value in terms.items() if not finite({name: value}))
            return f"{bad} of the photo {sample.photo.id} is {terms[bad]}, kept in {path}"
    bad = next(name for name, value in losses.items() if not finite({name: value}))
    return f"{bad} is {losses[bad]}, on another process or in the adversary's turn only"
