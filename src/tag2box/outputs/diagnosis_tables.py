"""The doctor's diagnosis as tables for people."""

from rich.table import Table
from rich.text import Text

from tag2box.data.findings import Diagnosis, Finding
from tag2box.errors import printable

_STYLES = {"fatal": "bold red", "warning": "yellow", "note": "dim"}
_MOST_CLASSES = 100


def diagnosis_tables(diagnosis: Diagnosis) -> list[Table]:
    """A table of the photos, one of the classes, and one of the findings if there are any."""
    tables = [_photos(diagnosis), _classes(diagnosis)]
    return [*tables, _findings(diagnosis.findings)] if diagnosis.findings else tables


def _photos(diagnosis: Diagnosis) -> Table:
    table = _table("Photos")
    table.add_column("all", justify="right")
    for tags in diagnosis.tags_per_photo:
        table.add_column(f"{tags or 'no'} tag{'s' * (tags != 1)}", justify="right")
    counts = diagnosis.tags_per_photo.values()
    table.add_row(str(diagnosis.photos), *(str(count) for count in counts))
    return table


def _classes(diagnosis: Diagnosis) -> Table:
    table = _table("Classes")
    for heading in ("class", "photos", "share"):
        table.add_column(heading, justify="left" if heading == "class" else "right")
    ranked = sorted(diagnosis.photos_of_class.items(), key=lambda item: -item[1])
    for name, photos in ranked[:_MOST_CLASSES]:
        table.add_row(_plain(name), str(photos), f"{photos / diagnosis.photos:.0%}")
    if len(ranked) > _MOST_CLASSES:
        table.add_row(f"and {len(ranked) - _MOST_CLASSES} more", "", "")
    return table


def _findings(findings: tuple[Finding, ...]) -> Table:
    table = _table("Findings")
    table.add_column("")
    for heading in ("what", "what it does to learning", "what to do"):
        table.add_column(heading, ratio=1)
    for finding in findings:
        examples = "".join(f"\n- {printable(example, 120)}" for example in finding.examples)
        what = _plain(finding.what) + Text(examples, style="dim")
        severity = Text(finding.severity, style=_STYLES[finding.severity])
        table.add_row(severity, what, _plain(finding.effect), _plain(finding.remedy))
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", show_lines=title == "Findings")


def _plain(text: str) -> Text:
    """Text that is printed as it is: names of classes and files may look like markup."""
    return Text(printable(text))
