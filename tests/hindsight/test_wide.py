"""The methods for more coordinates than rows, against dense references: their answers, and gaps that hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import brentq, linprog

from lowregret import Absolute, EpsilonInsensitive, Hinge, L2Ball, Logistic, Loss, Quantile, Reals, Square
from lowregret.domain import Domain
from lowregret.hindsight import interior, krylov, precondition
from lowregret.hindsight.best import solve
from lowregret.hindsight.cluster import clusters
from lowregret.hindsight.coordinate import ascend, side_by_side
from lowregret.hindsight.gather import as_matrix
from lowregret.hindsight.interior import Kinks, has_one_kink, inside
from lowregret.hindsight.krylov import in_subspaces
from lowregret.hindsight.newton import newton
from lowregret.hindsight.objective import Incumbent, Objective, score
from lowregret.rows import as_rows
from lowregret.types import Vector

ROWS, D = 60, 90


def silent(*_: float) -> None:
    pass


def problem(
    loss: Loss, domain: Domain, kappa: float = 0.0, shape: tuple[int, int] = (ROWS, D), spread: float = 2.0
) -> Objective:
    """Sparse rows of very different sizes; the first two contradict each other."""
    rng = np.random.default_rng(5)
    x: Any = np.array(sp.random_array(shape, density=0.2, rng=rng).todense()) * np.exp(
        spread * rng.normal(size=(shape[0], 1))
    )
    y = np.where(rng.random(shape[0]) < 0.5, 1.0, -1.0)
    x[1], y[1] = x[0], -y[0]
    c = rng.integers(1, 4, shape[0]).astype(float)
    return Objective(loss, as_rows(sp.csr_array(x)), y, c, domain, kappa, compiled=False)


def dense(o: Objective) -> Vector:
    return np.array([o.scores(unit) for unit in np.eye(o.dimension)]).T


def least_squares(o: Objective) -> float:
    """The least F of the square loss: an eigendecomposition, and the multiplier by Brent's method."""
    x = dense(o)
    values, vectors = np.linalg.eigh(x.T @ (o.c[:, None] * x))
    parts = vectors.T @ (x.T @ (o.c * o.y))

    def point(mu: float) -> Vector:
        kept = values + mu > 1e-9 * values[-1]
        return np.asarray(vectors[:, kept] @ (parts[kept] / (values[kept] + mu)))

    u = point(o.kappa / 2)
    if np.linalg.norm(u) > o.radius:
        mu = brentq(lambda m: float(np.linalg.norm(point(math.exp(m)))) - o.radius, -18.0, 30.0, xtol=1e-14)
        u = point(math.exp(mu))
    return float(o.c @ (x @ u - o.y) ** 2) + o.kappa / 2 * float(u @ u)


def check(o: Objective, best: Incumbent, tolerance: float, truth: float) -> None:
    assert best.near(tolerance)
    assert best.bound <= truth * (1 + 1e-9) + 1e-9
    assert best.value >= truth * (1 - 1e-9) - 1e-9
    assert o.domain.contains(best.point)
    assert best.value == pytest.approx(o.value(best.point, dense(o) @ best.point), rel=1e-9)


SQUARES: list[tuple[Domain, float]] = [
    (L2Ball(0.3), 0.0),
    (L2Ball(1e3), 0.0),
    (L2Ball(0.3), 0.5),
    (L2Ball(1e3), 2.0),
    (Reals(), 2.0),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("domain", "kappa"), SQUARES, ids=repr)
@pytest.mark.parametrize("shape", [(ROWS, D), (D, ROWS)])
@pytest.mark.parametrize("steps", [2, 200])
def test_squares(
    monkeypatch: pytest.MonkeyPatch, domain: Domain, kappa: float, shape: tuple[int, int], steps: int
) -> None:
    """By the process alone, and with a preconditioned subspace after two steps of it."""
    monkeypatch.setattr(krylov, "STEPS", steps)
    o, best = problem(Square(), domain, kappa, shape=shape), Incumbent(np.zeros(shape[1]))
    in_subspaces(o, best, 1e-5, silent)
    check(o, best, 1e-5, least_squares(o))


def test_some_columns_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(krylov, "STEPS", 2)
    monkeypatch.setattr(precondition, "ROWS", 0)
    monkeypatch.setattr(precondition, "COLUMNS", 20)
    o, best = problem(Square(), L2Ball(0.5)), Incumbent(np.zeros(D))
    in_subspaces(o, best, 1e-5, silent)
    check(o, best, 1e-5, least_squares(o))


