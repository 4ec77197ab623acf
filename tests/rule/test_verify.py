"""Rules, steps and predictions of one's own: what they do to the ledger and to errors is put to the test."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest

from lowregret import train, zoo
from lowregret.domain import Box, L2Ball
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.loss import Absolute, Cost, Hinge, Logistic, Square
from lowregret.mirror import Euclidean
from lowregret.output import Average
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.rule.mirror_descent import RATE
from lowregret.rule.projected_gradient import FACTOR
from lowregret.rule.verify import PREMISE, RATES
from lowregret.state import ENERGY, ROUNDS, State
from lowregret.step import Constant, Step
from lowregret.types import Index, Vector

X = np.random.default_rng(0).normal(size=(500, 3))


class Clipped(MirrorDescent):
    """Sub-gradients are cut off at 0.05 in each coordinate before they are summed."""

    def push(self, s: State, j: Index, g: float, round_sums: Any) -> Any:
        return self.mirror.push(s, j, max(-0.05, min(0.05, g)), s.sums[RATE], round_sums)


class Unbooked(ProjectedGradient):
    """The sum of Σ⟨w_t,z_t⟩ is not kept."""

    def settle(self, s: State, inner: float, entries: int, round_sums: Any) -> None:
        change, energy, eta, _, _ = round_sums
        s.counts[ROUNDS] += 1
        s.sums[0] += 0.0 * change * energy * eta


class Outside(ProjectedGradient):
    """The iterate is half as long again as the rule says."""

    def scale(self, s: State) -> float:
        return 1.5 * s.sums[FACTOR]


class Plain(MirrorDescent):
    """Mirror descent under another name."""


def failed(run: Any) -> set[str]:
    return {p.name for c in run.certificates for p in c.premises if not p.holds}


@pytest.mark.parametrize(
    "rule",
    [
        Clipped(Euclidean(L2Ball(1.0)), Constant(0.1)),
        Unbooked(L2Ball(1.0), Constant(0.1)),
        Outside(L2Ball(1.0), Constant(0.01)),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_a_rule_that_does_not_keep_the_ledger_proves_nothing(rule: Any) -> None:
    run = train(Linear(Square(), rule, Average()), X, 3 * X[:, 0], compiled=False)
    assert PREMISE in failed(run)
    assert not run.certificate.holds
    assert run.certificate.linear_regret is None
    assert all(PREMISE in {p.name for p in c.premises if not p.holds} for c in run.risks() if c.of == "loss")


def test_what_a_clipped_sum_would_have_proved_is_false() -> None:
    run = train(Linear(Square(), Clipped(Euclidean(L2Ball(1.0)), Constant(0.1))), X, 3 * X[:, 0], compiled=False)
    assert run.regret([1.0, 0.0, 0.0], X, 3 * X[:, 0]) > run.certificate.bound
    assert not run.certificate.holds


def test_a_rule_that_changes_nothing_keeps_its_theorems() -> None:
    run = train(Linear(Hinge(), Plain(Euclidean(L2Ball(1.0)), Constant(0.1))), X, np.sign(X[:, 0]), compiled=False)
    assert run.certificate.holds
    assert run.certificate.id == "LEM-2.20"


class Late(Step):
    """A rate that says that it never grows, and does in the end."""

    falling: ClassVar[bool] = True
    until: int = 499

    def rate(self, s: State, present: float) -> float:
        return 1e-6 if s.counts[ROUNDS] < self.until else 1.0


class Alternating(Step):
    """A rate that says that it is constant."""

    falling: ClassVar[bool] = True
    constant: ClassVar[bool] = True

    def rate(self, s: State, present: float) -> float:
        return 0.5 if s.counts[ROUNDS] % 2 else 0.001


class Normalised(Step):
    """A rate that says that it never grows, and does with every shorter sub-gradient."""

    falling: ClassVar[bool] = True

    def adaptive(self) -> bool:
        return True

    def rate(self, s: State, present: float) -> float:
        return 0.01 / math.sqrt(1e-9 + present)


class Confident(Step):
    """A rate that falls as it says, by the sub-gradients that it has seen."""

    falling: ClassVar[bool] = True

    def adaptive(self) -> bool:
        return True

    def rate(self, s: State, present: float) -> float:
        return 1.0 / math.sqrt(1.0 + s.sums[ENERGY] + present)


class Falling(Step):
    """A rate that falls as it says."""

    falling: ClassVar[bool] = True

    def rate(self, s: State, present: float) -> float:
        return 0.1 / (1.0 + s.counts[ROUNDS]) ** 0.3


@pytest.mark.parametrize("step", [Late(), Alternating()], ids=repr)
def test_rates_that_grow_although_they_say_otherwise_prove_nothing(step: Step) -> None:
    x, y = np.ones((500, 1)), np.full(500, 100.0)
    run = train(Linear(Absolute(), ProjectedGradient(L2Ball(1.0), step)), x, y, certify=False, compiled=False)
    assert RATES in failed(run)
    assert not run.certificate.holds
    if isinstance(step, Late):
        assert run.regret([1.0], x, y) > 100 * run.certificate.bound


def test_rates_that_grow_with_shorter_sub_gradients_prove_nothing() -> None:
    x = np.concatenate([[0.5], np.tile([1.0, 1.0, -2.5], 1000), [-2.5]])[:, None]
    learner = Linear(Cost(), ProjectedGradient(Box(-1.0, 1.0), Normalised()))
    run = train(learner, x, np.ones(len(x)), certify=False, compiled=False)
    assert RATES in failed(run)
    assert not run.certificate.holds
    assert run.regret([1.0], x, np.ones(len(x))) > 1.5 * run.certificate.bound


@pytest.mark.parametrize("step", [Falling(), Confident()], ids=repr)
def test_rates_that_fall_as_they_say_prove_what_they_did(step: Step) -> None:
    for rule in (MirrorDescent(Euclidean(L2Ball(1.0)), step), ProjectedGradient(L2Ball(1.0), step)):
        run = train(Linear(Hinge(), rule), X, np.sign(X[:, 0]), compiled=False)
        assert run.certificate.holds
        assert run.certificate.bound < 500


class Strict(Hinge):
    """Only high scores predict +1, though errors are counted by the sign."""

    def predictions(self, scores: Vector) -> Vector:
        return np.where(scores >= 5, 1.0, -1.0)


class Never(Logistic):
    """Nothing is ever wrong."""

    def wrong(self, p: float, y: float) -> bool:
        return False


class Shifted(Logistic):
    """Scores above 5 predict +1, and are judged so."""

    def decision(self, p: float) -> float:
        return p - 5.0


@pytest.mark.parametrize("loss", [Strict(), Never()], ids=repr)
def test_errors_are_those_of_predictions(loss: Any) -> None:
    with pytest.raises(PartError, match="change `decision` instead"):
        zoo.ogd(loss, 0.1)


def test_a_shifted_decision_is_counted_and_predicted() -> None:
    y = np.sign(X[:, 0])
    run = train(zoo.ogd(Shifted(), 0.1), X, y, compiled=False)
    assert run.mistakes is not None
    assert run.mistakes > 100
    np.testing.assert_array_equal(run.predict(X), np.where(run.decision_function(X) >= 5, 1.0, -1.0))
