"""Regret of other kinds, against brute force: all sequences, all maps, all windows, on small cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lowregret
from lowregret import (
    Absolute,
    Adaptive,
    Box,
    Constant,
    DataError,
    Entropy,
    FollowTheLeader,
    Hinge,
    InverseSqrt,
    L2Ball,
    Linear,
    MirrorDescent,
    PartError,
    ProjectedGradient,
    Reals,
    Simplex,
    WeightedInverseTime,
    delayed,
    play,
    train,
    zoo,
)
from lowregret.convex import QuadraticFunction, Regularised, ScoreFunction
from lowregret.domain import Point
from lowregret.regret import (
    Best,
    ExpertRecord,
    Fixed,
    GameRecord,
    Moving,
    Realised,
    RowRecord,
    Swap,
    Switching,
    Weighted,
    Windows,
    regret,
)
from lowregret.regret.result import Regret
from lowregret.run.begin import begin
from lowregret.words import rounded_up

RNG = np.random.default_rng(2)


def small(seed: int, rounds: int, experts: int) -> tuple[Any, Any]:
    """Costs with ties, and weights."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(experts), rounds)
    return rng.integers(0, 4, (rounds, experts)) / 4, weights


def cases(rounds: int = 6, experts: int = 3) -> Any:
    return given(st.integers(0, 2**31), st.integers(1, rounds), st.integers(1, experts))


# ---- experts, by brute force -----------------------------------------------------------------------------------------


@cases()
def test_switching_is_the_best_of_all_sequences(seed: int, rounds: int, experts: int) -> None:
    costs, weights = small(seed, rounds, experts)
    record, mine = ExpertRecord(costs, weights), float(np.sum(costs * weights))
    sequences = [np.array(s) for s in product(range(experts), repeat=rounds)]
    for k in range(rounds + 1):
        allowed = [s for s in sequences if np.count_nonzero(np.diff(s)) <= k]
        best = min(float(costs[np.arange(rounds), s].sum()) for s in allowed)
        found = regret(record, Switching(k))
        assert found.value == pytest.approx(mine - best, abs=1e-12)
        assert np.count_nonzero(np.diff(found.comparator)) <= k
        assert found.path_length == pytest.approx(math.sqrt(2) * np.count_nonzero(np.diff(found.comparator)))
        assert found.low == found.high
    assert regret(record, Switching(0)).value == pytest.approx(regret(record).value)


@cases()
def test_segments_agree_with_the_experts_programme(seed: int, rounds: int, experts: int) -> None:
    """On [0, 1] × … the best point of a segment takes each coordinate on its own; on a simplex both ways agree."""
    costs, weights = small(seed, rounds, experts)
    record = ExpertRecord(costs - 0.5, weights)
    for k in range(3):
        segments = [c for c in product([False, True], repeat=rounds - 1) if sum(c) <= k]
        cuts = [[0, *(1 + np.flatnonzero(c)), rounds] for c in segments]
        parts = [[(costs - 0.5)[a:b].sum(axis=0) for a, b in pairwise(c)] for c in cuts]
        best = min(sum(float(np.minimum(p, 0).sum()) for p in cut) for cut in parts)
        found = regret(record, Switching(k, Box(0.0, 1.0)))
        assert found.value == pytest.approx(float(record.losses.sum()) - best, abs=1e-9)
        assert found.low == pytest.approx(found.high, abs=1e-9)


@cases()
def test_swap_is_the_best_of_all_maps(seed: int, rounds: int, experts: int) -> None:
    costs, weights = small(seed, rounds, experts)
    found = regret(ExpertRecord(costs, weights), Swap())
    mine = float(np.sum(costs * weights))
    best = min(float(np.sum(weights * costs[:, list(to)])) for to in product(range(experts), repeat=experts))
    assert found.value == pytest.approx(mine - best, abs=1e-12)
    assert float(np.sum(weights * costs[:, found.comparator])) == pytest.approx(best)
    single = [
        float(np.sum(weights[:, i] * (costs[:, i] - costs[:, j]))) for i in range(experts) for j in range(experts)
    ]
    assert found.details["internal"] == pytest.approx(max(single), abs=1e-12)
    assert found.value >= regret(ExpertRecord(costs, weights)).value - 1e-12


