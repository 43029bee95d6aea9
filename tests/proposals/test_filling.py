import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tag2box.errors import InputError
from tag2box.proposals.cache import Store, content_key
from tag2box.proposals.filling import Filler, available_cores, fill, in_order_of_rank
from tag2box.proposals.packing import unpack
from tag2box.proposals.sources import Source, source_from, source_named


def filled(folder: Path, photos: Sequence[Path], source: Source, **keywords: Any) -> Store:
    store = Store(folder)
    fill(photos, source, store, progress=False, **keywords)
    return store


def boxes_in(store: Store, path: Path) -> list[list[float]]:
    packed = store.get(content_key(path))
    assert packed is not None
    return unpack(packed)[0].boxes.tolist()


def test_results_do_not_depend_on_the_number_of_processes(
    tmp_path: Path, photos: list[Path], source_module: str
) -> None:
    source = source_named(f"{source_module}:propose")
    here = filled(tmp_path / "0", photos, Source("f", "", given=source.function))
    for processes in (1, 3):
        store = filled(tmp_path / str(processes), photos, source, processes=processes)
        assert len(store) == len(here) == 5  # the sixth photo is a copy
        for path in photos:
            assert store.get(content_key(path)) == here.get(content_key(path))
    assert boxes_in(here, photos[1])[1] == [0, 0, 30, 21]


def test_what_is_there_is_not_computed_again(tmp_path: Path, photos: list[Path]) -> None:
    calls = []

    def propose(image: np.ndarray) -> list[list[int]]:
        calls.append(image.shape)
        return [[0, 0, 3, 3]]

    store, source = Store(tmp_path / "store"), source_from(propose)
    assert fill(photos[:2], source, store, progress=False) == 2
    assert fill(photos, source, store, progress=False) == 3
    assert fill(photos, source, Store(tmp_path / "store"), progress=False) == 0
    assert len(calls) == 5
    (entries,) = (p for p in (tmp_path / "store").glob("*.boxes") if p.stat().st_size)
    entries.write_bytes(entries.read_bytes()[:-1])  # the last one is damaged
    assert fill(photos, source, Store(tmp_path / "store"), progress=False) == 1


def test_no_photo_is_no_work(tmp_path: Path) -> None:
    assert fill([], source_from(lambda image: image), Store(tmp_path), progress=False) == 0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("broken", "KeyError: 'no such thing'"),
        ("deadly", "ended the process"),
        ("nothing", "has no function nothing"),
    ],
)
def test_what_goes_wrong_over_there_is_said_here(
    tmp_path: Path, photos: list[Path], source_module: str, function: str, words: str
) -> None:
    source = source_named(f"{source_module}:{function}")
    with pytest.raises(InputError, match=words):  # `skip` is for photos, not for the source
        filled(tmp_path / "store", photos[:2], source, processes=2, unreadable="skip")


def test_a_module_that_changes_while_it_is_in_use(
    tmp_path: Path, photos: list[Path], source_module: str
) -> None:
    source = source_named(f"{source_module}:propose")
    with (tmp_path / f"{source_module}.py").open("a") as file:
        file.write("# changed\n")
    with pytest.raises(InputError, match="was changed while it is in use"):
        filled(tmp_path / "store", photos[:1], source, processes=1)


def test_unreadable_photos_stop_or_are_skipped(
    tmp_path: Path, photos: list[Path], source_module: str
) -> None:
    photos[2].write_bytes(b"no photo")
    photos[3].unlink()
    source = source_named(f"{source_module}:propose")
    with pytest.raises(InputError, match=r"photo 2|photo 3"):
        filled(tmp_path / "a", photos, source, processes=1)
    with pytest.warns(UserWarning, match="skipped"):
        store = filled(tmp_path / "b", photos, source, processes=1, unreadable="skip")
    assert len(store) == 3


def test_the_background_ends_with_the_block(
    tmp_path: Path, photos: list[Path], source_module: str
) -> None:
    store = Store(tmp_path / "store")
    source = source_named(f"{source_module}:slow")
    with Filler(photos, source, store, processes=1) as filler:
        deadline = time.monotonic() + 30
        while len(store) == 0 and time.monotonic() < deadline:
            filler.wait(0.02)
        processes = [worker._process for worker in filler._workers]  # type: ignore[union-attr]
    assert 1 <= len(store) < 5
    assert not filler.running
    assert all(process.poll() is not None for process in processes)


FILLING = """
import sys
from pathlib import Path
from tag2box.proposals.cache import Store
from tag2box.proposals.filling import fill
from tag2box.proposals.sources import source_named
store = Store(Path(sys.argv[1]))
paths = [Path(p) for p in sys.argv[2:]]
print(fill(paths, source_named("my_boxes:slow"), store, processes=2, progress=False))
"""  # without `if __name__ == "__main__"`, as users write scripts


def running(store: Path, photos: list[Path], script: Path) -> subprocess.Popen[str]:
    script.write_text(FILLING)
    return subprocess.Popen(
        [sys.executable, str(script), str(store), *map(str, photos)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.usefixtures("source_module")
def test_an_interruption_keeps_the_work_and_leaves_no_process(
    tmp_path: Path, photos: list[Path], kind: signal.Signals
) -> None:
    psutil = pytest.importorskip("psutil")
    process = running(tmp_path / "store", photos, tmp_path / "script.py")
    store = Store(tmp_path / "store")
    deadline = time.monotonic() + 30
    while len(store) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = psutil.Process(process.pid).children(recursive=True)
    assert workers
    process.send_signal(kind)
    process.communicate()
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert not alive
    kept = len(store)
    assert 2 <= kept < 5
    again = running(tmp_path / "store", photos, tmp_path / "script.py")
    printed, errors = again.communicate()
    assert printed.strip() == str(5 - kept), errors
    assert len(store) == 5


@pytest.mark.usefixtures("source_module")
def test_two_fillers_at_once(tmp_path: Path, photos: list[Path]) -> None:
    fillers = [running(tmp_path / "store", photos, tmp_path / f"{i}.py") for i in range(2)]
    counts = [int(filler.communicate()[0]) for filler in fillers]
    assert len(Store(tmp_path / "store")) == 5
    assert sum(counts) >= 5


def test_a_worker_starts_quickly_and_without_torch(
    photos: list[Path], source_module: str, tmp_path: Path
) -> None:
    (tmp_path / "looks.py").write_text(
        "import sys\ndef propose(image):\n"
        "    assert 'torch' not in sys.modules\n    return [[0, 0, 1, 1]]\n"
    )
    before = os.times()
    filled(tmp_path / "store", photos[:1], source_named("looks:propose"), processes=1)
    after = os.times()
    spent = after.children_user + after.children_system
    assert spent - before.children_user - before.children_system < 3
    assert source_module


def test_ranks_begin_elsewhere_and_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [Path(str(i)) for i in range(5)]
    assert in_order_of_rank(paths) == paths
    cores = available_cores()
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    starts = []
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        assert sorted(in_order_of_rank(paths)) == paths
        starts.append(in_order_of_rank(paths)[0].name)
    assert starts == ["0", "2"]
    assert in_order_of_rank([]) == []
    assert available_cores() == max(1, cores // 2)
