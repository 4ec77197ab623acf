"""Parts as JSON: every part of the package there and back, and refusals that say what is wrong."""

from __future__ import annotations

import importlib
import json
import math
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowregret
from lowregret.compile.part import Part, spec_name
from lowregret.compile.spec import from_json, to_json
from lowregret.domain import (
    Box,
    CvxSet,
    Intersection,
    L1Ball,
    L2Ball,
    LqBall,
    Orthant,
    Point,
    Reals,
    Simplex,
    Spectrahedron,
)
from lowregret.errors import StoreError
from lowregret.features.partitions import Partitions
from lowregret.learner.kernel_perceptron import Gaussian, InnerProduct, KernelPerceptron, Polynomial
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Affine, Hinge, Huber, Loss, OnMistakes, Quantile, Softmax, Square
from lowregret.mirror import Entropy, Euclidean, PNorm, UnnormalisedEntropy
from lowregret.output import Average, WeightedAverage
from lowregret.rule import Forgotten, MirrorDescent, ProjectedGradient
from lowregret.step import Adaptive, Constant, InverseSqrt, InverseTime, WeightedInverseTime
from lowregret.stream.formats.csv import DelimitedText
from lowregret.stream.formats.svm import SvmText
from tests.compositions import COMPOSITIONS


class Tilted(Loss):
    """A user's own loss, with fields of every kind that JSON knows"""

    table: Any
    names: tuple[str, ...] = ("a", "b")
    tilt: float = 0.5
    times: int = 3
    on: bool = True
    maybe: float | None = None

    def at(self, p: float, y: float) -> tuple[float, float]:
        return self.tilt * p, self.tilt


def there_and_back(part: Part) -> Part:
    return from_json(json.loads(json.dumps(to_json(part))))


PARTS: list[Part] = [
    Box(np.array([-1.0, 0.1]), 2.0),
    Intersection((L2Ball(2.0), Box(-1.0, 1.0), Simplex(1.5))),
    L1Ball(0.1),
    LqBall(1.0, math.inf),
    Orthant(),
    Point([1e-300, -0.0, 1 / 3]),
    Reals(),
    Spectrahedron(2.0),
    Quantile(0.1),
    Huber(2.0),
    OnMistakes(Affine(Hinge(0.3), 2.0, -1.0)),
    MirrorDescent(Euclidean(L2Ball(0.7)), InverseSqrt(0.1)),
    MirrorDescent(UnnormalisedEntropy(0.25), Constant(1e-9)),
    ProjectedGradient(Simplex(), Adaptive(3.0), Forgotten()),
    Linear(Square(), MirrorDescent(PNorm(2.5), Constant(0.1)), Average(), bias=0.5),
    Linear(Hinge(), ProjectedGradient(Reals(), WeightedInverseTime(0.1)), WeightedAverage(), ridge=0.1),
    Linear(Hinge(), ProjectedGradient(L2Ball(), InverseTime(0.1)), Average(), ridge=0.1),
    KernelPerceptron(InnerProduct()),
    KernelPerceptron(Polynomial(3, 0.0)),
    KernelPerceptron(Gaussian(0.1)),
    Tilted(np.array([[1, 2], [3, 4]], np.int64), ("x",), 0.25, 7, False, 1.5),
    Tilted(np.array([0.1, 0.2], np.float32)),
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_there_and_back(part: Part) -> None:
    again = there_and_back(part)
    assert again == part
    assert hash(again) == hash(part)
    assert repr(again) == repr(part)
    assert to_json(again) == to_json(part)


@pytest.mark.parametrize("composition", COMPOSITIONS, ids=lambda c: c.name)
def test_every_textbook_composition_there_and_back(composition: Any) -> None:
    learner = composition.learner(3)
    assert there_and_back(learner) == learner


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite.filter(lambda x: x > 0), st.lists(finite, min_size=1), st.floats(1, 1e300))
def test_every_bit_of_a_number_survives(radius: float, u: list[float], q: float) -> None:
    for part in (L2Ball(radius), Point(u), LqBall(radius, q), Entropy(radius)):
        assert there_and_back(part) == part


def test_signed_zeros_and_array_types_survive() -> None:
    again = there_and_back(Tilted(np.array([-0.0], np.float32)))
    assert isinstance(again, Tilted)
    assert again.table.dtype == np.float32
    assert np.signbit(again.table[0])


def test_it_reads_as_one_would_write_it() -> None:
    assert to_json(ProjectedGradient(L2Ball(2), Constant(0.1))) == {
        "part": "ProjectedGradient",
        "domain": {"part": "L2Ball", "radius": 2.0},
        "step": {"part": "Constant", "eta": 0.1},
        "gradients": {"part": "Summed"},
        "start": None,
    }


def test_defaults_may_be_left_out_and_integers_stand_for_floats() -> None:
    spec = {
        "part": "ProjectedGradient",
        "domain": {"part": "L2Ball", "radius": 2},
        "step": {"part": "Constant", "eta": 1},
    }
    assert from_json(spec) == ProjectedGradient(L2Ball(2.0), Constant(1.0))
    assert from_json({"part": "Box", "low": {"array": [-1, 0]}, "high": 3}) == Box(np.array([-1.0, 0.0]), 3.0)


def test_numpy_numbers_are_numbers() -> None:
    part = Tilted(np.ones(1), tilt=np.float32(0.5), times=np.int64(4), on=np.bool_(True))  # type: ignore[arg-type]
    spec = json.loads(json.dumps(to_json(part)))
    assert (spec["tilt"], spec["times"], spec["on"]) == (0.5, 4, True)


# ---- names -----------------------------------------------------------------------------------------------------------


