"""Where training and inference get the proposals of a photo: from a file, or computed and kept.

Boxes are xyxy in pixels of the photo as a viewer shows it, 0-based, x2/y2 exclusive.
"""

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, Protocol

from tag2box.data.images import image_size
from tag2box.errors import InputError
from tag2box.proposals.cache import Store, content_key
from tag2box.proposals.clean_up import clean_up
from tag2box.proposals.files import ProposalFile
from tag2box.proposals.filling import Filler, fill
from tag2box.proposals.packing import unpack
from tag2box.proposals.protocol import AnySource, Proposals, as_proposals
from tag2box.proposals.sources import Source, UnreadablePhoto, source_from, source_named
from tag2box.recipe import ProposalSettings
from tag2box.structures import TaggedImage

_FILE = "file:"


class ProposalSupply(Protocol):
    """What training asks for proposals."""

    def get(self, image: TaggedImage) -> Proposals:
        """The clean proposals of a photo, computed now where they are not known.

        Raises `UnreadablePhoto` where the photo is at fault, else `InputError`.
        """
        ...

    def fill(self, images: Sequence[TaggedImage], *, progress: bool = True) -> int:
        """Make sure that those of all photos are known; returns how many were computed."""
        ...

    def filling(
        self, images: Sequence[TaggedImage]
    ) -> contextlib.AbstractContextManager[Filler | None]:
        """The same in the background of a `with` block, which stops it when it ends."""
        ...


def open_supply(
    settings: ProposalSettings,
    *,
    max_megapixels: float = 200.0,
    unreadable: Literal["stop", "skip"] = "stop",
    function: AnySource | None = None,
) -> ProposalSupply:
    """The supply the settings name; `function` is a source given in Python instead of a name."""
    _check(settings)
    if function is None and settings.source.startswith(_FILE):
        return FileSupply(
            ProposalFile(Path(settings.source.removeprefix(_FILE)).expanduser()), settings
        )
    if function is not None:
        source = source_from(function)
    elif settings.source == "selective-search":
        source = source_named(settings.source, mode=settings.mode, seed=settings.rank_seed)
    else:
        source = source_named(settings.source)
    return ComputedSupply(source, settings, max_megapixels=max_megapixels, unreadable=unreadable)


class FileSupply:
    """Proposals somebody has computed already."""

    def __init__(self, file: ProposalFile, settings: ProposalSettings) -> None:
        self._file, self._settings = file, settings

    def get(self, image: TaggedImage) -> Proposals:
        """The clean proposals of a photo."""
        with _photo_at_fault():
            width, height = image_size(image.path)
        listed = self._file.boxes_of(image)
        proposals = as_proposals(listed, height, width, f"{self._file.path} ({image.id})")
        return _cleaned(proposals, width, height, image, self._settings)

    def fill(self, images: Sequence[TaggedImage], *, progress: bool = True) -> int:  # noqa: ARG002
        """Nothing to compute, but a photo the file does not have is found before hours are lost."""
        missing = [image.id for image in images if image not in self._file]
        if missing:
            problem = f"has no boxes for {len(missing)} of {len(images)} photos ({missing[0]} ...)"
            raise InputError(self._file.path, problem, "use the file made for these photos")
        return 0

    def filling(
        self, images: Sequence[TaggedImage]
    ) -> contextlib.AbstractContextManager[Filler | None]:
        """As `fill`: there is nothing to do in the background."""
        self.fill(images)
        return contextlib.nullcontext()


class ComputedSupply:
    """Proposals computed once and kept in a store."""

    def __init__(
        self,
        source: Source,
        settings: ProposalSettings,
        *,
        max_megapixels: float = 200.0,
        unreadable: Literal["stop", "skip"] = "stop",
    ) -> None:
        self._source, self._settings = source, settings
        self._max_megapixels, self._unreadable = max_megapixels, unreadable
        if source.given is None:
            folder = store_folder(source, settings.cache or default_cache())
        else:
            self._kept_for_now = tempfile.TemporaryDirectory(prefix="tag2box-proposals-")
            folder = Path(self._kept_for_now.name)
        self.store = Store(folder)

    def get(self, image: TaggedImage) -> Proposals:
        """The clean proposals of a photo, computed in this process where the store lacks them."""
        with _photo_at_fault():
            key = content_key(image.path)
        packed = self.store.get(key)
        if packed is None:
            packed = self._source.packed_boxes(image.path, max_megapixels=self._max_megapixels)
            self.store.put(key, packed)
        return _cleaned(*unpack(packed), image, self._settings)

    def fill(self, images: Sequence[TaggedImage], *, progress: bool = True) -> int:
        """Compute what the store lacks on all cores; an interruption keeps what is done."""
        return fill(
            [image.path for image in images],
            self._source,
            self.store,
            processes=self._settings.processes,
            max_megapixels=self._max_megapixels,
            unreadable=self._unreadable,
            progress=progress,
        )

    def filling(
        self, images: Sequence[TaggedImage]
    ) -> contextlib.AbstractContextManager[Filler | None]:
        """The same in the background of a `with` block.

        What stops it is raised by `get`, when that photo is asked for. The ranks of `torchrun` all
        name the same images and share the work. A function that only this process has is called
        for all photos before the block begins: it may hold a model, and training may fork.
        """
        if self._source.given is not None:
            self.fill(images)
            return contextlib.nullcontext()
        return Filler(
            [image.path for image in images],
            self._source,
            self.store,
            processes=self._settings.processes,
            max_megapixels=self._max_megapixels,
            unreadable=self._unreadable,
        )


def store_folder(source: Source, cache: Path) -> Path:
    """Where a source with its settings and version keeps its boxes, of whatever data set."""
    digest = hashlib.sha256(source.identity.encode()).hexdigest()[:16]
    return cache / f"{re.sub(r'[^A-Za-z0-9.]+', '-', source.name)[:60]}-{digest}"


def default_cache() -> Path:
    """Below the user's cache folder."""
    stated = os.environ.get("XDG_CACHE_HOME")
    return (Path(stated) if stated else Path.home() / ".cache") / "tag2box" / "proposals"


def _check(settings: ProposalSettings) -> None:
    right = {
        "minimum_side": settings.minimum_side >= 0,
        "random_share": 0 < settings.random_share <= 1,
        "maximum_count": settings.maximum_count >= 0,
        "processes": settings.processes >= 0,
    }
    for name, is_right in right.items():
        if not is_right:
            remedy = "give a share above 0 and up to 1" if "share" in name else "give 0 or more"
            raise InputError(f"proposals.{name}", f"is {getattr(settings, name)}", remedy)


@contextlib.contextmanager
def _photo_at_fault() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise UnreadablePhoto.from_sentence(str(error)) from None


def _cleaned(
    proposals: Proposals, width: int, height: int, image: TaggedImage, settings: ProposalSettings
) -> Proposals:
    return clean_up(
        proposals,
        width=width,
        height=height,
        image_id=image.id,
        minimum_side=settings.minimum_side,
        duplicates=settings.duplicates,
        random_share=settings.random_share,
        seed=settings.share_seed,
        maximum_count=settings.maximum_count,
    )
