"""Portfolios: what they promise, exactly computed."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad

from lowregret import DataError, PartError
from lowregret.experts import (
    ExpertMixture,
    ExponentiatedGradient,
    Hedge,
    OnlineNewton,
    Universal,
    best_rebalanced,
    portfolio,
)
from lowregret.experts.simplex_rule import nodes_a_side, shortfall, simplex_rule
from lowregret.loss import LogWealth
from lowregret.types import Vector


def relatives(rounds: int, assets: int, seed: int, wild: float = 0.1) -> Vector:
    return np.exp(np.random.default_rng(seed).normal(0, wild, (rounds, assets)))


@pytest.mark.parametrize("wild", [0.02, 0.2])
@pytest.mark.parametrize("assets", [1, 2, 5])
def test_newton_is_certified(assets: int, wild: float) -> None:
    x = relatives(150, assets, assets, wild)
    panel = OnlineNewton(assets, compiled=False)
    p = panel.learn(x).forecasts
    best = best_rebalanced(x)
    assert panel.wealth == pytest.approx(np.prod(p))
    assert panel.certificate.holds, panel.certificate
    assert panel.loss - best.value <= panel.certificate.bound
    assert panel.weights.sum() == pytest.approx(1)


def test_newton_minimises_its_surrogate() -> None:
    x = relatives(20, 3, 0)
    panel, points = OnlineNewton(3, 0.7, compiled=False), np.random.default_rng(1).dirichlet(np.ones(3), 2000)
    g: list[Vector] = []
    for row in x:
        w = panel.weights.copy()

        def surrogate(u: Vector) -> float:
            return float(u @ u / 2 + sum((r @ u) ** 2 / 2 - (1 + 1 / 0.7) * (r @ u) for r in g))

        assert surrogate(w) <= min(map(surrogate, points)) + 1e-9
        panel.learn(row[None])
        g.append(row / (w @ row))


def test_newton_with_the_parameters_of_others_claims_nothing() -> None:
    panel = OnlineNewton(3, 1.0, 0.125, compiled=False)
    panel.learn(relatives(30, 3, 0))
    assert not panel.certificate.premises_hold
    assert math.isinf(panel.certificate.bound)
    wild = OnlineNewton(2, 0.9, compiled=False)
    wild.learn([[5.0, 1.0], [1.0, 8.0]])
    assert not wild.certificate.premises_hold


def test_universal_of_two_assets_is_the_integral() -> None:
    x = relatives(30, 2, 4, 0.3)
    panel = Universal(2, 30, compiled=False)
    assert panel.exact
    panel.learn(x)
    wealth = quad(lambda b: float(np.prod(b * x[:, 0] + (1 - b) * x[:, 1])), 0, 1, epsabs=1e-13)[0]
    assert panel.wealth == pytest.approx(wealth, rel=1e-10)
    share = quad(lambda b: b * float(np.prod(b * x[:, 0] + (1 - b) * x[:, 1])), 0, 1, epsabs=1e-13)[0] / wealth
    assert panel.weights[0] == pytest.approx(share, rel=1e-10)


@pytest.mark.parametrize(("assets", "rounds"), [(2, 200), (3, 60)])
def test_universal_is_certified(assets: int, rounds: int) -> None:
    x = relatives(rounds, assets, 7, 0.5)
    panel = Universal(assets, rounds)
    panel.learn(x)
    assert panel.certificate.holds
    assert panel.loss - best_rebalanced(x).value <= panel.certificate.bound
    panel.learn(x)
    assert not panel.certificate.premises_hold  # more rounds than were announced


def test_rules_integrate_polynomials() -> None:
    """E Π u_i^{a_i} = (n−1)! Π a_i! / (n−1+Σa)!"""
    for n, count in ((2, 4), (3, 3), (4, 3)):
        nodes, weights = simplex_rule(n, count)
        np.testing.assert_allclose(nodes.sum(1), 1)
        for powers in ([2, 1, 0, 0], [0, 1, 1, 3], [5, 0, 0, 0]):
            a = powers[:n]
            exact = math.factorial(n - 1) * math.prod(map(math.factorial, a)) / math.factorial(n - 1 + sum(a))
            assert weights @ np.prod(nodes**a, axis=1) == pytest.approx(exact)


def test_a_rounded_rule_falls_short_by_no_more_than_is_said() -> None:
    """The wealth of x_t = (1, 0) is u_1^T, whose integral is 1/(T + 1): the bound is tight, and rules are rounded."""
    rounds = 5_400
    panel = Universal(2, rounds).learn(np.tile([1.0, 0.0], (rounds, 1)))
    regret = -math.fsum(map(math.log, panel.forecasts.tolist()))
    assert regret <= panel.certificate.bound + panel.certificate.rounding
    assert shortfall(2, nodes_a_side(rounds), rounds) > 7e-10


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_shortfall_is_that_of_the_worst_monomial(n: int) -> None:
    rounds = 9
    nodes, weights = simplex_rule(n, nodes_a_side(rounds))
    short = shortfall(n, nodes_a_side(rounds), rounds)
    for a in itertools.product(range(rounds + 1), repeat=n):
        if sum(a) == rounds:
            found = sum(
                Fraction(w) * math.prod(Fraction(v) ** k for v, k in zip(node, a, strict=True))
                for w, node in zip(weights.tolist(), nodes.tolist(), strict=True)
            )
            whole = Fraction(math.factorial(n - 1) * math.prod(map(math.factorial, a)), math.factorial(n - 1 + rounds))
            assert whole <= found * (1 + Fraction(short))
    assert short < 1e-12


def test_a_rule_that_would_take_hours_is_not_made() -> None:
    assert Universal(2, 10_001, nodes=5).horizon == 10_001
    assert not Universal(2, 10**6, nodes=5).exact


def test_newtons_bound_does_not_hang_on_its_programmes(monkeypatch: pytest.MonkeyPatch) -> None:
    """R(u) ≤ κ·max_u of a quadratic, whatever weights a programme found: the bound alone is of exact ones."""
    monkeypatch.setattr(portfolio, "quadratic_on_simplex", lambda a, b, start: np.array([1.0, 0.0]))
    panel = OnlineNewton(2, 0.1, compiled=False).learn(np.tile([0.9, 1.1], (400, 1)))
    found = panel.certificate
    assert panel.regret > found.bound
    assert panel.regret <= found.bound + found.rounding


def test_sampled_universal_says_against_whom() -> None:
    x = relatives(20, 12, 8)
    one, other = (Universal(12, 20, nodes=50, seed=3, compiled=False) for _ in range(2))
    assert not one.exact
    assert np.array_equal(one.learn(x).forecasts, other.learn(x).forecasts)
    assert one.certificate.comparator["set"] == "experts"
    assert one.certificate.holds


def test_eg_by_hand() -> None:
    x = relatives(25, 4, 9)
    panel = ExpertMixture(4, Hedge(0.05), LogWealth(), compiled=False)
    panel.learn(x, np.ones(25))
    w = np.full(4, 0.25)
    for row in x:
        w = w * np.exp(0.05 * row / (w @ row))
        w /= w.sum()
    np.testing.assert_allclose(panel.weights, w)
    assert panel.loss - best_rebalanced(x).value <= panel.certificate.bound


def test_relatives_out_of_all_proportion() -> None:
    x = [[1e300, 1e-300], [1e-300, 1e300], [1.0, 2.0]]
    rich = ExponentiatedGradient(2, compiled=False).learn([[1e300, 1e300]] * 3)
    assert rich.wealth == rich.ledger.wealth == math.inf
    run = OnlineNewton(2, compiled=False)
    with pytest.raises(DataError, match="times as much as the portfolio"):
        run.learn(x)
    assert run.rounds == 1
    assert np.all(run.learn([[1.0, 2.0]]).weights >= 0)
    eager = OnlineNewton(2, 1e-90, compiled=False).learn([[1.0, 1.1], [1.2, 1.1], [1.0, 1.0]])
    assert eager.weights.sum() == pytest.approx(1)
    with pytest.raises(PartError, match="at most 1e\\+100"):
        OnlineNewton(2, 1e-300)


def test_pieces_and_errors() -> None:
    x = relatives(40, 3, 10)
    whole, split = OnlineNewton(["a", "b", "c"], compiled=False), OnlineNewton(["a", "b", "c"], compiled=False)
    expected = whole.learn(x).forecasts
    assert np.array_equal(np.concatenate([split.learn(x[:13]).forecasts, split.learn(x[13:]).forecasts]), expected)
    assert np.array_equal(whole.weights_over_time[1], split.weights_over_time[1])
    with pytest.raises(DataError, match="round 40: the price relative of b is -1"):
        whole.learn([[1.0, -1.0, 1.0]])
    with pytest.raises(DataError, match="worthless"):
        whole.learn([[0.0, 0.0, 0.0]])
    assert whole.rounds == 40
    with pytest.raises(PartError, match="asked for its `weights`"):
        whole.ask([1.0, 1.0, 1.0])
    with pytest.raises(PartError, match="positive numbers"):
        OnlineNewton(2, 0.0)


@pytest.mark.parametrize("relatives", [[1.0, 0.0], [0.0, 1.0]])
def test_a_bound_that_is_reached_has_its_rounding(relatives: list[float]) -> None:
    """One round of which half is lost: the regret is ln 2, and the float nearest to it is less."""
    portfolio = Universal(2, 1, compiled=False).learn([relatives])
    certificate = portfolio.certificate
    regret = -Decimal(float(portfolio.forecasts[0])).ln()
    assert certificate.holds
    assert Decimal(certificate.bound) < regret <= Decimal(certificate.proved)
    assert certificate.rounding < 1e-11
    assert OnlineNewton(2, compiled=False).learn([relatives]).certificate.rounding > 0
