"""Saying why a command takes its time: it compiles, once on a machine."""

from __future__ import annotations

import sys
import time
from threading import Timer
from typing import Any, Self, TextIO

from numba.core.event import Listener, register, unregister

from lowregret.cli.clock import COMPILE
from lowregret.cli.streams import FRESH

PATIENCE = 1.5  # seconds of compiling after which it is said


class Notice(Listener):  # type: ignore[misc]
    """Inside `with`, says once that code is being compiled, if that takes long; only one thread at a time compiles."""

    def __init__(self, wanted: bool = True, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.wanted = wanted
        self._depth, self._began, self._left = 0, 0.0, PATIENCE
        self._timer: Timer | None = None

    def on_start(self, _event: Any) -> None:
        self._depth += 1
        if self._depth == 1 and self.wanted:
            self._began = time.perf_counter()
            self._timer = Timer(max(self._left, 0.0), self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, _event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._left -= time.perf_counter() - self._began

    def _say(self) -> None:
        if self.wanted:
            self.wanted = False
            fresh = FRESH if self.stream.isatty() else ""  # over a line of progress
            self.stream.write(f"{fresh}compiling (once per machine)…\n")
            self.stream.flush()

    def __enter__(self) -> Self:
        register(COMPILE, self)
        return self

    def __exit__(self, *problem: object) -> None:
        unregister(COMPILE, self)
        self.wanted = False
        if self._timer is not None:
            self._timer.cancel()