@cases(8)
def test_windows_are_the_worst_of_all(seed: int, rounds: int, experts: int) -> None:
    costs, weights = small(seed, rounds, experts)
    record, mine = ExpertRecord(costs, weights), np.sum(costs * weights, axis=1)
    every = {(a, b): float(mine[a:b].sum() - costs[a:b].sum(axis=0).min()) for b in range(rounds + 1) for a in range(b)}
    for length in (None, *range(1, rounds + 1)):
        allowed = {w: v for w, v in every.items() if length in (None, w[1] - w[0])}
        found = regret(record, Windows(length))
        assert found.value == pytest.approx(max(allowed.values()), abs=1e-12)
        window = (found.details["first"] - 1, found.details["last"])
        assert allowed[window] == pytest.approx(found.value, abs=1e-12)
        assert found.mine.size == window[1] - window[0]
    boxed = {(a, b): mine[a:b].sum() - np.minimum(costs[a:b].sum(axis=0) - (b - a) / 2, 0).sum() for a, b in every}
    game = ExpertRecord(costs - 0.5, weights)
    shifted = {w: v - (w[1] - w[0]) / 2 for w, v in boxed.items()}
    assert regret(game, Windows(domain=Box(0.0, 1.0))).value == pytest.approx(max(shifted.values()), abs=1e-9)
    assert regret(game, Windows(1, Box(0.0, 1.0))).value == pytest.approx(
        max(v for w, v in shifted.items() if w[1] == w[0] + 1), abs=1e-9
    )


def test_realised_regret_and_luck() -> None:
    rounds, experts, delta = 200, 3, 0.05
    costs = RNG.random((rounds, experts))
    game = play(MirrorDescent(Entropy(), Constant(0.2)), costs, compiled=False)
    inside, certified = 0, 0
    for seed in range(41):
        drawn = np.array([np.random.default_rng((seed, t)).choice(experts, p=w) for t, w in enumerate(game.points)])
        found = regret(game, Realised(drawn, delta))
        assert found.value == pytest.approx(costs[np.arange(rounds), drawn].sum() - costs.sum(axis=0).min())
        assert found.details["luck"] == pytest.approx(17.3, abs=0.02)
        assert found.bound is not None
        inside += found.value <= found.details["expected"] + found.details["luck"]
        certified += found.value <= found.bound
    assert inside >= 38
    assert certified >= inside
    assert found.details["expected"] == pytest.approx(game.regret)
    too_large = regret(ExpertRecord(costs + 1, game.points), Realised(drawn))
    assert too_large.bound is None  # costs must lie in [0, 1]
    assert regret(ExpertRecord(costs, game.points), Realised(drawn)).bound == pytest.approx(
        game.regret + 17.3, abs=0.02
    )


def test_realised_regret_is_against_all_experts() -> None:
    """Whatever the game itself is compared with: its own theorem speaks of that alone."""
    costs = np.random.default_rng(0).random((50, 3)) * [0.1, 1.0, 1.0]
    game = play(MirrorDescent(Entropy(), Constant(0.1)), costs, comparator=Point(np.full(3, 1 / 3)), compiled=False)
    found = regret(game, Realised(np.argmax(game.points, axis=1)))
    assert found.bound is not None
    assert found.bound >= found.details["expected"] + found.details["luck"]


def test_an_expert_without_weight_is_not_drawn() -> None:
    """All weight on the first expert, whose costs are 0: drawing the second, of cost 1, is no bad luck."""
    weights, costs = np.tile([1.0, 0.0], (400, 1)), np.tile([0.0, 1.0], (400, 1))
    drawn = np.zeros(400, int)
    record = ExpertRecord(costs, weights)
    fair = regret(record, Realised(drawn)).certificate
    assert fair is not None
    assert fair.premises_hold
    drawn[7:] = 1
    found = regret(record, Realised(drawn)).certificate
    assert found is not None
    assert not found.premises_hold
    assert found.premises[-1].observed == "round 7: expert 1 was drawn, whose weight is 0"


