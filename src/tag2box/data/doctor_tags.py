"""What the doctor finds in the tags alone. N photos, C classes."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tag2box.data.findings import Finding, some
from tag2box.structures import Dataset

_HOPELESS = 5


def tag_findings(
    dataset: Dataset, *, few_photos: int, everywhere: float, together: float
) -> Iterator[Finding]:
    """Findings that need no photo to be opened."""
    present = tag_matrix(dataset)
    yield from _contrast(dataset, present, everywhere)
    yield from _few(dataset, present, few_photos)
    yield from _always_together(dataset, present, together, few_photos)
    yield from _names_alike(dataset.class_names)
    yield from _joined_names(dataset.class_names)


def tag_matrix(dataset: Dataset) -> npt.NDArray[np.bool_]:
    """(N, C) whether a photo has a tag."""
    present = np.zeros((len(dataset), len(dataset.class_names)), bool)
    for row, image in enumerate(dataset):
        present[row, list(image.tags)] = True
    return present


def _contrast(
    dataset: Dataset, present: npt.NDArray[np.bool_], everywhere: float
) -> Iterator[Finding]:
    """A class that every photo has can be explained by anything in them."""
    share = present.mean(axis=0)  # (C,)
    used = share > 0
    flooded = np.flatnonzero(share >= everywhere)
    names = [dataset.class_names[c] for c in flooded]
    remedy = "add photos without it (they may have no tag at all)"
    if len(flooded) and len(flooded) == used.sum():
        which = "The only class" if len(flooded) == 1 else "Every class"
        effect = "nothing tells an object from what surrounds it: training would find any region"
        what = f"{which} is in {share[flooded].min():.0%} of the photos or more"
        yield Finding("no-contrast", "fatal", what, effect, remedy, some(names))
        return
    for c in flooded:
        what = f"{dataset.class_names[c]!r} is in {share[c]:.0%} of the photos"
        effect = "its boxes will be of anything those photos have in common"
        yield Finding("no-contrast", "warning", what, effect, remedy)


def _few(dataset: Dataset, present: npt.NDArray[np.bool_], few_photos: int) -> Iterator[Finding]:
    photos = present.sum(axis=0)  # (C,)
    named = [(name, int(n)) for name, n in zip(dataset.class_names, photos, strict=True)]
    if photos.max(initial=0) < _HOPELESS:
        what = f"No class has {_HOPELESS} photos"
        effect = "there is nothing to generalise from"
        yield Finding("few-photos", "fatal", what, effect, "collect more photos")
        return
    never = [name for name, n in named if n == 0]
    if never:
        what = f"{len(never)} of {len(named)} classes never occur"
        remedy = "leave them out with --classes, or look for a misspelt tag"
        yield Finding("unused-class", "note", what, "they are never found", remedy, some(never))
    few = [
        f"{name} ({n})" for name, n in sorted(named, key=lambda one: one[1]) if 0 < n < few_photos
    ]
    if few:
        what = f"{len(few)} of {len(named)} classes have fewer than {few_photos} photos"
        effect = "a detector remembers these photos instead of learning the object"
        remedy = "collect more photos of them, or leave them out with --classes"
        yield Finding("few-photos", "warning", what, effect, remedy, some(few))


def _always_together(
    dataset: Dataset, present: npt.NDArray[np.bool_], together: float, few_photos: int
) -> Iterator[Finding]:
    """Classes that always come as a pair, and classes that never come without another."""
    counts = present.sum(axis=0)  # (C,)
    both = present.T.astype(np.float32) @ present.astype(np.float32)  # (C, C)
    share = both / np.maximum(counts, 1)[:, None]  # of the photos of the row's class
    enough = counts >= min(few_photos, _HOPELESS)
    implies = (share >= together) & enough[:, None] & enough & ~np.eye(len(counts), dtype=bool)
    names = dataset.class_names
    for a, b in np.argwhere(np.triu(implies & implies.T)):
        what = f"{names[a]!r} and {names[b]!r} nearly always come together"
        effect = "no tag says which of the two objects is which: their boxes will be mixed"
        remedy = "add photos with only one of them, or make them one class"
        yield Finding("always-together", "warning", what, effect, remedy)
    for a, b in np.argwhere(implies & ~implies.T & (counts < len(dataset))):
        what = f"{names[a]!r} hardly ever comes without {names[b]!r}"
        effect = f"boxes of {names[a]!r} may be drawn around {names[b]!r}"
        remedy = f"add photos of {names[a]!r} without {names[b]!r}"
        yield Finding("never-alone", "warning", what, effect, remedy)


def _names_alike(names: tuple[str, ...]) -> Iterator[Finding]:
    alike: dict[str, list[str]] = defaultdict(list)
    for name in names:
        folded = unicodedata.normalize("NFKC", name).casefold()
        alike[re.sub(r"[\W_]+", "", folded) or folded].append(name)
    for group in alike.values():
        if len(group) > 1:
            what = f"The classes {' and '.join(map(repr, group))} are written nearly alike"
            effect = "one object is learnt as two classes that contradict each other"
            yield Finding("alike-names", "warning", what, effect, "write the tag in one way")


def _joined_names(names: tuple[str, ...]) -> Iterator[Finding]:
    joined = [name for name in names if re.search(r"[,/+&]|\band\b", name)]
    if joined:
        what = f"{len(joined)} classes look like several tags in one"
        effect = "each such list is a class of its own"
        remedy = "write ; between the tags of a photo if they are several"
        yield Finding("joined-names", "note", what, effect, remedy, some(joined))
