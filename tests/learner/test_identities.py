"""Identities between algorithms, interpreted: compiled learners agree to the last bit."""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

import numpy as np
import pytest
import scipy.optimize
from hypothesis import assume, given
from hypothesis import strategies as st

from lowregret import zoo
from lowregret.domain import Reals
from lowregret.learner.linear import Linear
from lowregret.loss import Cost, Hinge, Logistic, OnMistakes
from lowregret.mirror import Euclidean, PNorm
from lowregret.output import Average
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.state import MISTAKES, TOTAL
from lowregret.step import Constant, InverseTime
from tests import naive
from tests.compositions import Rows, rows_for
from tests.naive import Matrix, Vector
from tests.running import costs, iterates, labelled, model, point
from tests.running import learn as learn_by

Size: TypeAlias = tuple[int, int, int]  # rows, features, seed
sizes = st.tuples(st.integers(1, 30), st.integers(1, 6), st.integers(0, 2**32 - 1))
etas = st.floats(1e-3, 3.0)
learn = partial(learn_by, compiled=False)


def near(a: Vector | Matrix, b: Vector | Matrix, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def some_costs(size: Size) -> Matrix:
    n, d, seed = size
    return rows_for("costs", n, d, seed).X


def margins(size: Size, density: float = 0.6) -> Rows:
    """Rows with labels ±1, all counting alike."""
    n, d, seed = size
    rows = rows_for("margin", n, d, seed, density)
    return labelled(rows.X, rows.y)


# ---- 1: mirror descent, gradient descent, FTRL -----------------------------------------------------------------------


@given(sizes, etas)
def test_euclidean_mirror_descent_is_gradient_descent_is_the_2_norm_algorithm(size: Size, eta: float) -> None:
    rows = margins(size)
    lazy = learn(zoo.ogd(Logistic(), eta), rows)
    eager = learn(Linear(Logistic(), ProjectedGradient(Reals(), Constant(eta))), rows)
    two_norm = learn(Linear(Logistic(), MirrorDescent(PNorm(2.0), Constant(eta))), rows)
    near(lazy.scores, eager.scores)
    near(lazy.scores, two_norm.scores)
    near(lazy.state.theta, eager.state.theta)


@given(sizes, etas)
def test_mirror_descent_is_ftrl_on_linear_losses(size: Size, eta: float) -> None:
    Z = some_costs(size)
    near(iterates(zoo.ogd(Cost(), eta), costs(Z)), naive.ftrl_linear(Z, eta))
    near(iterates(zoo.ogd_lazy(Cost(), eta, 0.5), costs(Z)), naive.ftrl_linear(Z, eta, naive.onto_l2_ball(0.5)))
    near(iterates(zoo.eg(Cost(), eta, 2.0, Average()), costs(Z)), naive.ftrl_entropy(Z, eta, 2.0))


@pytest.mark.parametrize("seed", range(5))
def test_the_closed_forms_of_ftrl_are_what_a_solver_finds(seed: int) -> None:
    Z, eta = some_costs((6, 4, seed)), 0.7

    def on_simplex(v: Vector) -> Vector:
        return naive.entropic(2.0)(1.0, v)

    def entropic(v: Vector) -> float:
        w = on_simplex(v)
        return float(w @ np.log(w) / eta + w @ Z.sum(axis=0))

    def quadratic(w: Vector) -> float:
        return float(w @ w / (2 * eta) + 0.5 * np.sum((w - Z) ** 2))

    accuracy = 1e-5  # of a solver that takes gradients by differences
    found = scipy.optimize.minimize(entropic, np.zeros(4), tol=1e-10)
    near(on_simplex(found.x), naive.ftrl_entropy(Z, eta, 2.0)[-1], accuracy)
    found = scipy.optimize.minimize(quadratic, np.zeros(4), tol=1e-10)
    near(found.x, naive.ftrl_quadratic(Z, eta)[-1], accuracy)


# ---- 2: lazy and eager -----------------------------------------------------------------------------------------------


@given(sizes, etas)
def test_lazy_is_eager_until_a_projection_binds(size: Size, eta: float) -> None:
    Z = some_costs(size)
    longest = np.linalg.norm(naive.ftrl_linear(Z, eta), axis=1).max()
    assume(longest > 0)
    wide = longest * 1.001
    lazy = iterates(zoo.ogd_lazy(Cost(), eta, wide), costs(Z))
    near(lazy, iterates(zoo.ogd_eager(Cost(), eta, wide), costs(Z)))
    near(lazy, naive.ftrl_linear(Z, eta))


def test_lazy_and_eager_differ_once_a_projection_has_bound() -> None:
    Z = np.array([[-3.0], [1.0]])
    assert iterates(zoo.ogd_lazy(Cost(), 1.0, 1.0), costs(Z))[:, 0].tolist() == [0.0, 1.0, 1.0]
    assert iterates(zoo.ogd_eager(Cost(), 1.0, 1.0), costs(Z))[:, 0].tolist() == [0.0, 1.0, 0.0]


@given(sizes, etas)
def test_lazy_is_eager_on_a_constant_cost(size: Size, eta: float) -> None:
    Z = np.tile(some_costs(size)[0], (20, 1))
    near(
        iterates(zoo.ogd_lazy(Cost(), eta, 0.5), costs(Z)),
        iterates(zoo.ogd_eager(Cost(), eta, 0.5), costs(Z)),
    )


# ---- 5: exponentiated gradient ---------------------------------------------------------------------------------------


@given(sizes, etas)
def test_the_gap_of_eg_is_a_relative_entropy(size: Size, eta: float) -> None:
    Z = some_costs(size)
    w = iterates(zoo.eg(Cost(), eta, output=Average()), costs(Z))
    before, after = w[:-1], w[1:]
    gaps = np.log(np.sum(before * np.exp(-eta * Z), axis=1)) / eta + np.sum(before * Z, axis=1)
    near(gaps, np.sum(before * np.log(before / after), axis=1) / eta)


@given(sizes, etas)
def test_multiplicative_eg_is_the_softmax_of_cumulative_losses(size: Size, eta: float) -> None:
    Z = some_costs(size)
    n, d = Z.shape
    game = naive.score_game(Z, np.ones(n), np.ones(n), naive.cost)
    multiplied = naive.eg(game, n, d, eta, 2.0).iterates
    near(multiplied, naive.omd(game, n, d, naive.entropic(2.0), naive.constant(eta)).iterates)
    near(multiplied, iterates(zoo.eg(Cost(), eta, 2.0, Average()), costs(Z)))


@given(sizes, etas)
def test_unnormalised_eg_divided_by_its_sum_is_eg(size: Size, eta: float) -> None:
    Z = some_costs(size)
    free = iterates(zoo.ueg(Cost(), eta, Z.shape[1]), costs(Z))
    near(free / free.sum(axis=1, keepdims=True), iterates(zoo.eg(Cost(), eta, output=Average()), costs(Z)))


@given(sizes, etas, st.floats(-5, 5))
def test_eg_ignores_a_cost_common_to_all(size: Size, eta: float, common: float) -> None:
    Z = some_costs(size)
    learner = zoo.eg(Cost(), eta, output=Average())
    near(iterates(learner, costs(Z)), iterates(learner, costs(Z + common)))


@given(sizes, etas)
def test_eg_does_not_care_about_names(size: Size, eta: float) -> None:
    Z = some_costs(size)
    order = np.random.default_rng(size[2]).permutation(Z.shape[1])
    learner = zoo.eg(Cost(), eta, output=Average())
    near(iterates(learner, costs(Z))[:, order], iterates(learner, costs(Z[:, order])))


# ---- 6: the quadratic game -------------------------------------------------------------------------------------------


@given(sizes, st.floats(0.01, 50))
def test_the_leader_of_the_quadratic_game_is_ogd_for_strong_convexity(size: Size, sigma: float) -> None:
    """(σ/2)‖w − z‖² = −σ⟨w,z⟩ + (σ/2)‖w‖² + constant, so the row is z with label −σ and the ridge σ."""
    Z = some_costs(size)
    learner = Linear(Cost(), ProjectedGradient(Reals(), InverseTime(sigma)), ridge=sigma)
    w = iterates(learner, labelled(Z, np.full(len(Z), -sigma)))
    leader = naive.ftl_quadratic(Z)
    near(w, leader)
    near(leader[1:], np.cumsum(Z, axis=0) / np.arange(1, len(Z) + 1)[:, None])
    regret = 0.5 * np.sum((w[:-1] - Z) ** 2) - 0.5 * np.sum((leader[-1] - Z) ** 2)
    exact = 0.5 * np.sum(np.sum((w[:-1] - Z) ** 2, axis=1) / np.arange(1, len(Z) + 1))
    assert regret == pytest.approx(exact, rel=1e-9, abs=1e-9)


# ---- 7: the Perceptron -----------------------------------------------------------------------------------------------


def decided(scores: Vector) -> None:
    """Discard data on which rounding decides whether a round is a mistake."""
    assume(np.all((scores == 0) | (np.abs(scores) > 1e-9)))


@given(sizes, st.floats(1e-6, 1e6))
def test_the_perceptron_ignores_its_step(size: Size, eta: float) -> None:
    rows = margins(size)
    unit = learn(zoo.perceptron(), rows)
    other = learn(Linear(OnMistakes(Hinge()), MirrorDescent(Euclidean(), Constant(eta))), rows)
    assert np.array_equal(np.sign(unit.scores), np.sign(other.scores))
    assert np.array_equal(unit.state.theta, other.state.theta)
    assert unit.state.counts[MISTAKES] == other.state.counts[MISTAKES]


@given(sizes, st.floats(1e-3, 1e3), st.booleans())
def test_the_perceptron_ignores_scale_rotation_and_reflection(size: Size, factor: float, reflect: bool) -> None:
    rows = margins(size, density=1.0)  # rows with no entry in common would score 0, but only before the rotation
    plain = learn(zoo.perceptron(), rows)
    decided(plain.scores)
    d = rows.X.shape[1]
    rotation = np.linalg.qr(np.random.default_rng(size[2]).normal(size=(d, d)))[0]
    sign = -1.0 if reflect else 1.0
    moved = learn(zoo.perceptron(), labelled(sign * factor * rows.X @ rotation, sign * rows.y))
    assert moved.state.counts[MISTAKES] == plain.state.counts[MISTAKES]
    near(moved.scores / factor**2, sign * plain.scores, 1e-6)
    near(point(zoo.perceptron(), moved.state) / factor, point(zoo.perceptron(), plain.state) @ rotation)


@given(sizes)
def test_the_perceptron_in_kernel_form(size: Size) -> None:
    rows = margins(size)
    learnt = learn(zoo.perceptron(), rows)
    decided(learnt.scores)
    scores, mistakes = naive.kernel_perceptron(rows.X @ rows.X.T, rows.y)
    near(learnt.scores, scores)
    assert learnt.state.counts[MISTAKES] == len(mistakes)
    w = point(zoo.perceptron(), learnt.state)
    assert w @ w <= np.sum(rows.X[mistakes] ** 2) + 1e-9


@pytest.mark.parametrize("d", [1, 2, 4, 9])
@pytest.mark.parametrize("c", [0.1, 0.5, 1.0])
def test_an_orthonormal_stream_makes_one_mistake_per_direction(d: int, c: float) -> None:
    """PERC-OBS is tight for u = c·1: F(u) + ‖u‖√Σ‖x‖² = d(1 − c) + c√d·√d."""
    for repeat in (1, 3):
        rows = labelled(np.tile(np.eye(d), (repeat, 1)), np.ones(repeat * d))
        assert learn(zoo.perceptron(), rows).state.counts[MISTAKES] == d
    assert d == pytest.approx(d * (1 - c) + c * np.sqrt(d) * np.sqrt(d))


# ---- 16: averages ----------------------------------------------------------------------------------------------------


@given(sizes, etas)
def test_the_average_of_gradient_descent_from_gradients_alone(size: Size, eta: float) -> None:
    """OGD: Σw_t = T·w_{T+1} + ηΣt·z_t."""
    Z = some_costs(size)
    rounds = len(Z)
    learner = zoo.ogd(Cost(), eta, Average())
    state = learn(learner, costs(Z)).state
    t = np.arange(1, rounds + 1)
    near(rounds * model(learner, state), rounds * point(learner, state) + eta * t @ Z)


# ---- 19: Winnow ------------------------------------------------------------------------------------------------------


@given(sizes, st.floats(0.01, 0.49))
def test_winnow_is_unnormalised_eg_on_its_mistakes(size: Size, eta: float) -> None:
    n, d, seed = size
    data = rows_for("binary", n, d, seed)
    rows = labelled(data.X, data.y)
    learner = zoo.winnow(d, eta)
    learnt = learn(learner, rows)
    margin = rows.y * (2 * learnt.scores - 1)
    decided(margin)
    Z = -2 * rows.y[:, None] * rows.X * (margin <= 0)[:, None]
    near(iterates(learner, rows), iterates(zoo.ueg(Cost(), eta, d), costs(Z)))
    assert np.all(point(learner, learnt.state) > 0)
    assert learnt.state.counts[MISTAKES] == np.count_nonzero(margin <= 0)
    assert learnt.state.counts[MISTAKES] <= learnt.state.sums[TOTAL] + 1e-9
