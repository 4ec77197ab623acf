"""Virtual time: processes that take turns in the order of a clock nobody waits for.

A process is a generator. It yields a time at which it goes on, or a `Gate` that lets it go on when it opens. Whoever is
due first goes on first, and of several at once whoever asked first: the outcome depends on nothing else.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator
from itertools import count
from typing import Any


class Gate:
    """Processes that wait until somebody lets them go on."""

    def __init__(self) -> None:
        self.waiting: list[Process] = []


Process = Generator["float | Gate", None, Any]


class VirtualClock:
    """The time, and who is due when: O(log n) per turn."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Process]] = []
        self._number = count()

    def start(self, process: Process, at: float | None = None) -> None:
        """Let a process take its next turn, at once or at a time."""
        heapq.heappush(self._due, (self.now if at is None else at, next(self._number), process))

    def open(self, gate: Gate) -> None:
        """Let all who wait at a gate go on."""
        waiting, gate.waiting = gate.waiting, []
        for process in waiting:
            self.start(process)

    def together(self, processes: list[Process]) -> Process:
        """Start all of these at once; returns a process that waits for them, and whose value is a list of theirs."""
        gate, left, found = Gate(), len(processes), [None] * len(processes)

        def ended(k: int, process: Process) -> Process:
            nonlocal left
            found[k] = yield from process
            left -= 1
            if left == 0:
                self.open(gate)

        def joined() -> Process:
            if left:
                yield gate
            return found

        for k, process in enumerate(processes):
            self.start(ended(k, process))
        return joined()

    def run(self) -> None:
        """Play until nobody is due any more."""
        while self._due:
            self.now, _, process = heapq.heappop(self._due)
            until = next(process, None)
            if isinstance(until, Gate):
                until.waiting.append(process)
            elif until is not None:
                self.start(process, until)


class Lane:
    """A resource that serves one at a time, first come first served: a processor, or one direction of a link."""

    def __init__(self) -> None:
        self.free = 0.0  # from when on
        self.busy = 0.0  # seconds so far

    def take(self, begin: float, seconds: float) -> float:
        """Be busy for so long, not before `begin`; returns when it is done."""
        self.free = max(begin, self.free) + seconds
        self.busy += seconds
        return self.free


class Cores:
    """Processors that many lanes share, each piece of work whole on one of them."""

    def __init__(self, cores: int) -> None:
        self._free = [0.0] * cores

    def take(self, lane: Lane, begin: float, seconds: float) -> float:
        """Be busy in a lane, and on whichever core is free first, if their number is known."""
        if not self._free or seconds == 0.0:
            return lane.take(begin, seconds)
        done = lane.take(max(begin, self._free[0]), seconds)
        heapq.heapreplace(self._free, done)
        return done
