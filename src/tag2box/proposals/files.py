"""Proposals somebody has computed already: a file of any known kind, or a folder of such files."""

import re
from collections.abc import Iterator
from pathlib import Path

from tag2box.errors import InputError
from tag2box.proposals.listing import Listing
from tag2box.proposals.mat import is_one_photo, read_mat, read_mat_folder
from tag2box.proposals.npz import read_npz
from tag2box.proposals.pickle_reader import read_pickle
from tag2box.proposals.protocol import Proposals
from tag2box.proposals.results import read_results
from tag2box.structures import TaggedImage

READERS = {
    ".mat": read_mat,
    ".pkl": read_pickle,
    ".npz": read_npz,
    ".json": read_results,
}
_COCO_NAME = re.compile(r"COCO_\w+_(\d+)")


class ProposalFile:
    """Proposals by photo, found by what the file calls the photo.

    A photo is known by its id, its file name with or without suffix, or by their number: files
    write `2008_000002` as 2008000002, `000005` as 5, `COCO_val2014_000000000042` as 42.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._by_name: dict[str, tuple[Listing, int]] = {}
        self._by_number: dict[int, tuple[Listing, int] | None] = {}  # None: two photos have it
        for listing in _listings(path):
            for index, name in enumerate(listing.names):
                self._add(name, listing, index)

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, image: TaggedImage) -> bool:
        return self._find(image) is not None

    def boxes_of(self, image: TaggedImage) -> Proposals:
        """The proposals of a photo, as the file has them."""
        found = self._find(image)
        if found is None:
            remedy = "add its boxes, or use the file that was made for these photos"
            raise InputError(self.path, f"has no boxes for the photo {image.id!r}", remedy)
        listing, index = found
        return listing.proposals(index)

    def _add(self, name: str, listing: Listing, index: int) -> None:
        if name in self._by_name:
            remedy = "remove one of the two"
            raise InputError(listing.where, f"lists the photo {name!r} a second time", remedy)
        self._by_name[name] = (listing, index)
        number = _number(name)
        if number is not None:
            taken = number in self._by_number
            self._by_number[number] = None if taken else (listing, index)

    def _find(self, image: TaggedImage) -> tuple[Listing, int] | None:
        names = (image.id, image.path.name, image.path.stem)
        for name in names:
            if name in self._by_name:
                return self._by_name[name]
        numbers = (_number(name) for name in names)
        found = (self._by_number.get(number) for number in numbers if number is not None)
        return next((place for place in found if place is not None), None)


def _number(name: str) -> int | None:
    """The number a file may call a photo of that name, if it has one."""
    name = name.rpartition("/")[2].partition(".")[0]
    coco = _COCO_NAME.fullmatch(name)
    digits = coco[1] if coco else name.replace("_", "")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None


def _listings(path: Path) -> Iterator[Listing]:
    if not path.exists():
        raise InputError(path, "does not exist", "name a file of proposals or a folder of them")
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    known = [file for file in files if file.suffix.lower() in READERS and file.is_file()]
    if not known:
        endings = ", ".join(READERS)
        problem = "holds no file of proposals" if path.is_dir() else "is of no known kind"
        raise InputError(path, problem, f"give a file that ends in {endings}")
    one_a_photo = [file for file in known if file.suffix.lower() == ".mat"]
    if path.is_dir() and one_a_photo and is_one_photo(one_a_photo[0]):
        yield read_mat_folder(one_a_photo)
        known = [file for file in known if file not in set(one_a_photo)]
    for file in known:
        yield READERS[file.suffix.lower()](file)
