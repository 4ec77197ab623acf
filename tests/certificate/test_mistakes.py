"""Mistake bounds of the Perceptron and Winnow, on any data, against any u and above all the best."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from lowregret import zoo
from lowregret.certificate import Certificate
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.loss import Affine, Hinge, OnMistakes
from lowregret.mirror import UnnormalisedEntropy
from lowregret.rule import MirrorDescent
from lowregret.run.linear import LinearRun
from lowregret.step import Constant
from lowregret.train import train
from tests.laws import sequences
from tests.laws.classifiers import (
    always_wrong,
    best_points,
    binary_points,
    disjunction,
    fractional,
    mistakes_of_perceptron,
    mistakes_of_winnow,
    observed_bound,
    orthonormal,
    perceptron_bounds,
    separable,
    widest,
    winnow_loss,
)
from tests.laws.sequences import Matrix, Stream, Vector

PERCEPTRON = ("PERC-OBS", "PERC-ROOT", "THM-3.9", "PERC-2F", "PERC-MARGIN", "THM-14.6")


def by_name(stream: Stream) -> str:
    return stream.name


def named(found: list[Certificate]) -> dict[str, Certificate]:
    return {c.id: c for c in found}


# ---- the Perceptron --------------------------------------------------------------------------------------------------


STREAMS = [
    *sequences.labelled(60, 5, 1),
    *sequences.labelled(60, 2, 2),
    always_wrong(60, 5, 3),
    separable(60, 5, 4),
    orthonormal(5, 5),
    orthonormal(30, 5),
]


def check_perceptron(run: LinearRun, x: Matrix, y: Vector, us: list[Vector]) -> dict[str, float]:
    """Mistakes ≤ every bound that the textbook gives; returns the smallest bound of each kind."""
    wrong = mistakes_of_perceptron(x, y)
    assert run.mistakes == len(wrong)
    smallest = dict.fromkeys(PERCEPTRON, math.inf)
    for u in us:
        expected = perceptron_bounds(x, y, wrong, u)
        for name, found in named(run.mistake_certificates(u, x, y)).items():
            assert found.regret == len(wrong)
            assert found.measure == "mistakes"
            assert found.bound == pytest.approx(expected[name], rel=1e-9)
            assert found.premises_hold == math.isfinite(expected[name])
            assert found.holds == found.premises_hold, (name, u)
            smallest[name] = min(smallest[name], found.bound)
    return smallest


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stream", STREAMS, ids=by_name)
def test_perceptron_bounds_hold_at_the_best_u(stream: Stream) -> None:
    x, y = stream.x, stream.y
    wrong = mistakes_of_perceptron(x, y)
    rng = np.random.default_rng(0)
    us = [*best_points(x[wrong], y[wrong]), *rng.normal(size=(5, x.shape[1])), np.zeros(x.shape[1])]
    smallest = check_perceptron(train(zoo.perceptron(), x, y, compiled=False), x, y, us)
    assert len(wrong) <= min(smallest.values()) * (1 + 1e-9)
    assert smallest["PERC-OBS"] <= len(wrong) + 1e-9  # u = 0 makes every mistake cost exactly 1


@pytest.mark.parametrize("stream", STREAMS, ids=by_name)
def test_perceptron_bounds_are_ordered(stream: Stream) -> None:
    run = train(zoo.perceptron(), stream.x, stream.y, compiled=False)
    for u in np.random.default_rng(1).normal(size=(10, stream.x.shape[1])):
        found = named(run.mistake_certificates(u, stream.x, stream.y))
        assert found["PERC-ROOT"].bound <= found["THM-3.9"].bound * (1 + 1e-12)
        assert found["PERC-ROOT"].bound <= found["PERC-2F"].bound * (1 + 1e-12)


def test_the_margin_bound_holds_where_there_is_a_margin() -> None:
    for seed in range(10):
        x, y = separable(80, 4, seed)[1:]
        smallest = check_perceptron(train(zoo.perceptron(), x, y, compiled=False), x, y, [widest(x, y)])
        assert smallest["PERC-MARGIN"] < math.inf


@pytest.mark.parametrize("c", [0.1, 0.5, 1.0])
def test_the_orthonormal_stream_is_tight(c: float) -> None:
    """d = 4 mistakes; with u = ½·1 OBS 4, ROOT 4, THM-3.9 4.414, and γ = c, R = 1: (‖u‖/γ)² = 4."""
    stream = orthonormal(4, 4)
    run = train(zoo.perceptron(), stream.x, stream.y, compiled=False)
    found = named(run.mistake_certificates(np.full(4, c), stream.x, stream.y))
    assert run.mistakes == 4
    assert found["PERC-OBS"].bound == pytest.approx(4.0, rel=1e-12)
    assert found["PERC-MARGIN"].bound == pytest.approx(4.0, rel=1e-12)
    if c == 0.5:
        assert found["PERC-ROOT"].bound == pytest.approx(4.0, rel=1e-12)
        assert f"{found['THM-3.9'].bound:.3f}" == "4.414"


def test_a_margin_of_zero_or_less_says_so() -> None:
    stream = orthonormal(4, 4)
    run = train(zoo.perceptron(), stream.x, stream.y, compiled=False)
    for u in (np.zeros(4), np.array([1.0, 1.0, 1.0, -0.5])):
        found = run.mistake_certificates(u, stream.x, stream.y)
        assert found[-1].id == "PERC-MARGIN"
        assert not found[-1].holds
        assert found[-1].bound == math.inf
        (premise,) = found[-1].premises
        assert (premise.name, premise.holds) == ("y_t⟨u,x_t⟩ ≥ γ > 0 for all t", False)
        assert premise.observed == np.min(u)
        assert all(c.holds for c in found[:-1])


def test_perceptron_with_a_bias() -> None:
    stream = sequences.labelled(60, 4, 5)[1]
    learner = Linear(OnMistakes(Hinge()), zoo.perceptron().rule, bias=2.0)
    run = train(learner, stream.x, stream.y, compiled=False)
    x = np.hstack([stream.x, np.full((60, 1), 2.0)])
    wrong = mistakes_of_perceptron(x, stream.y)
    for u in np.random.default_rng(2).normal(size=(5, 5)):
        expected = perceptron_bounds(x, stream.y, wrong, u)
        for name, found in named(run.mistake_certificates(u, stream.x, stream.y)).items():
            assert found.bound == pytest.approx(expected[name], rel=1e-9)
            assert found.holds == found.premises_hold


# ---- Winnow ----------------------------------------------------------------------------------------------------------


WINNOW = [  # an odd number of features: with an even one ⟨w,x⟩ = ½ can be met exactly, and rounding decides
    disjunction(60, 7, 1, 0),
    disjunction(60, 7, 2, 1),
    disjunction(60, 7, 3, 2, noise=0.1),
    disjunction(60, 7, 2, 3, noise=0.4, share=0.6),
    fractional(60, 5, 4),
    Stream("one feature for ever", np.tile(np.eye(7)[0], (12, 1)), np.ones(12)),
]


@pytest.mark.parametrize("eta", [0.1, 0.25, 0.45])
@pytest.mark.parametrize("stream", WINNOW, ids=by_name)
def test_winnow_bounds_hold_at_the_best_u(stream: Stream, eta: float) -> None:
    x, y, d = stream.x, stream.y, stream.x.shape[1]
    run = train(zoo.winnow(d, eta), x, y, compiled=False)
    wrong, suffered, local = mistakes_of_winnow(x, y, eta)
    assert run.mistakes == len(wrong)
    assert run.loss == pytest.approx(suffered, rel=1e-9)
    assert len(wrong) <= suffered

    def bound(u: Vector) -> float:
        return observed_bound(x[wrong], y[wrong], local, u, eta)

    best = minimize(bound, np.full(d, 1 / d), bounds=[(1e-9, 5.0)] * d)
    for u in [*binary_points(d), best.x, *np.random.default_rng(0).random((5, d))]:
        k, f = float(u.sum()), winnow_loss(x[wrong], y[wrong], u)
        found = named(run.mistake_certificates(u, x, y))
        assert found["WIN-OBS"].bound == pytest.approx(bound(u), rel=1e-9)
        assert found["THM-3.10"].bound == pytest.approx((f + k * math.log(d) / eta) / (1 - 2 * eta), rel=1e-9)
        assert found["WIN-OBS"].holds
        assert found["THM-3.10"].holds == bool(np.isin(u, (0, 1)).all())
        assert found["WIN-OBS"].regret == pytest.approx(suffered)


def test_winnow_learns_disjunctions_with_few_mistakes() -> None:
    for seed in range(5):
        stream = disjunction(300, 12, 2, seed, share=0.2)
        run = train(zoo.winnow(12), stream.x, stream.y, compiled=False)
        assert run.mistakes is not None
        assert run.mistakes <= 8 * 2 * math.log(12)
        u = np.isin(np.arange(12), (0, 1)).astype(float)
        assert named(run.mistake_certificates(u, stream.x, stream.y))["THM-3.10"].bound == pytest.approx(
            8 * 2 * math.log(12)
        )


def test_worked_example_of_winnow() -> None:
    x = np.tile(np.eye(4)[0], (5, 1))
    run = train(zoo.winnow(4), x, np.ones(5), compiled=False)
    found = named(run.mistake_certificates(np.eye(4)[0], x, np.ones(5)))
    assert run.mistakes == 2
    assert f"{run.loss:.3f}" == "2.676"
    assert f"{found['WIN-OBS'].bound:.2f}" == "6.21"
    assert f"{found['THM-3.10'].bound:.2f}" == "11.09"


def winnow_by_hand(eta: float, start: float, bias: float = 0.0) -> Linear:
    return Linear(
        OnMistakes(Affine(Hinge(), 2.0, -1.0)), MirrorDescent(UnnormalisedEntropy(start), Constant(eta)), bias=bias
    )


@pytest.mark.parametrize(
    ("learner", "x", "u", "theorem", "premise"),
    [
        (winnow_by_hand(0.25, 0.25), np.eye(4), [0.5, 0, 0, 0], "THM-3.10", "u ∈ {0,1}^d, u ≠ 0"),
        (winnow_by_hand(0.25, 0.25), np.eye(4), [0.0, 0, 0, 0], "THM-3.10", "u ∈ {0,1}^d, u ≠ 0"),
        (winnow_by_hand(0.5, 0.25), np.eye(4), [1.0, 0, 0, 0], "THM-3.10", "η < ½"),
        (winnow_by_hand(0.25, 0.25), 1.5 * np.eye(4), [1.0, 0, 0, 0], "THM-3.10", "x_t ∈ [0,1]^d"),
        (winnow_by_hand(0.25, 0.25), -0.5 * np.eye(4), [1.0, 0, 0, 0], "THM-3.10", "x_t ∈ [0,1]^d"),
        (winnow_by_hand(0.25, 0.2, 1.5), np.eye(4), [1.0, 0, 0, 0, 0], "THM-3.10", "x_t ∈ [0,1]^d"),
        (winnow_by_hand(0.25, 0.5), np.eye(4), [1.0, 0, 0, 0], "THM-3.10", "w₁ = 1/d"),
        (winnow_by_hand(0.25, 0.25), np.eye(4), [1.0, -0.5, 0, 0], "WIN-OBS", "u ≥ 0"),
        (winnow_by_hand(0.25, 0.1), 2.5 * np.eye(4), [1.0, 0, 0, 0], "WIN-OBS", "η·z_t[i] ≥ −1"),
    ],
)
def test_a_premise_of_winnow_that_fails_says_so(
    learner: Linear, x: Matrix, u: list[float], theorem: str, premise: str
) -> None:
    run = train(learner, x, np.ones(4), compiled=False)
    found = named(run.mistake_certificates(u, x, np.ones(4)))[theorem]
    assert [p.name for p in found.premises if not p.holds] == [premise]
    assert not found.holds


def test_winnow_from_another_start_is_certified_for_that_start() -> None:
    """The textbook's numerator 1 + Σu ln(du/e) is dλ + Σu ln(u/(eλ)) with λ = 1/d; a wrong λ could break the bound."""
    x = np.tile(np.eye(4)[0], (40, 1))
    run = train(winnow_by_hand(0.25, 1e-4), x, np.ones(40), compiled=False)
    found = named(run.mistake_certificates(np.eye(4)[0], x, np.ones(40)))
    assert found["WIN-OBS"].holds
    assert run.loss > 11.09  # what λ = 1/4 would have allowed


