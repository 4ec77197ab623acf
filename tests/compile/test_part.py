"""Parts as Python values, and the same methods compiled."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import sys
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lowregret.compile.kernel import kernel
from lowregret.compile.part import Part, spec_name
from lowregret.convex.functions import Convex
from lowregret.domain import L2Ball, Reals
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.loss import Hinge, Loss
from lowregret.mirror import Euclidean
from lowregret.rows import Dense, Rows
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.step import Constant, WeightedInverseTime
from lowregret.train import train

OFFSET = 0.25


def shifted(x: float) -> float:
    return x + OFFSET


class Curve(Part):
    """Something with a value; `power` shows default arguments, `_shift` a private method."""

    height: float = 1.0

    def value(self, x: float) -> float:
        return self.height * self._shift(x)

    def _shift(self, x: float) -> float:
        return shifted(x)

    def power(self, x: float, exponent: int = 2, scale: float = 1.0) -> float:
        result = scale
        for _ in range(exponent):
            result *= x
        return result


class Steep(Curve):
    """Overrides one method and inherits the others; a method of the same name elsewhere takes other arguments."""

    slope: float = 3.0

    def _shift(self, x: float) -> float:
        return self.slope * x

    def at(self, x: float) -> float:
        return self.value(x)


class Table(Part):
    """Looks values up in an array."""

    entries: NDArray[np.float64]
    missing: float = -1.0

    def at(self, x: float, y: float) -> tuple[float, int]:
        i = int(x + y)
        return (self.entries[i], i) if 0 <= i < self.entries.size else (self.missing, i)

    def shift(self, by: float) -> None:
        for i in range(self.entries.size):
            self.entries[i] += by


class Pair(Part):
    """Parts within a part; the field `count` is an integer, `active` a truth value."""

    first: Curve
    second: Table
    count: int = 2
    active: bool = True

    def total(self, x: float) -> float:
        result = self.first.value(x) + self.second.at(x, 1.0)[0]
        return self.count * result if self.active else 0.0


class Unfinished(Part):
    @abstractmethod
    def value(self, x: float) -> float: ...


class Named(Part):
    """Fields that compiled code cannot hold (`extra`) or does not see (`label`)."""

    label: str = "words"
    extra: object = None

    def value(self, x: float) -> float:
        return x


@kernel
def value_of(part: Any, x: float) -> float:
    return part.value(x)


@kernel
def powers_of(curve: Curve, x: float) -> tuple[float, float, float, float]:
    return curve.power(x), curve.power(x, 3), curve.power(x, scale=2.0), curve.power(exponent=1, x=x)


@kernel
def both(curve: Steep, table: Table, x: float) -> tuple[float, float]:
    return curve.at(x), table.at(x, 1.0)[0]


@kernel
def total_of(pair: Pair, x: float) -> float:
    return pair.total(x)


@kernel
def shift_table(table: Table, by: float) -> None:
    table.shift(by)


def interpreted(loop: Callable[..., Any]) -> Any:
    return loop.py_func  # type: ignore[attr-defined]


# ---- a Python value --------------------------------------------------------------------------------------------------


def test_a_part_is_frozen() -> None:
    part = Curve(2.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        part.height = 3.0  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        part.depth = 3.0  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del part.height
    with pytest.raises(dataclasses.FrozenInstanceError):
        part.__init__(3.0)  # type: ignore[misc]
    assert part.height == 2.0


def test_the_repr_makes_the_part_again() -> None:
    learner = Linear(Hinge(0.5), MirrorDescent(Euclidean(L2Ball(2.0)), Constant(0.1)), bias=1.0)
    assert repr(Curve(2)) == "Curve(height=2.0)"
    names = {c.__name__: c for c in Part.registry.values()}
    assert eval(repr(learner), names) == learner


def test_equality_is_by_class_and_fields() -> None:
    assert Curve(2.0) == Curve(2.0) != Curve(3.0)
    assert Curve(1.0) != Steep(1.0)
    assert Curve(1.0) != 1.0
    assert {Curve(2.0): "found"}[Curve(2.0)] == "found"
    assert len({Curve(1.0), Curve(1.0), Steep(1.0), Curve(2.0)}) == 3


def test_equality_looks_into_arrays() -> None:
    one, same, other = Table(np.ones(3)), Table(np.ones(3)), Table(np.array([1.0, 1.0, 2.0]))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert Table(np.ones(4)) != Table(np.ones((2, 2)))
    assert Table(np.zeros(1, np.int64)) != Table(np.zeros(1))
    assert Pair(Curve(), one) == Pair(Curve(), same)
    assert hash(Pair(Curve(), one)) == hash(Pair(Curve(), same))
    assert Named(extra=(1.0, np.ones(2))) == Named(extra=(1.0, np.ones(2))) != Named(extra=(1.0, np.zeros(2)))


@pytest.mark.parametrize("number", [2, True, np.float32(2.5), np.int8(3), math.inf])
def test_numbers_become_floats(number: float) -> None:
    height = Curve(number).height
    assert type(height) is float
    assert height == number


@pytest.mark.parametrize("nonsense", [math.nan, np.nan, "1.0", None, 1j, [1.0], np.ones(1)])
def test_what_is_no_number_is_refused(nonsense: Any) -> None:
    with pytest.raises(PartError, match=r"Curve: height must be a number, got"):
        Curve(nonsense)


def test_an_unfinished_part_cannot_be_made() -> None:
    with pytest.raises(PartError, match=r"Unfinished is not complete. It must have value\("):
        Unfinished()  # type: ignore[abstract]
    with pytest.raises(PartError, match=r"must have at\(p, y\): \(ℓ\(p, y\), .* It may have .*curvature.*theorems"):
        Loss()  # type: ignore[abstract]


def test_an_unfinished_part_tells_what_it_may_have_and_not_what_it_has() -> None:
    class Gauge(Convex):
        def value(self, w: Any) -> float:
            return float(np.max(w))

        @property
        def curvature(self) -> float:
            return 0.0

    with pytest.raises(PartError) as told:
        Gauge()  # type: ignore[abstract]
    said = str(told.value)
    assert "must have subgradient(w): Some z with" in said
    assert "pieces: sums that are minimised in O(d)" in said
    assert "Function(f, gradient)" in said
    assert "value(" not in said
    assert "curvature" not in said


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: L2Ball(-1.0), r"L2Ball: radius must be a positive number, got -1\.0"),
        (lambda: Constant(0.0), r"Constant: eta must be a positive number"),
        (
            lambda: MirrorDescent(Euclidean(), WeightedInverseTime(1.0)),
            r"MirrorDescent: WeightedInverseTime .* use it with ProjectedGradient",
        ),
        (
            lambda: MirrorDescent(cast(Any, L2Ball(1.0)), Constant(1.0)),
            r"MirrorDescent: mirror must be a Mirror such as Euclidean\(\)",
        ),
        (
            lambda: Linear(Hinge(), cast(Any, "sgd")),
            r"Linear: rule must be a Rule such as ProjectedGradient\(.*got 'sgd'",
        ),
        (
            lambda: Linear(Hinge(), MirrorDescent(Euclidean(), Constant(1.0)), ridge=0.1),
            r"Linear: ridge .* use ProjectedGradient",
        ),
        (
            lambda: ProjectedGradient(Reals(), cast(Any, 0.1)),
            r"ProjectedGradient: step must be a Step such as Constant\(0\.1\), got 0\.1",
        ),
    ],
)
def test_parts_that_do_not_go_together_are_refused_when_made(make: Callable[[], Part], message: str) -> None:
    with pytest.raises(PartError, match=message):
        make()


def test_parts_travel_also_after_they_ran_compiled() -> None:
    pair = Pair(Steep(2.0), Table(np.arange(3.0)))
    before = total_of(pair, 1.0)
    for twin in (pickle.loads(pickle.dumps(pair)), copy.copy(pair), copy.deepcopy(pair), dataclasses.replace(pair)):
        assert twin == pair
        assert twin is not pair
        assert total_of(twin, 1.0) == before
    assert dataclasses.replace(pair, count=4).parameters == pair.parameters | {"count": 4}


def test_names_in_specs_tell_whose_part_it_is() -> None:
    assert spec_name(Hinge) == "Hinge"
    assert spec_name(Curve) == f"{__name__}:Curve"
    assert Part.registry[spec_name(Curve)] is Curve


def test_a_module_may_define_a_part_again_but_no_two_of_the_package_share_a_name() -> None:
    """As notebooks do; specs know the package's parts by their bare names."""
    fields = {"__module__": __name__, "__qualname__": "Again"}
    first, second = (type("Again", (Part,), dict(fields)) for _ in range(2))
    assert first is not second
    assert Part.registry[f"{__name__}:Again"] is second
    with pytest.raises(PartError, match=r"lowregret\.step and lowregret\.loss\.margin both have a part called Hinge"):
        type("Hinge", (Part,), {"__module__": "lowregret.step", "__qualname__": "Hinge"})
    assert Part.registry["Hinge"] is Hinge


