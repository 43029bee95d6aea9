import io
from dataclasses import replace

from rich.console import Console

from oracle.scored_data import make_case
from tag2box.evaluation.scores import score
from tag2box.outputs.score_tables import score_tables


def printed(tables: list) -> str:
    file = io.StringIO()
    console = Console(file=file, width=80)
    for table in tables:
        console.print(table)
    return file.getvalue()


def test_every_class_and_number_fits_eighty_columns() -> None:
    case = make_case(1)
    tables = score_tables(score(case.truth, case.found))
    text = printed(tables)
    assert len(tables) == 3
    assert "…" not in text
    for name in case.truth.class_names:
        assert name in text


def test_what_is_not_asked_for_is_not_shown_and_what_is_unknown_is_a_dash() -> None:
    case = make_case(1, difficult=1.0)
    (table,) = score_tables(score(case.truth, case.found, metrics=["voc"]))
    text = printed([table])
    assert "CorLoc" not in text
    assert text.count("–") == 2 * (len(case.truth.class_names) + 1)


def test_a_class_name_is_shown_as_it_is() -> None:
    truth = replace(make_case(1).truth, class_names=("[red]cat", "dog\n", "cow"))
    text = printed(score_tables(score(truth, [], metrics=["voc"])))
    assert "[red]cat" in text
    assert "dog\\n" in text
