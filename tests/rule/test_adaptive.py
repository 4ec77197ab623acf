"""Adaptive and parameter-free rules: what is special about each, and what their theorems must refuse to say."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from lowregret import zoo
from lowregret.certificate import Certificate, certificates
from lowregret.certificate.betting import freegrad_conjugate, kt_conjugate
from lowregret.domain import Box, L2Ball, Point
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.loss import Cost, Hinge, Logistic, Square
from lowregret.rule import AROW, COCOB, KT, NAG, AdaGrad, DiagonalNewton, FreeGrad, FTRLProximal, Rule
from lowregret.run.linear import LinearRun
from lowregret.train import train
from tests.compositions import rows_for
from tests.laws import sequences
from tests.laws.comparators import hindsight
from tests.naive import Matrix, Vector

RULES: dict[str, Rule] = {
    "adagrad": AdaGrad(0.7),
    "newton-diagonal": DiagonalNewton(0.5, 2.0),
    "ftrl-proximal": FTRLProximal(0.5, 0.5, 0.3, 0.2),
    "kt": KT(5.0, 1.0),
    "freegrad": FreeGrad(0.5),
    "cocob": COCOB(10.0),
    "nag": NAG(0.3),
    "arow": AROW(1.5),
}
EACH = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def scores(rule: Rule, X: Matrix, y: Vector) -> Vector:
    return train(Linear(Hinge(), rule), X, y, compiled=False).scores


def margins(n: int = 80, d: int = 6, seed: int = 3) -> tuple[Matrix, Vector]:
    rows = rows_for("margin", n, d, seed)
    return rows.X, rows.y


# ---- invariances -----------------------------------------------------------------------------------------------------


@EACH
def test_the_order_of_features_does_not_matter(rule: Rule) -> None:
    X, y = margins()
    order = np.random.default_rng(0).permutation(X.shape[1])
    np.testing.assert_allclose(scores(rule, X[:, order], y), scores(rule, X, y), rtol=1e-9, atol=1e-9)


@EACH
def test_features_that_are_always_zero_do_not_matter(rule: Rule) -> None:
    X, y = margins()
    wider = np.zeros((len(X), 9))
    wider[:, [0, 2, 3, 5, 6, 8]] = X
    narrow, wide = (train(Linear(Hinge(), rule), sp.csr_matrix(x), y, compiled=False) for x in (X, wider))
    assert narrow.scores.tobytes() == wide.scores.tobytes()
    assert np.all(wide.point[[1, 4, 7]] == 0)


SHIFTS = 2.0 ** np.array([3, -7, 0, 20, -1, 11])


def test_normalised_steps_ignore_units_to_the_last_bit() -> None:
    X, y = margins()
    for loss in (Logistic(), Hinge(), Square()):
        learner = Linear(loss, NAG(0.5))
        one, other = (train(learner, x, y, compiled=False) for x in (X, X * SHIFTS))
        assert one.scores.tobytes() == other.scores.tobytes()
        assert (one.point / SHIFTS).tobytes() == other.point.tobytes()
    odd = np.array([3.0, 0.1, 7e5, 1e-6, 1.7, 42.0])
    np.testing.assert_allclose(scores(NAG(0.5), X * odd, y), scores(NAG(0.5), X, y), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rule", [AdaGrad(0.7), FreeGrad(0.5), COCOB(10.0)], ids=repr)
def test_the_size_of_sub_gradients_does_not_matter(rule: Rule) -> None:
    """Of each coordinate on its own: w_t stays the same to the last bit."""
    Z, _ = margins()
    one, other = (train(Linear(Cost(), rule), z, np.ones(len(Z)), compiled=False) for z in (Z, Z * SHIFTS))
    assert one.point.tobytes() == other.point.tobytes()


def test_other_rules_do_depend_on_units() -> None:
    X, y = margins()
    for name in ("newton-diagonal", "ftrl-proximal", "kt", "arow"):
        assert not np.allclose(scores(RULES[name], X * SHIFTS, y), scores(RULES[name], X, y))


# ---- FTRL-Proximal ---------------------------------------------------------------------------------------------------


def test_ftrl_proximal_without_penalties_is_adagrad() -> None:
    X, y = margins(200)
    for eta, beta in ((0.7, 0.0), (0.3, 0.5)):
        left, right = (
            train(Linear(Logistic(), rule), X, y, compiled=False)
            for rule in (FTRLProximal(eta, beta, 0, 0), AdaGrad(eta, beta=beta))
        )
        np.testing.assert_allclose(left.scores, right.scores, rtol=1e-9, atol=1e-12)
        u = Point(np.linspace(-1, 1, 6))
        one, other = (next(iter(certificates(run.learner, run.state, u))) for run in (left, right))
        assert one.bound == pytest.approx(other.bound, rel=1e-9)


def test_a_larger_l1_penalty_leaves_fewer_weights() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    y = np.sign(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=400))
    counts = [
        np.count_nonzero(train(zoo.ftrl_proximal(Logistic(), l1=l1), X, y, compiled=False).weights)
        for l1 in (0.0, 3.0, 10.0, 30.0, 1e6)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == 30
    assert counts[-1] == 0
    assert 2 <= counts[3] <= 10


# ---- betting ---------------------------------------------------------------------------------------------------------


sizes = st.floats(-6, 6).map(lambda x: 10.0**x)


@given(v=sizes, h=sizes, side=st.floats(-1, 1), g=st.floats(-20, 20), u=st.sampled_from([1.0, -1.0]))
@settings(max_examples=300)
def test_the_potential_of_freegrad_never_outgrows_the_wealth(
    v: float, h: float, side: float, g: float, u: float
) -> None:
    """Φ(G − ẑ, V + ẑ², h) ≤ Φ(G, V, h) − ẑΦ'(G) for |ẑ| ≤ h, whatever V and h are."""

    def log_potential(x: float, squares: float) -> float:
        return -0.5 * math.log(squares) + x * x / (2 * squares + 2 * h * abs(x))

    z, total = side * h, u * abs(g) * math.sqrt(v)
    far = v + h * abs(total)
    relative = total * (2 * v + h * abs(total)) / (2 * far * far)  # Φ'/Φ
    growth = log_potential(total - z, v + z * z) - log_potential(total, v)
    assert math.exp(growth) <= 1 - z * relative + 1e-9


