"""E13 to E16: the monograph on mirror descent and duality."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lowregret import zoo
from lowregret.certificate import certificates
from lowregret.domain import Point, Simplex
from lowregret.loss import Cost
from lowregret.mirror import Entropy, Euclidean, PNorm
from lowregret.rule import MirrorDescent
from lowregret.step import Constant
from tests.errata.helpers import named, on_costs
from tests.laws import sequences
from tests.naive import p_norm


@pytest.mark.parametrize(("d", "rounds"), [(4, 300), (16, 1000), (64, 2000)])
def test_e13_the_rate_of_corollary_2_14(d: int, rounds: int) -> None:
    """Monograph, corollary 2.14.

    Printed: η = √(ln d)/(L√(2T)) gives regret ≤ BL√(2T ln d).
    True: η = √(2 ln d/T)/L does (COR-2.14).
    Run: one free expert, the others paying 1: up to 1.05 times the bound.
    """
    stream = sequences.free_expert(rounds, d)
    eta = math.sqrt(math.log(d) / (2 * rounds))
    run = on_costs(MirrorDescent(Entropy(), Constant(eta)), stream)
    regret = run.loss  # the free expert lost nothing
    printed = math.sqrt(2 * rounds * math.log(d))
    assert printed < regret < 1.1 * printed
    assert all(c.holds for c in certificates(run.learner, run.state, Simplex()))

    tuned = MirrorDescent(Entropy(), Constant(Entropy().tuned_rate(1.0, 1.0, rounds, d)))
    run = on_costs(tuned, stream)
    assert run.loss <= printed
    assert named(run, Simplex())["COR-2.14"].bound == pytest.approx(printed, rel=1e-12)


@pytest.mark.parametrize(("p", "ratio"), [(4.0, 1.4), (6.0, 2.2)])
def test_e14_the_second_term_of_corollary_2_18(p: float, ratio: float) -> None:
    """Monograph, corollary 2.18.

    Printed: ‖w‖_q²/(2η(q−1)) + ηΣ‖z_t‖_p² for the link with factor η.
    True: that link belongs to R = ‖w‖_q²/(2η): ‖u‖_q²/(2η) + (η(p−1)/2)Σ‖z_t‖_p² (COR-2.18).
    Run: one long step and small ones across it, u = 0: 1.4 times the bound at p = 4, 2.2 at p = 6.
    """
    eta, stream = 0.5, sequences.wobble(20_000, 2, 0.1)
    run = on_costs(MirrorDescent(PNorm(p), Constant(eta)), stream)
    regret = run.loss  # u = 0 loses nothing
    printed = eta * float(np.sum(np.linalg.norm(stream.x, p, axis=1) ** 2))
    assert regret > ratio * printed
    found = named(run, Point(np.zeros(2)))
    assert all(c.holds for c in found.values())
    assert regret > 0.9 * found["COR-2.18"].bound  # and that is nearly all it may be


def test_e15_the_p_norm_at_zero_and_at_two() -> None:
    """Monograph, 2.6.1, p-norm.

    Printed: w = η·sgn(θ)|θ|^{p−1}/‖θ‖_p^{p−2} from θ_1 = 0; p ≥ 2 in the text, p > 2 in the box.
    True: w = 0 at θ = 0; p = 2 is allowed, and is gradient descent.
    Run: the printed formula is 0/0 at θ_1.
    """
    theta = np.zeros(3)
    with np.errstate(invalid="ignore"):
        printed = np.sign(theta) * np.abs(theta) ** 2 / np.linalg.norm(theta, 3) ** 1
    assert np.all(np.isnan(printed))
    assert p_norm(3)(0.1, theta).tolist() == [0.0] * 3
    stream = sequences.random_costs(30, 3, 0)[0]
    run = on_costs(MirrorDescent(PNorm(3.0), Constant(0.1)), stream.first(1))
    assert run.loss == 0.0  # w_1 = 0
    two, descent = (on_costs(MirrorDescent(m, Constant(0.1)), stream) for m in (PNorm(2.0), Euclidean()))
    np.testing.assert_allclose(two.weights, descent.weights, rtol=1e-12)


def test_e16_signs_and_ranges_in_the_language_of_duality() -> None:
    """Monograph, (2.11), theorems 2.22 and 3.1.

    Printed: f*(θ) > ⟨u,θ⟩ − f(u); ln(1 − a) ≤ −a for a ≤ 1; η ∈ (0,1).
    True: ≥, with equality at u = ∇f*(θ); a < 1; η < 1 is needed for part 2 alone.
    Run: ½‖u‖² at u = θ; ln 0; η = 2, where part 1 holds and part 2 does not.
    """
    mirror = Euclidean()
    theta = np.array([1.0, -2.0])
    assert mirror.conjugate(theta) == float(theta @ theta) - mirror.value(theta)  # equality at u = ∇f*(θ)
    with pytest.raises(ValueError, match=r"math domain error|positive input"):
        math.log(1 - 1.0)
    assert all(math.log(1 - a) <= -a for a in np.linspace(-20, 0.999, 500))

    rounds, d, eta = 200, 4, 2.0  # beyond 1: part 2 divides by a negative number, part 1 holds
    stream = sequences.random_experts(rounds, d, 0)[0]
    run = on_costs(MirrorDescent(Entropy(), Constant(eta)), stream)
    best = float(stream.x.sum(axis=0).min())
    assert run.loss > (best + math.log(d) / eta) / (1 - eta)
    assert run.loss <= best + math.log(d) / eta + eta * rounds
    assert run.loss <= (eta * best + math.log(d)) / -math.expm1(-eta)  # part 2 for every η
    assert zoo.eg(Cost(), eta) == run.learner
