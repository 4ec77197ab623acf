"""Mirror maps in compiled loops: one aggregate and a common factor stand for the whole vector, whatever the stream."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lowregret.domain import Box, Domain, Intersection, L1Ball, L2Ball, Orthant, Reals, Simplex, Spectrahedron
from lowregret.learner.linear import Linear
from lowregret.loss import Cost
from lowregret.mirror import Entropic, Entropy, Euclidean, Mirror, PNorm, UnnormalisedEntropy
from lowregret.mirror.entropy import OFFSET
from lowregret.mirror.pnorm import UNIT
from lowregret.output import Average
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.rule.mirror_descent import RATE
from lowregret.state import ENERGY, MASS, State
from lowregret.step import Constant, InverseSqrt, Step
from tests.naive import Matrix, Vector
from tests.running import bits, costs, labelled, learn, model, point

D = 6
MIRRORS: list[Mirror] = [
    Euclidean(Reals()),
    Euclidean(L2Ball(0.5)),
    Euclidean(L1Ball(2.0)),
    Euclidean(Simplex()),
    Euclidean(Box(-0.5, np.linspace(-0.5, 2.0, D))),
    Euclidean(Orthant()),
    PNorm(2.0),
    PNorm(3.0),
    PNorm(30.0),
    Entropy(),
    Entropy(3.0),
    UnnormalisedEntropy(0.2),
]
each = pytest.mark.parametrize("mirror", MIRRORS, ids=repr)


def learner(mirror: Mirror, step: Step) -> Linear:
    return Linear(Cost(), MirrorDescent(mirror, step), Average())


def exact_mass(mirror: Mirror, s: State) -> float:
    """MASS from θ alone, summed without rounding."""
    theta, factor, eta = (
        s.theta.tolist(),
        float(s.sums[UNIT if isinstance(mirror, PNorm) else OFFSET]),
        float(s.sums[RATE]),
    )
    match mirror:
        case PNorm(p):
            return math.fsum(abs(x / factor) ** p for x in theta)
        case Entropic():
            return math.fsum(math.exp(eta * x - factor) for x in theta)
    return math.fsum(x * x for x in theta)


def assert_exact(mirror: Mirror, step: Step, s: State) -> None:
    """MASS, and w = scale·raw, are what θ says, to nine digits."""
    assert s.sums[MASS] == pytest.approx(exact_mass(mirror, s), rel=1e-9, abs=1e-300)
    w = point(learner(mirror, step), s)
    expected = mirror.link(s.sums[RATE] * s.theta)
    np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max() + 1e-305)


def excursions(rng: np.random.Generator, high: float) -> Iterator[Matrix]:
    """Blocks of cost vectors: a walk, a surge to `high`, a rest there, the way back to 0, and sparse noise."""
    walk = rng.normal(size=(300, D)) * high / 100
    yield walk
    yield np.full((50, D), -high / 50) * rng.uniform(0.5, 1.0, D)
    rest = rng.normal(size=(20_000, D)) * high / 1000
    yield np.diff(rest, axis=0, prepend=0.0)
    yield np.tile(np.full(D, high / 40), (40, 1)) * rng.uniform(0.5, 1.0, D)
    yield rng.normal(size=(300, D)) * high * 1e-6 * (rng.random((300, D)) < 0.3)


@pytest.mark.sampled(3)
@each
@pytest.mark.parametrize("high", [1e-3, 1.0, 30.0])
def test_after_excursions(mirror: Mirror, high: float) -> None:
    step = Constant(0.7)
    s = learner(mirror, step).start(D)
    assert_exact(mirror, step, s)
    for block in excursions(np.random.default_rng(0), high):
        learn(learner(mirror, step), costs(block), state=s)
        assert_exact(mirror, step, s)
        back = costs(s.theta[None].copy())  # exactly to θ = 0
        home = s.copy()
        learn(learner(mirror, step), back, state=home)
        assert not np.any(home.theta)
        assert_exact(mirror, step, home)


@each
def test_the_peak_leaves_no_trace(mirror: Mirror) -> None:
    """A long stay on high, then a slow descent: the rounding of the peak must not show below."""
    rng = np.random.default_rng(1)
    high, step = (12.0 if isinstance(mirror, Entropic) else 1000.0), Constant(1.0)
    s = learner(mirror, step).start(D)
    rest = np.diff(rng.normal(size=(200_000, D)) * high / 100, axis=0, prepend=0.0)
    learn(learner(mirror, step), costs(np.vstack([np.full((1, D), -high), rest])), state=s)
    fall = np.linspace(high, 0.01, 60) if isinstance(mirror, Entropic) else np.geomspace(high, 1.0, 60)
    for z in -np.diff(fall):
        learn(learner(mirror, step), costs(np.full((1, D), z)), state=s)
        assert_exact(mirror, step, s)


@each
@settings(max_examples=20)
@given(
    signs=hnp.arrays(np.float64, (12, D), elements=st.sampled_from([-1.0, 0.0, 1.0])),
    exponents=hnp.arrays(np.float64, (12, 1), elements=st.floats(-90, 90)),
)
def test_wild_rows_compiled_and_interpreted(mirror: Mirror, signs: Matrix, exponents: Matrix) -> None:
    """Rows of sizes 1e-90 … 1e90 in any order: no exception, no 0/0, the same bits compiled and interpreted."""
    rows = costs(signs * 10**exponents)
    subject = learner(mirror, Constant(0.5))
    with np.errstate(over="ignore", invalid="ignore"):  # out of range means inf, compiled or not
        compiled, interpreted = learn(subject, rows), learn(subject, rows, compiled=False)
    assert compiled.stopped == interpreted.stopped
    assert bits(compiled.state) == bits(interpreted.state)
    if isinstance(mirror, UnnormalisedEntropy):  # its weights may truly be infinite
        return
    assert compiled.stopped == len(rows.y)
    assert_exact(mirror, Constant(0.5), compiled.state)
    assert np.isfinite(model(subject, compiled.state)).all()


@pytest.mark.parametrize("p", [2.0, 3.0, 30.0])
def test_pnorm_from_the_smallest_to_the_largest(p: float) -> None:
    """|θ| from 1e-200 to 1e200 and back: a small rate keeps the scores in range."""
    step, mirror = Constant(1e-100), PNorm(p)
    s = learner(mirror, step).start(D)
    direction = np.array([[1.0, -0.5, 0.25, 0.0, 1e-3, 1.0]])
    for exponent in [*range(-200, 201, 20), *range(200, -201, -20)]:
        learn(learner(mirror, step), costs(10.0**exponent * direction), state=s)
        assert_exact(mirror, step, s)
        learn(learner(mirror, step), costs(s.theta[None] * (1 - 1e-12)), state=s)
        assert_exact(mirror, step, s)


@pytest.mark.parametrize("p", [2.0, 3.0, 30.0])
def test_pnorm_measures_gradients_far_smaller_than_their_sum(p: float) -> None:
    rng = np.random.default_rng(0)
    Z = np.vstack([np.full((1, D), 1e8), rng.normal(size=(50, D)), rng.normal(size=(50, D)) * 1e-30])
    s = learn(learner(PNorm(p), Constant(0.1)), costs(Z)).state
    head = learn(learner(PNorm(p), Constant(0.1)), costs(Z[1:51])).state
    tail = learn(learner(PNorm(p), Constant(0.1)), costs(Z[51:])).state
    for state, rows in ((s, Z), (head, Z[1:51]), (tail, Z[51:])):
        assert state.sums[ENERGY] == pytest.approx(np.sum(np.linalg.norm(rows, p, axis=1) ** 2), rel=1e-12)


def adversaries() -> dict[str, Matrix]:
    """Cost sequences of length 1e5 against exponential weights."""
    T = 100_000
    t = np.arange(T)
    turn = np.zeros((T, D))
    turn[t, t % D] = 50.0
    leader = np.zeros((T, D))
    leader[t, np.minimum(t // (T // D), D - 1)] = 1.0
    return {
        "all weights fall together": np.ones((T, D)),
        "all weights rise together": -np.ones((T, D)),
        "one is always cheaper": np.ones((T, D)) - np.eye(D)[0],
        "each in turn is struck out": turn,
        "the leader is struck until it is last": leader,
        "blows of 1000, up and down": np.where(t[:, None] % 2 == 0, 1000.0, -1000.0) * np.ones(D),
        "blows to one, then to the others": np.where((t[:, None] % 2 == 0) == (np.arange(D) == 0), 800.0, 0.0),
        "a blow out of range": np.where(t[:, None] == T // 2, 1e6, 0.0) * np.arange(D),
    }


@pytest.mark.parametrize("name", adversaries())
def test_exponential_weights_never_become_zero_over_zero(name: str) -> None:
    Z = adversaries()[name]
    step = Constant(1.0)
    run = learn(learner(Entropy(), step), costs(Z))
    assert run.stopped == len(Z)
    assert np.isfinite(run.scores).all()
    assert_exact(Entropy(), step, run.state)
    assert point(learner(Entropy(), step), run.state).sum() == pytest.approx(1.0, rel=1e-9)


@each
def test_a_changing_rate_and_idle_rounds(mirror: Mirror) -> None:
    """w_t = ∇R*(η_t θ_t) in every round, with and without a sub-gradient (a label of 0 makes the cost 0)."""
    rng = np.random.default_rng(0)
    step = InverseSqrt(2.0)
    s = learner(mirror, step).start(D)
    for t in range(1, 60):
        assert s.sums[RATE] == 2.0 / math.sqrt(t)
        assert_exact(mirror, step, s)
        label: Vector = np.array([0.0 if rng.random() < 0.5 else 1.0])
        learn(learner(mirror, step), labelled(rng.normal(size=(1, D)), label), state=s, compiled=False)


INTERPRETED: list[Domain] = [
    Spectrahedron(),
    Intersection((Simplex(), Box(0.0, 0.4))),
    Intersection((Orthant(), L2Ball())),
]


@pytest.mark.parametrize("domain", INTERPRETED, ids=repr)
def test_sets_that_are_not_compiled_run_interpreted(domain: Domain) -> None:
    assert not domain.compilable
    Z = np.random.default_rng(0).normal(size=(8, 4))
    lazy, eager = learner(Euclidean(domain), Constant(0.5)), Linear(Cost(), ProjectedGradient(domain, Constant(0.5)))
    s = learn(lazy, costs(Z), compiled=False).state
    np.testing.assert_allclose(point(lazy, s), domain.projection(-0.5 * Z.sum(axis=0)), atol=1e-9)
    w = domain.projection(np.zeros(4))
    for z in Z:
        w = domain.projection(w - 0.5 * z)
    np.testing.assert_allclose(point(eager, learn(eager, costs(Z), compiled=False).state), w, atol=1e-9)


def test_a_whole_set_stores_its_rate() -> None:
    assert Euclidean(Simplex()).stores_rate()
    assert not Euclidean(L2Ball(1.0)).stores_rate()
