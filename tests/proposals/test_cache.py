import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tag2box.errors import InputError
from tag2box.proposals.cache import Store, content_key

ENTRIES = 300
# Writes entries for ever, or ENTRIES of them; the entry of a key is known to the tests too.
WRITER = """
import sys
from pathlib import Path
from test_cache import entry_of, key_of
from tag2box.proposals.cache import Store
store, start, count = Store(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
for number in range(start, start + count):
    store.put(key_of(number), entry_of(number))
"""


def key_of(number: int) -> bytes:
    return number.to_bytes(32)


def entry_of(number: int) -> bytes:
    return np.random.default_rng(number).bytes(number % 5000)


def writer(folder: Path, start: int, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), str(start), str(count)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )


def wrong_or_missing(store: Store, numbers: range) -> list[int]:
    return [n for n in numbers if store.get(key_of(n)) != entry_of(n)]


def test_two_processes_write_at_once_and_a_third_sees_all(tmp_path: Path) -> None:
    reader = Store(tmp_path)  # opened before anything is there
    writers = [writer(tmp_path, start, ENTRIES) for start in (0, ENTRIES // 2)]  # half in common
    assert [process.wait() for process in writers] == [0, 0]
    numbers = range(ENTRIES + ENTRIES // 2)
    assert wrong_or_missing(reader, numbers) == []
    assert wrong_or_missing(Store(tmp_path), numbers) == []
    assert len(reader) == len(numbers)


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.02, 0.05])
def test_kill_9_loses_at_most_the_entry_being_written(tmp_path: Path, delay: float) -> None:
    process = writer(tmp_path, 0, 10**9)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    store = Store(tmp_path)
    found = len(store)
    assert wrong_or_missing(store, range(found)) == []  # none is damaged, none is skipped
    store.put(key_of(found), entry_of(found))  # and the work goes on
    assert wrong_or_missing(Store(tmp_path), range(found + 1)) == []


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    store = Store(tmp_path)
    for number in range(1, 20):
        store.put(key_of(number), entry_of(number))
    return tmp_path


@pytest.mark.parametrize("suffix", [".boxes", ".index"])
@pytest.mark.parametrize("seed", range(8))
def test_damaged_bytes_are_absent_never_wrong(filled: Path, suffix: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    (path,) = filled.glob(f"*{suffix}")
    content = bytearray(path.read_bytes())
    for _ in range(3):
        content[rng.integers(len(content))] ^= rng.integers(1, 256)
    path.write_bytes(content[: rng.integers(len(content) // 2, len(content))])
    store = Store(filled)
    damaged = [n for n in range(1, 20) if store.get(key_of(n)) is None]
    assert damaged
    assert all(store.get(key_of(n)) in (None, entry_of(n)) for n in range(1, 20))
    for number in damaged:
        store.put(key_of(number), entry_of(number))
    assert wrong_or_missing(store, range(1, 20)) == []
    assert wrong_or_missing(Store(filled), range(1, 20)) == []  # the damaged twin does not win


def test_every_way_to_cut_an_index(filled: Path) -> None:
    (path,) = filled.glob("*.index")
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        assert len(Store(filled)) == length * 19 // len(content)


def test_an_emptied_cache_is_an_empty_cache(filled: Path) -> None:
    store = Store(filled)
    for path in filled.iterdir():
        path.unlink()
    assert store.get(key_of(3)) is None
    assert len(Store(filled)) == 0


def test_reading_makes_no_file(tmp_path: Path) -> None:
    store = Store(tmp_path / "none")
    assert store.get(key_of(1)) is None
    assert len(store) == 0
    assert not (tmp_path / "none").exists()


def test_a_store_travels_to_another_process(filled: Path) -> None:
    assert wrong_or_missing(pickle.loads(pickle.dumps(Store(filled))), range(1, 20)) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child_does_not_write_to_the_files_of_its_parent(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(key_of(1), entry_of(1))
    child = os.fork()
    if child == 0:
        store.put(key_of(2), entry_of(2))
        os._exit(0)
    os.waitpid(child, 0)
    store.put(key_of(3), entry_of(3))
    assert wrong_or_missing(store, range(1, 4)) == []
    assert len(list(tmp_path.glob("*.index"))) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_child_forked_while_a_thread_writes_is_not_stuck(tmp_path: Path) -> None:
    store = Store(tmp_path)
    stopped = threading.Event()

    def write() -> None:
        for number in range(100_000):
            if stopped.is_set():
                return
            store.put(key_of(number), entry_of(number % 50))

    writer = threading.Thread(target=write)
    writer.start()
    children = []
    for turn in range(20):
        child = os.fork()
        if child == 0:
            signal.alarm(10)  # ends the child where it hangs
            store.put(key_of(200_000 + turn), entry_of(turn))
            os._exit(store.get(key_of(200_000 + turn)) != entry_of(turn))
        children.append(child)
    codes = [os.waitpid(child, 0)[1] for child in children]
    stopped.set()
    writer.join()
    assert codes == [0] * 20
    fresh = Store(tmp_path)
    assert [fresh.get(key_of(200_000 + turn)) for turn in range(20)] == [
        entry_of(turn) for turn in range(20)
    ]
    assert fresh.get(key_of(0)) == store.get(key_of(0)) == entry_of(0)


def test_threads_share_a_store(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def put(start: int) -> None:
        for number in range(start, 100, 4):
            store.put(key_of(number), entry_of(number))

    threads = [threading.Thread(target=put, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong_or_missing(Store(tmp_path), range(100)) == []


def test_a_cache_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        Store(tmp_path / "file" / "cache").put(key_of(1), b"")


def test_a_full_disk_breaks_no_entry(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk."""
    code = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from tag2box.errors import InputError\n"
        "from tag2box.proposals.cache import Store\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "store, failures = Store(Path(sys.argv[1])), 0\n"
        "for number in range(12):\n"
        "    try:\n"
        "        store.put(number.to_bytes(32), bytes([number]) * 3000)\n"
        "    except InputError:\n"
        "        failures += 1\n"
        "sys.exit(failures)\n"
    )
    pytest.importorskip("resource")
    failures = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode
    store = Store(tmp_path)
    entries = {n: store.get(key_of(n)) for n in range(12)}
    assert failures == sum(entry is None for entry in entries.values()) > 0
    assert all(entry in (None, bytes([n]) * 3000) for n, entry in entries.items())


def test_a_key_is_of_the_content(tmp_path: Path) -> None:
    for name, content in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / name).write_bytes(content)
    a, b, c = (content_key(tmp_path / name) for name in "abc")
    assert a == b != c
    with pytest.raises(InputError, match="cannot be read"):
        content_key(tmp_path / "d")
