"""Spread runs: one worker is row by row, any schedule has its proof, and the ledger tells what was stale."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import (
    Average,
    Box,
    Constant,
    Euclidean,
    L2Ball,
    Linear,
    Logistic,
    MirrorDescent,
    PartError,
    load,
    train,
    zoo,
)
from lowregret.certificate.spread import LAGGED
from lowregret.loss import Cost
from lowregret.rule import AdaGrad
from lowregret.run.metrics import Metrics
from lowregret.spread.figures import add_metrics
from lowregret.spread.gather import require_spreadable, scatter
from lowregret.spread.register import CLOSED, WAIT, Register
from lowregret.spread.server import FEW
from lowregret.types import Vector
from tests.spread.team import Team, batches, spread

RNG = np.random.default_rng(5)
D = 6
X = RNG.normal(size=(120, D)) * (RNG.random((120, D)) < 0.7)
Y = np.where(X @ RNG.normal(size=D) + RNG.normal(size=120) > 0, 1.0, -1.0)
W = RNG.integers(0, 3, 120).astype(float)

LEARNERS = {
    "constant": zoo.ogd(Logistic(), 0.3),
    "box": Linear(Logistic(), MirrorDescent(Euclidean(Box(-0.2, 0.3)), Constant(0.1)), bias=0.5),
    "adagrad": zoo.adagrad(Logistic(), 0.5),
    "ftrl": zoo.ftrl_proximal(Logistic(), 0.5),
}
SCHEDULES = st.lists(st.integers(0, 3), min_size=40, max_size=40)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("weights", [None, W])
def test_one_at_a_time_is_row_by_row(name: str, weights: Vector | None) -> None:
    learner = LEARNERS[name]
    team = spread(learner, X, Y, 7, 1, 3, [0] * 18, weights)
    run, alone = team.run(), train(learner, X, Y, weights)
    np.testing.assert_allclose(run.weights, alone.weights, rtol=1e-11, atol=1e-13)
    assert run.loss == pytest.approx(alone.loss, rel=1e-12)
    assert (run.rounds, run.mistakes, run.staleness) == (alone.rounds, alone.mistakes, 0)
    assert (run.error, run.mean_loss) == pytest.approx((alone.error, alone.mean_loss), rel=1e-12)


class Naive:
    """A server of AdaGrad as a vector: what a worker learnt counts as one step, at the precision of all, and shared."""

    def __init__(self, eta: float) -> None:
        self.eta, self.w, self.squares, self.pushes = eta, np.zeros(D), np.zeros(D), np.zeros(D)

    def learnt(self, x: Vector, y: Vector) -> tuple[Any, ...]:
        """Σz, Σz² and Σ(P_t − P_{t−1})(w_t − w_1)/(P_T − P_0) of rows learnt on a copy; what rows have, and pushes."""
        w, squares, total = self.w.copy(), self.squares.copy(), np.zeros(D)
        lead = np.zeros(D)
        for row, label in zip(x, y, strict=True):
            z = -label * row / (1 + np.exp(label * (row @ w)))
            before = np.sqrt(squares) / self.eta
            squares, total = squares + z * z, total + z
            precision = np.sqrt(squares) / self.eta
            lead += (precision - before) * (w - self.w)
            w = w - np.divide(z, precision, out=np.zeros(D), where=precision > 0)
        grown = (np.sqrt(squares) - np.sqrt(self.squares)) / self.eta
        return (
            total,
            squares - self.squares,
            np.divide(lead, grown, out=np.zeros(D), where=grown > 0),
            (x != 0).sum(axis=0),
            self.pushes.copy(),
        )

    def join(self, total: Vector, squares: Vector, lead: Vector, had: Vector, seen: Vector) -> None:
        before = np.sqrt(self.squares) / self.eta
        self.squares = self.squares + squares
        after = np.sqrt(self.squares) / self.eta
        step = (total - (after - before) * lead) / (1 + (self.pushes - seen) * had / (had + FEW))
        self.pushes += had > 0
        self.w = self.w - np.divide(step, after, out=np.zeros(D), where=after > 0)


@settings(max_examples=15, deadline=None)
@given(SCHEDULES, st.integers(1, 9), st.integers(1, 3))
def test_adagrad_joins_as_a_plain_vector_does(order: list[int], size: int, servers: int) -> None:
    team, naive = Team(LEARNERS["adagrad"], 4, servers), Naive(0.5)
    rest, flying = batches(X, Y, size), dict[int, Any]()
    for k in order:
        if k in flying:
            team.end(k)
            naive.join(*flying.pop(k))
        at, batch = next(rest, (None, None))
        if batch is None:
            break
        assert team.begin(k, at, batch)
        flying[k] = naive.learnt(X[at], Y[at])
    for k, learnt in flying.items():
        team.end(k)
        naive.join(*learnt)
    found = np.zeros(D)
    weights = team.run().weights
    found[: weights.size] = weights
    np.testing.assert_allclose(found, naive.w, rtol=1e-9, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(sorted(LEARNERS)), SCHEDULES, st.integers(1, 9), st.integers(1, 3))
def test_the_certificates_hold_for_any_schedule(name: str, order: list[int], size: int, servers: int) -> None:
    learner = LEARNERS[name]
    team = spread(learner, X, Y, size, 4, servers, order)
    run, own = team.run(), np.zeros(len(Y))
    for learnt in team.order:
        own[learnt.rows] = learnt.scores
    rows = np.hstack([X, np.full((len(Y), 1), learner.bias)]) if learner.bias else X
    slopes = np.array([learner.loss.at(p, y)[1] for p, y in zip(own, Y, strict=True)])
    theta = -slopes @ rows
    mine = np.zeros(rows.shape[1])
    mine[: run.features], mine[D:] = _theta(run)[: run.features], _theta(run)[run.features :]
    np.testing.assert_allclose(mine, theta, rtol=1e-10, atol=1e-12)  # each row once, whatever the order
    assert run.loss == pytest.approx(sum(learner.loss.at(p, y)[0] for p, y in zip(own, Y, strict=True)), rel=1e-12)
    linear = float(slopes @ own) + np.linalg.norm(theta)
    for comparator in (L2Ball(1.0), L2Ball(5.0)):
        u = comparator.radius * theta / np.linalg.norm(theta)
        theirs = sum(learner.loss.at(float(row @ u), y)[0] for row, y in zip(rows, Y, strict=True))
        assert run.loss - theirs <= run.linear_regret(comparator) + 1e-9
    if not learner.bias:  # whose natural comparators are another set
        assert run.linear_regret(L2Ball(1.0)) == pytest.approx(linear, rel=1e-9, abs=1e-9)
    for c in run.certificates:
        if c.premises_hold:
            assert (c.linear_regret or 0.0) <= c.bound + 1e-9


def _theta(run: Any) -> Vector:
    theta = run.state.theta
    return run.places.by_column(theta, run.features, run.learner.bias > 0)


@settings(max_examples=25, deadline=None)
@given(SCHEDULES, st.integers(1, 9), st.integers(1, 3), st.booleans(), st.data())
def test_delay_bounds_the_drift_that_was(order: list[int], size: int, servers: int, box: bool, data: Any) -> None:
    """Pushes to several servers may be seen in part: in the order of entries, the drift is at most η·LAGGED."""
    domain = Box(-0.2, 0.3)
    learner = Linear(Logistic(), MirrorDescent(Euclidean(domain), Constant(0.3))) if box else LEARNERS["constant"]
    team, rest = Team(learner, 4, servers), batches(X, Y, size)
    landing: dict[int, list[int]] = {}
    for k in order:
        for other in list(landing):  # some pushes land, in any order
            for to in list(landing[other]):
                if data.draw(st.booleans()):
                    team.push(other, to)
                    landing[other].remove(to)
        if k in landing:
            _land(team, landing, k)
        if k in team.flying:
            team.enter(k)
            landing[k] = list(range(servers))
            continue
        found = next(rest, None)
        if found is not None:
            team.begin(k, *found)
    for k in list(landing):
        _land(team, landing, k)
    for k in list(team.flying):
        team.end(k)
    drift, total = 0.0, np.zeros(D)
    for learnt in team.order:
        for at, p in zip(learnt.rows, learnt.scores, strict=True):
            v = np.clip(0.3 * total, -0.2, 0.3) if box else 0.3 * total
            slope = learner.loss.at(p, Y[at])[1]
            drift += slope * (p - X[at] @ v)
            total -= slope * X[at]
    assert drift <= 0.3 * team.register.ledger[LAGGED] + 1e-9
    delay = next(c for c in team.run().certificates if c.id == "DELAY")
    assert (delay.linear_regret or 0.0) <= delay.bound + 1e-9


def _land(team: Team, landing: dict[int, list[int]], k: int) -> None:
    for to in landing.pop(k):
        team.push(k, to)
    team.register.settle(k)
    del team.flying[k]


def test_stale_costs_exceed_the_bound_of_row_by_row() -> None:
    """Costs that change sign as soon as all workers know them: what holds of fresh rows does not of these."""
    learner, workers = Linear(Cost(), MirrorDescent(Euclidean(), Constant(0.1))), 4
    rows = np.ones((400, 1))
    costs = np.where(np.arange(400) // workers % 2 == 0, 1.0, -1.0)
    team, rest = Team(learner, workers, 1), batches(rows, costs, 1)
    for _ in range(100):
        for k in range(workers):
            team.begin(k, *next(rest))
        for k in range(workers):
            team.end(k)
    run = team.run(comparator=L2Ball(0.1))
    delay = next(c for c in run.certificates if c.id == "DELAY")
    fresh = 0.1**2 / 2 / 0.1 + 0.1 / 2 * 400
    assert run.linear_regret() > fresh
    assert run.linear_regret() <= delay.bound
    assert run.staleness == workers - 1
    assert run.lags[:3].sum() == 400


# ---- the register ----------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 40), st.integers(1, 9), st.lists(st.integers(0, 3), min_size=60, max_size=60))
def test_no_batch_lacks_more_rows_than_allowed(most: int, size: int, order: list[int]) -> None:
    team, rest = Team(LEARNERS["constant"], 4, 2, most), batches(X, Y, size)
    begun = 0
    for k in order:
        if k in team.flying:
            assert team.end(k) <= most
        elif (found := next(rest, None)) is not None:
            if team.begin(k, *found):
                begun += 1
            else:
                assert team.flying  # whoever waits waits for somebody
    for k in list(team.flying):
        assert team.end(k) <= most
    assert begun
    assert team.run().staleness <= most


def test_the_gate_closes_for_a_cut() -> None:
    team, rest = Team(LEARNERS["constant"], 2, 1, 5), batches(X, Y, 5)
    assert team.begin(0, *next(rest))
    assert team.register.begin(1, 6) == WAIT
    team.register.shut()
    assert team.register.begin(1, 1) == CLOSED
    assert [team.register.idle, team.end(0), team.register.idle] == [False, 0, True]
    team.register.open()
    assert team.begin(1, *next(rest))


def test_pushes_under_way_count_as_missing() -> None:
    register = Register(LEARNERS["constant"])
    team = Team(LEARNERS["constant"], 2, 1)
    team.register = register
    rest = batches(X, Y, 10)
    team.begin(0, *next(rest))
    team.enter(0)  # and its push is on its way
    team.begin(1, *next(rest))
    assert team.enter(1) == 10
    moved = [learnt.account.moved for learnt in team.order]
    assert register.ledger[LAGGED] == pytest.approx(moved[0] * moved[1])


# ---- together again --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["box", "adagrad"])
def test_a_run_is_filed_scattered_and_gone_on_with(name: str, tmp_path: Path) -> None:
    learner = LEARNERS[name]
    run = spread(learner, X, Y, 7, 3, 2, [0, 1, 2] * 6).run()
    run.save(tmp_path / "run.lr")
    again = load(tmp_path / "run.lr")
    np.testing.assert_array_equal(again.weights, run.weights)
    assert (again.staleness, again.mean_staleness, again.certificate.bound) == (
        run.staleness, run.mean_staleness, run.certificate.bound,
    )  # fmt: skip
    assert again.staleness > 0
    parts = scatter(again, 3)
    assert sum(len(columns) for columns, _ in parts) == D + (learner.bias > 0)
    again.learn(X, Y)
    assert again.rounds == 2 * len(Y)
    assert again.certificate.linear_regret <= again.certificate.bound
    assert again.predict(X).shape == Y.shape


def test_metrics_of_parts_are_those_of_all() -> None:
    scores = RNG.normal(size=120)
    for loss, labels in ((Logistic(), Y), (zoo.ogd(Logistic()).loss, Y)):
        parts = [Metrics(loss), Metrics(loss), Metrics(loss)]
        for k, part in enumerate(parts):
            part.see(labels[k::3], W[k::3], scores[k::3])
        whole = Metrics(loss)
        whole.see(labels, W, scores)
        found = add_metrics(add_metrics(parts[0], parts[1]), parts[2])
        np.testing.assert_allclose(found.sums, whole.sums, rtol=1e-12)
        np.testing.assert_array_equal(found.bins, whole.bins)
        assert found.auc == whole.auc


@pytest.mark.parametrize(
    ("learner", "told"),
    [
        (zoo.auto(), "weighs its experts"),
        (zoo.svm_online(), "moves its weights together"),
        (replace(LEARNERS["adagrad"], output=Average()), "each iterate on the way"),
        (Linear(Logistic(), AdaGrad(0.5), centre=np.ones(3)), "centre"),
    ],
)
def test_what_cannot_be_spread_is_refused(learner: Any, told: str) -> None:
    with pytest.raises(PartError, match=told):
        require_spreadable(learner)
