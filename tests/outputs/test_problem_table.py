import io

from rich.console import Console

from tag2box.evaluation.problems import Problems, Verdict
from tag2box.outputs.problem_table import problem_table


def test_a_row_says_what_the_boxes_found() -> None:
    verdicts = dict.fromkeys(Verdict, 0) | {Verdict.OBJECT: 3, Verdict.PART: 1}
    none = Problems(verdicts=dict.fromkeys(Verdict, 0), missed=2, objects=2)
    console = Console(width=120, file=io.StringIO(), record=True)
    console.print(problem_table({"good": Problems(verdicts, missed=1, objects=5), "none": none}))
    lines = [line.replace("│", " ").split() for line in console.export_text().splitlines()]
    assert ["good", "4", "75.0", "0.0", "25.0", "0.0", "0.0", "20.0"] in lines
    assert ["none", "0", *["0.0"] * 5, "100.0"] in lines
