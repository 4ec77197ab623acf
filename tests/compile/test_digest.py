"""What code depends on: every edit that can change a result changes the digest, and no other does."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np
import pytest

from lowregret.compile.digest import digest, package_stamp
from lowregret.loss import Hinge

HELPERS = """
from numba import njit
DEEP = 5.0

def deepest(x):
    return x * DEEP

@njit
def sharp(x):
    return deepest(x) + 1.0

def forgotten(x):
    return x
"""

SOURCE = """
import functools
import math
from collections import namedtuple
from enum import Enum, IntEnum

import numpy as np
from numba import njit

import helpers_of_mine
from helpers_of_mine import deepest
from lowregret.loss import Loss

K = 2.0
SMALL = np.float32(0.5)
TABLE = np.array([1.0, 2.0])
PAIR = (1.0, (2, 3))
Two = namedtuple("Two", "a b")
Ends = namedtuple("Ends", "low high")
ENDS = Ends(1.0, 2.0)
squash, bend = math.tanh, np.cosh

class Colour(Enum):
    RED = 1

class Hidden(IntEnum):
    LEVEL = 7

    def __repr__(self):
        return "Hidden.LEVEL"

LEVEL = Hidden.LEVEL

class Money(float):
    def __repr__(self):
        return f"${float(self):.1f}"

PRICE = Money(0.11)

@functools.wraps(math.exp)
def careful(x):
    return math.exp(min(x, 700.0))

def plain(x, power=2):
    # a remark
    return inner(x) ** power

def inner(x):
    return x * K

@njit(fastmath=False)
def quick(x):
    return x + SMALL

def unrelated(x):
    return x

class Base(Loss):
    def shape(self, r, *, k=1.0):
        return r * k * TABLE[0]

class Mine(Base):
    width: float = 1.0

    def at(self, p, y):
        def twice(x):
            return 2.0 * x
        r = plain(p - y) + quick(PAIR[1][0]) + Two(a=1, b=2).a + Colour.RED.value
        if y in {1.0, 2.0, 3.0}:
            r = twice(r) + helpers_of_mine.sharp(r) + deepest(r)
        r += squash(p) + bend(p) + ENDS.low + LEVEL + PRICE + careful(p)
        return self.shape(r), math.sqrt(abs(r))

    @functools.wraps(Loss.wrong)
    def wrong(self, p, y):
        return p * y < 0.25

    @property
    def lipschitz(self):
        return 1.0
"""

CHANGES = [
    ("K = 2.0", "K = 3.0"),
    ("K = 2.0", "K = 2"),
    ("np.float32(0.5)", "np.float64(0.5)"),
    ("np.float32(0.5)", "np.float32(0.25)"),
    ("[1.0, 2.0]", "[1.0, 3.0]"),
    ("(1.0, (2, 3))", "(1.0, (2, 4))"),
    ("(1.0, (2, 3))", "(1.0, (2,), 3)"),
    ("power=2", "power=3"),
    ("k=1.0", "k=2.0"),
    ("fastmath=False", "fastmath=True"),
    ("return x + SMALL", "return x - SMALL"),
    ("return x * K", "return K * x * x"),
    ("r * k * TABLE[0]", "r * k * TABLE[1]"),
    ("2.0 * x", "3.0 * x"),
    ("{1.0, 2.0, 3.0}", "{1.0, 2.0, 4.0}"),
    ("abs(r)", "abs(p)"),
    ('"a b"', '"b a"'),
    ("RED = 1", "RED = 2"),
    ("math.sqrt", "math.exp"),
    ('"low high"', '"high low"'),
    ("math.tanh", "math.atan"),
    ("math.tanh", "np.tanh"),
    ("np.cosh", "np.sinh"),
    ("LEVEL = 7", "LEVEL = 8"),
    ("Money(0.11)", "Money(0.12)"),
    ("700.0", "70.0"),
    ("p * y < 0.25", "p * y < 0.5"),
]
HELPER_CHANGES = [("DEEP = 5.0", "DEEP = 6.0"), ("+ 1.0", "+ 2.0"), ("x * DEEP", "x - DEEP")]
NO_CHANGES = [
    ("# a remark", "# another remark"),
    ("def unrelated(x):\n    return x", "def unrelated(x):\n    return 2 * x"),
    ("K = 2.0", "\n\n\nK = 2.0"),
    ("width: float = 1.0", "width: float = 2.0"),
    ("return 1.0", "return 2.0"),
]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a source text as a module, always under the same name."""

    def load(name: str, source: str) -> ModuleType:
        path = tmp_path / f"{name}.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(source, path, "exec"), vars(module))  # not through the loader, which keeps bytecode by date
        return module

    load("helpers_of_mine", HELPERS)
    return load


