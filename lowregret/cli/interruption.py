"""Ctrl-C and requests to terminate, for commands that read rows."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType

from lowregret.compile.signals import are_put_off
from lowregret.stream.batch import Batch
from lowregret.stream.follow import Follow


class Interruption:
    """Ctrl-C or a request to terminate: at once while waiting for rows, else between rows where a run lets signals in.

    A file that is followed ends there as if it had ended by itself; only the next request interrupts.
    """

    def __init__(self, follow: Follow | None = None) -> None:
        self.wanted = self.waiting = False
        self.follow = follow

    def watch(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches up to the interruption."""
        while not self.wanted:
            self.waiting = True
            try:
                batch = next(batches, None)
            except KeyboardInterrupt:
                return
            finally:
                self.waiting = False
            if batch is None:
                return
            yield batch

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.follow is not None and not self.follow.ended:
            self.follow.end()
            return
        again, self.wanted = self.wanted, True
        if self.waiting or again or are_put_off():
            raise KeyboardInterrupt

    def __enter__(self) -> Interruption:
        known = (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
        wanted = [n for n in known if n and signal.getsignal(n) is not signal.SIG_IGN]  # as by nohup, or a shell's &
        self._before = {n: signal.signal(n, self._note) for n in wanted}
        return self

    def __exit__(self, *problem: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
