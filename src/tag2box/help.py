"""What `--help` shows: a verb on one screen, and the settings of its sections where asked for.

The settings say all of it themselves: names, types, and the line of doc under each field.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import tyro

from tag2box.errors import InputError

WIDTH = 80
_COLUMN = 26  # where begins what an option does


@dataclasses.dataclass(frozen=True)
class Option:
    """A field as it is typed."""

    flag: str
    metavar: str
    doc: str
    default: str = ""
    choices: tuple[str, ...] = ()
    """Words it takes, where they are few."""
    positional: bool = False

    @property
    def typed(self) -> str:
        """With its value."""
        return self.metavar if self.positional else f"--{self.flag} {self.metavar}".rstrip()


@dataclasses.dataclass(frozen=True)
class Section:
    """Settings that belong together."""

    kind: type[Any]
    prefix: str
    """Of its options."""

    @property
    def title(self) -> str:
        """What it is about, in one sentence."""
        return inspect.cleandoc(self.kind.__doc__ or "").partition("\n")[0]


def page(verb: type[Any], name: str, section: str | None = None) -> str:
    """The help of a verb: itself on one screen, one of its sections, or `all` of them."""
    kinds = sections(verb)
    if section is None:
        return _screen(verb, name, kinds)
    if section != "all" and section not in kinds:
        known = ", ".join([*kinds, "all"])
        raise InputError("--help", f"{section!r} is no section of {name}", f"use one of {known}")
    wanted = kinds if section == "all" else {section: kinds[section]}
    parts = [f"{kind.title}\n\n{_lines(options(kind))}" for kind in wanted.values()]
    note = "In brackets what holds where neither a recipe nor the run says otherwise.\n"
    return "\n".join([*([_screen(verb, name, {})] if section == "all" else []), *parts, note])


def sections(verb: type[Any]) -> dict[str, Section]:
    """What the settings of a verb are grouped in, by the name of the field."""
    return {
        field.name: Section(kind, "" if _named(marks) == "" else f"{field.name}.")
        for field, kind, marks in _fields(verb)
        if dataclasses.is_dataclass(kind) and isinstance(kind, type)
    }


def options(settings: type[Any] | Section) -> list[Option]:
    """The fields of a verb or of a section, in their order."""
    section = settings if isinstance(settings, Section) else Section(settings, "")
    docs = dict(_docs(section.kind))
    return [
        Option(
            flag=_flag(field, marks, section.prefix),
            metavar=_marked(marks, "metavar") or _metavar(kind),
            doc=docs.get(field.name, ""),
            default=_default(field.default) if section is settings else "",
            choices=_choices(kind),
            positional=tyro.conf.Positional in marks,
        )
        for field, kind, marks in _fields(section.kind)
        if not dataclasses.is_dataclass(kind)
    ]


def all_options(verb: type[Any]) -> list[Option]:
    """Those of the verb, of all its sections, and the recipe they may come from."""
    recipe = Option("recipe", "FILE", "File or name of a recipe to take settings from.")
    return [
        *options(verb),
        recipe,
        *(one for kind in sections(verb).values() for one in options(kind)),
    ]


def _screen(verb: type[Any], name: str, kinds: dict[str, Section]) -> str:
    every = options(verb)
    places = " ".join(option.metavar for option in every if option.positional)
    paragraphs = inspect.cleandoc(verb.__doc__ or "").split("\n\n")
    text = "\n\n".join(textwrap.fill(one, WIDTH, break_on_hyphens=False) for one in paragraphs)
    parts = [f"usage: {f'tag2box {name} {places}'.rstrip()} [options]\n\n{text}\n", _lines(every)]
    if kinds:
        more = "".join(_entry(f"{key}", _contents(kind)) for key, kind in kinds.items())
        parts.append(f"More settings, by `tag2box {name} --help SECTION` or `--help all`:\n{more}")
    return "\n".join(parts)


def _contents(section: Section) -> str:
    """What a section is about, and its options where their names do not tell the section."""
    flags = [f"--{option.flag}" for option in options(section)]
    return section.title if section.prefix else f"{section.title[:-1]}: {', '.join(flags)}."


def _lines(several: list[Option]) -> str:
    return "".join(_entry(option.typed, f"{option.doc} {option.default}") for option in several)


def _entry(typed: str, doc: str) -> str:
    """One option and what it does, beside it or below."""
    indent = " " * _COLUMN
    lines = textwrap.wrap(" ".join(doc.split()), WIDTH - _COLUMN) or [""]
    head = f"  {typed}"
    beside = len(head) < _COLUMN
    first = [f"{head:<{_COLUMN}}{lines[0]}"] if beside else [head, indent + lines[0]]
    return "\n".join([*first, *(indent + line for line in lines[1:])]) + "\n"


def _flag(field: dataclasses.Field[Any], marks: tuple[Any, ...], prefix: str) -> str:
    """As tyro has it; a switch that is on is there to be turned off."""
    word = (_named(marks) or field.name).replace("_", "-")
    word = f"no-{word}" if field.default is True else word
    return word if _marked(marks, "prefix_name") is False else prefix + word


def _named(marks: tuple[Any, ...]) -> str | None:
    name: str | None = _marked(marks, "name")
    return name


def _marked(marks: tuple[Any, ...], key: str) -> Any:
    """What `tyro.conf.arg` notes under the key."""
    return next((getattr(mark, key) for mark in marks if hasattr(mark, key)), None)


def _default(value: Any) -> str:
    if value is dataclasses.MISSING or value in (None, "", ()):
        return ""
    if isinstance(value, bool):
        return "[on]" if value else ""
    several = value if isinstance(value, tuple) else (value,)
    return f"[{' '.join(f'{one:g}' if isinstance(one, float) else str(one) for one in several)}]"


def _fields(
    settings: type[Any],
) -> Iterator[tuple[dataclasses.Field[Any], Any, tuple[Any, ...]]]:
    """Each field, its type, and what is noted on the type."""
    hints = get_type_hints(settings, include_extras=True)
    for field in dataclasses.fields(settings):
        hint = hints[field.name]
        marks = getattr(hint, "__metadata__", ())
        yield field, hint.__origin__ if marks else hint, marks


def _metavar(kind: Any) -> str:
    """What stands for the value: nothing for a switch, the words where there are few."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return " ".join(_metavar(one) for one in get_args(kind) if one is not type(None))
    if origin is Literal:
        return "|".join(_choices(kind))
    if origin is tuple:
        first = get_args(kind)[0]
        return "A,B,C" if first is str else f"{_metavar(first)} ..."
    return {bool: "", int: "N", float: "X", Path: "PATH"}.get(kind, "WORD")


def _choices(kind: Any) -> tuple[str, ...]:
    return tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()


def _docs(settings: type[Any]) -> Iterator[tuple[str, str]]:
    """The string under each field; of a class that inherits, also those of its parents."""
    for owner in reversed(settings.__mro__):
        if not dataclasses.is_dataclass(owner):
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
        assert isinstance(tree, ast.ClassDef)
        for above, below in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(above, ast.AnnAssign) and isinstance(below, ast.Expr):
                assert isinstance(above.target, ast.Name)
                assert isinstance(below.value, ast.Constant)
                yield above.target.id, str(below.value.value)