def edited(source: str, old: str, new: str) -> str:
    assert source.count(old) == 1
    return source.replace(old, new)


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_an_edit_that_matters_changes_the_digest(load: Any, old: str, new: str) -> None:
    before = digest(load("mine", SOURCE).Mine)
    assert digest(load("mine", edited(SOURCE, old, new)).Mine) != before
    assert digest(load("mine", SOURCE).Mine) == before


@pytest.mark.parametrize(("old", "new"), HELPER_CHANGES)
def test_so_does_an_edit_of_another_module(load: Any, old: str, new: str) -> None:
    before = digest(load("mine", SOURCE).Mine)
    load("helpers_of_mine", edited(HELPERS, old, new))
    assert digest(load("mine", SOURCE).Mine) != before


@pytest.mark.parametrize(("old", "new"), NO_CHANGES)
def test_an_edit_that_cannot_matter_does_not(load: Any, old: str, new: str) -> None:
    before = digest(load("mine", SOURCE).Mine)
    assert digest(load("mine", edited(SOURCE, old, new)).Mine) == before


def test_an_unused_helper_in_another_module_does_not_matter(load: Any) -> None:
    before = digest(load("mine", SOURCE).Mine)
    load("helpers_of_mine", edited(HELPERS, "def forgotten(x):\n    return x", "def forgotten(x):\n    return -x"))
    assert digest(load("mine", SOURCE).Mine) == before


def test_a_function_that_calls_itself_has_a_digest(load: Any) -> None:
    source = "def f(n): return 1 if n == 0 else n * g(n - 1)\ndef g(n): return f(n)\n"
    assert digest(load("mine", source).f) != digest(load("mine", source.replace("n * g", "n + g")).f)


def test_which_function_goes_by_which_name_matters(load: Any) -> None:
    source = "def one(x): return x\ndef two(x): return -x\na, b = one, two\ndef f(x): return a(x) - 2 * b(x)\n"
    swapped = source.replace("a, b = one, two", "a, b = two, one")
    assert digest(load("mine", source).f) != digest(load("mine", swapped).f)


def test_what_a_function_encloses_matters() -> None:
    def make(k: object) -> Any:
        return lambda x: x if k else -x

    digests = [digest(make(k)) for k in (1.0, 2.0, "1", np.ones(2), np.zeros(2), np.ones(3), make(1), make(2))]
    assert len(set(digests)) == len(digests)
    assert digest(make(1.0)) == digests[0]


def test_what_our_own_functions_make_is_told_apart() -> None:
    def make(k: float) -> FunctionType:
        def made(x: float) -> float:
            return k * x

        made.__module__ = "lowregret.loss"
        return cast(FunctionType, made)

    assert digest(make(1.0)) == digest(make(1.0)) != digest(make(2.0))


def test_our_own_code_is_stamped_as_a_whole() -> None:
    assert digest(Hinge) == digest(cast(FunctionType, Hinge.at)) == package_stamp()


def test_the_package_is_stamped_when_it_is_imported() -> None:
    """Sources that are replaced before a loop first runs are not those that it is compiled from."""
    code = (
        "import lowregret.compile.kernel\n"
        "from pathlib import Path\n"
        "Path.read_bytes = lambda path: b'another version'\n"
        "from lowregret.compile.digest import package_stamp\n"
        "print(package_stamp())\n"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == package_stamp()
    )
