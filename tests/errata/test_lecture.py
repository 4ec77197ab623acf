"""E01 to E05: the lecture on online convex optimisation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lowregret import zoo
from lowregret.domain import Box, L2Ball, Simplex
from lowregret.learner.linear import Linear
from lowregret.loss import Cost
from lowregret.mirror import Euclidean
from lowregret.play import play
from lowregret.rule import MirrorDescent
from lowregret.step import Constant
from lowregret.train import train
from tests.errata.helpers import named, on_costs
from tests.laws import sequences
from tests.laws.classifiers import mistakes_of_perceptron, orthonormal
from tests.naive import perceptron


def test_e01_the_tuned_value_of_theorem_2() -> None:
    """Lecture, theorem 2, corollary 3.

    Printed: ‖u‖²/(2η) + ηΣ‖v_t‖², and Bρ√T at η = B/(ρ√T).
    True: that η gives 1.5Bρ√T; with (η/2)Σ‖v_t‖² it gives Bρ√T, for the lazy rule too (EQ-2.15, LAZY+), and √(dT)
    for experts.
    Run: costs orthogonal to the iterate come near Bρ√T, and the certificate is Bρ√T exactly.
    """
    rounds, d = 400, 5
    eta = 1 / math.sqrt(rounds)
    for rule, name in (
        (MirrorDescent(Euclidean(), Constant(eta)), "EQ-2.15"),
        (MirrorDescent(Euclidean(L2Ball(1.0)), Constant(eta)), "LAZY+"),
    ):
        stream = sequences.adapted(Linear(Cost(), rule), sequences.ADVERSARIES["across"], rounds, d)
        run = on_costs(rule, stream)
        energy = float(np.sum(stream.x**2))
        regret = run.loss + float(np.linalg.norm(stream.x.sum(axis=0)))
        assert energy == pytest.approx(rounds)
        assert 1 / (2 * eta) + eta * energy == pytest.approx(1.5 * math.sqrt(rounds))
        found = named(run, L2Ball(1.0))[name]
        assert found.bound == pytest.approx(math.sqrt(rounds))
        assert regret > 0.7 * found.bound
        assert found.holds
    experts = sequences.of_costs("experts", np.random.default_rng(0).random((rounds, d)))  # corollary 3: √(dT)
    run = on_costs(MirrorDescent(Euclidean(Simplex()), Constant(1 / math.sqrt(d * rounds))), experts)
    assert named(run, Simplex())["LAZY+"].bound <= math.sqrt(d * rounds)
    assert named(run, Simplex())["LAZY+"].holds


def test_e02_the_root_over_both_terms() -> None:
    """Lecture, theorem 4, (1).

    Printed: mistakes ≤ F + b√(F + b²), one root over both terms.
    True: F + b√F + b² (THM-3.9); sharper: PERC-ROOT.
    Run: x_t = e_t, d = 4, u = ½·1: 4 mistakes > 3.732.
    """
    stream = orthonormal(4, 4)
    run = train(zoo.perceptron(), stream.x, stream.y, compiled=False)
    u = np.full(4, 0.5)
    f, b = 4 * 0.5, 1.0
    printed = f + b * math.sqrt(f + b**2)
    assert f"{printed:.3f}" == "3.732"
    assert run.mistakes == 4 > printed
    assert all(c.holds for c in run.mistake_certificates(u, stream.x, stream.y))


def test_e03_a_claim_about_hinges_with_a_margin_above_one() -> None:
    """Lecture, claim 5.

    Printed: f_t(w*) ≤ |M|(1 − γ).
    True: the sum over t is meant, and 1 − γ < 0 for γ > 1: use THM-3.9 at u = w*/γ, where F = 0.
    Run: one row x = 3, w* = 1, γ = 3: 0 > 1·(1 − 3).
    """
    x, y, best, gamma = np.array([[3.0]]), np.array([1.0]), np.array([1.0]), 3.0
    run = train(zoo.perceptron(), x, y, compiled=False)
    assert run.mistakes == 1
    hinge = max(0.0, 1 - float(y[0] * (x[0] @ best)))
    assert hinge == 0.0 > run.mistakes * (1 - gamma)
    found = {c.id: c for c in run.mistake_certificates(best / gamma, x, y)}
    assert found["THM-3.9"].bound == pytest.approx((3.0 / gamma) ** 2)
    assert found["THM-3.9"].holds


def test_e04_the_surrogate_off_the_mistake_rounds() -> None:
    """Lecture, example 2.

    Printed: ℓ01(w) ≤ f_t(w) for all w.
    True: at w = w_t, which is all that is used.
    Run: where the Perceptron is right f_t ≡ 0, and w = −1 errs.
    """
    run, wrong = perceptron(np.ones((2, 1)), np.ones(2), np.ones(2))

    def surrogate(t: int, w: float) -> float:
        return max(0.0, 1 - w) if t in wrong else 0.0

    def errs_at(w: float) -> bool:
        return w * 1.0 <= 0

    assert wrong == [0]
    assert errs_at(-1.0) > surrogate(1, -1.0)  # in round 2, which was right
    assert all(surrogate(t, w) >= errs_at(w) for t, w in enumerate(run.iterates[:-1, 0].tolist()))
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 3)), rng.choice([-1.0, 1.0], 60)
    run, wrong = perceptron(x, y, np.ones(60))
    errs = y * np.sum(run.iterates[:-1] * x, axis=1) <= 0
    assert np.flatnonzero(errs).tolist() == wrong
    assert np.all(run.losses >= errs)


def test_e05_a_score_of_zero() -> None:
    """Lecture, example 2, algorithm 1.

    Printed: the gradient is 0 if y⟨w,x⟩ > 0 and −yx if < 0; w_1 = 0.
    True: y⟨w,x⟩ = 0 is a mistake, else w_1 = 0 is never left; w_1 = Π_S(0) if 0 ∉ S.
    Run: who does not move at 0 errs 20 times in 20 rounds; the bound is 1.
    """
    x, y = np.tile([1.0, 0.0], (20, 1)), np.ones(20)
    w, errors = np.zeros(2), 0
    for row, label in zip(x, y, strict=True):
        margin = label * float(w @ row)
        errors += int(margin <= 0)
        w = w + label * row if margin < 0 else w
    bound = 1.0  # R²‖u‖²/γ²
    assert errors == 20 > bound
    assert len(mistakes_of_perceptron(x, y)) == 1 <= bound
    assert train(zoo.perceptron(), x, y, compiled=False).mistakes == 1
    away = play(MirrorDescent(Euclidean(Box(1.0, 2.0)), Constant(0.1)), [[1.0]])
    assert away.points[0] == 1.0  # w_1 = Π(0), where algorithm 1 has 0, which is not in S
