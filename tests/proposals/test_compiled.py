import threading
import time

from tag2box.proposals.compiled import compiled


def test_a_function_no_folder_is_found_for_is_compiled_all_the_same() -> None:
    scope: dict = {}
    exec(compile("def double(x):\n    return 2 * x\n", "<nowhere>", "exec"), scope)
    assert compiled(scope["double"])(21) == 42


def count_up(upto: int) -> int:
    total = 0
    for i in range(upto):
        total += i % 7
    return total


def test_other_threads_run_meanwhile() -> None:
    fast = compiled(count_up)
    fast(1)
    ticks, done = 0, threading.Event()
    worker = threading.Thread(target=lambda: (fast(10**9), done.set()))
    worker.start()
    deadline = time.monotonic() + 30
    while not done.is_set() and ticks < 20 and time.monotonic() < deadline:
        time.sleep(0.001)
        ticks += 1
    finished = done.is_set()
    worker.join()
    assert ticks == 20
    assert not finished
