"""How training is going, on standard error: one line that changes on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from datetime import timedelta
from threading import Timer
from types import TracebackType
from typing import TextIO

from numba.core.compiler_lock import global_compiler_lock

from lowregret.cli.streams import FRESH
from lowregret.run.outcome import Learnt
from lowregret.run.session import Session
from lowregret.stream.batch import Batch
from lowregret.words import counted, percent, rounded_up

OFTEN, SELDOM = 0.2, 10.0  # seconds between lines, on a terminal and elsewhere
PATIENCE = 1.5  # seconds without any row after which it says why
SHARE = 0.02  # of the time that may go into computing the regret, which looks at all weights


class Progress:
    """Shows rows, speed, time left, loss and error since the start and of late, and linearised regret per row."""

    def __init__(
        self, session: Session, size: int, passes: int = 1, wanted: bool = True, stream: TextIO | None = None
    ) -> None:
        self.stream = stream or sys.stderr
        self.session, self.each, self.size, self.wanted = session, size, size * passes, wanted
        self.live = wanted and self.stream.isatty()
        self.start = self.shown = time.perf_counter()
        self.start_rows = self._rows()
        self.before = self._ledger()
        self.regret, self.regret_next = "", 0.0
        self.waiting = Timer(PATIENCE, self._wait)
        self.waiting.daemon = True

    def see(self, batch: Batch, learnt: Learnt) -> None:
        """Show how far it is after a batch, if it is time to."""
        self.update(len(self.session.passes) * self.each + batch.position)

    def update(self, position: int) -> None:
        """Show how far it is, if it is time to; `position` is bytes read, as they are on disk."""
        now = time.perf_counter()
        self.waiting.cancel()
        if self.wanted and now - self.shown >= (OFTEN if self.live else SELDOM):
            self._write(self.line(now, position))
            self.shown = now

    def line(self, now: float, position: int) -> str:
        """All figures in one line."""
        run, elapsed = self.session.run, max(now - self.start, 1e-9)
        ledger = self._ledger()
        weight, loss, wrong = (a - b for a, b in zip(ledger, self.before, strict=True))
        parts = [
            counted(self._rows(), "row"),
            f"{(self._rows() - self.start_rows) / elapsed:,.0f} rows/s",
            f"{position / elapsed / 1e6:.1f} MB/s",
        ]
        if position and position < self.size:
            left = timedelta(seconds=round(elapsed * (self.size - position) / position))
            parts.append(f"{position / self.size:.0%}, {left} left")
        if ledger[0]:
            parts.append(f"loss {ledger[1] / ledger[0]:.4g}" + (f" (lately {loss / weight:.4g})" if weight else ""))
            if run.error is not None:
                parts.append(f"error {percent(run.error)}" + (f" (lately {percent(wrong / weight)})" if weight else ""))
            parts.append(self._regret(now))
        self.before = ledger
        return "  ".join(part for part in parts if part)

    def _rows(self) -> int:
        """Read so far, in all passes."""
        return self.session.rows + self.session.reread

    def _ledger(self) -> tuple[float, float, float]:
        run = self.session.run
        return run.weight, run.loss, run.wrong

    def _regret(self, now: float) -> str:
        run = self.session.run
        if run.certify and now >= self.regret_next:
            rounds = 1 if run.learner.rule.schedule().weighted() else run.rounds  # a weighted regret is a mean already
            most = run.record.regret_at_most(run)
            self.regret = "" if most is None else f"regret ≤ {rounded_up(most, 4, rounds)} a row"
            done = time.perf_counter()
            self.regret_next = done + (done - now) / SHARE
        return self.regret

    def _wait(self) -> None:
        if not global_compiler_lock.is_locked():  # else `Notice` says what it waits for
            self._write("waiting for rows")

    def _write(self, line: str) -> None:
        self.stream.write(f"{FRESH}{line}" if self.live else f"{line}\n")
        self.stream.flush()

    def __enter__(self) -> Progress:
        if self.wanted:
            self.waiting.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.waiting.cancel()
        if self.live:
            self.stream.write(FRESH)
            self.stream.flush()


class Search:
    """Shows how the search for the best fixed choice is going: steps, its loss so far and what may be missing."""

    def __init__(self, wanted: bool = True, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.wanted, self.live = wanted, wanted and self.stream.isatty()
        self.shown = time.perf_counter()

    def update(self, steps: float, value: float, gap: float) -> None:
        """Show how far it is, if it is time to."""
        now = time.perf_counter()
        if not self.wanted or now - self.shown < (OFTEN if self.live else SELDOM):
            return
        self.shown = now
        line = f"looking for the best fixed choice: {counted(round(steps), 'round')}, loss {value:.6g}"
        line += f", at most {rounded_up(gap, 2)} too high" if math.isfinite(gap) else ""
        self.stream.write(f"{FRESH}{line}" if self.live else f"{line}\n")
        self.stream.flush()

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.live:
            self.stream.write(FRESH)
            self.stream.flush()
