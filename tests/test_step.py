"""Step schedules: their formulas, what they may look at, and how rounds count."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret.domain import L2Ball, Reals
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.loss import Cost
from lowregret.mirror import Entropy, Euclidean, Mirror, PNorm
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.rule.mirror_descent import RATE
from lowregret.state import ENERGY, FIRST_RATE, LAST_RATE, ROUNDS, State
from lowregret.step import Adaptive, Constant, InverseSqrt, InverseTime, Step, WeightedInverseTime
from tests.running import costs, iterates, labelled, learn
from tests.strategies import SIZES

SCHEDULES: list[Step] = [Constant(0.3), InverseSqrt(0.3), InverseTime(0.3), WeightedInverseTime(0.3), Adaptive(0.3)]


def after(rounds: int, energy: float = 0.0) -> State:
    """The state after so many rounds, in which Σ‖z‖² came to `energy`."""
    s = State.zeros(1, 1, False)
    s.counts[ROUNDS] = rounds
    s.sums[ENERGY] = energy
    return s


@given(SIZES, st.integers(1, 10**12))
def test_formulas(size: float, t: int) -> None:
    s = after(t - 1)
    assert Constant(size).rate(s, 0.0) == size
    assert InverseSqrt(size).rate(s, 0.0) == pytest.approx(size / math.sqrt(t), rel=1e-15)
    assert InverseTime(size).rate(s, 0.0) == pytest.approx(1 / (size * t), rel=1e-15)
    assert WeightedInverseTime(size).rate(s, 0.0) == pytest.approx(2 / (size * (t + 1)), rel=1e-15)


@given(SIZES, st.floats(0, 1e6), st.floats(0, 1e6))
def test_adaptive_divides_by_the_root_of_what_was_seen(scale: float, past: float, present: float) -> None:
    rate = Adaptive(scale).rate(after(3, past), present)
    seen = past + present
    assert rate == pytest.approx(scale / math.sqrt(seen) if seen > 0 else scale, rel=1e-14)


@pytest.mark.parametrize("step", SCHEDULES, ids=repr)
def test_rates_are_positive_and_never_rise(step: Step) -> None:
    rates = [step.rate(after(t, 1.0 + t), 0.0) for t in range(200)]
    assert min(rates) > 0
    assert all(b <= a for a, b in pairwise(rates))
    assert step.constant == isinstance(step, Constant)
    assert step.adaptive() == isinstance(step, Adaptive)


@pytest.mark.parametrize("step", SCHEDULES, ids=repr)
@pytest.mark.parametrize("rounds", [0, 1, 2, 17])
def test_total_importance_is_the_sum(step: Step, rounds: int) -> None:
    each = [step.importance(after(t)) for t in range(rounds)]
    assert step.total_importance(rounds) == pytest.approx(sum(each), rel=1e-15)
    assert step.weighted() == isinstance(step, WeightedInverseTime)
    if step.weighted():  # c_t = t + 1, which 2/(T(T+3)) turns into weights of sum 1 (THM-14.12)
        assert each == [t + 1.0 for t in range(1, rounds + 1)]
    else:
        assert each == [1.0] * rounds


@pytest.mark.parametrize("make", [Constant, InverseSqrt, InverseTime, WeightedInverseTime, Adaptive])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, -math.inf, "0.1", None])
def test_senseless_rates_are_refused(make: Any, value: Any) -> None:
    with pytest.raises(PartError, match="must be a"):
        make(value)


def test_an_integer_is_the_same_step() -> None:
    assert Constant(1) == Constant(1.0)
    assert isinstance(Constant(1).eta, float)


# ---- through a run ---------------------------------------------------------------------------------------------------

Z = np.array([[3.0, 4.0], [0.0, 0.0], [-6.0, 8.0], [5.0, 12.0], [0.0, 1.0]])
# squares 25, 0, 100, 169, 1; sums 25, 25, 125, 294, 295


def test_eager_adaptive_steps_use_the_present_gradient() -> None:
    """w_{t+1} = w_t − z_t·scale/√(Σ_{s≤t}‖z_s‖²)"""
    learner = Linear(Cost(), ProjectedGradient(Reals(), Adaptive(2.0)))
    w = iterates(learner, costs(Z))
    seen = np.cumsum(np.sum(Z * Z, axis=1))
    np.testing.assert_allclose(np.diff(w, axis=0), -Z * 2 / np.sqrt(seen)[:, None], rtol=1e-12, atol=1e-15)
    s = learn(learner, costs(Z), compiled=False).state
    assert s.sums[FIRST_RATE] == pytest.approx(2 / 5)
    assert s.sums[LAST_RATE] == pytest.approx(2 / math.sqrt(295))


@pytest.mark.parametrize(
    ("mirror", "dual"),
    [(Euclidean(), 2.0), (Euclidean(L2Ball(0.5)), 2.0), (PNorm(3.0), 3.0), (Entropy(), math.inf)],
    ids=repr,
)
def test_lazy_adaptive_steps_use_the_past_alone(mirror: Mirror, dual: float) -> None:
    """w_t = ∇R*(η_t θ_t), η_t = scale/√(Σ_{s<t}‖z_s‖_*²): the present gradient has no say in w_t."""
    learner = Linear(Cost(), MirrorDescent(mirror, Adaptive(2.0)))
    w = iterates(learner, costs(Z))
    seen = np.concatenate([[0.0], np.cumsum(np.linalg.norm(Z, dual, axis=1) ** 2)])
    theta = np.vstack([np.zeros(2), -np.cumsum(Z, axis=0)])
    for t in range(len(w)):
        rate = 2 / math.sqrt(seen[t]) if seen[t] > 0 else 2.0
        np.testing.assert_allclose(w[t], mirror.link(rate * theta[t]), rtol=1e-12, atol=1e-14)
    assert learn(learner, costs(Z), compiled=False).state.sums[RATE] == pytest.approx(2 / math.sqrt(seen[-1]))


def test_schedules_count_idle_rounds() -> None:
    """A round whose loss is flat is a round all the same: η_t is that of its number."""
    rows = labelled(np.ones((4, 1)), np.array([1.0, 0.0, 0.0, 1.0]))  # a label of 0 makes the cost 0
    for step in (InverseSqrt(1.0), InverseTime(1.0)):
        w = iterates(Linear(Cost(), ProjectedGradient(Reals(), step)), rows)
        assert w[-1] - w[-2] == pytest.approx(-step.rate(after(3), 0.0), rel=1e-15)


def test_lazy_rules_refuse_schedules_that_weigh_rounds() -> None:
    with pytest.raises(PartError, match="use it with ProjectedGradient"):
        MirrorDescent(Euclidean(), WeightedInverseTime(1.0))
