"""Each benchmark replaces its own section of the page of results."""

from pathlib import Path

from pages import HEAD, put_section


def test_a_section_is_added_then_replaced_and_the_others_stay(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    put_section(page, "Memory", "small")
    put_section(page, "Time", "### A table\n\nlong\n")
    put_section(page, "Memory", "smaller\n")
    assert page.read_text() == f"{HEAD}\n## Memory\n\nsmaller\n\n## Time\n\n### A table\n\nlong\n"