def package_modules() -> Iterator[str]:
    return (module.name for module in pkgutil.walk_packages(lowregret.__path__, "lowregret."))


def all_parts(cls: type[Part]) -> Iterator[type[Part]]:
    for sub in cls.__subclasses__():
        yield sub
        yield from all_parts(sub)


def test_no_two_parts_of_the_package_share_a_name() -> None:
    """Specs name the package's own parts without their module, so the names must differ."""
    modules = set(package_modules())  # those of other tests, which they took away, are not among them
    for name in modules:
        importlib.import_module(name)
    ours = {cls for cls in all_parts(Part) if cls.__module__ in modules}
    assert len(ours) > 50
    assert {cls for cls in ours if Part.registry[spec_name(cls)] is not cls} == set()
    assert {cls for cls in ours if "." in spec_name(cls) or ":" in spec_name(cls)} == set()


def test_a_users_part_carries_its_module() -> None:
    assert to_json(Tilted(np.ones(1)))["part"] == "tests.compile.test_spec:Tilted"


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, 'expected an object with the key "part"'),
        ([], 'expected an object with the key "part"'),
        ("Hinge", "got 'Hinge'"),
        (None, "not a part"),
        ({"part": 3}, "not a part"),
        ({"part": ["Hinge"]}, "not a part"),
        ({"part": "Hinje"}, "unknown part 'Hinje': if it is your own, import the module that defines it"),
        ({"part": "my.module:Loss"}, "unknown part 'my.module:Loss'"),
        ({"part": "Hinge", "margine": 1.0}, r"the stored Hinge does not fit this version of it.*margine"),
        ({"part": "Hinge", "margin": "wide"}, "margin must be a number, got 'wide'"),
        ({"part": "Hinge", "margin": -1.0}, "margin must be ≥ 0, got -1.0"),
        ({"part": "Hinge", "margin": None}, "margin must be a number, got None"),
        ({"part": "Constant"}, r"does not fit.*eta"),
        ({"part": "Constant", "eta": 0}, "eta must be a positive number"),
        ({"part": "Loss"}, r"does not fit.*must have at\(p, y\)"),
        ({"part": "Box", "low": {"array": [[1], [1, 2]]}}, "the stored Box does not fit"),
        ({"part": "Box", "low": {"array": ["a"]}}, "low must be a finite number"),
        ({"part": "Box", "low": {"array": [1.0], "dtype": "(1000000000,)f8"}}, "no array holds"),
        ({"part": "Box", "low": {"array": [1.0], "dtype": "U1000000000"}}, "no array holds"),
        ({"part": "Box", "low": {"array": [1.0], "dtype": [["a", "f8"]]}}, "does not fit"),
        ({"part": "Linear", "loss": {"part": "L2Ball"}, "rule": {"part": "Reals"}}, "loss must be a Loss"),
        (
            {"part": "ProjectedGradient", "domain": {"part": "Nowhere"}, "step": {"part": "Constant", "eta": 1}},
            "'Nowhere'",
        ),
        ({"part": "ProjectedGradient", "domain": {"radius": 1}, "step": {"part": "Constant", "eta": 1}}, "not a part"),
    ],
)
def test_bad_specs_are_refused_with_their_cause(spec: Any, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        from_json(spec)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CvxSet(lambda w: [w >= 0], 1.0), r"CvxSet\.constraints = .* cannot be written as JSON"),
        (lambda: Tilted({1, 2}), r"Tilted\.table = \{1, 2\} cannot be written as JSON"),
        (lambda: Tilted(np.array(["text"])), r"Tilted\.table = .* cannot be written as JSON"),
        (lambda: ProjectedGradient(CvxSet(lambda w: [w >= 0], 1.0), Constant(1.0)), "can be played but not saved"),
    ],
)
def test_what_json_cannot_say_is_refused(make: Callable[[], Part], message: str) -> None:
    with pytest.raises(StoreError, match=message):
        to_json(make())


ODD: tuple[Any, ...] = (None, 1, 0.5, "x", [[]], ["a"], {"part": "Hinge"}, {"array": [1.0], "dtype": "float64"})


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (Linear(Hinge(), MirrorDescent(Euclidean(), Constant(1.0))), "rule"),
        (Multiclass(Softmax(), MirrorDescent(Euclidean(), Constant(1.0))), "unit"),
        (KernelPerceptron(Polynomial(2)), "kernel"),
        (Intersection((L2Ball(), Box())), "sets"),
        (Partitions(), "trees"),
        (SvmText(), "one_based"),
        (DelimitedText(), "drop"),
        (DelimitedText(), "interactions"),
        (Tilted(np.ones(1)), "times"),
        (Tilted(np.ones(1)), "on"),
    ],
)
def test_fields_are_what_their_annotation_says(part: Part, name: str) -> None:
    """Compiled code is made for the types of the fields: those of a file are the usual ones, or the file is refused."""
    spec = to_json(part)
    usual = type(part.parameters[name])
    for odd in ODD:
        try:
            found = from_json(spec | {name: odd}).parameters[name]
        except StoreError:
            continue
        assert type(found) is usual, odd
        assert not isinstance(found, tuple) or {type(item) for item in found} == {str}, odd


@given(st.integers(-(2**70), 2**70))
def test_whole_numbers_are_those_of_compiled_code(times: int) -> None:
    spec = to_json(Tilted(np.ones(1))) | {"times": times}
    if -(2**63) <= times < 2**64:
        assert from_json(spec).parameters["times"] == times
    else:
        with pytest.raises(StoreError, match="times must be a whole number of 64 bits"):
            from_json(spec)
