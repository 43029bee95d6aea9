"""The command line: names the verbs, reads their settings, says errors in one sentence.

No logic, and nothing heavy is imported before the verb is known: `tag2box --help` must be quick.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tag2box.errors import InputError, printable

VERBS = {
    "demo": "make scenes, learn from their tags, score the boxes: the whole road on one screen",
    "check": "is this data learnable, and what is wrong with it?",
    "propose": "compute the candidate regions once, and say how good they are",
    "train": "a detector from tagged photos; continues by itself after a stop",
    "predict": "boxes for photos without tags, by a trained run",
    "label": "boxes for tagged photos: the tags decide what is looked for",
    "evaluate": "score a run, or detections in a file, where the true boxes are known",
    "report": "one HTML file that shows a run, or two side by side",
    "import-reference": "make a run folder of a checkpoint of the paper's own code",
}

HELP = """usage: tag2box VERB [options]

Image tags in, object boxes out.

{verbs}

`tag2box VERB --help` shows an example and what is most asked for, `--help all` every setting.
Any setting can also stand in a TOML file: `--recipe FILE`; the command line wins.
`--recipe NAME` takes one that comes with the package, like laptop.
`tag2box --completion bash` (zsh, fish) prints what that shell needs to complete all this.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code is 0, 1 for a negative answer, 2 for an unusable input."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    verbs = "\n".join(f"  {name:<16} {line}" for name, line in VERBS.items())
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(HELP.format(verbs=verbs))
        return 0 if arguments else 2
    if arguments[0] == "--version":
        sys.stdout.write(f"tag2box {importlib.metadata.version('tag2box')}\n")
        return 0
    try:
        if arguments[0] == "--completion":
            return _complete(arguments[1:])
        return _run(arguments[0], arguments[1:])
    except InputError as error:
        sys.stderr.write(f"tag2box: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("tag2box: stopped.\n")
        return 130


def _run(name: str, arguments: list[str]) -> int:
    if name not in VERBS:
        raise InputError(name, "is not a verb", f"use one of {', '.join(VERBS)}")
    warnings.showwarning = _show_warning
    asked = next((n for n, word in enumerate(arguments) if word in ("-h", "--help")), None)
    if asked is not None:
        from tag2box.help import page

        sys.stdout.write(page(_verb(name), name, *arguments[asked + 1 : asked + 2]))
        return 0
    return int(_settings(_verb(name), name, arguments).run())


def _verb(name: str) -> type[Any]:
    verb: type[Any] = importlib.import_module(f"tag2box.verbs.{name.replace('-', '_')}").Verb
    return verb


def _complete(arguments: list[str]) -> int:
    from tag2box.completion import SHELLS, script
    from tag2box.help import all_options

    if len(arguments) != 1:
        raise InputError("--completion", "names no shell", f"add one of {', '.join(SHELLS)}")
    sys.stdout.write(
        script(arguments[0], VERBS, {name: all_options(_verb(name)) for name in VERBS})
    )
    return 0


def _settings(verb: type[Any], name: str, arguments: list[str]) -> Any:
    """The verb's settings: defaults, then the recipe file, then the command line."""
    import tyro

    from tag2box.verbs.sections import sections_of

    arguments, word = _take_option("--recipe", arguments)
    recipe = _recipe(verb, word, arguments)
    given = sections_of(verb, recipe)
    required = {f.name: tyro.MISSING for f in dataclasses.fields(verb) if _is_required(f)}
    default = verb(**(required | given))
    registry = tyro.constructors.ConstructorRegistry()
    registry.primitive_rule(_comma_separated)
    with registry:
        return tyro.cli(verb, prog=f"tag2box {name}", args=arguments, default=default)


def _comma_separated(info: Any) -> Any:
    """Tuples of words are written a,b,c."""
    from tyro.constructors import PrimitiveConstructorSpec

    if info.type != tuple[str, ...]:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="A,B,C",
        instance_from_str=lambda words: tuple(w.strip() for w in words[0].split(",") if w.strip()),
        is_instance=lambda value: isinstance(value, tuple),
        str_from_instance=lambda value: [",".join(value)],
    )


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is field.default_factory is dataclasses.MISSING


def _recipe(verb: type[Any], word: Path | None, arguments: list[str]) -> Any:
    """What the defaults are taken from: the recipe named, else what the verb or its run says."""
    from tag2box.recipe_file import recipe_named
    from tag2box.verbs.sections import recipe_of_run

    if hasattr(verb, "recipe_for"):
        return verb.recipe_for(word)
    if word is not None:
        return recipe_named(word)
    run = _take_option("--run", arguments)[1]
    return recipe_of_run(run, getattr(verb, "sections_of_run", ()))


def _take_option(option: str, arguments: list[str]) -> tuple[list[str], Path | None]:
    """The arguments without `OPTION FILE`, and the file."""
    for index, argument in enumerate(arguments):
        if argument.startswith(f"{option}="):
            return arguments[:index] + arguments[index + 1 :], Path(argument.partition("=")[2])
        if argument == option:
            if index + 1 == len(arguments):
                raise InputError(option, "no path follows", "name one")
            return arguments[:index] + arguments[index + 2 :], Path(arguments[index + 1])
    return arguments, None


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    sys.stderr.write(f"tag2box: warning: {printable(message)}\n")