def test_bounds_of_a_weighted_mean_are_none_of_the_sum() -> None:
    centres = np.random.default_rng(0).normal(size=(50, 2))
    game = play(ProjectedGradient(L2Ball(1.0), WeightedInverseTime(1.0)), map(QuadraticFunction, centres), dimension=2)
    for comparator in (None, [0.0, 0.0], L2Ball(0.5)):
        assert regret(game, comparator).bound is None
    found = regret(game, Weighted())
    assert found.bound is not None
    assert found.value <= found.bound


# ---- points and sets -------------------------------------------------------------------------------------------------


def games() -> list[Any]:
    z = RNG.normal(size=(40, 2))
    y = np.sign(RNG.normal(size=40))
    rule = ProjectedGradient(L2Ball(1.0), Constant(0.2))
    return [
        play(rule, z, compiled=False),
        play(rule, [QuadraticFunction(v) for v in z], compiled=False),
        play(rule, [ScoreFunction(Absolute(), v, s) for v, s in zip(z, y, strict=True)], compiled=False),
        play(FollowTheLeader(L2Ball(1.0)), z, compiled=False),
    ]


@pytest.mark.parametrize("game", games(), ids=["linear", "quadratic", "absolute", "leader"])
def test_static_regret(game: Any) -> None:
    u = np.array([0.3, -0.4])
    fixed = regret(game, u)
    assert fixed.value == pytest.approx(game.regret_to(u)) == pytest.approx(regret(game, Fixed(u)).value)
    assert fixed.bound is None or fixed.value <= fixed.bound + 1e-9
    best = regret(game)
    assert best.value == pytest.approx(game.regret)
    assert best.low <= best.high
    assert fixed.value <= best.high + 1e-9
    assert best.bound is not None
    assert best.value <= best.bound + 1e-9
    wider = regret(game, Best(L2Ball(2.0)))
    assert wider.value == pytest.approx(regret(game, L2Ball(2.0)).value)
    assert wider.value >= best.low
    assert wider.bound is None  # nobody could play there
    grid = RNG.normal(size=(300, 2))
    grid /= np.maximum(1.0, np.linalg.norm(grid, axis=1, keepdims=True))
    values = [game.loss - sum(f.value(v) for f in game.functions) for v in grid]
    assert max(values) <= best.high + 1e-9


def test_a_solver_gives_an_interval() -> None:
    found = regret(games()[2])
    assert found.gap >= 0
    assert found.low <= found.value == found.high


def test_quadratics_switch_in_closed_form_and_others_by_a_solver() -> None:
    z = np.concatenate([np.full(9, 0.5), np.full(8, -0.5)])[:, None] + 0.1 * RNG.normal(size=(17, 1))
    quadratics = [QuadraticFunction(v) for v in z]
    game = play(ProjectedGradient(Box(-1.0, 1.0), Constant(0.2)), quadratics, compiled=False)
    halves = [float(c * np.var(z[:c]) + (17 - c) * np.var(z[c:])) / 2 for c in range(1, 17)]
    found = regret(game, Switching(1))
    assert found.value == pytest.approx(game.loss - min(halves))
    assert np.all(found.comparator[0] == found.comparator[8])
    assert found.bound is not None
    assert found.value <= found.bound
    rows = [ScoreFunction(Absolute(), np.ones(1), float(v)) for v in z[:, 0]]
    game = play(ProjectedGradient(Box(-1.0, 1.0), Constant(0.2)), rows, compiled=False)
    medians = [
        float(np.abs(z[:c] - np.median(z[:c])).sum() + np.abs(z[c:] - np.median(z[c:])).sum()) for c in range(1, 17)
    ]
    found = regret(game, Switching(1))
    assert found.low - 1e-9 <= game.loss - min(medians) <= found.high + 1e-9
    assert found.gap <= 1e-6


# ---- moving comparators ----------------------------------------------------------------------------------------------


