"""Threads that take turns: while one changes an object, others that would change, save, copy or pickle it wait."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from functools import wraps
from types import FunctionType, TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from lowregret.compile.signals import Unbroken, let_in

P = ParamSpec("P")
R = TypeVar("R")
PATIENCE = 0.05  # seconds of waiting after which signals are let in


class Turns:
    """The right to change an object: one thread has it at a time, and may take it again while it has it.

    A copy of the object, or one from a pickle, has a right of its own.
    """

    def __init__(self) -> None:
        self._lock, self.seat = threading.RLock(), threading.Lock()  # the seat: of the thread that learns, or waits to

    def __enter__(self) -> None:
        while not self._lock.acquire(timeout=PATIENCE):
            let_in()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Turns], tuple[()]]:
        return Turns, ()


ASKED = {
    *("ask", "draw", "rank", "contents", "policy", "point", "regret", "regrets", "best", "weights_over_time", "plot"),
    *("decision_function", "weights", "importance", "kept", "predictor", "certificate", "certificates", "__str__"),
    *("fixed_certificate", "forest_certificate", "linear_regret", "trace", "risk", "risks"),
}  # methods and properties that read what learning moves: arrays grow where they lie


class Shared:
    """The base of what threads take turns at: questions, deep copies and pickles wait, so nothing is half done."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ASKED & vars(cls).keys():
            setattr(cls, name, _waiting(vars(cls)[name]))

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self)] = other = type(self).__new__(type(self))
        with turns_of(self):
            vars(other).update(copy.deepcopy(vars(self), memo))
        return other

    def __getstate__(self) -> dict[str, Any]:
        """A copy of all there is, for what is pickled is read only when the turn is over."""
        with turns_of(self):
            return copy.deepcopy(vars(self))


def turns_of(owner: Any) -> Turns:
    """The turns that threads take at an object."""
    found: Turns | None = vars(owner).get("_turns")
    return found or vars(owner).setdefault("_turns", Turns())


def in_turn(method: Callable[P, R]) -> Callable[P, R]:
    """The method, which neither another thread nor a signal comes in the way of."""

    @wraps(method)
    def held(*args: P.args, **options: P.kwargs) -> R:
        with Unbroken(), turns_of(args[0]):
            return method(*args, **options)

    return held


def _waiting(member: Any) -> Any:
    """A method or property that waits while another thread changes the object; anything else as it is."""
    if isinstance(member, property):
        return property(_waiting(member.fget), member.fset, member.fdel, member.__doc__)
    if not isinstance(member, FunctionType):
        return member

    @wraps(member)
    def asked(self: Any, *args: Any, **options: Any) -> Any:
        with turns_of(self):
            return member(self, *args, **options)

    return asked