@pytest.mark.parametrize("u", [0.0, 1e-6, 0.3, 1.0, 7.0, 1e3])
@pytest.mark.parametrize("n", [1, 2, 9, 60])
def test_the_conjugate_of_kt_betting(u: float, n: int) -> None:
    def loss(x: float) -> float:
        return (
            0.5 * 2.0**n * math.gamma((n + 1 + x) / 2) * math.gamma((n + 1 - x) / 2) / (math.pi * math.factorial(n))
            - u * x
        )

    best = min(minimize_scalar(loss, bounds=(0, n), method="bounded", options={"xatol": 1e-11}).fun, loss(0), loss(n))
    assert kt_conjugate(np.array([u]), np.array([float(n)]), 0.5)[0] == pytest.approx(-best, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("u", [1e-6, 0.3, 1.0, 50.0, 1e6])
@pytest.mark.parametrize(("v", "h"), [(2.0, 1.0), (500.0, 1.0), (2.0, 80.0), (1e6, 3.0), (1e6, 1e4)])
def test_the_conjugate_of_freegrad(u: float, v: float, h: float) -> None:
    x = np.concatenate([[0.0], np.geomspace(1e-6, 1e9, 2_000_001)])
    with np.errstate(over="ignore"):
        best = np.max(u * x - 0.1 / math.sqrt(v) * np.exp(x * x / (2 * v + 2 * h * x)))
    share, root = np.array([-math.log(h)]), np.array([0.5 * math.log(v) - math.log(h)])  # h₁ = 1
    found = h * freegrad_conjugate(np.array([u]), share, root, 0.1)[0]
    assert found == pytest.approx(best, rel=1e-7)
    assert found >= best - 1e-12 * abs(best) - 1e-15


def test_the_conjugate_of_freegrad_where_squares_hardly_are_any() -> None:
    """√V/h may be 1e-150, of which no number is the fourth power: a warning of NumPy stood amid what a command said."""
    share, root = np.zeros(2), np.full(2, -345.0)
    found = freegrad_conjugate(np.array([0.0, 1e-320]), share, root, 1.0)
    assert np.all(found <= 0)


def test_freegrad_after_a_sub_gradient_that_is_hardly_one() -> None:
    """h exceeds h₁ by 200 orders of magnitude: no overflow, and the bound still holds."""
    for first in (1e-200, 1e-30, 1e-3):
        Z = np.ones((50, 1)) * np.where(np.arange(50) % 5 == 0, -1.0, 1.0)[:, None]
        Z[0] = first
        run = train(Linear(Cost(), FreeGrad(1.0)), Z, np.ones(50), compiled=False)
        assert np.isfinite(run.scores).all()
        for u in (-1e3, 0.0, 1e3):
            found = certificates(run.learner, run.state, Point([u]))[0]
            assert found.holds
            assert math.isfinite(found.bound)


def test_kt_refuses_to_certify_sub_gradients_beyond_its_bound() -> None:
    X, y = margins()
    run = train(zoo.kt(Hinge(), 0.5), X, y, compiled=False)
    for found in run.certificates:
        assert not found.premises_hold
        assert found.premises[1].observed == pytest.approx(float(np.max(np.abs(run_gradients(X, y, run)))))
        assert not found.holds
    assert all(c.holds for c in train(zoo.kt(Hinge(), 5.0), X, y, compiled=False).certificates)


def run_gradients(X: Matrix, y: Vector, run: LinearRun) -> Matrix:
    return np.where((y * run.scores < 1)[:, None], X, 0.0)


def test_betting_grows_without_a_rate() -> None:
    """A constant gradient: the weight grows exponentially, where a rate would let it grow like √t."""
    for rule in (KT(1.0, 1.0), FreeGrad(1.0)):
        run = train(Linear(Cost(), rule), -np.ones((60, 1)), np.ones(60), compiled=False)
        assert run.point[0] > 1000
        assert run.certificate.holds
    adagrad = train(zoo.adagrad(Cost()), -np.ones((60, 1)), np.ones(60), compiled=False)
    assert adagrad.point[0] < 20


# ---- real data, and bounds that tell something -----------------------------------------------------------------------


REAL = {name: RULES[name] for name in ("adagrad", "newton-diagonal", "ftrl-proximal", "freegrad")} | {
    "kt": KT(1.0, 1.0)
}


def nested(run: LinearRun, regret: float) -> list[Certificate]:
    for found in run.certificates:
        assert found.linear_regret is not None
        assert regret <= found.linear_regret + 1e-6 * (1 + abs(regret))
        assert found.holds
    return run.certificates


@pytest.mark.parametrize("rule", REAL.values(), ids=REAL)
def test_nested_on_real_rows(rule: Rule, data_file: Callable[[str], Path]) -> None:
    stream, ball = sequences.read_svm(data_file("a9a.svm.gz"), 120), L2Ball(2.0)
    left, lengths, _ = np.linalg.svd(stream.x.toarray(), full_matrices=False)
    best = hindsight(Hinge(), left * lengths, stream.y, np.ones(120), ball)
    run = train(Linear(Hinge(), rule), stream.x, stream.y, comparator=ball, compiled=False)
    nested(run, run.loss - best.upper)
    market = sequences.read_elec2(data_file("elec2.csv.gz"), 300)
    scaled, box = market.x / np.max(np.abs(market.x), axis=0), Box(-1.0, 1.0)
    best = hindsight(Hinge(), scaled, market.y, np.ones(300), box)
    run = train(Linear(Hinge(), rule), scaled, market.y, comparator=box, compiled=False)
    nested(run, run.loss - best.upper)


def test_the_bound_of_adagrad_grows_like_the_root_of_the_rounds() -> None:
    X, y = margins(1600, 4)
    bounds = [
        train(zoo.adagrad(Hinge()), X[:n], y[:n], compiled=False).certificate.bound / math.sqrt(n)
        for n in (100, 400, 1600)
    ]
    assert max(bounds) < 2 * min(bounds)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AdaGrad(0.0), "eta must be a positive number"),
        (lambda: AdaGrad(1.0, beta=-1.0), "beta must be"),
        (lambda: AdaGrad(domain=L2Ball(1.0)), "each coordinate moves on its own"),
        (lambda: FTRLProximal(-1.0), "alpha must be"),
        (lambda: FTRLProximal(l1=-1.0), "l1 must be"),
        (lambda: DiagonalNewton(1.0, 0.0), "epsilon must be"),
        (lambda: KT(0.0), "clip must be"),
        (lambda: FreeGrad(-1.0), "wealth must be"),
        (lambda: COCOB(0.0), "alpha must be"),
        (lambda: NAG(math.inf), "eta must be"),
        (lambda: AROW(0.0), "r must be"),
        (lambda: Linear(Hinge(), AdaGrad(), ridge=1.0), "ridge needs a rule that can shrink w"),
    ],
)
def test_refusals(make: Callable[[], object], message: str) -> None:
    with pytest.raises(PartError, match=message):
        make()