def test_worked_example() -> None:
    """S = [−1, 1], η_t = 1/√t, T = 4, u = (1, 1, −1, −1), |g| = 1: 11.05."""
    game = play(ProjectedGradient(Box(-1.0, 1.0), InverseSqrt(1.0)), [[1.0], [-1.0], [1.0], [1.0]], compiled=False)
    found = regret(game, Moving([[1.0], [1.0], [-1.0], [-1.0]]))
    assert found.bound == pytest.approx(11.05, abs=0.005)
    assert found.path_length == 2
    assert found.value == pytest.approx(game.loss - (1 - 1 - 1 - 1))


@given(st.integers(0, 2**31), st.integers(1, 40))
def test_the_bound_in_advance(seed: int, rounds: int) -> None:
    """η_t = 1/√t: D²√T/2 + G²√T + D·P·√(T−1)."""
    rng = np.random.default_rng(seed)
    game = play(
        ProjectedGradient(Box(-1.0, 1.0), InverseSqrt(1.0)), rng.choice([-3.0, 1.0, 3.0], (rounds, 1)), compiled=False
    )
    found = regret(game, Moving(rng.uniform(-1, 1, (rounds, 1))))
    assert found.bound is not None
    assert found.path_length is not None
    assert found.value <= found.bound + 1e-9
    assert found.bound <= 2 * math.sqrt(rounds) + 9 * math.sqrt(rounds) + 2 * found.path_length * math.sqrt(rounds - 1)


