"""Threads that take turns: while one changes an object, others that would change, save, copy or pickle it wait."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from types import FunctionType, TracebackType
from typing import Any, ParamSpec, Self, TypeVar
from weakref import WeakSet

from lowregret.compile.signals import Unbroken, let_in
from lowregret.errors import PartError

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
PATIENCE = 0.05  # seconds of waiting after which signals are let in


class Turns:
    """The right to change an object: one thread has it at a time, and may take it again while it has it.

    It goes to threads in the order in which they came: who has had it, and wants it again, waits for all who wait.
    A copy of the object, or one from a pickle, has a right of its own. In a process that was forked the threads of the
    first one are no more: what they had is free, and what one of them was changing is refused.
    """

    def __init__(self) -> None:
        self.seat = threading.RLock()  # of the thread that learns, or waits to
        self.changes = 0  # at hand, one within another
        self._queue: list[threading.Lock] = []  # a gate for each thread; who has the right is the first
        self._owner, self._depth, self._torn = 0, 0, False
        _everyone.add(self)

    def __enter__(self) -> None:
        if self._torn:
            raise PartError(TORN)
        me = threading.get_ident()
        if self._owner != me:
            self._wait()
            self._owner = me
        self._depth += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = 0
            self._queue.pop(0)
            self._open()

    def __reduce__(self) -> tuple[type[Turns], tuple[()]]:
        return Turns, ()

    def _wait(self) -> None:
        """Stand in the queue until this thread is the first."""
        gate = threading.Lock()
        gate.acquire()
        try:
            self._queue.append(gate)
            if self._queue[0] is not gate:
                while not gate.acquire(timeout=PATIENCE):
                    let_in()
        except BaseException:  # of a signal
            self._queue.remove(gate)
            self._open()
            raise

    def _open(self) -> None:
        """Let in whoever is the first: that it may have been let in already, by another thread, does no harm."""
        with suppress(IndexError, RuntimeError):
            self._queue[0].release()

    def renew(self) -> None:
        """Take from threads that are no more what they had."""
        if self._owner != threading.get_ident():
            self._torn |= self._owner != 0 and self.changes > 0
            self._queue, self._owner, self._depth, self.changes = [], 0, 0, 0
        del self._queue[1:]
        if self.seat.acquire(blocking=False):
            self.seat.release()
        else:
            self.seat = threading.RLock()


TORN = (
    "this process was forked while a thread of the first one was changing this object, which is half changed here: "
    "make or load another one, or let processes begin by spawn instead of fork"
)


def owned(lock: Any) -> bool:
    """Whether this thread holds a lock."""
    return bool(lock._is_owned())


def _renew_all() -> None:
    for turns in _everyone:
        turns.renew()


_everyone: WeakSet[Turns] = WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)


ASKED = {
    *("ask", "draw", "rank", "contents", "policy", "point", "regret", "regrets", "best", "weights_over_time", "plot"),
    *("decision_function", "weights", "importance", "kept", "predictor", "certificate", "certificates", "__str__"),
    *("fixed_certificate", "forest_certificate", "linear_regret", "trace", "risk", "risks"),
}  # methods and properties that read what learning moves: arrays grow where they lie


class Shared:
    """The base of what threads take turns at: questions, copies and pickles wait, so nothing is half done."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ASKED & vars(cls).keys():
            setattr(cls, name, _waiting(vars(cls)[name]))

    def __copy__(self) -> Self:
        """A deep copy: of two objects that share what learning moves, one learns and the other moves in part."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self)] = other = type(self).__new__(type(self))
        with turns_of(self):
            vars(other).update(copy.deepcopy(vars(self), memo))
        return other

    def __getstate__(self) -> dict[str, Any]:
        """A copy of all there is, for what is pickled is read only when the turn is over."""
        with turns_of(self):
            return copy.deepcopy(vars(self))


def view_of(owner: S) -> S:
    """Another object that is made of the same, to be asked what it would say if some of its fields were others."""
    other = type(owner).__new__(type(owner))
    vars(other).update(vars(owner))
    return other


def turns_of(owner: Any) -> Turns:
    """The turns that threads take at an object."""
    found: Turns | None = vars(owner).get("_turns")
    return found or vars(owner).setdefault("_turns", Turns())


class Changing:
    """A turn at an object in which it is changed: whatever is forked meanwhile has it half done."""

    def __init__(self, owner: Any) -> None:
        self._turns = turns_of(owner)

    def __enter__(self) -> None:
        self._turns.__enter__()
        self._turns.changes += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._turns.changes -= 1
        self._turns.__exit__(kind, error, at)


def in_turn(method: Callable[P, R]) -> Callable[P, R]:
    """The method, which neither another thread nor a signal comes in the way of."""

    @wraps(method)
    def held(*args: P.args, **options: P.kwargs) -> R:
        with Unbroken(), Changing(args[0]):
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
