"""The three problems of weakly supervised detection as a table for people, in percent."""

from collections.abc import Mapping

from rich.table import Table

from tag2box.evaluation.problems import Problems, Verdict


def problem_table(found: Mapping[str, Problems]) -> Table:
    """A row for each detector: what its confident boxes found, and which objects it missed.

    `wrong` is an object of a wrong class.
    """
    table = Table(
        "detector",
        title="What the boxes found, in percent; and the objects missed",
        title_justify="left",
    )
    for heading in ("boxes", *(v.name.lower().split("_")[0] for v in Verdict), "missed"):
        table.add_column(heading, justify="right")
    for name, problems in found.items():
        shares = [f"{100 * share:.1f}" for share in problems.shares().values()]
        table.add_row(name, str(sum(problems.verdicts.values())), *shares)
    return table
