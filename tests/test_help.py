"""Help fits a screen, and what it shows is what the parser takes."""

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import tyro

from tag2box import cli
from tag2box.help import all_options, page

LINES = 45
"""Of a terminal that is not large; 80 columns."""


@dataclass(frozen=True)
class Cooking:
    """How it is cooked. Everything here is optional."""

    pot: Path | None = None
    """Where."""
    heat: float = 0.5
    """From 0 to 1."""
    stir: bool = True
    """Whether somebody stirs."""


@dataclass(frozen=True)
class Shopping:
    """What is bought."""

    things: tuple[str, ...] = ()
    """Names."""


@dataclass(frozen=True)
class Verb:
    """Make soup.

    Example: tag2box soup carrots
    """

    vegetables: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """What goes in."""
    size: Literal["small", "large"] = "small"
    """How much."""
    salted: bool = False
    """With salt."""
    cooking: Cooking = field(default_factory=Cooking)
    shopping: Annotated[Shopping, tyro.conf.arg(name="")] = field(default_factory=Shopping)


def test_a_screen_shows_the_verb_and_names_its_sections() -> None:
    assert page(Verb, "soup") == (
        "usage: tag2box soup PATH ... [options]\n\n"
        "Make soup.\n\nExample: tag2box soup carrots\n\n"
        "  PATH ...                What goes in.\n"
        "  --size small|large      How much.\n"
        "  --salted                With salt.\n\n"
        "More settings, by `tag2box soup --help SECTION` or `--help all`:\n"
        "  cooking                 How it is cooked. Everything here is optional.\n"
        "  shopping                What is bought: --things.\n"
    )


def test_a_section_shows_its_defaults() -> None:
    assert page(Verb, "soup", "cooking").startswith(
        "How it is cooked. Everything here is optional.\n\n"
        "  --cooking.pot PATH      Where.\n"
        "  --cooking.heat X        From 0 to 1. [0.5]\n"
        "  --cooking.no-stir       Whether somebody stirs. [on]\n"
    )


def test_all_is_the_verb_and_every_section() -> None:
    whole = page(Verb, "soup", "all")
    assert all(word in whole for word in ("--salted", "--cooking.heat", "--things"))


def verb_named(name: str) -> type[Any]:
    verb: type[Any] = importlib.import_module(f"tag2box.verbs.{name.replace('-', '_')}").Verb
    return verb


@pytest.mark.parametrize("name", cli.VERBS)
def test_the_help_of_every_verb_fits_a_screen_and_has_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([name, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= 80
    assert any(line.startswith(f"Example: tag2box {name}") for line in lines)


@pytest.mark.parametrize("name", cli.VERBS)
def test_every_option_is_one_the_parser_knows_and_has_a_doc(name: str) -> None:
    shown = all_options(verb_named(name))
    assert all(option.doc for option in shown)
    parser = tyro.extras.get_parser(verb_named(name))
    known = {flag for action in parser._actions for flag in action.option_strings if "--" in flag}
    known -= {"--help"}
    flags = {f"--{option.flag}" for option in shown if not option.positional} - {"--recipe"}
    assert flags <= known
    assert {flag.replace("no-", "") for flag in known} == {f.replace("no-", "") for f in flags}


def test_an_unknown_section_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train", "--help", "trianing"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "'trianing' is no section of train; use one of reading," in error
