"""The doctor: is this data learnable, and what is wrong with it? N photos."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from tag2box.data.doctor_tags import tag_findings, tag_matrix
from tag2box.data.duplicates import Look, look_at, nearly_same, same_content
from tag2box.data.findings import Diagnosis, Finding, Severity, some
from tag2box.structures import Dataset, TaggedImage

_FLAT = 2.0
_SEVERITIES = ("fatal", "warning", "note")


def examine(
    dataset: Dataset,
    *,
    other: Dataset | None = None,
    quick: bool = False,
    few_photos: int = 20,
    everywhere: float = 0.95,
    together: float = 0.95,
    tiny_side: int = 64,
    long_aspect: float = 5.0,
    max_megapixels: float = 200.0,
    workers: int = 4,
    on_photo: Callable[[], object] = lambda: None,
) -> Diagnosis:
    """The diagnosis of a training set; `other` is the set it will be validated or tested on.

    A quick examination reads the headers of the photos and does not decode them. `on_photo` is
    called once for every photo looked at, from several threads.
    """
    images = [*dataset, *(other or ())]
    paths = [image.path for image in images]
    looks = look_at(
        paths, quick=quick, max_megapixels=max_megapixels, workers=workers, on_photo=on_photo
    )
    same = same_content(paths)
    copies = {index for group in same for index in group[1:]}
    prints = [None if index in copies else look.print for index, look in enumerate(looks)]
    findings = [
        *tag_findings(dataset, few_photos=few_photos, everywhere=everywhere, together=together),
        *_unreadable(images, looks),
        *_shapes(images, looks, tiny_side, long_aspect),
        *_repeats(dataset, other, same, nearly_same(prints)),
        *(_unknown_classes(dataset, other) if other else ()),
    ]
    present = tag_matrix(dataset)
    tags_per_photo = Counter(present.sum(axis=1).tolist())
    return Diagnosis(
        photos=len(dataset),
        negatives=tags_per_photo[0],
        photos_of_class=dict(zip(dataset.class_names, present.sum(axis=0).tolist(), strict=True)),
        tags_per_photo=dict(sorted(tags_per_photo.items())),
        findings=tuple(sorted(findings, key=lambda one: _SEVERITIES.index(one.severity))),
    )


def _unreadable(images: Sequence[TaggedImage], looks: Sequence[Look]) -> Iterator[Finding]:
    broken = [look.problem for look in looks if look.problem is not None]
    if broken:
        what = f"{len(broken)} of {len(looks)} photos cannot be read"
        effect = "training stops at the first of them, or passes them over"
        remedy = "replace or remove them, or train with --images.unreadable skip"
        severity: Severity = "fatal" if len(broken) > len(looks) / 2 else "warning"
        yield Finding("unreadable", severity, what, effect, remedy, some(broken))
    pairs = list(zip(images, looks, strict=True))
    cut = [f"{one.path} ({look.missing:.0%})" for one, look in pairs if look.missing is not None]
    if cut:
        what = f"{len(cut)} photos are cut off"
        effect = "the missing rows are grey; an object there is tagged and cannot be seen"
        yield Finding("cut-off", "warning", what, effect, "copy these files again", some(cut))
    flat = [
        str(one.path) for one, look in pairs if look.contrast is not None and look.contrast < _FLAT
    ]
    if flat:
        what = f"{len(flat)} photos show next to nothing"
        effect = "their tags teach nothing"
        remedy = "stretch photos of 16 bits that use few of their levels; remove blank ones"
        yield Finding("flat", "warning", what, effect, remedy, some(flat))


def _shapes(
    images: Sequence[TaggedImage], looks: Sequence[Look], tiny_side: int, long_aspect: float
) -> Iterator[Finding]:
    sized = [(one, look) for one, look in zip(images, looks, strict=True) if not look.problem]
    tiny = [
        f"{one.path} ({look.width} x {look.height})"
        for one, look in sized
        if min(look.width, look.height) < tiny_side
    ]
    if tiny:
        what = f"{len(tiny)} photos have a side under {tiny_side} pixels"
        effect = "few regions fit in them, and scaled up they look like no other photo"
        remedy = "use the originals if these are thumbnails"
        yield Finding("tiny", "note", what, effect, remedy, some(tiny))
    long = [
        f"{one.path} ({look.width} x {look.height})"
        for one, look in sized
        if max(look.width, look.height) > long_aspect * min(look.width, look.height)
    ]
    if long:
        what = f"{len(long)} photos are more than {long_aspect:g} times as long as wide"
        effect = "scaled to a common side their objects become very small or very large"
        yield Finding("long", "note", what, effect, "cut them into tiles", some(long))


def _repeats(
    dataset: Dataset,
    other: Dataset | None,
    same: Sequence[Sequence[int]],
    near: Sequence[Sequence[int]],
) -> Iterator[Finding]:
    """Photos that occur again: within the set, with other tags, or in the set to test on."""
    images = [*dataset, *(other or ())]
    count = len(dataset)

    def names(groups: Sequence[Sequence[int]]) -> tuple[str, ...]:
        return some([" = ".join(str(images[index].path) for index in group) for group in groups])

    within = [group for group in ([i for i in g if i < count] for g in same) if len(group) > 1]
    contrary = [group for group in within if len({images[index].tags for index in group}) > 1]
    agreeing = [group for group in within if group not in contrary]
    if contrary:
        what = f"{len(contrary)} photos occur several times with different tags"
        effect = "the same pixels are taught to hold a class and not to hold it"
        remedy = "keep one copy with all its tags"
        yield Finding("contradiction", "warning", what, effect, remedy, names(contrary))
    if agreeing:
        what = f"{sum(len(group) - 1 for group in agreeing)} photos are copies of others"
        effect = "they count several times"
        yield Finding("duplicates", "note", what, effect, "keep one of each", names(agreeing))
    shared = [group for group in same if group[0] < count <= group[-1]]
    if shared:
        what = f"{len(shared)} photos are in both data sets"
        effect = "scores on the second one will be too good to be true"
        remedy = "take them out of one of the two"
        yield Finding("overlap", "warning", what, effect, remedy, names(shared))
    crossing = [group for group in near if group[0] < count <= group[-1]]
    if crossing:
        what = f"{len(crossing)} photos look the same as one in the other data set"
        effect = "scores on the second one may be too good to be true"
        remedy = "look at them; keep photos of one scene in one set"
        yield Finding("near-overlap", "note", what, effect, remedy, names(crossing))
    inner = [group for group in near if group[-1] < count]
    if inner:
        what = f"{sum(len(group) - 1 for group in inner)} photos look the same as others"
        effect = "they count several times"
        remedy = "look at them; keep one where one is the other scaled or saved again"
        yield Finding("near-duplicates", "note", what, effect, remedy, names(inner))


def _unknown_classes(dataset: Dataset, other: Dataset) -> Iterator[Finding]:
    unknown = [name for name in other.class_names if name not in dataset.class_names]
    if unknown:
        what = f"{len(unknown)} classes of the second data set are not in the first"
        remedy = "write the tags of both in one way, or choose with --classes"
        yield Finding(
            "unknown-class", "warning", what, "they are never found", remedy, some(unknown)
        )
