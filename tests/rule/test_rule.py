"""Update rules at the edges of their number range, over long runs, and through rounds in which nothing happens."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lowregret import zoo
from lowregret.domain import Box, Domain, L1Ball, L2Ball, Orthant, Reals, Simplex
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.loss import Cost, Hinge
from lowregret.mirror import Entropy, Euclidean, Mirror, PNorm, UnnormalisedEntropy
from lowregret.output import Average
from lowregret.rule import Forgotten, MirrorDescent, ProjectedGradient, Rule
from lowregret.rule.projected_gradient import FACTOR
from lowregret.state import FIRST_RATE, LAST_RATE, MASS, PUSHES, REFRESH
from lowregret.step import Adaptive, Constant, InverseSqrt, InverseTime, Step, WeightedInverseTime
from tests import compositions, naive
from tests.compositions import COMPOSITIONS, Composition, Rows, rows_for
from tests.naive import Matrix, Vector
from tests.running import costs, iterates, labelled, learn, model, point


def near(a: Any, b: Any, tolerance: float = 1e-9) -> None:
    """Equal up to a share of the largest number."""
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.max(np.abs(b), initial=0.0))


def margins(n: int, d: int = 4, seed: int = 0) -> Rows:
    rows = rows_for("margin", n, d, seed)
    return labelled(rows.X, rows.y)


def interpreted(learner: Linear, rows: Rows) -> Vector:
    """The scores; by the laws of all compositions they are those of compiled code, which takes longer to make."""
    return learn(learner, rows, compiled=False).scores


def expected(run: naive.LinearRun, rows: Rows) -> Vector:
    return np.sum(run.iterates[:-1] * rows.X, axis=1)


def naive_eager(rows: Rows, project: naive.Projection, rate: naive.Rate, lam: float = 0.0) -> naive.LinearRun:
    return compositions.eager(naive.hinge, project, rate, lam)(rows.X, rows.y, np.ones(len(rows.y)))


# ---- w = a·v: when the scalar vanishes, changes sign, or underflows --------------------------------------------------


@pytest.mark.parametrize("lam", [0.5, 49.0, 0.1, 3.0, 1e-6, 1e6])
@pytest.mark.parametrize("on", [Reals(), L2Ball(0.7)])
def test_the_first_round_of_a_strongly_convex_schedule_forgets_the_start(lam: float, on: Domain) -> None:
    """1 − η₁λ is 0, or what rounding leaves of it (λ = 49: 1.1e-16)."""
    rows = margins(80)
    for step, rate in (
        (InverseTime(lam), naive.inverse_time(lam)),
        (WeightedInverseTime(lam), naive.weighted_inverse_time(lam)),
    ):
        learner = Linear(Hinge(), ProjectedGradient(on, step), ridge=lam)
        near(interpreted(learner, rows), expected(naive_eager(rows, on.projection, rate, lam), rows))


@pytest.mark.parametrize("product", [0.5, 1.0, 1.5, 2.5, 30.0])
def test_shrinking_by_any_factor(product: float) -> None:
    """1 − ηλ from ½ to −29; from 2 on only the ball keeps w from growing."""
    rows, eta = margins(120), 0.4
    learner = Linear(Hinge(), ProjectedGradient(L2Ball(0.7), Constant(eta)), ridge=product / eta)
    run = naive_eager(rows, naive.onto_l2_ball(0.7), naive.constant(eta), product / eta)
    near(interpreted(learner, rows), expected(run, rows))


def test_divergence_is_noticed() -> None:
    """1 − ηλ = −2 doubles w in every round: the score overflows, and the run stops."""
    learnt = learn(Linear(Hinge(), ProjectedGradient(Reals(), Constant(1.0)), Average(), ridge=3.0), margins(3000))
    assert 900 < learnt.stopped < 1100  # 2^1024 overflows
    assert np.isfinite(learnt.scores[: learnt.stopped]).all()


def test_a_step_that_overflows_is_noticed() -> None:
    """‖w − ηz‖² is not a number, so nobody knows the projection: 0 would be wrong."""
    learnt = learn(zoo.ogd_eager(Cost(), 1e200, 1.0), costs([[1.0, 2.0], [1.0, 0.0]]), compiled=False)
    assert learnt.stopped == 1


@pytest.mark.parametrize(("radius", "eta"), [(1e-3, 1.0), (1e-8, 1.0), (0.5, 1e6), (1e-30, 1e30), (1e3, 1e-3)])
def test_a_ball_that_binds_in_every_round(radius: float, eta: float) -> None:
    """The scalar falls by radius/η in each round, and underflows every few rounds unless it is multiplied in."""
    rows = margins(300)
    learner = zoo.ogd_eager(Hinge(), eta, radius)
    learnt = learn(learner, rows)
    run = naive_eager(rows, naive.onto_l2_ball(radius), naive.constant(eta))
    near(learnt.scores, expected(run, rows))
    near(point(learner, learnt.state), run.iterates[-1])
    assert abs(learnt.state.sums[FACTOR]) >= 1e-90


def test_a_long_decay() -> None:
    """(1 − ηλ)^t falls below 1e-90 every 300 rounds; w does not."""
    rows, learner = margins(3000), Linear(Hinge(), ProjectedGradient(Reals(), Constant(1.0)), Average(), ridge=0.5)
    near(learn(learner, rows).scores, expected(naive_eager(rows, naive.anywhere, naive.constant(1.0), 0.5), rows))


# ---- steps of any size -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [1e-12, 1e-3, 1e3, 1e9])
@pytest.mark.parametrize(
    ("mirror", "link"),
    [
        (Euclidean(), naive.euclid()),
        (Euclidean(L2Ball(0.5)), naive.euclid(naive.onto_l2_ball(0.5))),
        (Euclidean(Box(-0.5, 0.3)), naive.euclid(naive.onto_box(-0.5, 0.3))),
        (Euclidean(Simplex(2.0)), naive.euclid(naive.onto_simplex(2.0))),
        (Euclidean(L1Ball(0.5)), naive.euclid(naive.onto_l1_ball(0.5))),
        (PNorm(3.0), naive.p_norm(3.0)),
    ],
)
def test_lazy_steps_of_any_size(mirror: Mirror, link: naive.Link, eta: float) -> None:
    rows = margins(60)
    run = compositions.lazy(naive.hinge, link, naive.constant(eta))(rows.X, rows.y, np.ones(60))
    near(interpreted(Linear(Hinge(), MirrorDescent(mirror, Constant(eta))), rows), expected(run, rows))


@pytest.mark.parametrize("eta", [1e-12, 1e-3, 1e3, 1e5])
def test_entropic_steps_of_any_size(eta: float) -> None:
    """From weights that hardly move to weights e^{±10⁵} that leave the number range in one round."""
    Z = rows_for("costs", 200, 5, 3).X
    w = iterates(zoo.eg(Cost(), eta, output=Average()), costs(Z))
    near(w, naive.ftrl_entropy(Z, eta, 1.0), 1e-12 * max(1e3, eta))  # the exponents have errors of η|θ|·1e-16


def test_weights_that_underflowed_come_back() -> None:
    Z = np.array([[1e4, 0, 0], [0, 1e4, 1e4], [0, -1e4, 0], [-1e4, 0, -1e4], [0.5, 0, 0]])
    w = iterates(zoo.eg(Cost(), 1.0, output=Average()), costs(Z))
    near(w, naive.ftrl_entropy(Z, 1.0, 1.0))
    near(w[4], np.full(3, 1 / 3))


@pytest.mark.parametrize("size", [1e-100, 1e-30, 1.0, 1e30, 1e100])
@pytest.mark.parametrize("p", [2.0, 3.0, 30.0])
def test_p_norms_of_costs_of_any_size(size: float, p: float) -> None:
    """The link is homogeneous, so w grows with the costs; its powers must not leave the number range."""
    Z = rows_for("costs", 40, 5, 4).X
    learner = zoo.pnorm(Cost(), 0.5, p)
    near(iterates(learner, costs(size * Z)) / size, iterates(learner, costs(Z)))


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_costs_of_any_size_on_a_ball(size: float) -> None:
    Z = rows_for("costs", 40, 5, 5).X
    for make in (zoo.ogd_lazy, zoo.ogd_eager):
        near(iterates(make(Cost(), 0.5 / size, 0.5), costs(size * Z)), iterates(make(Cost(), 0.5, 0.5), costs(Z)))


# ---- rounds without a sub-gradient -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mirror", "link"),
    [
        (Euclidean(), naive.euclid()),
        (Euclidean(L2Ball(0.5)), naive.euclid(naive.onto_l2_ball(0.5))),
        (Euclidean(Box(-0.5, 0.3)), naive.euclid(naive.onto_box(-0.5, 0.3))),
        (Euclidean(Orthant()), naive.euclid(naive.onto_orthant)),
        (Euclidean(Simplex(2.0)), naive.euclid(naive.onto_simplex(2.0))),
        (Euclidean(L1Ball(0.5)), naive.euclid(naive.onto_l1_ball(0.5))),
        (PNorm(3.0), naive.p_norm(3.0)),
        (Entropy(2.0), naive.entropic(2.0)),
        (UnnormalisedEntropy(0.2), naive.unnormalised(0.2)),
    ],
)
@pytest.mark.parametrize("averaging", [False, True])
def test_a_changing_rate_is_followed_through_idle_rounds(mirror: Mirror, link: naive.Link, averaging: bool) -> None:
    """w_t = ∇R*(η_tθ_t) with the rate of round t, also if nothing was learnt in the round before."""
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(12, 4)), np.array([1.0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0])  # label 0: no cost
    parts = (Cost(), MirrorDescent(mirror, InverseSqrt(0.7)))
    learner = Linear(*parts, Average()) if averaging else Linear(*parts)
    run = compositions.lazy(naive.cost, link, naive.inverse_sqrt(0.7))(Z, y, np.ones(12))
    learnt = learn(learner, labelled(Z, y), compiled=False)
    near(learnt.scores, np.sum(run.iterates[:-1] * Z, axis=1))
    near(point(learner, learnt.state), run.iterates[-1])
    if averaging:
        near(model(learner, learnt.state), naive.average(run))


@pytest.mark.parametrize(
    ("rule", "first", "last"),
    [
        (ProjectedGradient(L2Ball(9.0), Adaptive()), 10.0, 10.0 / math.sqrt(2)),
        (MirrorDescent(Euclidean(), Adaptive()), 10.0, 10.0),
        (ProjectedGradient(L2Ball(9.0), InverseSqrt(1.0)), 1 / math.sqrt(3), 0.5),
        (MirrorDescent(Euclidean(), InverseSqrt(1.0)), 1 / math.sqrt(3), 0.5),
        (MirrorDescent(Entropy(), InverseSqrt(1.0)), 1 / math.sqrt(3), 0.5),
    ],
)
def test_rates_are_those_of_rounds_with_a_sub_gradient(rule: Rule, first: float, last: float) -> None:
    """A row of zeros has none, whatever its slope: an adaptive rate before it is not the largest one used."""
    Z = np.array([[0.0], [0.0], [0.1], [0.1], [0.0]])
    sums = learn(Linear(Cost(), rule), costs(Z), compiled=False).state.sums
    assert sums[FIRST_RATE] == pytest.approx(first)
    assert sums[LAST_RATE] == pytest.approx(last)


# ---- aggregates over long runs ---------------------------------------------------------------------------------------


def there_and_back(n: int, share: float) -> Matrix:
    """Costs under which θ wanders far out for n rounds and then comes back to this share of its length."""
    path = 3000 + np.cumsum(np.random.default_rng(0).normal(size=(n, 3)), axis=0)
    back = np.linspace(1, share, 200)[:, None] * path[-1]
    return -np.diff(np.vstack([np.zeros(3), path, back]), axis=0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("share", [1.0, 0.1, 0.033, 0.01, 1.1e-3, 1e-4, 1e-8])
def test_norms_do_not_drift(share: float) -> None:
    """600,000 coordinates updated in O(1) each: the aggregate is still the norm to 1e-9, however far that fell."""
    Z = there_and_back(200_000, share)
    lazy, power = zoo.ogd_lazy(Cost(), 1.0, 1e-9), zoo.pnorm(Cost(), 0.5, 3.0)
    assert np.linalg.norm(point(lazy, learn(lazy, costs(Z)).state)) == pytest.approx(1e-9, rel=1e-9)
    state = learn(power, costs(Z)).state
    length = 0.5 * np.linalg.norm(state.theta, 3.0)  # the link keeps lengths: ‖w‖_q = η‖θ‖_p
    assert np.linalg.norm(point(power, state), 1.5) == pytest.approx(length, rel=1e-9)
    eager = zoo.ogd_eager(Cost(), 1.0, 1e9)
    state = learn(eager, costs(Z)).state
    assert state.sums[FACTOR] ** 2 * state.sums[MASS] == pytest.approx(np.sum(point(eager, state) ** 2), rel=1e-9)


def test_the_radius_does_not_drift() -> None:
    learner = zoo.ogd_eager(Cost(), 1e-3, 0.5)
    Z = 1.0 + np.random.default_rng(1).normal(size=(200_000, 3))
    w = point(learner, learn(learner, costs(Z)).state)
    assert np.linalg.norm(w) <= 0.5 * (1 + 1e-9)
    inside = iterates(learner, costs(Z[:50]))[-1]
    assert np.linalg.norm(inside) < 0.5


def test_the_total_does_not_drift() -> None:
    learner = zoo.eg(Cost(), 0.01, 2.0, Average())
    state = learn(learner, costs(there_and_back(200_000, 0.9) % 7 - 3)).state
    assert point(learner, state).sum() == pytest.approx(2.0, rel=1e-9)
    assert model(learner, state).sum() == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize("composition", COMPOSITIONS, ids=lambda c: c.name)
def test_computing_aggregates_afresh_changes_only_rounding(composition: Composition) -> None:
    rows, learner = rows_for(composition.task, 60, 6, 7), composition.learner(6)
    rows = rows._replace(weights=np.ones(60))
    run, state = composition.naive(*rows.counted), learner.start(6)
    for i in range(60):
        if i % 3 == 0:
            state.counts[PUSHES] = REFRESH  # as after four million updates
        learn(learner, Rows(*(a[i : i + 1] for a in rows)), state=state, compiled=False)
    near(point(learner, state), run.iterates[-1])


# ---- what is refused, and what is declared ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: MirrorDescent(Euclidean(), WeightedInverseTime(1.0)),
            "weighs rounds.*use it with ProjectedGradient",
        ),
        (lambda: MirrorDescent(L2Ball(), Constant(0.1)), "mirror must be a Mirror"),  # type: ignore[arg-type]
        (lambda: MirrorDescent(Euclidean(), 0.1), "step must be a Step"),  # type: ignore[arg-type]
        (lambda: ProjectedGradient(Euclidean(), Constant(0.1)), "domain must be a Domain"),  # type: ignore[arg-type]
        (lambda: ProjectedGradient(L2Ball(), 0.1), "step must be a Step"),  # type: ignore[arg-type]
    ],
)
def test_refuses_what_makes_no_sense(make: Any, message: str) -> None:
    with pytest.raises(PartError, match=message):
        make()


def test_refuses_dimensions_that_do_not_fit() -> None:
    box = Box(np.zeros(3), np.ones(3))
    for rule in (ProjectedGradient(box, Constant(0.1)), MirrorDescent(Euclidean(box), Constant(0.1))):
        with pytest.raises(PartError, match="3 entries"):
            Linear(Hinge(), rule).start(4)
        assert Linear(Hinge(), rule, bias=1.0).start(2).dimension == 3


@pytest.mark.parametrize(
    ("rule", "costly"),
    [
        (ProjectedGradient(L2Ball(), Constant(0.1)), False),
        (ProjectedGradient(Box(), InverseSqrt(0.1)), False),
        (ProjectedGradient(Simplex(), Constant(0.1)), True),
        (MirrorDescent(Euclidean(L2Ball()), InverseSqrt(0.1)), False),
        (MirrorDescent(Euclidean(L1Ball()), Constant(0.1)), True),
        (MirrorDescent(Entropy(), Constant(0.1)), False),
        (MirrorDescent(Entropy(), Adaptive()), True),
        (MirrorDescent(PNorm(3.0), Adaptive()), False),
    ],
)
def test_says_what_costs_o_of_d(rule: Rule, costly: bool) -> None:
    assert rule.costs_dimension() == costly


@pytest.mark.parametrize("step", [Constant(0.3), InverseSqrt(0.3), Adaptive(), InverseTime(0.3)])
def test_forgetting_the_gradients_changes_no_iterate(step: Step) -> None:
    rows = margins(60)
    summed = Linear(Hinge(), ProjectedGradient(L2Ball(0.5), step))
    forgotten = Linear(Hinge(), ProjectedGradient(L2Ball(0.5), step, Forgotten()))
    assert interpreted(summed, rows).tobytes() == interpreted(forgotten, rows).tobytes()
    assert forgotten.start(5).table.size == 5
    assert summed.start(5).table.size == 10
