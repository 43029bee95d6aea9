"""Completion in the shells that are here."""

import shutil
import subprocess

import pytest

from tag2box.cli import main
from tag2box.completion import SHELLS


def script_for(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["--completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["tr"], ["train"]),
        (["train", "--resume", ""], ["auto", "never"]),
        (["train", "--training.stra"], []),
        (["train", "--training.step"], ["--training.steps"]),
        (["check", "--classes", "x"], []),
        (["label", "--rec"], ["--recipe"]),
    ],
)
def test_bash_completes(
    typed: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = " ".join(f"'{word}'" for word in ["tag2box", *typed])
    asked = f'COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _tag2box; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "-c", script_for("bash", capsys) + asked],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == expected
    assert done.stderr == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_can_read_its_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = script_for(shell, capsys)
    assert "import-reference" in script
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    checked = subprocess.run([shell, "-n"], input=script, text=True, check=False)
    assert checked.returncode == 0


@pytest.mark.parametrize("arguments", [[], ["powershell"]])
def test_another_shell_is_one_sentence(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--completion", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1
