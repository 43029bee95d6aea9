"""What a COCO instances file must hold, decoded and checked in one pass.

What is not asked for here (polygons, licences, captions) is skipped while decoding, so a file of
half a gigabyte costs little more than its own size.
"""

import re
from pathlib import Path
from typing import Annotated

import msgspec

from tag2box.errors import InputError

_Whole = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
_Side = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
_Area = Annotated[float, msgspec.Meta(ge=0)]
_Name = Annotated[str, msgspec.Meta(min_length=1)]


class CocoImage(msgspec.Struct, gc=False):
    """An entry of `images`."""

    id: _Whole | str
    file_name: _Name
    width: _Side | None = None
    height: _Side | None = None


class CocoObject(msgspec.Struct, gc=False):
    """An entry of `annotations`; `bbox` is x, y, width, height in pixels."""

    image_id: _Whole | str
    category_id: _Whole
    bbox: tuple[float, float, float, float]
    id: _Whole | str | None = None
    iscrowd: bool | int | None = None
    area: _Area | None = None


class CocoCategory(msgspec.Struct, gc=False):
    """An entry of `categories`."""

    id: _Whole
    name: _Name


class CocoInstances(msgspec.Struct, gc=False):
    """The file."""

    images: list[CocoImage]
    annotations: list[CocoObject]
    categories: list[CocoCategory]


def decode_instances(file: Path) -> CocoInstances:
    """The content of an instances file; an error names the entry that is not as it must be."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(
            file, f"cannot be read ({error.strerror})", "name a COCO instances file"
        ) from None
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        return msgspec.json.decode(content, type=CocoInstances)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$.")
        place = place.rstrip("`")
        shown = _entry(content, place)
        raise InputError(
            f"{file}: {place}" if place else file,
            f"{problem}{f' in {shown}' if shown else ''}",
            "mend that entry of the COCO instances file",
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        offset = re.search(r"byte (\d+)", str(error))
        near = content[max(0, int(offset[1]) - 30) :][:60] if offset else content[-60:]
        raise InputError(
            file,
            f"is not JSON ({error}) near {near.decode('utf-8', 'replace')!r}",
            "mend that place; NaN and Infinity are not JSON numbers",
        ) from None
    except RecursionError:
        raise InputError(file, "is nested too deeply", "name a COCO instances file") from None


def _entry(content: bytes, place: str) -> str:
    """The text of the list entry, like `annotations[3]`, in which an error was found."""
    match = re.match(r"(\w+)\[(\d+)\]", place)
    if not match:
        return ""
    try:
        lists = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        entries = msgspec.json.decode(lists[match[1]], type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    return bytes(entries[int(match[2])])[:150].decode("utf-8", "replace")
