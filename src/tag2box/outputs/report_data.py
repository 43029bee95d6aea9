"""What a report is made of: plain data, read from a run folder or handed over in Python."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tag2box.inference.photo_boxes import PhotoBoxes


@dataclass(frozen=True, eq=False)
class RunReport:
    """One run: what it found, and how it was trained as far as that is known."""

    name: str
    photos: tuple[PhotoBoxes, ...]
    """A photo that cannot be read is shown as an empty frame. Their ids tell which photos of two
    runs are the same."""
    metrics: tuple[Mapping[str, float], ...] = ()
    """The lines of metrics.jsonl: `step`, losses, and what else was measured."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings that differ from the defaults, by dotted name."""
