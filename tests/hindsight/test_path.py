"""Newton's method while the ball's multiplier falls: against dense references, with gaps that hold."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import lowregret.hindsight.best as package
from lowregret import Huber, L2Ball, Logistic, Loss, Poisson, Reals, SquaredHinge
from lowregret.domain import Domain
from lowregret.hindsight import path
from lowregret.hindsight.best import solve
from lowregret.hindsight.coordinate import ascend
from lowregret.hindsight.objective import Incumbent, Objective
from lowregret.hindsight.path import Multiplier, conjugate, follow, preconditioner
from lowregret.rows import as_rows
from lowregret.types import Vector

ROWS, D = 60, 90


def silent(*_: float) -> None:
    pass


def problem(loss: Loss, domain: Domain, kappa: float = 0.0, form: Any = sp.csr_array) -> Objective:
    """More coordinates than rows; two rows contradict two others, which are equal."""
    rng = np.random.default_rng(5)
    x: Any = np.array(sp.random_array((ROWS, D), density=0.2, rng=rng).todense())
    y = rng.integers(0, 5, ROWS).astype(float) if isinstance(loss, Poisson) else rng.choice([-1.0, 1.0], ROWS)
    x[1:4], y[1:4] = x[0], np.array([y[0], 3.0, 3.0] if isinstance(loss, Poisson) else [y[0], -y[0], -y[0]])
    c = rng.integers(1, 4, ROWS).astype(float)
    return Objective(loss, as_rows(form(x)), y, c, domain, kappa, compiled=False)


def dense(o: Objective) -> Vector:
    return np.array([o.scores(unit) for unit in np.eye(o.dimension)]).T


def least(o: Objective) -> float:
    """The least F: BFGS over u = z·min(1, B/‖z‖), which leaves no minimiser out."""
    x = dense(o)

    def value(z: Vector) -> float:
        u = z * min(1.0, o.radius / max(float(np.linalg.norm(z)), 1e-9))
        losses = [o.loss.at(p, y)[0] for p, y in zip((x @ u).tolist(), o.y.tolist(), strict=True)]
        return float(o.c @ losses) + o.kappa / 2 * float(u @ u)

    def slope(z: Vector) -> Vector:
        size = float(np.linalg.norm(z))
        share = min(1.0, o.radius / max(size, 1e-9))
        slopes = [o.loss.at(p, y)[1] for p, y in zip((x @ (share * z)).tolist(), o.y.tolist(), strict=True)]
        g = x.T @ (o.c * slopes) + o.kappa * share * z
        return np.asarray(share * (g - z * float(z @ g) / size**2)) if share < 1 else np.asarray(g)

    start = 1e-3 * np.ones(o.dimension)
    return float(minimize(value, start, jac=slope, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000}).fun)


SMOOTH: list[Loss] = [Logistic(), SquaredHinge(), Huber(0.5), Poisson()]
SETS: list[tuple[Domain, float]] = [(L2Ball(0.3), 0.0), (L2Ball(5.0), 0.0), (L2Ball(5.0), 0.1), (Reals(), 0.1)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("domain", "kappa"), SETS, ids=repr)
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_least_loss(loss: Loss, domain: Domain, kappa: float) -> None:
    """From nothing, and after a little ascent."""
    o = problem(loss, domain, kappa)
    truth = least(o)
    for epochs in (0, 3):
        best = Incumbent(np.zeros(D))
        a = ascend(o, best, 1e-7, epochs, silent) if epochs else np.zeros(ROWS)
        follow(o, best, a, 1e-7, silent)
        assert best.near(1e-7)
        assert o.domain.contains(best.point)
        assert best.bound <= truth * (1 + 1e-9) + 1e-9
        assert best.value == pytest.approx(truth, rel=2e-6)
        assert best.value == pytest.approx(o.value(best.point, dense(o) @ best.point), rel=1e-9)


@pytest.mark.parametrize(("radius", "form"), [(100.0, sp.csr_array), (100.0, np.asarray), (1e4, sp.csr_array)])
def test_a_far_ball(radius: float, form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly nothing is lost but by rows that contradict others, though only few rows are taken as they are."""
    monkeypatch.setattr(path, "HEAVY", 10)
    o, best, steps = problem(Logistic(), L2Ball(radius), form=form), Incumbent(np.zeros(D)), []
    follow(o, best, np.zeros(ROWS), 1e-6, lambda step, *_: steps.append(step))
    assert best.near(1e-6)
    assert o.domain.contains(best.point)
    weight, against = float(o.c[:2].sum()), float(o.c[2:4].sum())
    total = weight + against
    lost = -weight * math.log(weight / total) - against * math.log(against / total)
    assert lost * (1 - 1e-12) <= best.value <= lost * (1 + (1e-4 if radius < 1e4 else 2e-6))
    assert steps[-1] < 40


