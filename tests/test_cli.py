import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tag2box import cli
from tag2box.recipe import ImageSettings, ReadingSettings

TAG2BOX = [str(Path(sys.executable).with_name("tag2box"))]


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert all(verb in printed for verb in cli.VERBS)


def test_help_is_quick_and_torch_stays_asleep() -> None:
    """Under half a second of processor time; the clock on the wall is not ours alone."""
    subprocess.run([*TAG2BOX, "--help"], check=True, capture_output=True)  # warm the file cache
    before = os.times()
    done = subprocess.run([*TAG2BOX, "--help"], check=True, capture_output=True, text=True)
    after = os.times()
    assert "check" in done.stdout
    spent = after.children_user + after.children_system
    assert spent - before.children_user - before.children_system < 0.5


@pytest.mark.parametrize(
    "module", ["tag2box", "tag2box.cli", "tag2box.recipe", "tag2box.verbs.check"]
)
def test_importing_does_not_load_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_import_takes_under_a_fifth_of_a_second() -> None:
    code = "import time; t = time.process_time(); import tag2box; print(time.process_time() - t)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert float(done.stdout) < 0.2


def test_unknown_verb_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tarin"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tag2box: tarin: is not a verb")
    assert error.count("\n") == 1


@dataclass(frozen=True)
class Verb:
    """A verb to try the reading of settings with."""

    reading: ReadingSettings = field(default_factory=ReadingSettings)
    images: ImageSettings = field(default_factory=ImageSettings)


def test_the_command_line_wins_over_the_recipe_file(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[reading]\nsplit = "train"\nclasses = ["dog", "sheep"]\n')
    settings = cli._settings(Verb, "try", ["--recipe", str(recipe), "--reading.split", "val"])
    assert settings.reading.split == "val"
    assert settings.reading.classes == ("dog", "sheep")
    assert settings.images == ImageSettings()


def test_classes_are_separated_by_commas() -> None:
    settings = cli._settings(Verb, "try", ["--reading.classes", "dog, sheep"])
    assert settings.reading.classes == ("dog", "sheep")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[reading]\nsplitt = 'x'", ["reading.splitt", "did you mean reading.split?\n"]),
        ("[redaing]\n", ["redaing", "did you mean reading?\n"]),
        ("[images]\nmax_megapixels = 'big'", ["images.max_megapixels", "float"]),
        ("[images]\nunreadable = 'sometimes'", ["images.unreadable", "sometimes"]),
        ("[reading\n", ["is not TOML"]),
    ],
)
def test_a_wrong_recipe_is_one_sentence(
    tmp_path: Path, text: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(text)
    assert cli.main(["check", "photos", "--recipe", str(recipe)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert all(word in error for word in [*words, "recipe.toml"]), error
