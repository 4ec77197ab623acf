"""What the source texts print and a run refutes, beside the corrected certificate on the same run (theory.md §10)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lowregret import zoo
from lowregret.certificate import Certificate, certificates
from lowregret.domain import Box, Domain, Point, Simplex
from lowregret.learner.linear import Linear
from lowregret.loss import Cost
from lowregret.mirror import Entropy, PNorm
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.run.linear import LinearRun
from lowregret.step import Constant, InverseSqrt, InverseTime
from lowregret.train import train
from tests.laws import sequences
from tests.laws.classifiers import disjunction, mistakes_of_winnow, orthonormal


def named(run: LinearRun, comparators: Domain) -> dict[str, Certificate]:
    return {c.id: c for c in certificates(run.learner, run.state, comparators)}


def on_costs(learner: Linear, stream: sequences.Stream) -> LinearRun:
    return train(learner, stream.x, stream.y, compiled=False)


def test_e02_the_root_over_both_terms() -> None:
    """Printed: mistakes ≤ F + b√(F + b²). x_t = e_t, d = 4, u = ½·1: 4 > 3.732. True: F + b√F + b²."""
    stream = orthonormal(4, 4)
    run = train(zoo.perceptron(), stream.x, stream.y, compiled=False)
    u = np.full(4, 0.5)
    f, b = 4 * 0.5, 1.0
    printed = f + b * math.sqrt(f + b**2)
    assert f"{printed:.3f}" == "3.732"
    assert run.mistakes == 4 > printed
    assert all(c.holds for c in run.mistake_certificates(u, stream.x, stream.y))


@pytest.mark.parametrize(("d", "rounds"), [(4, 300), (16, 1000), (64, 2000)])
def test_e13_the_rate_of_corollary_2_14(d: int, rounds: int) -> None:
    """Printed: η = √(ln d)/(L√(2T)) gives regret ≤ BL√(2T ln d). One free expert among paying ones refutes it."""
    stream = sequences.free_expert(rounds, d)
    eta = math.sqrt(math.log(d) / (2 * rounds))
    run = on_costs(Linear(Cost(), MirrorDescent(Entropy(), Constant(eta))), stream)
    regret = run.loss  # the free expert lost nothing
    printed = math.sqrt(2 * rounds * math.log(d))
    assert printed < regret < 1.1 * printed
    assert all(c.holds for c in certificates(run.learner, run.state, Simplex()))

    tuned = Linear(Cost(), MirrorDescent(Entropy(), Constant(Entropy().tuned_rate(1.0, 1.0, rounds, d))))
    run = on_costs(tuned, stream)
    assert run.loss <= printed
    assert named(run, Simplex())["COR-2.14"].bound == pytest.approx(printed, rel=1e-12)


@pytest.mark.parametrize(("p", "ratio"), [(4.0, 1.4), (6.0, 2.2)])
def test_e14_the_second_term_of_corollary_2_18(p: float, ratio: float) -> None:
    """Printed for the link η(·): ‖u‖_q²/(2η(q−1)) + ηΣ‖z_t‖_p². At u = 0 it is exceeded for p > 3; true: η(p−1)/2."""
    eta, stream = 0.5, sequences.wobble(20_000, 2, 0.1)
    run = on_costs(Linear(Cost(), MirrorDescent(PNorm(p), Constant(eta))), stream)
    regret = run.loss  # u = 0 loses nothing
    printed = eta * float(np.sum(np.linalg.norm(stream.x, p, axis=1) ** 2))
    assert regret > ratio * printed
    found = named(run, Point(np.zeros(2)))
    assert all(c.holds for c in found.values())
    assert regret > 0.9 * found["COR-2.18"].bound  # and that is nearly all it may be


def test_e23_the_sign_of_winnow() -> None:
    """Printed: w[i] ← w[i]·e^{−2ηyx[i]}. It unlearns; the bound 8k ln d is exceeded many times."""
    stream = disjunction(2000, 8, 1, 0)
    printed, _, _ = mistakes_of_winnow(stream.x, stream.y, 0.25, sign=-1.0)
    bound = 8 * math.log(8)
    assert len(printed) > 15 * bound
    run = train(zoo.winnow(8), stream.x, stream.y, compiled=False)
    assert run.mistakes is not None
    assert run.mistakes <= bound
    assert all(c.holds for c in run.mistake_certificates(np.eye(8)[0], stream.x, stream.y))


def test_e38_the_radius_in_place_of_the_diameter() -> None:
    """Printed with D the radius: D²√T/2 + G²√T. From one end of an interval to the other in one round: 2 > 1.5."""
    learner = Linear(Cost(), ProjectedGradient(Box(0.0, 2.0), InverseSqrt(1.0)))  # w_1 = Π(0), the left end
    run = on_costs(learner, sequences.of_costs("one step right", np.array([[-1.0]])))
    radius, diameter = 1.0, 2.0
    regret = run.loss - 2.0 * -1.0
    assert regret == 2.0 > radius**2 / 2 + 1 == 1.5
    found = named(run, Box(0.0, 2.0))["EAGER-DEC"]
    assert found.holds
    assert found.linear_regret == 2.0
    assert found.bound == diameter**2 / 2 + 0.5


@pytest.mark.parametrize("rounds", [700, 7000])
def test_e40_a_rate_of_one_over_t(rounds: int) -> None:
    """Printed: η_t = 1/t is good for convex costs. g = +1, then −1 until e²T₀: the regret stays at about .32T."""
    stream = sequences.turn(rounds, 1)
    run = on_costs(Linear(Cost(), ProjectedGradient(Box(-1.0, 1.0), InverseTime(1.0))), stream)
    regret = run.loss + abs(float(np.sum(stream.x)))
    assert 0.3 < regret / rounds < 0.34
    found = named(run, Box(-1.0, 1.0))
    assert found["EAGER-DEC"].holds
    assert not found["THM-14.11"].holds  # which would promise ln T: no strong convexity
    assert regret > 10 * found["THM-14.11"].bound
    assert found["THM-14.11"].premises[1].observed == 0.0

    sublinear = on_costs(Linear(Cost(), ProjectedGradient(Box(-1.0, 1.0), InverseSqrt(1.0))), stream)
    assert named(sublinear, Box(-1.0, 1.0))["EAGER-DEC"].bound <= 3 * math.sqrt(rounds)
