"""Rehearsals: one worker without latency is row by row, every row is learnt once; time, bytes and lags are right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import Constant, Euclidean, Hinge, L2Ball, Linear, Logistic, MirrorDescent, PartError, train, zoo
from lowregret.loss import Cost
from lowregret.spread.clock import Cores, Gate, Lane, Process, VirtualClock
from lowregret.spread.costs import NUMBER, Cluster, WorkCosts, bounds
from lowregret.spread.server import owner
from lowregret.spread.simulate import Rehearsal, rehearse
from tests.spread.team import spread

RNG = np.random.default_rng(5)
D = 6
X = RNG.normal(size=(120, D)) * (RNG.random((120, D)) < 0.7)
Y = np.where(X @ RNG.normal(size=D) + RNG.normal(size=120) > 0, 1.0, -1.0)
LEARNERS = {"constant": zoo.ogd(Logistic(), 0.3), "adagrad": zoo.adagrad(Logistic(), 0.5)}
COSTS = WorkCosts(
    take_batch=2e-4, learn_batch=3e-4, learn_entry=1e-6, call=1e-4, served=1e-4, pull_feature=1e-6, push_feature=1e-6,
    register=1e-5, register_flight=1e-6, byte=1e-9,
)  # fmt: skip

SCALES = st.floats(0, 2)
CLUSTERS = st.builds(
    Cluster,
    workers=st.integers(1, 7),
    servers=st.integers(1, 3),
    staleness=st.sampled_from([0, 5, 40, np.inf]),
    costs=st.sampled_from([WorkCosts(), COSTS]),
    latency=st.floats(0, 1e-2),
    bandwidth=st.sampled_from([1e5, np.inf]),
    envelope=st.integers(0, 100),
    cores=st.integers(0, 2),
    unequal=SCALES,
    uneven=SCALES,
    stragglers=st.floats(0, 1),
    glance=st.sampled_from([0.0, 1e-3]),
)


def test_one_worker_without_latency_is_row_by_row_to_the_last_bit() -> None:
    """Numbers in which all arithmetic is exact, so that sums of changes are what they are row by row."""
    x, learner = np.round(4 * X) / 4, Linear(Hinge(), MirrorDescent(Euclidean(), Constant(0.5)))
    played, alone = rehearse(learner, x, Y, Cluster(servers=2), batch=7), train(learner, x, Y)
    assert played.run.weights.tobytes() == alone.weights[: played.run.weights.size].tobytes()
    assert (played.run.loss, played.run.linear_regret()) == (alone.loss, alone.linear_regret())
    assert (played.seconds, played.run.staleness, played.run.mistakes) == (0.0, 0, alone.mistakes)


@pytest.mark.parametrize("name", LEARNERS)
def test_one_worker_is_the_team_of_one(name: str) -> None:
    """Rounding included, whatever the time that passes; against `train` up to the rounding of sums of changes."""
    played = rehearse(LEARNERS[name], X, Y, Cluster(1, 3, costs=COSTS, latency=1e-3), batch=7)
    team, alone = spread(LEARNERS[name], X, Y, 7, 1, 3, [0] * 18).run(), train(LEARNERS[name], X, Y)
    assert played.run.weights.tobytes() == team.weights.tobytes()
    assert played.run.loss == team.loss == pytest.approx(alone.loss, rel=1e-12)
    np.testing.assert_allclose(played.run.weights, alone.weights, rtol=1e-11, atol=1e-13)


@settings(max_examples=40, deadline=None)
@given(CLUSTERS, st.integers(1, 40))
def test_every_row_is_learnt_once(cluster: Cluster, batch: int) -> None:
    """Slopes that do not depend on scores: θ is −Σ of all rows, exactly, and each is in one entry."""
    learner = Linear(Cost(), MirrorDescent(Euclidean(), Constant(0.1)))
    costs = RNG.integers(-3, 4, (120, D)).astype(float)
    played = rehearse(learner, costs, np.ones(120), cluster, batch)
    theta = np.zeros(D)
    state, places = played.run.state, played.run.places
    assert places is not None
    theta[: played.run.features] = places.by_column(state.theta, played.run.features, False)
    np.testing.assert_array_equal(theta, -costs.sum(axis=0))
    rows = [np.arange(entry.first, entry.first + entry.rows) for entry in played.entries]
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(120))
    assert all(entry.lag <= cluster.staleness for entry in played.entries)
    assert sum(entry.rows * entry.lag for entry in played.entries) == pytest.approx(120 * played.run.mean_staleness)
    times = [entry.time for entry in played.entries]
    assert times == sorted(times)
    assert times[-1] <= played.seconds
    assert all(0 <= share <= 1 + 1e-9 for share in played.busy)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(LEARNERS)), CLUSTERS, st.integers(1, 40), st.integers(0, 9))
def test_the_certificate_bounds_the_regret_of_any_schedule(name: str, cluster: Cluster, batch: int, seed: int) -> None:
    learner = LEARNERS[name]
    run = rehearse(learner, X, Y, cluster, batch, seed=seed).run
    ball, u = L2Ball(2.0), np.zeros(D)
    for _ in range(100):  # towards the best in the ball: each u on the way is one that the certificate speaks of
        u = ball.projection(u + 0.05 * (Y / (1 + np.exp(Y * (X @ u)))) @ X)
        assert run.loss - np.logaddexp(0, -Y * (X @ u)).sum() <= run.linear_regret(ball) + 1e-9
    for c in run.certificates:
        assert not c.premises_hold or c.linear_regret is None or c.linear_regret <= c.bound + 1e-9


def test_time_lags_and_bytes_of_a_tiny_example() -> None:
    """Two workers, a second for every way: begin at 1, pull at 3, enter at 5, push at 7, landed at 8, and so on."""
    x, y = X[:8], Y[:8]
    played = rehearse(LEARNERS["constant"], x, y, Cluster(2, 2, latency=1.0, envelope=10), batch=2)
    assert [(entry.time, entry.worker, entry.first) for entry in played.entries] == [
        (5.0, 0, 0), (5.0, 1, 2), (13.0, 0, 4), (13.0, 1, 6),
    ]  # fmt: skip
    # the second of a pair begins before the first is entered; who asks first at 9 is not told that the other has landed
    assert [entry.lag for entry in played.entries] == [0, 2, 2, 2]
    assert played.seconds == 16.0
    pulled, pushed = _bytes(x, batch=2, servers=2, width=2, changed=3, envelope=10)
    register = played.run.state.sums.nbytes + played.run.state.counts.nbytes
    assert played.traffic.pulled == pulled
    assert played.traffic.pushed == pushed
    assert played.traffic.ledger == 4 * (register + 2 * register + 8 + 4 * 10)
    assert played.traffic.messages == 4 * (2 * 2 + 2 * 2 + 4)


def _bytes(x: Any, batch: int, servers: int, width: int, changed: int, envelope: int) -> tuple[int, int]:
    """Bytes of all pulls and pushes, feature by feature; the loss is smooth, so that every feature moves."""
    pulled = pushed = 0
    for begin in range(0, len(x), batch):
        met = np.flatnonzero(x[begin : begin + batch].any(axis=0)).astype(np.uint64)
        for k in range(servers):
            own = int(np.sum(owner(met, servers) == k))
            pulled += NUMBER * own * (1 + width) + 2 * envelope
            pushed += NUMBER * own * (1 + changed) + 2 * envelope if own else 0
    return pulled, pushed


def test_the_seed_decides_and_nothing_else() -> None:
    cluster = Cluster(5, 2, costs=COSTS, latency=1e-3, unequal=0.5, uneven=0.5, stragglers=0.2)

    def played(seed: int) -> Rehearsal:
        return rehearse(LEARNERS["adagrad"], X, Y, cluster, 6, seed=seed)

    one, again, other = played(1), played(1), played(2)
    assert one.entries == again.entries
    assert one.run.weights.tobytes() == again.run.weights.tobytes()
    assert one.entries != other.entries


@pytest.mark.parametrize("workers", [1, 2, 6, 20])
def test_the_formulas_bound_what_is_played(workers: int) -> None:
    """Exact for one worker but for the last batch; at most so many rows per second for more, and close to it."""
    cluster = Cluster(workers, 2, costs=COSTS, latency=2e-4, bandwidth=1e8, envelope=50)
    x, y = np.tile(X, (20, 1)), np.tile(Y, 20)
    played = rehearse(LEARNERS["constant"], x, y, cluster, 6)
    told = bounds(cluster, played.shape)
    assert played.rows_per_second <= 1.05 * told.rows_per_second
    assert played.rows_per_second >= 0.7 * told.rows_per_second
    assert told.staleness == pytest.approx(played.run.mean_staleness, rel=0.25, abs=1)
    assert told.bytes_per_row == pytest.approx(played.traffic.bytes / 2400, rel=0.05)


def test_stragglers_hold_nobody_up_but_where_staleness_is_bounded() -> None:
    costs = replace(COSTS, take_batch=0.0)
    quick = Cluster(8, costs=costs, latency=1e-4)
    slow = replace(quick, stragglers=0.125, straggling=50.0)

    def half(cluster: Cluster) -> float:
        played = rehearse(LEARNERS["constant"], np.tile(X, (4, 1)), np.tile(Y, 4), cluster, 3)
        return played.entries[len(played.entries) // 2].time

    assert half(slow) < 1.5 * half(quick)
    assert half(replace(slow, staleness=20)) > 3 * half(quick)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"learner": zoo.auto()}, "weighs its experts"),
        ({"cluster": Cluster(0)}, "workers must be a whole number"),
        ({"batch": 0}, "batch must be"),
        ({"labels": Y[1:]}, "120 rows and 119 labels"),
    ],
)
def test_what_cannot_be_played_is_refused(given: dict[str, Any], told: str) -> None:
    usual: dict[str, Any] = {"learner": LEARNERS["constant"], "features": X, "labels": Y, "cluster": Cluster()}
    with pytest.raises(PartError, match=told):
        rehearse(**usual | given)


# ---- the clock ------------------------------------------------------------------------------------------------------


def test_processes_take_turns_by_the_clock() -> None:
    clock, gate, seen = VirtualClock(), Gate(), list[tuple[str, float]]()

    def waits(name: str, *until: float) -> Process:
        for time in until:
            yield time
            seen.append((name, clock.now))
        return name

    def leads() -> Process:
        found = yield from clock.together([waits("a", 1.0, 4.0), waits("b", 2.0)])
        seen.append(("".join(found), clock.now))
        clock.open(gate)

    def follows() -> Process:
        yield gate
        seen.append(("c", clock.now))

    clock.start(leads())
    clock.start(follows())
    clock.run()
    assert seen == [("a", 1.0), ("b", 2.0), ("a", 4.0), ("ab", 4.0), ("c", 4.0)]


def test_lanes_serve_one_at_a_time_and_cores_as_many_as_they_are() -> None:
    lane = Lane()
    assert (lane.take(0.0, 2.0), lane.take(1.0, 2.0), lane.take(10.0, 1.0)) == (2.0, 4.0, 11.0)
    assert lane.busy == 5.0
    cores, lanes = Cores(2), [Lane(), Lane(), Lane()]
    assert [cores.take(each, 0.0, 2.0) for each in lanes] == [2.0, 2.0, 4.0]
