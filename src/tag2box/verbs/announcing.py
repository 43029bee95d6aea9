"""What verbs that work for long say before they begin: what each data set was taken for."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tag2box.data.formats import sources_of
from tag2box.errors import printable
from tag2box.recipe import ReadingSettings


def announce(paths: Sequence[Path], reading: ReadingSettings) -> None:
    """A line on standard error for each data set; of several processes only the first speaks."""
    if os.environ.get("RANK", "0") == "0":
        for source in sources_of(paths, reading):
            sys.stderr.write(f"tag2box: {printable(source.describe())}\n")
