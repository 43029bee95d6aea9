import threading
import time

import pytest

from tag2box.errors import InputError
from tag2box.inference.loading import made_ahead


@pytest.mark.parametrize("threads", [0, 1, 4])
def test_in_order_and_never_far_ahead(threads: int) -> None:
    begun: list[int] = []

    def make(number: int) -> int:
        begun.append(number)
        time.sleep(0.001 * (number % 3))
        return number * number

    for count, (number, made) in enumerate(made_ahead(range(30), make, threads=threads)):
        assert (number, made.result()) == (count, count * count)
        assert len(begun) <= count + 1 + 2 * threads
    assert sorted(begun) == list(range(30))


@pytest.mark.parametrize("threads", [0, 2])
def test_an_error_waits_for_its_turn(threads: int) -> None:
    def make(number: int) -> int:
        if number == 3:
            raise InputError("three", "is wrong", "take another")
        return number

    looking = made_ahead(range(9), make, threads=threads)
    assert [next(looking)[1].result() for _ in range(3)] == [0, 1, 2]
    _, failed = next(looking)
    with pytest.raises(InputError, match="three"):
        failed.result()


def test_who_stops_listening_stops_the_work() -> None:
    begun: list[int] = []

    def make(number: int) -> int:
        begun.append(number)
        return number

    looking = made_ahead(range(1000), make, threads=2)
    next(looking)
    looking.close()  # type: ignore[attr-defined]
    assert len(begun) <= 6
    assert threading.active_count() < 10


@pytest.mark.parametrize("threads", [0, 2])
def test_nothing_to_make(threads: int) -> None:
    assert list(made_ahead([], str, threads=threads)) == []