# ---- real data, and what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "rounds"), [("a9a.svm.gz", 150), ("farm_ads.svm.gz", 100)])
def test_bounds_hold_on_real_data(name: str, rounds: int, data_file: Callable[[str], Path]) -> None:
    stream = sequences.read_svm(data_file(name), rounds)
    run = train(zoo.perceptron(), stream.x, stream.y)
    wrong = mistakes_of_perceptron(stream.x.toarray(), stream.y)
    left, sizes, right = np.linalg.svd(stream.x[wrong].toarray(), full_matrices=False)
    for u in best_points(left * sizes, stream.y[wrong])[::3]:
        for found in run.mistake_certificates(u @ right, stream.x, stream.y):
            assert found.holds == found.premises_hold
            assert found.regret == len(wrong)


def test_winnow_bounds_hold_on_real_data(data_file: Callable[[str], Path]) -> None:
    """a9a has 0/1 features, and a handful of them stand for its label."""
    stream = sequences.read_svm(data_file("a9a.svm.gz"), 300)
    d = stream.x.shape[1]
    run = train(zoo.winnow(d), stream.x, stream.y, compiled=False)
    correlated = np.argsort(-(stream.x.T @ stream.y))
    for k in (1, 2, 5):
        u = np.isin(np.arange(d), correlated[:k]).astype(float)
        assert all(c.holds for c in run.mistake_certificates(u, stream.x, stream.y))


def test_bounds_on_the_electricity_market(data_file: Callable[[str], Path]) -> None:
    x, y = sequences.read_elec2(data_file("elec2.csv.gz"), 200)[1:]
    wrong = mistakes_of_perceptron(x, y)
    check_perceptron(train(zoo.perceptron(), x, y, compiled=False), x, y, best_points(x[wrong], y[wrong])[::2])


def test_weights_other_than_one_are_refused() -> None:
    x, y = orthonormal(4, 4)[1:]
    run = train(zoo.perceptron(), x, y, [1.0, 1.0, 2.0, 1.0], compiled=False)
    with pytest.raises(PartError, match="importance weights of 1"):
        run.mistake_certificates(np.ones(4), x, y)


def test_other_learners_are_refused() -> None:
    x, y = orthonormal(4, 4)[1:]
    for learner in (zoo.ogd(Hinge(), 0.1), Linear(OnMistakes(Hinge(2.0)), zoo.perceptron().rule)):
        with pytest.raises(PartError, match="the Perceptron and Winnow"):
            train(learner, x, y, compiled=False).mistake_certificates(np.ones(4), x, y)