# ---- compiled --------------------------------------------------------------------------------------------------------


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_compiled_is_interpreted_to_the_last_bit(height: float, x: float) -> None:
    for curve in (Curve(height), Steep(height, 0.1)):
        assert value_of(curve, x) == interpreted(value_of)(curve, x)
        assert powers_of(curve, x) == interpreted(powers_of)(curve, x)
    table = Table(np.linspace(0.0, height, 5))
    assert total_of(Pair(curve, table), x) == interpreted(total_of)(Pair(curve, table), x)
    assert both(Steep(height), table, x) == interpreted(both)(Steep(height), table, x)


def test_default_and_keyword_arguments() -> None:
    assert powers_of(Curve(), 3.0) == (9.0, 27.0, 18.0, 3.0)


def test_inherited_and_overridden_methods() -> None:
    assert value_of(Curve(2.0), 1.0) == 2.0 * (1.0 + OFFSET)
    assert value_of(Steep(2.0, 5.0), 1.0) == 10.0


def test_one_name_two_classes_two_signatures() -> None:
    assert both(Steep(1.0, 2.0), Table(np.array([5.0, 6.0, 7.0])), 1.0) == (2.0, 7.0)


def test_arrays_are_shared_not_copied() -> None:
    table = Table(np.arange(3.0))
    shift_table(table, 10.0)
    assert table.entries.tolist() == [10.0, 11.0, 12.0]


