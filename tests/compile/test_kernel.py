"""Compiled loops: what they may call, what they say when they cannot, and that they cost nothing beside Numba."""

from __future__ import annotations

import gc
import math
import pickle
import sys
import traceback
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import cloudpickle, njit
from numba.core.caching import NullCache

from lowregret.compile.digest import digest
from lowregret.compile.kernel import _inlined, compact, kernel
from lowregret.compile.part import Part
from lowregret.errors import PartError
from lowregret.loss import Loss

K = 3.0


def tripled(x: float) -> float:
    return K * root(x)


def root(x: float) -> float:
    return math.sqrt(abs(x))


def widths(j: Any, k: int) -> Any:
    return np.uint64(j) * np.uint64(k)


@njit
def already_compiled(x: float) -> float:
    return x - 1.0


def factorial(n: float) -> float:
    return 1.0 if n < 1 else n * factorial(n - 1)


@kernel
def call_helpers(x: float) -> float:
    return tripled(x) + already_compiled(x)


@kernel
def sums(x: Any) -> tuple[float, float]:
    """A loop with all that parts need: an array, an early end, several results."""
    total, largest = 0.0, -math.inf
    for i in range(x.size):
        if math.isnan(x[i]):
            break
        total += x[i]
        largest = max(largest, x[i])
    return total, largest


@kernel
def wholes(x: float, k: Any) -> tuple[Any, ...]:
    return int(x), int(k), int(x > 1.0), x in (0.5, 2.0), x in (1, 2), k in (1, 250, -3), k in (2.0, 3.5)


@kernel
def at(loss: Any, p: float) -> Any:
    return loss.at(p)


def interpreted(loop: Callable[..., Any]) -> Any:
    return loop.py_func  # type: ignore[attr-defined]


def signatures(loop: Callable[..., Any]) -> int:
    return len(loop.signatures)  # type: ignore[attr-defined]


# ---- what compiled code may call -------------------------------------------------------------------------------------


@given(st.lists(st.floats(allow_infinity=True, allow_nan=True), max_size=20))
def test_compiled_is_interpreted_to_the_last_bit(values: list[float]) -> None:
    x = np.array(values, float)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(sums(x), interpreted(sums)(x))


@pytest.mark.parametrize("x", [-2.7, 0.5, 1.0, 2.0, math.nan])
@pytest.mark.parametrize("k", [np.uint8(250), np.uint64(1), np.int64(-3), 2, 3])
def test_wholes_and_members_are_those_of_python(x: float, k: Any) -> None:
    if math.isnan(x):
        assert wholes(x, k)[3:5] == (False, False)
    else:
        assert wholes(x, k) == interpreted(wholes)(x, k)


def test_plain_functions_are_compiled_with_the_loop() -> None:
    assert call_helpers(4.0) == interpreted(call_helpers)(4.0) == 9.0
    assert tripled(4.0) == 6.0


def test_plain_functions_are_compiled_once_for_all_literals_and_widths() -> None:
    @kernel
    def several(a: Any, b: Any) -> Any:
        return widths(a, 2) + widths(b, 3) + widths(np.uint8(1), a)

    several._cache = NullCache()  # type: ignore[attr-defined]
    expected = interpreted(several)(np.uint32(5), np.uint64(7))
    assert several(np.uint32(5), np.uint64(7)) == expected == 10 + 21 + 5
    helper = _inlined(widths, digest(widths))  # type: ignore[arg-type]
    assert {signature[0].name for signature in helper.signatures} == {"uint64"}
    assert len(helper.signatures) == 2  # by int64 and by uint64


def test_enclosed_functions_and_numbers() -> None:
    def make(f: Callable[[float], float], k: float) -> Callable[[float], float]:
        @kernel
        def enclosing(x: float) -> float:
            return f(x) + k

        return enclosing

    assert make(root, 1.0)(9.0) == 4.0
    assert make(tripled, 2.0)(9.0) == 11.0


def test_products_of_vectors_are_those_of_blas() -> None:
    @kernel
    def product(a: Any, b: Any) -> Any:
        return np.dot(a, b)

    a, b = np.arange(5.0), np.linspace(-1, 1, 5)
    assert product(a, b) == np.dot(a, b)


def test_errors_that_a_method_raises_are_raised() -> None:
    class Choosy(Part):
        def at(self, p: float) -> float:
            if p < 0:
                raise ValueError("p must not be negative")
            return p

    assert at(Choosy(), 1.0) == 1.0
    with pytest.raises(ValueError, match=r"^p must not be negative$"):
        at(Choosy(), -1.0)


def test_methods_may_print(capfd: pytest.CaptureFixture[str]) -> None:
    class Loud(Part):
        k: float = 2.0

        def at(self, p: float) -> float:
            print("seen", p, self.k)
            return p

    at(Loud(), 1.5)
    sys.stdout.flush()
    assert capfd.readouterr().out == "seen 1.5 2.0\n"


# ---- what Python sees ------------------------------------------------------------------------------------------------


def test_a_kernel_is_a_dispatcher() -> None:
    sums(np.ones(2))
    before = signatures(sums)
    assert sums(np.zeros(3)) == (0.0, 0.0)
    assert signatures(sums) == before
    stats = sums.stats  # type: ignore[attr-defined]
    assert sum(stats.cache_hits.values()) + sum(stats.cache_misses.values()) == before
    assert stats.cache_path is not None
    assert sums.__name__ == "sums"
    assert sums.__doc__ == interpreted(sums).__doc__