@pytest.mark.parametrize("heavy", [10, 500])
def test_preconditioner(heavy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact with all rows; else that of the rows kept and the diagonal of the others."""
    monkeypatch.setattr(path, "HEAVY", heavy)
    o, rng = problem(Logistic(), L2Ball(1.0)), np.random.default_rng(1)
    bends, r, x = np.exp(rng.normal(size=ROWS)), rng.normal(size=D), dense(o)
    order = np.argsort(-bends * np.sum(x * x, axis=1), kind="stable")
    top, rest = order[:heavy], order[heavy:]
    matrix = x[top].T @ (bends[top, None] * x[top]) + np.diag(bends[rest] @ x[rest] ** 2 + 0.1)
    np.testing.assert_allclose(preconditioner(o, bends, 0.1)(r), np.linalg.solve(matrix, r), rtol=1e-7, atol=1e-9)


def test_equal_rows_of_great_weight() -> None:
    """Products that are singular but for rounding can be factored."""
    o = problem(Logistic(), L2Ball(1.0))
    assert np.all(np.isfinite(preconditioner(o, np.full(ROWS, 1e18), 1e-6)(np.ones(D))))


def test_conjugate_gradients() -> None:
    rng = np.random.default_rng(2)
    half, r = rng.normal(size=(D, D)), rng.normal(size=D)
    matrix = half @ half.T + np.diag(np.exp(rng.normal(size=D)))
    s = conjugate(lambda v: matrix @ v, lambda v: v / np.diagonal(matrix), r)
    assert np.linalg.norm(matrix @ s - r) <= path.FORCING * np.linalg.norm(r) * (1 + 1e-9)
    np.testing.assert_allclose(conjugate(lambda v: matrix @ v, lambda v: np.linalg.solve(matrix, v), r) @ matrix, r)


@pytest.mark.parametrize("radius", [3.0, 40.0])
def test_multiplier(radius: float) -> None:
    """‖u(λ)‖ = 2·ln(1 + 1/λ) is met; λ never moves too far, nor below a ridge."""
    o, unit, none = problem(Logistic(), L2Ball(radius)), np.eye(1, D)[0], np.zeros(ROWS)
    multiplier = Multiplier(o, 10.0)
    for _ in range(40):
        before = multiplier.lam
        multiplier.follow(2.0 * math.log1p(1.0 / before) * unit, none)
        assert 1 / path.FALL * (1 - 1e-9) <= multiplier.lam / before <= path.FALL * (1 + 1e-9)
    assert 2.0 * math.log1p(1.0 / multiplier.lam) == pytest.approx(radius, rel=1e-6)
    ridged = Multiplier(replace(o, kappa=0.5), 1.0)
    ridged.follow(0.1 * unit, none)
    assert ridged.lam == 0.5


def test_the_path_leads_on() -> None:
    """Where u is linear in ln λ the guess is exact; a guess that is worse than u is not taken."""
    o = problem(Logistic(), L2Ball(50.0))
    x = dense(o)
    way: Vector = np.asarray(np.linalg.lstsq(x, o.y, rcond=None)[0], np.float64)
    multiplier = Multiplier(o, 1e-9)
    places = [math.log(multiplier.lam)]
    first = multiplier.follow(way, x @ way)
    np.testing.assert_array_equal(first[0], way)
    places.append(math.log(multiplier.lam))
    ahead, scores = multiplier.follow(2 * way, 2 * x @ way)
    grown = 2 + (math.log(multiplier.lam) - places[1]) / (places[1] - places[0])
    assert grown > 2.5
    np.testing.assert_allclose(ahead, grown * way)
    np.testing.assert_allclose(scores, x @ ahead, atol=1e-9)
    back = Multiplier(o, 1e-9)
    back.follow(-way, -x @ way)
    np.testing.assert_array_equal(back.follow(-2 * way, -2 * x @ way)[0], -2 * way)


def test_who_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ascent hands on where λ has fallen far, and not where the ball is near; the answer is there either way."""
    monkeypatch.setattr(package, "DENSE", 10)
    called: list[float] = []

    def watched(*args: Any) -> None:
        called.append(args[0].radius)
        follow(*args)

    monkeypatch.setattr(package, "follow", watched)
    for radius in (0.1, 50.0):
        found = solve(problem(Logistic(), L2Ball(radius)), 1e-4)
        assert found.gap <= 1e-4 * (1 + found.value)
    assert called == [50.0]
