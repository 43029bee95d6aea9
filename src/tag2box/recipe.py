"""Every setting once: a field with a line of doc serves Python, the command line and TOML."""

import dataclasses
import difflib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_type_hints

import msgspec

from tag2box.errors import InputError

Format = Literal[
    "auto", "folder", "table", "json", "coco", "voc", "yolo", "labelstudio", "imagenet-vid"
]


@dataclass(frozen=True)
class ReadingSettings:
    """Where the tags come from."""

    tags: Path | None = None
    """File with the tags (CSV, TSV, JSON, JSON lines); DATA is then the folder of photos."""
    format: Format = "auto"
    """Format of the data; `auto` looks at what lies there."""
    images: Path | None = None
    """Folder the image names are relative to, when it is not where the format expects it."""
    classes: tuple[str, ...] = ()
    """Keep only these classes, in this order; all when empty. On the command line: a,b,c."""
    split: str | None = None
    """Split to read, for formats that have splits: train, val, trainval, test."""
    image_list: Path | None = None
    """Text file with one image id or name a line: keep only those."""
    difficult_makes_tag: bool = False
    """Whether an object that is only there as `difficult` makes a training tag."""
    key_frames: int = 15
    """ImageNet VID: uniformly spaced frames taken from each clip; 0 takes every frame."""


@dataclass(frozen=True)
class ImageSettings:
    """How photos are decoded."""

    unreadable: Literal["stop", "skip"] = "stop"
    """What to do with a photo that cannot be decoded: stop, or skip it with a warning."""
    max_megapixels: float = 200.0
    """Photos larger than this are refused before they are decoded."""


@dataclass(frozen=True)
class Recipe:
    """All settings, by section. A TOML file may set any of them."""

    reading: ReadingSettings = field(default_factory=ReadingSettings)
    images: ImageSettings = field(default_factory=ImageSettings)


Settings = TypeVar("Settings")


def read_recipe(path: Path) -> Recipe:
    """The settings of a TOML file over the defaults; an unknown key or wrong type is an error."""
    try:
        with path.open("rb") as file:
            table = tomllib.load(file)
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "name a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(path, f"is not TOML ({error})", "mend that line") from None
    return settings_from(table, Recipe, path)


def settings_from(table: dict[str, Any], kind: type[Settings], where: object) -> Settings:
    """A settings dataclass from plain values, every key known and every value of its type."""
    _refuse_unknown_keys(table, kind, where, prefix="")
    try:
        return msgspec.convert(table, kind, dec_hook=lambda kind, value: kind(value))
    except msgspec.ValidationError as error:
        problem, _, key = str(error).partition(" - at `$.")
        raise InputError(
            where, f"{key.rstrip('`') or 'a value'} is wrong ({problem})", "give such a value"
        ) from None


def settings_to_plain(settings: Any) -> dict[str, Any]:
    """Plain values of a settings dataclass as TOML holds them; what is None is left out."""
    plain = msgspec.to_builtins(settings, enc_hook=str)  # of a Path
    assert isinstance(plain, dict)
    return _without_none(plain)


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _without_none(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if value is not None
    }


def _refuse_unknown_keys(
    table: dict[str, Any], kind: type[Any], where: object, prefix: str
) -> None:
    known = get_type_hints(kind)
    for key, value in table.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
            raise InputError(
                where, f"the key {prefix}{key} is unknown", f"did you mean {prefix}{close[0]}?"
            )
        if dataclasses.is_dataclass(known[key]) and isinstance(value, dict):
            _refuse_unknown_keys(value, known[key], where, f"{prefix}{key}.")
