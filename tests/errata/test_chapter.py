"""E27 to E32: the chapter on online learning."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lowregret import zoo
from lowregret.certificate.surrogate import surrogate_certificate
from lowregret.domain import Box
from lowregret.experts import ExpertMixture, Hedge
from lowregret.loss import Absolute
from lowregret.play import play
from lowregret.risk.online_to_batch import prop_4, thm_14_9
from lowregret.rule import ProjectedGradient
from lowregret.step import Constant
from lowregret.train import train
from tests.laws.sequences import labelled
from tests.naive import perceptron


def test_e27_right_and_counted_as_wrong() -> None:
    """Chapter, algorithm 1.

    Printed: predict 1 if ⟨w,x⟩ ≥ 0; a mistake iff y⟨w,x⟩ ≤ 0.
    True: a score of 0 counts for either label: bounds speak of updates.
    Run: x = y = 1: always right, one mistake counted.
    """
    x, y = np.ones((3, 1)), np.ones(3)
    run, updates = perceptron(x, y, np.ones(3))
    said = np.where(np.sum(run.iterates[:-1] * x, axis=1) >= 0, 1.0, -1.0)
    assert np.all(said == y)
    assert updates == [0]
    learnt = train(zoo.perceptron(), x, y, compiled=False)
    assert learnt.mistakes == 1
    bound = {c.id: c for c in learnt.mistake_certificates(np.ones(1), x, y)}["PERC-MARGIN"]
    assert bound.bound == 1.0 > np.sum(said != y)
    assert bound.holds


def test_e28_the_largest_difference_of_features() -> None:
    """Chapter, theorem 2, proposition 3.

    Printed: sup‖ψ(X_t,Y_t) − ψ(X_t,Y_ℓ)‖; one w for iterate and comparator; ℓ ≠ Y_t.
    True: ψ(X_t,ℓ) for all labels ℓ (THM-14.2); two symbols; ℓ ≠ Y.
    Run: one row of two classes: only one label is met, the sup is 0, and there is one mistake.
    """
    x, y = np.array([[1.0]]), np.array([1])
    run = train(zoo.mc_perceptron(), x, y, classes=[0, 1], compiled=False)
    assert run.mistakes == 1
    u, gamma = np.array([[-0.5, 0.5]]), 1.0  # margin 1, so the hinge is 0
    printed = float(np.sum(u**2)) * 0.0 / gamma**2
    assert run.mistakes > printed
    true = float(np.sum(u**2)) * 2.0 / gamma**2  # sup over all labels ℓ: ψ(x,1) − ψ(x,0) = (−1, 1)
    assert run.mistakes <= true == 1.0
    found = {c.id: c for c in run.mistake_certificates(u, x, y)}
    assert found["THM-14.2"].bound == pytest.approx(true)
    assert found["THM-14.2"].holds


def test_e29_a_premise_about_steps() -> None:
    """Chapter, theorem 6.

    Printed: algorithm 5; ηTG²/2; neither ‖g_t‖ ≤ G nor a constant η is asked for.
    True: algorithm 3; (η/2)Σ‖g_t‖² at a constant η (THM-14.6), which also gives theorem 1.
    Run: ℓ = 10w, g = 10, G = 1: 0 > −9; a Perceptron whose bound would grow like √T.
    """
    points, vectors, u, eta = np.zeros((1, 1)), np.array([[10.0]]), np.array([-1.0]), 1.0
    loss, surrogate = np.zeros(1), 10.0 * u
    assert float(surrogate[0]) + 1 / (2 * eta) + eta / 2 * 1.0**2 < 0.0
    found = surrogate_certificate(points, vectors, loss, surrogate, u, eta)
    assert found.bound == -10 + 0.5 + 50
    assert found.holds

    rounds = 400
    stream = labelled(rounds, 3, 0)[0]
    direction = np.linalg.lstsq(stream.x, stream.y, rcond=None)[0].astype(np.float64)
    keep = stream.y * (stream.x @ direction) > 0.1
    x, y = stream.x[keep], stream.y[keep]
    run, wrong = perceptron(x, y, np.ones(len(y)))
    gamma, size = float(np.min(y * (x @ direction))), float(np.max(np.linalg.norm(x, axis=1)))
    theorem_1 = (float(np.linalg.norm(direction)) * size / gamma) ** 2
    best = float(np.linalg.norm(direction)) * size  # of the step: γM ≤ ‖u‖²/(2η) + (η/2)ΣG² at its least
    assert len(wrong) <= best * math.sqrt(len(wrong)) / gamma <= theorem_1  # with Σ over mistakes
    longer = 10**7  # rounds in which nothing is wrong any more
    assert best * math.sqrt(longer) / gamma > theorem_1  # with T
    ones = np.zeros(len(y))
    ones[wrong] = 1.0
    step = gamma / size**2
    hinges = np.maximum(0.0, gamma - y * (x @ direction)) * ones
    whole = surrogate_certificate(step * run.iterates[:-1], run.gradients, gamma * ones, hinges, direction, step)
    assert whole.holds
    assert whole.bound <= gamma * theorem_1


def test_e30_a_square_that_was_lost() -> None:
    """Chapter, theorem 8.

    Printed: ηG/2.
    True: ηG²/2, for the average (THM-14.9).
    Run: φ = max(10w, −5w), η = .01, 10⁶ rounds: .25 > .0745.
    """
    eta, lipschitz, w, total, cycle = 0.01, 10.0, 0.0, 0.0, 3000
    for _ in range(cycle):
        total += w
        w -= eta * (10.0 if w >= 0 else -5.0)
    measured = -5 * total / cycle  # C(w̄), after 3,000 rounds as after 10⁶
    corrected = thm_14_9(0.0, 0.0, eta, lipschitz, 10.0, 10**6, 0.1).bound
    printed = corrected - eta * lipschitz**2 / 2 + eta * lipschitz / 2
    assert measured == pytest.approx(0.25, abs=1e-3)
    assert printed == pytest.approx(0.0745, abs=1e-3)
    assert printed < measured <= corrected


def _ever_beyond(chance: float, rounds: int, delta: float, lam: float | None) -> float:
    """P[C_t > bound at some t], mistakes of this chance until then and none after: exact, over the number of mistakes.

    The bound is (λS + ln(1/δ))/(1 − e^{−λ}) for mistakes S, at one λ or at the best; C_t = t·chance.
    """
    alive, failed = np.array([1.0]), 0.0
    grid = np.exp(np.linspace(math.log(1e-3), math.log(50), 2000)) if lam is None else np.array([lam])
    for t in range(1, rounds + 1):
        alive = np.append(alive, 0.0) * (1 - chance) + np.append(0.0, alive) * chance
        counts = np.arange(alive.size)
        bounds = np.min((np.outer(counts, grid) + math.log(1 / delta)) / -np.expm1(-grid), axis=1)
        beyond = t * chance > bounds
        failed += float(alive[beyond].sum())
        alive[beyond] = 0.0
    return failed


def test_e31_the_best_rate_after_the_fact() -> None:
    """Chapter, proposition 4.

    Printed: inf over λ.
    True: of K known beforehand (PROP-4); of mistakes observed, λ is fixed first (O2B-SMALL).
    Run: mistakes of chance .02 that end when the best λ fails: more often than δ, computed exactly; at one λ not.
    """
    delta = 0.5
    assert _ever_beyond(0.02, 600, delta, lam=None) > 1.1 * delta
    assert all(0 < _ever_beyond(0.02, 600, delta, lam) <= delta for lam in (0.3, 1.0, 2.0))
    known = prop_4(4, 100, 0.05)
    grid = np.linspace(0.01, 5, 500)
    assert known.bound == pytest.approx(float(np.min((4 * grid + math.log(20)) / -np.expm1(-grid))) / 100, rel=1e-3)


def test_e32_what_hedge_must_see_and_where_descent_begins() -> None:
    """Chapter, algorithms 3 and 4.

    Printed: observe ℓ_t(w_{t−1}); w_0 = 0.
    True: Hedge needs ℓ_t on all of Ω; w_0 must lie in Ω.
    Run: two losses alike at the expert drawn lead to different p_t; 100[1 − w]₊ on [1,2], from 0.
    """
    after = []
    for other in (0.0, 1.0):  # the loss of the expert drawn, the first, is 0 either way
        mixture = ExpertMixture(2, Hedge(1.0), Absolute(), linearised=False)
        mixture.learn(np.array([[0.0, other]]), np.array([0.0]))
        after.append(float(mixture.weights[0]))
    assert after == [0.5, pytest.approx(1 / (1 + math.exp(-1)))]
    eta, steep = 1.0, 100.0  # ℓ = 100[1 − w]₊ on Ω = [1, 2], where it is 0, so G = 0; but not at 0
    outside = steep * (1 - 0.0)
    assert outside > (0.0 - 1.0) ** 2 / (2 * eta) + eta / 2 * 0.0
    inside = play(ProjectedGradient(Box(1.0, 2.0), Constant(eta)), [[0.0]])
    assert inside.points[0] == 1.0
    assert inside.certificate.holds
