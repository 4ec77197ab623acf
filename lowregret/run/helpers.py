"""Threads that work at one thing together: all of them, or none."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Helpers:
    """Threads 1, …, `count` that do `work(k)` while a `with` block lasts; `there` tells whether all could be had.

    None begins before all are there: those who wait for each other would wait for ever.
    """

    def __init__(self, work: Callable[[int], object], count: int) -> None:
        self._work, self._go, self.there = work, threading.Event(), True
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
            self._work(k)

    def __enter__(self) -> Helpers:
        self._go.set()
        return self

    def __exit__(self, *problem: object) -> None:
        for thread in self._threads:
            thread.join()