STEPS = [Constant(0.3), InverseSqrt(1.0), Adaptive()]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("domain", [L2Ball(1.0), Box(-0.5, 1.0), Simplex(), Reals()], ids=str)
@settings(max_examples=12)
@given(seed=st.integers(0, 2**31), kind=st.sampled_from(["random", "turning", "chasing", "still"]))
def test_nothing_that_moves_breaks_it(step: Any, domain: Any, seed: int, kind: str) -> None:
    rng, rounds = np.random.default_rng(seed), 15
    t = np.arange(rounds)[:, None]
    costs = {
        "random": rng.normal(size=(rounds, 2)),
        "turning": np.where(t // 4 % 2, [1.0, -1.0], [-1.0, 1.0]),
        "chasing": np.where(t % 2, [2.0, 0.0], [-1.0, 0.0]),
        "still": np.zeros((rounds, 2)),
    }[kind] * (rng.random((rounds, 1)) < 0.8)
    ball = L2Ball(1.0) if domain == Reals() else domain
    game = play(ProjectedGradient(domain, step), costs, comparator=ball, compiled=False)
    cheapest = np.array([ball.projection(-1e3 * z) for z in costs])
    slow = np.array([ball.projection(v) for v in np.cumsum(rng.normal(size=(rounds, 2)) / 3, axis=0)])
    for path in (cheapest, slow, np.repeat(slow[:1], rounds, axis=0)):
        found = regret(game, Moving(path))
        assert found.value == pytest.approx(game.loss - float(np.sum(path * costs)))
        assert found.bound is not None
        assert found.value <= found.bound + 1e-9
    window = regret(game, Windows())
    assert window.bound is not None
    assert window.value <= window.bound + 1e-9


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_comparator_that_rests_gives_the_static_bound(step: Any) -> None:
    """P = 0: EAGER-DEC, or THM-14.5 at a constant rate."""
    game = play(ProjectedGradient(Box(-1.0, 1.0), step), RNG.normal(size=(30, 2)), compiled=False)
    static = {c.id: c.bound for c in game.certificates}
    found = regret(game, Moving(np.ones((30, 2))))
    assert found.bound == pytest.approx(static["THM-14.5" if step.constant else "EAGER-DEC"])
    assert found.path_length == 0


def test_outside_of_the_domain_theory_is_silent() -> None:
    game = play(ProjectedGradient(Box(-1.0, 1.0), Constant(0.1)), np.ones((5, 1)), compiled=False)
    assert regret(game, Moving(np.full((5, 1), -2.0))).bound is None
    assert (
        regret(play(MirrorDescent(Entropy(), Constant(0.1)), np.ones((5, 2)), compiled=False), Windows()).bound is None
    )


def test_weighted_rounds() -> None:
    z = RNG.normal(size=(30, 2))
    functions = [Regularised(lowregret.convex.LinearFunction(v), 0.5) for v in z]
    game = play(ProjectedGradient(L2Ball(4.0), WeightedInverseTime(0.5)), functions, compiled=False)
    found = regret(game, Weighted())
    t = np.arange(1, 31)
    c = 2 * (t + 1) / (30 * 33)
    assert found.certificate is not None
    assert found.certificate.id == "THM-14.12"
    best = L2Ball(4.0).projection(-(c @ z) / 0.5)
    assert found.value == pytest.approx(
        float(c @ game.losses) - sum(k * f.value(best) for k, f in zip(c, functions, strict=True))
    )
    assert found.bound is not None
    assert found.value <= found.bound
    at = regret(game, Weighted(c, best))
    assert at.value == pytest.approx(found.value)
    assert at.bound is None
    assert regret(game, Weighted(np.ones(30), best)).value == pytest.approx(regret(game, best).value)
    half = play(ProjectedGradient(L2Ball(4.0), WeightedInverseTime(0.5)), functions[:2], compiled=False)
    assert GameRecord(half).importance == pytest.approx([0.4, 0.6])
    two = regret(ExpertRecord([[0.4, 1.0], [0.2, 0.0]], [[1.0, 0.0], [0.0, 1.0]]), Weighted([0.4, 0.6]))
    assert two.value == pytest.approx(0.16 - min(0.28, 0.4))


# ---- rows ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_rows(bias: float) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(50, 3))
    y = np.sign(x[:, 0] + rng.normal(size=50))
    weights = rng.choice([0.0, 1.0, 2.0], 50)
    learner = Linear(Hinge(), ProjectedGradient(L2Ball(2.0), InverseSqrt(0.5)), bias=bias)
    run = train(learner, x, y, weights, compiled=False)
    record = RowRecord(run, x, y, weights)
    assert record.losses.sum() == pytest.approx(run.loss)
    d = 3 + (bias > 0)
    u = np.full(d, 0.2)
    assert regret(record, u).value == pytest.approx(run.regret(u, x, y, weights))
    best = regret(record)
    assert best.bound is not None
    assert regret(record, u).value <= best.high <= best.bound
    assert best.gap < 0.01 * run.loss
    path = np.where(np.arange(50)[:, None] < 25, u, -u)
    moving = regret(record, Moving(path))
    wide = np.column_stack([x, np.full(50, bias)])[:, :d]
    theirs = weights * np.maximum(0, 1 - y * np.sum(path * wide, axis=1))
    assert moving.value == pytest.approx(run.loss - theirs.sum())
    game = play(
        learner.rule, [_weighed(v, s, k) for v, s, k in zip(wide, y, weights, strict=True) if k], compiled=False
    )
    assert moving.bound == pytest.approx(regret(game, Moving(path[weights > 0])).bound)
    window = regret(record, Windows(45))
    assert window.bound is not None
    assert window.value <= window.bound
    late = delayed(learner, 3, compiled=False).learn(x, y, weights, delay=3).deliver()
    assert regret(RowRecord(late, x, y, weights), Moving(path)).bound is None
    assert regret(RowRecord(late, x, y, weights)).bound is not None


def _weighed(x: Any, y: float, weight: float) -> Any:
    return ScoreFunction(_Twice() if weight == 2 else Hinge(), x, y)


class _Twice(Hinge):
    def at(self, p: float, y: float) -> tuple[float, float]:
        return (2 * (1 - y * p), -2 * y) if y * p < 1 else (0.0, 0.0)


def test_compiled_rows() -> None:
    x = RNG.normal(size=(200, 3))
    y = np.sign(x[:, 0] + RNG.normal(size=200))
    run = train(zoo.ogd_eager(Hinge(), 0.1), sp.csr_matrix(x), y)
    found = regret(RowRecord(run, x, y), Moving(np.tile([0.5, 0.0, 0.0], (200, 1))))
    assert found.value == pytest.approx(run.regret([0.5, 0.0, 0.0], x, y))
    assert found.bound is not None
    assert found.value <= found.bound


def test_real_experts(data_file: Callable[[str], Path]) -> None:
    table = np.genfromtxt(data_file("french_load_experts.csv.gz"), delimiter=",", names=True)
    names = list(table.dtype.names or ())
    target = names[-1] if "y" not in names else "y"
    columns = [
        n for n in names if np.issubdtype(table[n].dtype, np.floating) and n != target and "date" not in n.lower()
    ]
    errors = np.abs(np.column_stack([table[n] for n in columns]) - table[target][:, None])
    costs = np.nan_to_num(errors / np.nanmax(errors))
    game = play(MirrorDescent(Entropy(), Constant(1.0)), costs, compiled=False)
    values = [regret(game, Switching(k)).value for k in range(5)]
    assert values == sorted(values)
    assert values[0] == pytest.approx(game.regret)
    assert regret(game, Windows()).value >= values[0]
    assert regret(game, Swap()).value >= 0


# ---- results and refusals --------------------------------------------------------------------------------------------


def test_it_can_be_read_and_drawn(tmp_path: Path) -> None:
    game = games()[0]
    found = regret(game, Moving(np.zeros((40, 2))))
    assert "dynamic regret" in str(found)
    assert found.bound is not None
    assert f"≤ {rounded_up(found.bound)} (DYN) over" in str(found)  # not after the path length, which it does not bound
    costs = np.eye(2)[[0, 0, 0, 1, 1, 1]]
    halves = ExpertRecord(costs, np.full((6, 2), 0.5))
    assert (
        str(regret(halves, Switching(3))) == "switching regret 3 over 6 rounds, against 1 switch, path length 1.41421"
    )
    assert str(regret(halves, Windows(3))) == "window regret 1.5 over 3 rounds (1 to 3)"
    assert "between" in str(regret(games()[2])) or regret(games()[2]).gap == 0
    for picture in (found, regret(game, Windows(5)), regret(game)):
        picture.plot(tmp_path / "regret.png")
        assert (tmp_path / "regret.png").stat().st_size > 5000
        (tmp_path / "regret.png").unlink()


def test_what_is_refused() -> None:
    game = games()[1]
    record = ExpertRecord(np.ones((3, 2)), np.full((3, 2), 0.5))
    for comparator, problem, message in (
        ([1.0], DataError, "2 numbers"),
        (Moving(np.zeros((3, 2))), DataError, "one point of 2 coordinates for each of 40 rounds"),
        (Swap(), PartError, "about experts"),
        (Windows(41), PartError, "1 to 40 rounds"),
        (Windows(0), PartError, "1 to 40 rounds"),
        (Switching(-1), PartError, "switches must be"),
        (Weighted(), PartError, "weighs all rounds alike"),
        (Weighted([1.0]), DataError, "one per round"),
        (Weighted(-np.ones(40)), DataError, "≥ 0"),
    ):
        with pytest.raises(problem, match=message):
            regret(game, comparator)
    for drawn, delta in (([0, 1], 0.1), ([0, 1, 2], 0.1), ([0.0, 1.0, 1.0], 0.1), ([0, 1, 1], 1.0)):
        with pytest.raises((DataError, PartError), match=r"drawn|delta"):
            regret(record, Realised(drawn, delta))
    for costs, weights in (([[1.0]], [[1.0, 2.0]]), ([[math.nan]], [[1.0]]), ([[1.0], [1.0]], [[1.0], [2.0]])):
        with pytest.raises(DataError):
            ExpertRecord(costs, weights)
    with pytest.raises(PartError, match=r"trace must be .* RowRecord\(run, X, y\)"):
        regret(np.ones(3))  # type: ignore[arg-type]
    for name in ("static", Switching):
        with pytest.raises(PartError, match="one of Fixed, Best"):
            regret(game, name)
    with pytest.raises(PartError, match="nothing has happened"):
        regret(ExpertRecord(np.ones((0, 2)), np.ones((0, 2))))
    absolute = play(
        ProjectedGradient(L2Ball(), Constant(0.1)), [ScoreFunction(Absolute(), [1.0], 1.0)] * 41, compiled=False
    )
    with pytest.raises(PartError, match="at most 40 rounds"):
        regret(absolute, Windows())
    x, y = np.ones((4, 2)), np.ones(4)
    with pytest.raises(PartError, match="ridge"):
        RowRecord(train(zoo.ogd_sc(Hinge(), 0.1), x, y, compiled=False), x, y)
    with pytest.raises(DataError, match="all 4 rows"):
        RowRecord(train(zoo.ogd(Hinge()), x, y, compiled=False), x[:3], y[:3])


@pytest.mark.parametrize("far", [1.0, 1e4, 1e8, 1e12])
def test_quadratic_functions_far_from_zero(far: float) -> None:
    """Folded, their sum is a difference of numbers like far²: values are summed one by one, and the gap knows of it."""
    z = far + RNG.normal(size=40)
    game = play(FollowTheLeader(L2Ball(3 * far)), [QuadraticFunction([v], 1.0) for v in z], compiled=False)
    centres = [Fraction(float(v)) for v in z]

    def lost(begin: int, end: int, w: Fraction | None = None) -> Fraction:
        part = centres[begin:end]
        w = sum(part, Fraction(0)) / len(part) if w is None else w
        return sum(((w - v) ** 2 / 2 for v in part), Fraction(0))

    best, least = game.best(), lost(0, 40)
    assert best.value == pytest.approx(float(lost(0, 40, Fraction(float(best.w[0])))), rel=1e-12)
    assert best.value - best.gap <= float(least) * (1 + 1e-12)
    assert best.gap <= 1e-20 * far**2 + 1e-12
    record = GameRecord(game)
    for first, end in ((0, 40), (30, 40), (17, 19)):
        within = record.best_within(L2Ball(3 * far), first, end)
        assert Fraction(float(within.value)) - Fraction(float(within.gap)) <= lost(first, end)


def test_rows_of_another_width_are_refused() -> None:
    """Compiled loops read beyond the comparator, and the regret was above its bound."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), np.sign(rng.normal(size=40))
    run = train(zoo.ogd(Hinge()), x, y)
    with pytest.raises(DataError, match="features"):
        RowRecord(run, np.hstack([x, x]), y)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8])
def test_a_large_round_hides_no_later_window(length: int) -> None:
    """Differences of running sums lose what is small beside 1e17: the worst window is one of those after it."""
    costs = np.ones((40, 2))
    costs[0] = 1e17
    costs[20 : 20 + length, 0] = 0.0
    found = regret(ExpertRecord(costs, np.tile([0.0, 1.0], (40, 1))), Windows(length))
    assert found.value == length
    assert found.details == {"first": 21, "last": 20 + length}


@pytest.mark.parametrize("comparator", [Windows("x"), Windows(1.5), Windows(True), Switching("x"), Switching(0.5)])  # type: ignore[arg-type]
def test_lengths_and_switches_are_whole_numbers(comparator: Any) -> None:
    with pytest.raises(PartError, match="got"):
        regret(ExpertRecord(np.ones((2, 2)), np.eye(2)), comparator)


@pytest.mark.parametrize("length", [2, None])
def test_a_large_round_within_a_window_hides_no_difference(length: int | None) -> None:
    """Sums of costs are the same for both experts beside 1e17, their differences are not."""
    costs = np.array([[1e17, 1e17], [0.0, 1.0], [0.5, 0.5]])
    found = regret(ExpertRecord(costs, np.tile([0.0, 1.0], (3, 1))), Windows(length))
    assert found.value == 1.0
    assert found.comparator.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("comparator", [Moving(np.ones((200, 1))), Windows(200)])
def test_descent_with_late_answers_promises_nothing(comparator: Any) -> None:
    """Scores are of the iterates that were asked, steps begin at those that answers found."""
    X, y = np.ones((200, 1)), np.ones(200)
    learner = zoo.ogd_eager(Absolute(), eta=0.1, radius=1.0)
    late = begin(learner, 1, delay=0, compiled=False).learn(X, y, delay=199 - np.arange(200))
    found = regret(RowRecord(late, X, y), comparator)
    assert found.value == pytest.approx(200.0)
    assert found.certificate is None
    prompt = regret(RowRecord(train(learner, X, y, compiled=False), X, y), comparator).certificate
    assert prompt is not None
    assert prompt.holds


@pytest.mark.parametrize("start", [0.0, 1e16])
def test_moving_comparators_pay_for_rounded_steps(start: float) -> None:
    """The exact regret against where the last step leads attains the bound; at 1e16 no step of 0.4 moves anything."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rule = ProjectedGradient(Reals(), Constant(0.4), start=np.full(3, start))
        game = play(rule, rng.normal(size=(100, 3)) + (start > 0), compiled=False)
        z, w = game.gradients, game.points
        u = w[0] - 0.4 * z.sum(0)
        found = regret(game, Moving(np.tile(u, (100, 1)))).certificate
        assert found is not None
        paid = [
            Fraction(a) * (Fraction(b) - Fraction(c)) for a, b, c in zip(*map(np.ravel, (z, w, u + 0 * w)), strict=True)
        ]
        exact = sum(paid)
        assert found.holds
        assert exact <= Fraction(found.proved)
        assert start > 0 or found.rounding <= 1e-9 * found.bound


def test_what_all_experts_pay_alike_hides_no_regret() -> None:
    """Beside 2^45 a round, sums have no digits for differences: swap regret was 32 for 46, switching 475 for 845."""
    rng = np.random.default_rng(0)
    costs = (rng.random((3_000, 3)) < 0.5).astype(float)
    weights = rng.multinomial(4, [0.5, 0.25, 0.25], len(costs)) / 4
    plain, shifted = ExpertRecord(costs, weights), ExpertRecord(costs + 2.0**45, weights)
    for kind in (None, Swap(), Switching(20), Windows(100), Windows(), Realised(np.zeros(len(costs), int))):
        a, b = regret(plain, kind), regret(shifted, kind)
        assert a.value == b.value
        assert all(a.details[name] == b.details[name] for name in ("internal", "expected") if name in a.details)
    four = np.column_stack([costs, costs[:, ::-1][:, :1]])  # of which the weights, 1/4, are not rounded
    for rows in (four, four + 2.0**45):
        game = play(MirrorDescent(Entropy(), Constant(1e-300)), rows, comparator=Simplex())
        assert game.regret == np.sum(four) / 4 - np.min(np.sum(four, axis=0))
        assert game.regret_to([1, 0, 0, 0]) == np.sum(four) / 4 - np.sum(four[:, 0])


@pytest.mark.parametrize("u", [[np.nan, 0.0], [np.inf, 0.0], [1j, 0.0], ["a", "b"], [1.0], [10**400, 0], 1.0, None])
def test_what_is_no_point_is_refused(u: Any) -> None:
    """NaN gave a regret that is no number, and of what is imaginary the rest was taken."""
    game = play(ProjectedGradient(L2Ball(1.0), Constant(0.1)), np.ones((5, 2)), compiled=False)
    for asked in (lambda: game.regret_to(u), lambda: regret(game, Fixed(u)), lambda: regret(game, Moving([u] * 5))):
        with pytest.raises(DataError):
            asked()


def test_regret_to_a_point_whose_losses_overflow() -> None:
    rows = np.array([[1e100, 0.0], [-1e100, 0.0]])
    game = play(ProjectedGradient(L2Ball(1.0), Constant(1e-300)), rows, compiled=False)
    with np.errstate(all="ignore"):
        assert not np.isfinite(game.regret_to([1e250, 0.0]))


@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e20])
def test_a_gap_is_told_in_all_units(unit: float) -> None:
    found = Regret("static", unit * np.ones(3), unit * np.full(3, 0.5), None, gap=0.1 * unit)
    assert "between" in str(found)
    assert "between" not in str(Regret("static", unit * np.ones(3), unit * np.full(3, 0.5), None, gap=1e-13 * unit))
