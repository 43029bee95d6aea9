"""What a shell completes after `tag2box`: verbs, their options, and the words an option takes.

Bash and zsh share a script, as zsh reads bash's; fish has its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from tag2box.errors import InputError
from tag2box.help import Option

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_tag2box() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local verb=${{COMP_WORDS[1]}} words=
    if [ "$COMP_CWORD" = 1 ]; then
        words={verbs}
    elif [[ $word == -* ]]; then
        case $verb in
{options}
        esac
    else
        case "$verb $before" in
{choices}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _tag2box tag2box
"""


def script(shell: str, verbs: Mapping[str, str], options: Mapping[str, list[Option]]) -> str:
    """To be read by the shell when it starts.

    Args:
        shell: one of `SHELLS`.
        verbs: what each does, in a few words.
        options: of each verb.
    """
    if shell not in SHELLS:
        raise InputError("--completion", f"{shell!r} is no known shell", f"use {', '.join(SHELLS)}")
    typed = {
        verb: [one for one in several if not one.positional] for verb, several in options.items()
    }
    if shell == "fish":
        return _fish(verbs, typed)
    zsh = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
    return (zsh if shell == "zsh" else "") + _bash(verbs, typed)


def _bash(verbs: Mapping[str, str], options: Mapping[str, list[Option]]) -> str:
    def case(pattern: str, words: list[str]) -> str:
        return f"            {pattern}) words={shlex.quote(' '.join(words))};;"

    return _BASH.format(
        verbs=shlex.quote(" ".join(verbs)),
        options="\n".join(
            case(verb, [f"--{one.flag}" for one in several]) for verb, several in options.items()
        ),
        choices="\n".join(
            case(f"'{verb} --{one.flag}'", list(one.choices))
            for verb, several in options.items()
            for one in several
            if one.choices
        ),
    )


def _fish(verbs: Mapping[str, str], options: Mapping[str, list[Option]]) -> str:
    lines = [
        f"complete -c tag2box -f -n __fish_use_subcommand -a {verb} -d {_fish_quoted(what)}"
        for verb, what in verbs.items()
    ]
    for verb, several in options.items():
        for one in several:
            takes = f" -x -a {_fish_quoted(' '.join(one.choices))}" if one.choices else " -r"
            lines.append(
                f"complete -c tag2box -n '__fish_seen_subcommand_from {verb}' -l {one.flag}"
                f"{takes if one.metavar else ''} -d {_fish_quoted(one.doc.partition('.')[0])}"
            )
    return "\n".join(lines) + "\n"


def _fish_quoted(text: str) -> str:
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
