"""Sections of a page of results: each benchmark writes its own and leaves the others alone."""

from __future__ import annotations

import re
from pathlib import Path

from tag2box.files import write_text

HEAD = """# Results

Each section is written by the command it names; every number in it is from that command.
"""


def put_section(page: Path, title: str, text: str) -> None:
    """Put a section under a heading of the second level, in place of one of the same title."""
    before = page.read_text(encoding="utf-8") if page.exists() else HEAD
    head, *sections = re.split(r"^(?=## )", before, flags=re.MULTILINE)
    section = f"## {title}\n\n{text.strip()}\n\n"
    places = [i for i, one in enumerate(sections) if one.startswith(f"## {title}\n")]
    if places:
        sections[places[0]] = section
    else:
        sections.append(section)
    whole = "\n\n".join(part.strip() for part in (head, *sections))
    write_text(page, whole + "\n")