class Spoiler(Part):
    """Writes to rows that are not its own."""

    def spoil(self, x: Rows) -> None:
        x.data[0, 0] = 1.0  # type: ignore[attr-defined]


@kernel
def entry_of(table: Table, x: float) -> float:
    return table.at(x, 0.0)[0]


@kernel
def spoil(spoiler: Spoiler, x: Rows) -> None:
    spoiler.spoil(x)


def test_a_read_only_array_can_be_read_but_not_written_to(tmp_path: Path) -> None:
    """Memory that cannot be written to would end the process."""
    np.save(tmp_path / "entries.npy", np.arange(3.0))
    mapped = np.load(tmp_path / "entries.npy", mmap_mode="r")
    assert entry_of(Table(mapped), 2.0) == entry_of(Table(np.arange(3.0)), 2.0) == 2.0
    with pytest.raises(PartError, match=r"Table\.shift does not compile: it writes to an array that is read-only"):
        shift_table(Table(mapped), 1.0)
    with pytest.raises(ValueError, match="read-only"):
        interpreted(shift_table)(Table(mapped), 1.0)


@pytest.mark.parametrize("writeable", [True, False])
def test_nothing_compiled_writes_to_rows(writeable: bool) -> None:
    data = np.ones((2, 2))
    data.setflags(write=writeable)
    with pytest.raises(PartError, match=r"Spoiler\.spoil does not compile: it writes to an array that is read-only"):
        spoil(Spoiler(), Dense(data))


