"""What the doctor says: findings with what they do to learning and what to do about them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["fatal", "warning", "note"]
_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or odd."""

    kind: str
    """A fixed word for programs: `no-contrast`."""
    severity: Severity
    """`fatal` makes training pointless, `warning` spoils it, `note` is worth knowing."""
    what: str
    effect: str
    """What it does to learning."""
    remedy: str
    examples: tuple[str, ...] = ()
    """Some of the photos or classes concerned."""


@dataclass(frozen=True)
class Diagnosis:
    """What a data set holds and what is wrong with it."""

    photos: int
    negatives: int
    """Photos without a tag."""
    photos_of_class: dict[str, int]
    tags_per_photo: dict[int, int]
    """How many photos have how many tags."""
    findings: tuple[Finding, ...]
    """The worst first."""

    @property
    def learnable(self) -> bool:
        """Whether training makes sense."""
        return all(finding.severity != "fatal" for finding in self.findings)

    def to_plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"learnable": self.learnable} | asdict(self)


def some(names: Sequence[str]) -> tuple[str, ...]:
    """The first few of many, for the examples of a finding."""
    return tuple(names[:_EXAMPLES])
