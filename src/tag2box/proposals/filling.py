"""Filling a store with the proposals of a data set, on all cores, stoppable at any moment."""

import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from tag2box.errors import InputError
from tag2box.proposals.cache import Store, content_key
from tag2box.proposals.sources import Source, UnreadablePhoto
from tag2box.proposals.worker import ThisProcess, Worker


def fill(
    paths: Sequence[Path],
    source: Source,
    store: Store,
    *,
    processes: int = 0,
    max_megapixels: float = 200.0,
    unreadable: Literal["stop", "skip"] = "stop",
    progress: bool = True,
) -> int:
    """Compute what the store lacks, with a progress bar; returns how many photos were computed.

    `processes` 0 is one a core. What is computed is kept at once: after an interruption a second
    call goes on where the first stopped.
    """
    filler = Filler(
        paths,
        source,
        store,
        processes=processes,
        max_megapixels=max_megapixels,
        unreadable=unreadable,
    )
    with filler, _bar(len(paths), shown=progress) as bar:
        while filler.running:
            filler.wait(0.1)
            bar.update(bar.task_ids[0], completed=filler.done)
        bar.update(bar.task_ids[0], completed=filler.done)
    filler.raise_error()
    return filler.computed


class Filler:
    """Worker processes that compute, in the background of a `with` block, what a store lacks.

    Each has a thread that asks it, so a result is in the store as soon as it is there. The first
    photo is computed alone, so that compiled code is made once and not once a worker.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        source: Source,
        store: Store,
        *,
        processes: int = 0,
        max_megapixels: float = 200.0,
        unreadable: Literal["stop", "skip"] = "stop",
    ) -> None:
        self.done = 0
        """Photos looked at: found in the store, computed or skipped."""
        self.computed = 0
        self._source, self._store = source, store
        self._max_megapixels, self._unreadable = max_megapixels, unreadable
        self._missing = self._photos_missing(in_order_of_rank(paths))
        self._lock = threading.Lock()
        self._first_done, self._stopped = threading.Event(), threading.Event()
        self._error: Exception | None = None
        self._workers: list[Worker | ThisProcess] = []
        count = 1 if source.given else min(processes or available_cores(), max(1, len(paths)))
        self._threads = [
            threading.Thread(target=self._serve, args=(number,), daemon=True)
            for number in range(count)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop at once: a photo whose proposals are being computed is given up."""
        self._stopped.set()
        self._first_done.set()
        with self._lock:
            for worker in self._workers:
                worker.kill()
        for thread in self._threads:
            thread.join()

    @property
    def running(self) -> bool:
        """Whether there is work left."""
        return any(thread.is_alive() for thread in self._threads)

    def wait(self, seconds: float) -> None:
        """Let the workers work so long at most."""
        for thread in self._threads:
            thread.join(seconds / len(self._threads))

    def raise_error(self) -> None:
        """Raise what has stopped the workers, if anything has."""
        if self._error is not None:
            raise self._error

    def _photos_missing(self, paths: Sequence[Path]) -> Iterator[tuple[bytes, Path]]:
        """Key and path of each photo that is not in the store; equal photos once."""
        seen = set()
        for path in paths:
            try:
                key = content_key(path)
            except InputError as error:
                self._stop_or_skip(error)
                self.done += 1
                continue
            if key in seen or key in self._store:
                self.done += 1
            else:
                seen.add(key)
                yield key, path

    def _serve(self, number: int) -> None:
        if number > 0:
            self._first_done.wait()
        try:
            self._compute_photos()
        except Exception as error:
            if not self._stopped.is_set():
                self._error = error
                self._stopped.set()
        finally:
            self._first_done.set()

    def _compute_photos(self) -> None:
        worker: Worker | ThisProcess | None = None
        while (photo := self._next()) is not None:
            key, path = photo
            if worker is None or not worker.alive:
                worker = self._new_worker()
            try:
                packed = worker.packed_boxes(path)
            except UnreadablePhoto as error:
                self._stop_or_skip(error)
                packed = None
            if packed is not None:
                self._store.put(key, packed)
            with self._lock:
                self.computed += packed is not None
                self.done += 1
            self._first_done.set()
        if worker is not None:
            worker.kill()

    def _next(self) -> tuple[bytes, Path] | None:
        with self._lock:
            return None if self._stopped.is_set() else next(self._missing, None)

    def _new_worker(self) -> "Worker | ThisProcess":
        with self._lock:
            if self._stopped.is_set():
                raise InterruptedError
            kind = ThisProcess if self._source.given else Worker
            self._workers.append(kind(self._source, max_megapixels=self._max_megapixels))
            return self._workers[-1]

    def _stop_or_skip(self, error: InputError) -> None:
        if self._unreadable == "stop":
            raise error
        warnings.warn(f"skipped: {error}", stacklevel=2)


def available_cores() -> int:
    """The cores this process may use; the ranks of `torchrun` on a machine share them."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def in_order_of_rank(paths: Sequence[Path]) -> list[Path]:
    """The photos from where this rank of `torchrun` begins, and then the others.

    Each rank begins elsewhere and finds in the store what the others have done, so together they
    compute a photo once, and a slow rank is helped by the fast ones.
    """
    rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    start = len(paths) * rank // ranks
    return [*paths[start:], *paths[:start]]


def _bar(total: int, *, shown: bool) -> Progress:
    bar = Progress(
        TextColumn("proposals"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not shown,
    )
    bar.add_task("proposals", total=total)
    return bar