def test_truth_values_and_integers_are_data() -> None:
    before = len(total_of.signatures)  # type: ignore[attr-defined]
    table = Table(np.array([1.0, 2.0]))
    assert total_of(Pair(Curve(1.0), table), 0.0) == 2 * (OFFSET + 2.0)
    assert total_of(Pair(Curve(1.0), table, 5), 0.0) == 5 * (OFFSET + 2.0)
    assert total_of(Pair(Curve(1.0), table, active=False), 0.0) == 0.0
    assert len(total_of.signatures) <= before + 1  # type: ignore[attr-defined]


def test_a_parameter_never_recompiles() -> None:
    value_of(Curve(1.0), 1.0)
    before = len(value_of.signatures)  # type: ignore[attr-defined]
    assert value_of(Curve(7), 1.0) == 7 * (1 + OFFSET)
    assert value_of(Curve(float(np.float32(0.5))), 1.0) == 0.5 * (1 + OFFSET)
    assert len(value_of.signatures) == before  # type: ignore[attr-defined]


@pytest.mark.parametrize("extra", [{"a": 1}, [1.0], ("text", 1.0), object(), np.array(["text"], object)])
def test_a_field_that_compiled_code_cannot_hold_is_refused_where_it_is_used(extra: object) -> None:
    part = Named(extra=extra)
    assert interpreted(value_of)(part, 2.0) == 2.0
    with pytest.raises(PartError, match=r"Named\.extra = .* cannot be used in compiled code; .*compiled=False"):
        value_of(part, 2.0)
    with pytest.raises(PartError, match=r"Named\.extra = "):
        total_of(Pair(cast(Any, part), Table(np.ones(1))), 1.0)


def test_a_label_costs_nothing() -> None:
    label = "".join(["some ", "words"])
    before = sys.getrefcount(label)
    part = Named(label)
    for _ in range(100):
        assert value_of(part, 2.0) == 2.0
    assert sys.getrefcount(label) == before + 1


@pytest.mark.parametrize("extra", [None, 1, 2.5, True, (1.0, 2), (1.0, (np.ones(2), Curve()))])
def test_fields_may_be_tuples_and_nothing(extra: object) -> None:
    assert value_of(Named(extra=extra), 2.0) == 2.0


def local_part(scale: float, helper: Callable[[float], float]) -> Part:
    class Local(Part):
        def value(self, x: float) -> float:
            return scale * helper(x)

    return Local()


def test_classes_that_differ_only_in_what_they_enclose_are_kept_apart() -> None:
    double, square = lambda x: 2 * x, lambda x: x * x
    assert value_of(local_part(1.0, double), 3.0) == 6.0
    assert value_of(local_part(2.0, double), 3.0) == 12.0
    assert value_of(local_part(1.0, square), 3.0) == 9.0


def test_a_redefined_constant_or_helper_is_seen_by_the_next_part(monkeypatch: pytest.MonkeyPatch) -> None:
    assert value_of(Curve(1.0), 1.0) == 1.25
    monkeypatch.setitem(globals(), "OFFSET", 0.5)
    assert value_of(Curve(1.0), 1.0) == interpreted(value_of)(Curve(1.0), 1.0) == 1.5
    monkeypatch.setitem(globals(), "shifted", lambda x: x - 1.0)
    assert value_of(Curve(1.0), 1.0) == interpreted(value_of)(Curve(1.0), 1.0) == 0.0


class Scaled(Loss):
    """|p − y|, or its square, times a number that is not of the part"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return OFFSET * abs(p - y), OFFSET if p > y else -OFFSET


def test_a_run_learns_by_the_code_of_now_though_its_parts_were_compiled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Linear(Scaled(), ProjectedGradient(Reals(), Constant(0.1)))
    x, y = np.ones((5, 1)), np.arange(5.0)

    def same() -> float:
        run, slow = train(learner, x, y), train(learner, x, y, compiled=False)
        assert run.loss == slow.loss
        return run.loss

    first = same()
    monkeypatch.setitem(globals(), "OFFSET", 0.5)
    second = same()
    monkeypatch.setattr(Scaled, "at", lambda self, p, y: ((p - y) * (p - y), 2.0 * (p - y)))
    assert len({first, second, same()}) == 3
