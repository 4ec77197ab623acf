"""Signals that interrupt, put off while something is done that must not be broken off.

Python runs the handler of a signal as soon as a compiled loop returns, or between any two calls, and that of Ctrl-C
raises there. Whatever the loop had learnt would then stand in its arrays, and nobody would have counted it.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` itself looks up names, which takes long
import os
import threading
from types import FrameType, TracebackType
from typing import Any

WATCHED = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM") if hasattr(signal, name))


class Unbroken:
    """Put off signals whose handlers are in Python until the end, or until `let_in`; inside another one, do nothing.

    Only the main thread runs handlers, so that others are never interrupted.
    """

    def __enter__(self) -> None:
        self._outer = not _post.holding and threading.current_thread() is threading.main_thread()
        if self._outer:
            _post.hold()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._outer:
            _post.release()


def let_in() -> None:
    """Run the handlers of signals that were put off: here an interruption does no harm."""
    if _post.noted and threading.current_thread() is threading.main_thread():
        _post.deliver()


def are_put_off() -> bool:
    """Whether signals are put off: a handler that runs then was let in where an interruption does no harm."""
    return _post.holding


class _Post:
    """Handlers that were replaced, and signals that came since."""

    def __init__(self) -> None:
        self.holding, self.holder = False, 0
        self.handlers: dict[int, Any] = {}
        self.noted: list[tuple[int, FrameType | None]] = []

    def hold(self) -> None:
        for number in WATCHED:
            handler = signal.getsignal(number)
            if callable(handler) and handler != self.note:
                self.handlers[number] = handler
                signal.signal(number, self.note)
        self.holding, self.holder = True, threading.get_ident()

    def release(self) -> None:
        self.holding = False  # from now on `note` passes signals on, should one come before its handler is back
        for number, handler in list(self.handlers.items()):
            if signal.getsignal(number) == self.note:  # nobody has set another one meanwhile
                signal.signal(number, handler)
        self.deliver()

    def note(self, number: int, frame: FrameType | None) -> None:
        self.noted.append((number, frame))
        if not self.holding:
            self.deliver()

    def deliver(self) -> None:
        if self.noted:
            number, frame = self.noted.pop(0)
            try:
                self.handlers[number](number, frame)
            finally:
                self.deliver()

    def renew(self) -> None:
        """In a process that was forked, by any thread of the first: its signals are its own, so let others through."""
        self.noted.clear()
        if self.holding and self.holder != threading.get_ident():
            self.release()


_post = _Post()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_post.renew)
