"""How long a command takes, and how much of that goes into machine code that later commands find on the disk."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Self

from numba.core.event import TimingListener, register, unregister

COMPILE = "numba:compile"  # begins only where the cache has nothing


@dataclass(frozen=True)
class Seconds:
    """Wall clock."""

    total: float
    compile: float = 0.0

    @property
    def work(self) -> float:
        """All but compiling."""
        return max(self.total - self.compile, 1e-9)

    def to_json(self) -> dict[str, float]:
        return {"total": self.total, "compile": self.compile}


class Clock:
    """Runs from when it is made; inside `with` it also notices compiling, in whatever thread (one at a time does)."""

    def __init__(self) -> None:
        self._begin, self._compiling = time.perf_counter(), TimingListener()

    def read(self) -> Seconds:
        """The time so far."""
        compiling = float(self._compiling.duration) if self._compiling.done else 0.0
        return Seconds(time.perf_counter() - self._begin, compiling)

    def __enter__(self) -> Self:
        register(COMPILE, self._compiling)
        return self

    def __exit__(self, *problem: object) -> None:
        unregister(COMPILE, self._compiling)
