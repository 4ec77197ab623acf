"""What is compiled: dead code is not; closures, exceptions and results that may be None, which few have, are."""

from __future__ import annotations

import builtins
import math
import subprocess
import sys
from typing import Any

import pytest
from numba import typeof

import lowregret.compile
from lowregret import LowRegretError
from lowregret.compile.kernel import kernel
from lowregret.compile.part import Part


class Answers(Part):
    """Questions to a part, with answers that its type knows or does not."""

    size: float = 2.0

    def always(self) -> bool:
        return True

    def never(self) -> bool:
        return not self.always()

    def large(self) -> bool:
        return self.size > 1.0

    def number(self) -> int:
        return 1

    def known(self) -> bool:
        return isinstance(self, Answers)


class Asks(Part):
    """A part of parts."""

    inner: Answers

    def itself(self) -> Answers:
        return self.inner

    def passed_on(self) -> bool:
        return self.itself().never()

    def at(self, x: float) -> Any:
        if self.inner.never():
            return str(x).splitlines()  # which does not compile
        if not self.passed_on() and self.inner.large():
            return 2.0 * x
        return x


class Rare(Part):
    """What most functions do without."""

    limit: float = 1.0

    def enclosed(self, x: float) -> float:
        def doubled(y: float) -> float:
            return 2.0 * y

        return doubled(x) + self.limit

    def root(self, x: float) -> float | None:
        return math.sqrt(x) if x >= 0.0 else None

    def rooted(self, x: float) -> float:
        found = self.root(x)
        return -1.0 if found is None else found

    def refused(self, x: float) -> float:
        if x > self.limit:
            raise ValueError("too large")
        return x

    def caught(self, x: float) -> float:
        try:
            return self.refused(x)
        except Exception:
            return -1.0


@kernel
def ask(part: Any, x: float) -> Any:
    return part.at(x)


@kernel
def rare(part: Any, x: float) -> Any:
    return part.enclosed(x), part.rooted(x), part.caught(x)


@kernel
def refused(part: Any, x: float) -> float:
    return part.refused(x)


@pytest.mark.parametrize(
    ("question", "answer"),
    [("always", True), ("never", False), ("large", None), ("number", None), ("known", None), ("nothing", None)],
)
def test_a_fact_is_what_the_type_alone_settles(question: str, answer: bool | None) -> None:
    assert typeof(Answers()).fact(question) is answer


def test_facts_go_through_parts_of_parts() -> None:
    assert typeof(Asks(Answers())).fact("passed_on") is False


@pytest.mark.parametrize("size", [0.5, 2.0])
def test_what_a_fact_excludes_is_not_compiled(size: float) -> None:
    part = Asks(Answers(size))
    assert ask(part, 3.0) == ask.py_func(part, 3.0)  # type: ignore[attr-defined]


@pytest.mark.parametrize("x", [-4.0, 0.25, 4.0])
def test_closures_exceptions_and_none_are(x: float) -> None:
    assert rare(Rare(), x) == rare.py_func(Rare(), x)  # type: ignore[attr-defined]


def test_exceptions_come_through_all_that_is_inlined() -> None:
    assert refused(Rare(), 0.5) == 0.5
    with pytest.raises(ValueError, match="too large"):
        refused(Rare(), 2.0)


def test_another_numba_compiles_without_shortcuts() -> None:
    """An internal of Numba's that is missing costs time, not results."""
    program = """
import numba.core.ssa
del numba.core.ssa.reconstruct_ssa
import numpy as np
from lowregret.compile.kernel import kernel
from lowregret.loss import Hinge
from lowregret.compile.pipeline import QUICK

@kernel
def total(loss, y):
    s = 0.0
    for i in range(y.size):
        value, _ = loss.at(0.5, y[i])
        s += max(value, 0.25) if loss.accepts(y[i]) else 0.0
    return s

y = np.array([1.0, -1.0, 2.0])
assert not QUICK
assert total(Hinge(), y) == total.py_func(Hinge(), y)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_settings_that_numba_cannot_begin_with_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """NUMBA_NUM_THREADS=0 ended every command in a traceback."""
    known = builtins.__import__

    def imported(name: str, *rest: Any) -> Any:
        if name.startswith("numba"):
            raise ValueError("Number of threads specified must be > 0.")
        return known(name, *rest)

    monkeypatch.setattr(builtins, "__import__", imported)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "0")
    with pytest.raises(LowRegretError, match=r"Numba cannot begin.* must be > 0; mend or unset .*NUMBA_NUM_THREADS"):
        lowregret.compile._import_numba()