def test_a_kernel_travels_by_name_or_else_by_value() -> None:
    @kernel
    def local(x: float) -> float:
        return tripled(x) + 1.0

    assert pickle.loads(pickle.dumps(sums)) is sums
    assert cloudpickle.loads(cloudpickle.dumps(sums)) is sums
    assert cloudpickle.loads(cloudpickle.dumps(local))(4.0) == local(4.0) == 7.0


def test_calling_costs_what_numba_costs() -> None:
    """No Python code runs in a call once there is machine code."""
    x = np.ones(1)
    sums(x)
    called: list[str] = []
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    try:
        sums(x)
    finally:
        sys.setprofile(None)
    assert called in ([], ["sums"])  # Numba may announce the loop itself to a profiler


def test_compiling_leaves_the_collector_as_it_was() -> None:
    assert gc.isenabled()
    with pytest.raises(PartError):
        at(1.0, 1.0)
    assert gc.isenabled()


# ---- what cannot be compiled -----------------------------------------------------------------------------------------


class DictOfLists(Loss):
    def at(self, p: float, y: float = 1.0) -> tuple[float, float]:
        table = {p: [y, 1.0]}
        return table[p][0], 0.0


class Formats(Loss):
    def at(self, p: float, y: float = 1.0) -> tuple[float, float]:
        return float(f"{p:.3f}"), 0.0


class Undefined(Loss):
    def at(self, p: float, y: float = 1.0) -> tuple[float, float]:
        return undefined_name(p), 0.0  # type: ignore[name-defined] # noqa: F821


class MakesArrays(Loss):
    def at(self, p: float, y: float = 1.0) -> tuple[float, float]:
        return np.zeros(3)[0] + p, 0.0


class Misspelt(Loss):
    margin: float = 1.0

    def at(self, p: float, y: float = 1.0) -> tuple[float, float]:
        return self.margn * p, 0.0  # type: ignore[attr-defined]


class Adds(Loss):
    def at(self, p: float, y: float = 1.0) -> tuple[float, float]:
        return p + "1", 0.0  # type: ignore[operator]


class Recursive(Loss):
    def at(self, p: float, y: float = 1.0) -> tuple[float, float]:
        return factorial(p), 0.0


class Wraps(Part):
    inner: Any

    def at(self, p: float) -> float:
        return self.inner.at(p)[0]


FAILURES = [
    (DictOfLists, r"list\(float64\).*forbidden.*table = {p: \[y, 1\.0\]}"),
    (Formats, r'(f-strings not supported|FORMAT_WITH_SPEC).*return float\(f"{p:\.3f}"\), 0\.0'),
    (Undefined, r"name 'undefined_name' is not defined.*return undefined_name\(p\), 0\.0"),
    (MakesArrays, r"it makes an array.*return np\.zeros\(3\)\[0\] \+ p"),
    (Misspelt, r"Unknown attribute 'margn' of type Misspelt \(.*return self\.margn \* p"),
    (Adds, r"add.*found for signature: add\(float64, Literal\[str\]\(1\)\).*return p \+ \"1\""),
    (Recursive, r"unsupported recursion"),
]


@pytest.mark.parametrize(("loss", "cause"), FAILURES)
@pytest.mark.parametrize("nested", [False, True])
def test_what_does_not_compile_is_said_in_two_lines(loss: type[Loss], cause: str, nested: bool) -> None:
    part = Wraps(loss()) if nested else loss()
    with pytest.raises(PartError, match=rf"^{loss.__name__}\.at does not compile: .*{cause}") as caught:
        at(part, 2.0)
    message = str(caught.value)
    assert len(message.splitlines()) == 2
    assert message.endswith("with compiled=False")
    assert caught.value.__suppress_context__
    files = [frame.filename for frame in traceback.extract_tb(caught.tb)]
    assert not [file for file in files if "numba" in file], "Numba's own frames are no help"


@pytest.mark.parametrize(("loss", "cause"), FAILURES[:1])
def test_it_says_file_and_line(loss: type[Loss], cause: str) -> None:
    line = loss.at.__code__.co_firstlineno + 1
    with pytest.raises(PartError, match=rf"\({__file__}, line {line}\): "):
        at(loss(), 2.0)


def test_it_still_runs_interpreted() -> None:
    assert interpreted(at)(DictOfLists(), 2.0) == (1.0, 0.0)
    assert interpreted(at)(Formats(), 0.12345) == (0.123, 0.0)


def test_too_few_arguments_are_said_so() -> None:
    class Needy(Part):
        def at(self, p: float, q: float) -> float:
            return p + q

    with pytest.raises(PartError, match=r"Needy\.at does not compile: .*missing a required argument: 'q'"):
        at(Needy(), 1.0)


def test_a_loop_given_nonsense_is_named() -> None:
    with pytest.raises(PartError, match=r"^at does not compile: Unknown attribute 'at' of type float64 \(.*loss\.at"):
        at(1.0, 1.0)


def test_a_compact_loop_is_the_same_loop_with_less_code() -> None:
    def weighed(rows: Any, sizes: Any, squares: bool) -> float:
        total = 0.0
        for j in range(rows.size):
            if squares:
                total = total * 0.5 + rows[j] * rows[j]
            sizes[j] = total
        return float(total)

    usual: Any = kernel(weighed)
    small = kernel(compact(copied(weighed)))
    given = np.random.default_rng(0).normal(size=60), np.empty(60), True
    assert usual(*given) == small(*given) == weighed(*given)
    codes = [len(next(iter(made.inspect_asm().values()))) for made in (usual, small)]
    assert codes[1] < codes[0]


def copied(function: Any) -> Any:
    made = FunctionType(function.__code__, function.__globals__, function.__name__, None, function.__closure__)
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    return made
