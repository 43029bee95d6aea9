import pytest

from tag2box.training import schedule


def test_the_papers_schedule() -> None:
    factor = schedule.warmed_up(schedule.stepped((20_000, 26_000), 0.1), steps=200, start=1 / 3)
    assert factor(0) == pytest.approx(1 / 3 + 2 / 3 / 200)
    assert factor(99) == pytest.approx(1 / 3 + 2 / 3 * 0.5)
    assert factor(199) == factor(19_999) == pytest.approx(1)
    assert factor(20_000) == pytest.approx(0.1)
    assert factor(29_999) == pytest.approx(0.01)


def test_without_warm_up_the_first_step_is_whole() -> None:
    assert schedule.warmed_up(schedule.constant(), steps=0, start=0.5)(0) == 1


def test_cosine_falls_from_one_to_zero() -> None:
    factor = schedule.cosine(100)
    values = [factor(step) for step in range(101)]
    assert values[0] == 1
    assert values[50] == pytest.approx(0.5)
    assert values[100] == pytest.approx(0)
    assert values == sorted(values, reverse=True)
