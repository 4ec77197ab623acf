"""Bounds against comparators that move believe no more of a user's own set or step than other bounds do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lowregret import Constant, Hinge, InverseTime, L2Ball, Linear, ProjectedGradient, play, train
from lowregret.experts import Hedge
from lowregret.experts.certify import is_mixable
from lowregret.experts.substitute import SquareOn
from lowregret.loss import Square
from lowregret.regret import Comparator, Moving, RowRecord, Windows, regret
from lowregret.state import State
from lowregret.step import Step

RNG = np.random.default_rng(4)
COSTS = RNG.normal(size=(40, 2))


class Narrow(L2Ball):
    """A ball that says it is a hundredth as wide as it is."""

    def diameter(self, d: int) -> float:
        return 0.02 * self.radius

    def reach(self, q: float, d: int) -> float:
        return self.radius

    def support(self, v: Any) -> float:
        return self.radius * float(np.linalg.norm(v))


class Forgetful(Step):
    """Rates that are smaller the second time that they are asked for."""

    asked = 0

    def rate(self, s: State, square: float) -> float:
        Forgetful.asked += 1
        return 0.5 if Forgetful.asked <= 200 else 1e-3

    falling = True
    constant = False


PATHS = [Moving(np.tile([0.6, 0.8], (40, 1))), Windows(40)]


@pytest.mark.parametrize("comparator", PATHS, ids=["moving", "windows"])
def test_a_set_that_is_wider_than_it_says(comparator: Comparator) -> None:
    game = play(ProjectedGradient(Narrow(1.0), Constant(0.1)), COSTS, compiled=False)
    found = regret(game, comparator).certificate
    assert found is not None
    assert not found.premises_hold


@pytest.mark.parametrize("comparator", PATHS, ids=["moving", "windows"])
def test_the_same_set_of_the_package_is_believed(comparator: Comparator) -> None:
    game = play(ProjectedGradient(L2Ball(1.0), Constant(0.1)), COSTS, compiled=False)
    found = regret(game, comparator).certificate
    assert found is not None
    assert found.holds


def test_rates_that_are_not_those_of_the_run() -> None:
    Forgetful.asked = 0
    learner, labels = Linear(Hinge(), ProjectedGradient(L2Ball(1.0), Forgetful())), np.sign(COSTS[:, 0])
    run = train(learner, COSTS, labels, compiled=False)
    Forgetful.asked = 1000
    found = regret(RowRecord(run, COSTS, labels), PATHS[0]).certificate
    assert found is None or not found.premises_hold


@pytest.mark.parametrize("excess", [0.0, 4e-13])
def test_premises_let_no_curvature_pass_that_is_not_there(excess: float) -> None:
    step = InverseTime(1.0 + excess)
    run = train(Linear(Hinge(), ProjectedGradient(L2Ball(1.0), step), ridge=1.0), COSTS, np.ones(40), compiled=False)
    found = next(c for c in run.certificates if c.id == "THM-14.11")
    assert found.premises_hold == (excess == 0.0)
    mixed = SquareOn(0.0, 1.0)
    assert is_mixable(Hedge(mixed.eta() * (1 + excess)), mixed, Square(), False) == (excess == 0.0)


def test_sums_that_cancel_are_exact() -> None:
    """Differences of rounds are rounded no more: Σ mine − Σ theirs."""
    game = play(ProjectedGradient(L2Ball(1.0), Constant(0.1)), COSTS, compiled=False)
    mine, theirs = np.array([2.0**60, 0.5, 0.25]), np.array([1.0, 2.0**60, 0.0])
    found = replace(regret(game), mine=mine, theirs=theirs)
    assert found.low == -0.25
    assert np.isnan(replace(found, mine=np.array([np.inf]), theirs=np.array([np.inf])).low)