@pytest.mark.parametrize("columns", [20, D])
def test_preconditioners(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """Exact with all rows or all columns; else that of the columns kept and the diagonal of the others."""
    o = problem(Square(), L2Ball(1.0))
    x, r = np.sqrt(o.c)[:, None] * dense(o), np.random.default_rng(1).normal(size=ROWS)
    whole = precondition.Preconditioner(o).inverse(0.1)(r)
    np.testing.assert_allclose(whole, np.linalg.solve(x @ x.T + 0.1 * np.eye(ROWS), r), rtol=1e-6, atol=1e-9)
    monkeypatch.setattr(precondition, "ROWS", 0)
    monkeypatch.setattr(precondition, "COLUMNS", columns)
    order = np.argsort(-np.sum(x * x, axis=0))
    top, rest = x[:, order[:columns]], x[:, order[columns:]]
    matrix = top @ top.T + np.diag(np.sum(rest * rest, axis=1) + 0.1)
    part = precondition.Preconditioner(o).inverse(0.1)(r)
    np.testing.assert_allclose(part, np.linalg.solve(matrix, r), rtol=1e-6, atol=1e-9)


def alike(rng: np.random.Generator, families: int = 8, members: int = 12, shape: int = 150) -> Any:
    """Families of counted words: rows of a family differ in a few words, others only a single row has."""
    common = rng.poisson(0.2, (families, shape)) * rng.integers(1, 30, (families, 1))
    rows = np.repeat(common, members, axis=0) + (rng.random((families * members, shape)) < 0.02)
    own = np.diag((rng.random(families * members) < 0.4).astype(float))
    return sp.csr_array(np.hstack([rows, own]))


def test_clusters() -> None:
    """Families are found, no set is too large, no row is lost; what is compiled finds the same."""
    x = alike(np.random.default_rng(4))
    found = clusters(x, 24, compiled=True)
    assert sorted(np.concatenate(found).tolist()) == list(range(x.shape[0]))
    assert max(block.size for block in found) <= 24
    home = np.empty(x.shape[0], dtype=int)
    for k, block in enumerate(found):
        home[block] = k
    assert all(np.unique(family).size == 1 for family in home.reshape(-1, 12))
    for one, other in zip(found, clusters(x, 24, compiled=False), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [block.size for block in clusters(sp.csr_array((5, 3)), 2, compiled=False)] == [2, 2, 1]


def test_preconditioner_with_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precondition, "ROWS", 0)
    monkeypatch.setattr(precondition, "COMMONEST", 20)
    monkeypatch.setattr(precondition, "BLOCK", 24)
    x, rng = alike(np.random.default_rng(4)), np.random.default_rng(1)
    n = x.shape[0]
    o = Objective(Square(), as_rows(x), np.ones(n), rng.integers(1, 4, n).astype(float), L2Ball(1.0), compiled=False)
    found = precondition.Preconditioner(o)
    assert found.refine()
    assert not found.refine()
    scaled = np.sqrt(o.c)[:, None] * x.toarray()
    order = np.argsort(-np.count_nonzero(scaled, axis=0), kind="stable")
    top, rest = scaled[:, order[:20]], scaled[:, order[20:]]
    same = np.zeros((n, n))
    for block in found.blocks:
        same[np.ix_(block, block)] = 1.0
    r = rng.normal(size=n)
    truth = np.linalg.solve(top @ top.T + same * (rest @ rest.T) + 0.01 * np.eye(n), r)
    np.testing.assert_allclose(found.inverse(0.01)(r), truth, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("domain", "kappa"), [(L2Ball(4.0), 0.0), (Reals(), 1e-4)], ids=repr)
def test_a_tiny_multiplier(monkeypatch: pytest.MonkeyPatch, domain: Domain, kappa: float) -> None:
    """Rows that are alike, words of a single row, a multiplier far below the rows' squares: blocks take over."""
    for name, value in {"STEPS": 2, "PATIENCE": 5}.items():
        monkeypatch.setattr(krylov, name, value)
    for name, value in {"ROWS": 0, "COLUMNS": 5, "COMMONEST": 10, "BLOCK": 24}.items():
        monkeypatch.setattr(precondition, name, value)
    rng = np.random.default_rng(4)
    x = alike(rng)
    y = np.where(rng.random(x.shape[0]) < 0.5, 1.0, -1.0)
    o, best = Objective(Square(), as_rows(x), y, np.ones(y.size), domain, kappa), Incumbent(np.zeros(x.shape[1]))
    steps: list[float] = []
    in_subspaces(o, best, 1e-5, lambda k, *_: steps.append(k))
    check(o, best, 1e-5, least_squares(o))
    assert steps[-1] < 60


def test_labels_that_are_zero() -> None:
    o = problem(Square(), L2Ball(1.0))
    o.y = np.zeros(ROWS)
    found = solve(o, 1e-6)
    assert found.value == found.gap == 0.0


KINKED: list[Loss] = [Hinge(), Hinge(0.5), Absolute(), Quantile(0.2)]


def least_kinked(o: Objective) -> float:
    """The least Σ c_i ℓ over all of space: a linear programme."""
    x, kinks = dense(o), Kinks(o)
    slopes = [np.concatenate([side[:, None] * x, -np.eye(ROWS)], axis=1) for side in (kinks.low, kinks.high)]
    limits = np.concatenate([kinks.low * kinks.at, kinks.high * kinks.at])
    cost = np.concatenate([np.zeros(D), np.ones(ROWS)])
    found = linprog(cost, np.concatenate(slopes), limits, bounds=(None, None))
    assert found.fun is not None
    return float(found.fun)


@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_one_kink(loss: Loss) -> None:
    o, best = problem(loss, L2Ball(100.0), spread=0.3), Incumbent(np.zeros(D))
    assert has_one_kink(o)
    inside(o, best, np.zeros(ROWS), 1e-5, silent)
    check(o, best, 1e-5, least_kinked(o))


@pytest.mark.parametrize("domain", [Reals(), L2Ball(1e3)], ids=repr)
@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_one_kink_with_a_ridge(loss: Loss, domain: Domain) -> None:
    o, best, rng = problem(loss, domain, 0.5), Incumbent(np.zeros(D)), np.random.default_rng(3)
    inside(o, best, np.zeros(ROWS), 1e-6, silent)
    assert best.near(1e-6)
    x = dense(o)
    for scale in np.geomspace(1e-5, 1.0, 100):
        u = best.point + scale * rng.normal(size=D)
        assert o.value(u, x @ u) >= best.bound


@pytest.mark.parametrize("loss", KINKED, ids=repr)
@pytest.mark.parametrize("radius", [0.01, 0.1, 1.0])
def test_one_kink_in_a_ball_in_reach(loss: Loss, radius: float) -> None:
    """The multiplier moves to where the minimiser is on the sphere, as dual ascent and Newton's method find."""
    o, best = problem(loss, L2Ball(radius), spread=0.3), Incumbent(np.zeros(D))
    inside(o, best, np.zeros(ROWS), 1e-7, silent)
    assert best.near(1e-7)
    assert o.domain.contains(best.point)
    other = Incumbent(np.zeros(D))
    newton(o, other, ascend(o, other, 1e-6, 100, silent), 1e-6, silent)
    assert other.near(1e-6)
    assert best.value == pytest.approx(other.value, rel=2e-6)


@pytest.mark.parametrize("radius", [0.5, 100.0])
def test_one_kink_on_the_rows_that_matter(radius: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer rows than there are, chosen by a point that is not good, and then more: the answer is that of all rows."""
    rng, sizes = np.random.default_rng(8), []
    y = np.where(rng.random(ROWS) < 0.5, 1.0, -1.0)
    x = rng.normal(size=(ROWS, D)) + 9.0 * rng.random((ROWS, 1)) * y[:, None] * np.eye(1, D)
    x[1], y[1] = x[0], -y[0]
    o = Objective(Hinge(), as_rows(x), y, np.ones(ROWS), L2Ball(radius), compiled=False)
    best = Incumbent(0.5 * np.eye(1, D)[0])
    on_all = interior.on_all

    def watched(part: Objective, *rest: Any) -> None:
        sizes.append(part.rows)
        on_all(part, *rest)

    monkeypatch.setattr(interior, "on_all", watched)
    inside(o, best, np.zeros(ROWS), 1e-6, silent)
    assert best.near(1e-6)
    assert sizes[0] < ROWS
    assert sizes == sorted(sizes)
    whole = Incumbent(np.zeros(D))
    on_all(o, whole, 1e-6, silent)
    assert best.value == pytest.approx(whole.value, rel=2e-6)
    assert best.bound <= whole.value


@pytest.mark.parametrize("form", [sp.csr_array, np.asarray], ids=["sparse", "dense"])
def test_rows_side_by_side(form: Any) -> None:
    rng = np.random.default_rng(4)
    x: Any = rng.normal(size=(9, 12)) * (rng.random((9, 12)) < 0.2)
    rows, whole = np.array([1, 4, 8]), as_rows(form(x))
    part, columns = side_by_side(whole, as_matrix(whole), rows)
    v, p = rng.normal(size=12), np.empty(3)
    score.py_func(part, v[columns], p)  # type: ignore[attr-defined]
    np.testing.assert_allclose(p, x[rows] @ v, rtol=1e-12)
    assert part.shape == (3, v[columns].size)


def test_which_losses_have_one_kink() -> None:
    for loss in (EpsilonInsensitive(0.3), Logistic(), Square()):
        assert not has_one_kink(problem(loss, L2Ball(1.0)))
    assert not has_one_kink(problem(Hinge(), L2Ball(1.0), shape=(D, ROWS)))
    o = problem(Quantile(0.2), L2Ball(1.0))
    kinks, p = Kinks(o), np.random.default_rng(2).normal(size=ROWS)
    far = p - kinks.at
    losses = [c * o.loss.at(s, y)[0] for c, s, y in zip(o.c, p, o.y, strict=True)]
    np.testing.assert_allclose(np.maximum(kinks.low * far, kinks.high * far), losses, rtol=1e-9)
