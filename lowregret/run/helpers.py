"""Threads that work at one thing together: all of them, or none."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Helpers:
    """Threads 1, …, `count` that do `work(k)` while a `with` block lasts; `there` tells whether all could be had.

    None begins before all are there: those who wait for each other would wait for ever. So if one of them, or the
    block itself, ends with an error, `release` lets the others go; what ended a thread is raised when the block ends.
    """

    def __init__(self, work: Callable[[int], object], count: int, release: Callable[[], object] = lambda: None) -> None:
        self._work, self._release, self._go, self.there = work, release, threading.Event(), True
        self._faults: list[BaseException] = []
        self._threads: list[threading.Thread] = []
        try:
            for k in range(1, count + 1):
                thread = threading.Thread(target=self._wait, args=(k,), daemon=True)
                thread.start()
                self._threads.append(thread)
        except (RuntimeError, MemoryError):  # the system has no more threads
            self.there = False
            self._go.set()

    def _wait(self, k: int) -> None:
        self._go.wait()
        if self.there:
            try:
                self._work(k)
            except BaseException as error:
                self._faults.append(error)
                self._release()

    def __enter__(self) -> Helpers:
        self._go.set()
        return self

    def __exit__(self, kind: type[BaseException] | None, *problem: object) -> None:
        if kind is not None:
            self._release()
        for thread in self._threads:
            thread.join()
        if kind is None and self._faults:
            raise self._faults[0]
