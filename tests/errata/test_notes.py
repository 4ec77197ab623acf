"""E33 to E41: the notes on online gradient descent, and those on online support vector machines."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lowregret import zoo
from lowregret.convex import Function, QuadraticFunction
from lowregret.domain import Box, Reals
from lowregret.loss import Absolute, Hinge
from lowregret.play import play
from lowregret.regret import Moving, regret
from lowregret.rule import ProjectedGradient
from lowregret.step import InverseSqrt, InverseTime
from lowregret.train import train
from tests.errata.helpers import named, on_costs
from tests.laws import sequences
from tests.laws.classifiers import orthonormal


def test_e33_hinges_are_taken_off() -> None:
    """Notes, Perceptron.

    Printed: ‖w_M‖‖u‖ ≥ M + Σ hinge; the maximum over m.
    True: M − Σ hinge; over t ≤ T.
    Run: x_t = e_t, d = 4, u = ½·1: 2 < 6; and 2 = 4 − 2.
    """
    stream = orthonormal(4, 4)
    run = train(zoo.perceptron(), stream.x, stream.y, compiled=False)
    u = np.full(4, 0.5)
    assert run.mistakes is not None
    hinges = float(np.sum(np.maximum(0.0, 1 - stream.y * (stream.x @ u))))
    product = float(np.linalg.norm(run.weights) * np.linalg.norm(u))
    assert product < run.mistakes + hinges
    assert product == run.mistakes - hinges == 2.0


def _slopes(f: Hinge | Absolute, z: float, y: float) -> tuple[float, float]:
    """From the left and from the right."""
    here, step = f.at(z, y)[0], 1e-6
    return (here - f.at(z - step, y)[0]) / step, (f.at(z + step, y)[0] - here) / step


def test_e34_where_the_hinge_bends() -> None:
    """Notes, footnote 1, strongly convex losses.

    Printed: [1 − z]₊ is not differentiable at z = 0; |y − w·x| is linear.
    True: at z = 1; it is convex, with a kink.
    Run: slopes from both sides; a midpoint.
    """
    at_zero, at_one = _slopes(Hinge(), 0.0, 1.0), _slopes(Hinge(), 1.0, 1.0)
    assert at_zero[0] == pytest.approx(at_zero[1]) == pytest.approx(-1.0)
    assert at_one[0] == pytest.approx(-1.0)
    assert at_one[1] == 0.0
    values = [Absolute().at(w, 0.0)[0] for w in (-1.0, 0.0, 1.0)]
    assert values[0] + values[2] != 2 * values[1]
    assert values[1] <= (values[0] + values[2]) / 2  # convex, which is all that is used


def test_e35_a_hessian_of_full_rank() -> None:
    """Notes, (9), (7).

    Printed: strongly convex iff the Hessian has full rank; projections on a sphere.
    True: iff all eigenvalues are ≥ σ > 0 everywhere; on a ball.
    Run: e^w: no σ will do, and a σ that is declared all the same is refuted by the certificate's own test.
    """
    for sigma in (1.0, 1e-2, 1e-4):
        w, u = math.log(sigma / 4), math.log(sigma / 4) - 1.0
        assert math.exp(w) > 0
        assert math.exp(w) - math.exp(u) > math.exp(w) * (w - u) - sigma / 2 * (u - w) ** 2  # (9) fails
    claimed = Function(lambda w: float(np.exp(w[0])), lambda w: np.exp(w), sigma=0.01)
    game = play(ProjectedGradient(Reals(), InverseTime(0.01)), [claimed] * 5, dimension=1)
    strong = next(c for c in game.certificates if c.id == "THM-14.11")
    assert not strong.premises_hold  # the pair that refutes it is found
    curved = play(ProjectedGradient(Reals(), InverseTime(1.0)), [QuadraticFunction(np.array([s])) for s in (1.0, -1.0)])
    assert next(c for c in curved.certificates if c.id == "THM-14.11").holds


def test_e36_no_lipschitz_constant_everywhere() -> None:
    """Notes, strongly convex losses on R^d.

    Printed: (G²/2σ)(1 + ln T), all gradients ≤ G.
    True: G is the largest gradient met: curved functions have no G on R^d (THM-14.11).
    Run: ½(w ∓ 10)²: regret 150, more than the bound with the first gradient, less than with the largest.
    """
    z = np.array([[10.0], [-10.0]])
    game = play(
        ProjectedGradient(Reals(), InverseTime(1.0)), [QuadraticFunction(row) for row in z], comparator=Box(-20, 20)
    )
    assert game.regret == pytest.approx(150.0)
    first, met = np.abs(game.gradients[0, 0]), float(np.max(np.abs(game.gradients)))
    assert (first, met) == (10.0, 20.0)
    assert first**2 / 2 * (1 + math.log(2)) < game.regret <= met**2 / 2 * (1 + math.log(2))
    for steep in (1e3, 1e6):
        assert abs(QuadraticFunction(np.zeros(1)).subgradient(np.array([2 * steep]))[0]) > steep
    assert next(c for c in game.certificates if c.id == "THM-14.11").holds


@pytest.mark.parametrize("step", [lambda x, eta, g: x + eta * g, lambda x, eta, g: x * eta * g], ids=["plus", "times"])
def test_e37_a_minus_that_was_lost(step: object) -> None:
    """SVM lecture, updates, definition 4.1.2, (4.2.3).

    Printed: Proj(x η∇c); f((1−t)x + y); Σ_{t+1}.
    True: Proj(x − η∇c); f((1−t)x + ty); from t = 1.
    Run: c = x on [−1,1] with plus, and with times: three times the bound; x² is not convex so.
    """
    assert callable(step)
    rounds, x, lost = 100, 1.0, 0.0
    for t in range(1, rounds + 1):
        lost += x
        x = float(np.clip(step(x, 1 / math.sqrt(t), 1.0), -1, 1))
    bound = 2.0**2 * math.sqrt(rounds) / 2 + math.sqrt(rounds)
    assert lost + rounds > 3 * bound
    run = on_costs(ProjectedGradient(Box(-1.0, 1.0), InverseSqrt(1.0)), sequences.constant(rounds, 1))
    assert run.loss + rounds <= bound
    assert named(run, Box(-1.0, 1.0))["EAGER-DEC"].holds
    a, b, share = 1.0, 1.0, 0.0
    assert ((1 - share) * a + b) ** 2 > (1 - share) * a**2 + share * b**2 == ((1 - share) * a + share * b) ** 2


def test_e38_the_radius_in_place_of_the_diameter() -> None:
    """SVM lecture, theorem 4.1.3.

    Printed: D = max‖x − y‖ is called the radius.
    True: it is the diameter, and must be (EAGER-DEC).
    Run: from one end of an interval to the other in one round: 2 > 1.5.
    """
    rule = ProjectedGradient(Box(0.0, 2.0), InverseSqrt(1.0))  # w_1 = Π(0), the left end
    run = on_costs(rule, sequences.of_costs("one step right", np.array([[-1.0]])))
    radius, diameter = 1.0, 2.0
    lost = run.loss - 2.0 * -1.0
    assert lost == 2.0 > radius**2 / 2 + 1 == 1.5
    found = named(run, Box(0.0, 2.0))["EAGER-DEC"]
    assert found.holds
    assert found.linear_regret == 2.0
    assert found.bound == diameter**2 / 2 + 0.5


@pytest.mark.parametrize("size", [0.3, 50.0])
def test_e39_half_the_drift(size: float) -> None:
    """SVM lecture, theorem 4.1.3.

    Printed: costs in [0,1]; 2D·L·√T for the drift.
    True: any costs; D·L·√T (DYN).
    Run: costs that turn eight times, of size .3 and 50, stay below the bound with half the drift.
    """
    rounds, diameter = 200, 2.0
    turns = np.where(np.arange(rounds) // 25 % 2 == 0, 1.0, -1.0)[:, None]
    game = play(ProjectedGradient(Box(-1.0, 1.0), InverseSqrt(1.0)), list(size * turns))
    found = regret(game, Moving(-turns))
    length = float(np.sum(np.abs(np.diff(turns, axis=0))))
    half = diameter**2 * math.sqrt(rounds) / 2 + size**2 * math.sqrt(rounds) + diameter * length * math.sqrt(rounds)
    assert found.value <= half < half + diameter * length * math.sqrt(rounds)  # the bound printed
    assert found.certificate is not None
    assert found.certificate.bound <= half
    assert found.certificate.holds
    assert game.losses.min() < 0.0  # no costs in [0,1]


@pytest.mark.parametrize("rounds", [700, 7000])
def test_e40_a_rate_of_one_over_t(rounds: int) -> None:
    """SVM lecture, theorem 4.1.3.

    Printed: η_t = 1/t is a common choice.
    True: for strongly convex costs, 1/(σt) (THM-14.11); else the regret may be linear.
    Run: +1 for T/e² rounds, then −1: regret .32T.
    """
    stream = sequences.turn(rounds, 1)
    run = on_costs(ProjectedGradient(Box(-1.0, 1.0), InverseTime(1.0)), stream)
    lost = run.loss + abs(float(np.sum(stream.x)))
    assert 0.3 < lost / rounds < 0.34
    found = named(run, Box(-1.0, 1.0))
    assert found["EAGER-DEC"].holds
    assert not found["THM-14.11"].holds  # which would promise ln T: no strong convexity
    assert lost > 10 * found["THM-14.11"].bound
    assert found["THM-14.11"].premises[1].observed == 0.0

    sublinear = on_costs(ProjectedGradient(Box(-1.0, 1.0), InverseSqrt(1.0)), stream)
    assert named(sublinear, Box(-1.0, 1.0))["EAGER-DEC"].bound <= 3 * math.sqrt(rounds)


def test_e41_no_least_convex_bound() -> None:
    """SVM lecture, 4.2.2.

    Printed: the hinge is the least convex upper bound of the 0–1 loss.
    True: there is none: [1 − az]₊ is one for every a > 0.
    Run: three of them, none below the others; their minimum is not convex.
    """
    z = np.linspace(-3, 3, 601)
    step = (z <= 0).astype(float)
    bounds = {a: np.maximum(0.0, 1 - a * z) for a in (0.1, 1.0, 4.0)}
    for values in bounds.values():
        assert np.all(values >= step)
        assert np.all(values[1:-1] <= (values[:-2] + values[2:]) / 2 + 1e-12)
    hinge = np.array([Hinge().at(float(p), 1.0)[0] for p in z])
    np.testing.assert_allclose(hinge, bounds[1.0])
    assert any(np.any(values < hinge - 0.1) for values in bounds.values())  # so it is not the least
    lowest = np.min(list(bounds.values()), axis=0)  # and what lies below all of them is not convex
    assert np.any(lowest[1:-1] > (lowest[:-2] + lowest[2:]) / 2 + 1e-3)
