"""Threads that take turns: while one changes an object, others that would change or save it wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from lowregret.compile.signals import Unbroken, let_in

P = ParamSpec("P")
R = TypeVar("R")
PATIENCE = 0.05  # seconds of waiting after which signals are let in


class Turns:
    """The right to change an object: one thread has it at a time, and may take it again while it has it.

    A copy of the object, or one from a pickle, has a right of its own.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        while not self._lock.acquire(timeout=PATIENCE):
            let_in()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Turns], tuple[()]]:
        return Turns, ()


def turns_of(owner: Any) -> Turns:
    """The turns that threads take at an object."""
    found: Turns = vars(owner).setdefault("_turns", Turns())
    return found


def in_turn(method: Callable[P, R]) -> Callable[P, R]:
    """The method, which neither another thread nor a signal comes in the way of."""

    @wraps(method)
    def held(*args: P.args, **options: P.kwargs) -> R:
        with Unbroken(), turns_of(args[0]):
            return method(*args, **options)

    return held
