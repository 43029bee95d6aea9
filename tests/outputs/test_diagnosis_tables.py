import io

from rich.console import Console

from tag2box.data.findings import Diagnosis, Finding
from tag2box.outputs.diagnosis_tables import diagnosis_tables


def shown(diagnosis: Diagnosis) -> str:
    console = Console(file=io.StringIO(), width=160, markup=True)
    for table in diagnosis_tables(diagnosis):
        console.print(table)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_counts_and_findings_are_shown_as_they_are() -> None:
    finding = Finding(
        "few", "warning", "few [bold]photos", "remembers", "collect", ("\x1b[2J.jpg",)
    )
    text = shown(Diagnosis(4, 1, {"[red]": 3, "cat": 1}, {0: 1, 1: 2, 2: 1}, (finding,)))
    assert "[red]" in text
    assert "75%" in text
    assert "few [bold]photos" in text
    assert "\x1b" not in text
    assert "no tags" in text
    assert "1 tag " in text


def test_without_findings_there_is_no_such_table() -> None:
    assert len(diagnosis_tables(Diagnosis(1, 1, {}, {0: 1}, ()))) == 2


def test_many_classes_are_cut() -> None:
    classes = {f"class {number}": 1 for number in range(130)}
    assert "and 30 more" in shown(Diagnosis(1, 0, classes, {130: 1}, ()))
