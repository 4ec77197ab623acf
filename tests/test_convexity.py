"""Convexity is a premise: of losses and functions of one's own it is put to the test."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import play, train, zoo
from lowregret.convex.functions import Convex, Function, Regularised, ScoreFunction
from lowregret.convex.leader import FollowTheLeader
from lowregret.domain import L2Ball
from lowregret.errors import PartError
from lowregret.experts import AdaHedge, ExpertMixture, Hedge
from lowregret.hindsight.best import best_in_hindsight
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Falling, Hinge, Loss, Margin, MultiLoss, OnMistakes, Square
from lowregret.loss.verify import PREMISE, MetScores, counterexample, first_met
from lowregret.output import Average
from lowregret.rule import AdaGrad, ProjectedGradient
from lowregret.run.delayed import delayed
from lowregret.run.doubling import doubling
from lowregret.step import Constant
from lowregret.store.kinds import load as read
from lowregret.types import Cells, Vector

RNG = np.random.default_rng(6)


class Cauchy(Loss):
    """ln(1 + r²), which is not convex"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        r = p - y
        return math.log(1 + r * r), 2 * r / (1 + r * r)


class PseudoHuber(Loss):
    """√(1 + r²) − 1"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        root = math.sqrt(1 + (p - y) ** 2)
        return root - 1, (p - y) / root


class LogCosh(Loss):
    """ln cosh r, as most write it"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        r = abs(p - y)
        return r + math.log1p(math.exp(-2 * r)) - math.log(2), math.tanh(p - y)


class Careless(Margin):
    """ln(1 + e^{−m}), with all the rounding that this has"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return math.log(1 + math.exp(-y * p)), -y / (1 + math.exp(y * p))


class WrongSlope(Loss):
    """r² with the slope of r²/2"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return (p - y) ** 2, p - y


class Lopsided(Loss):
    """−ln p for p > 0, as far as it goes"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return (-math.log(p), -1 / p) if p > 0 else (math.inf, -math.inf)


@pytest.mark.parametrize("loss", [PseudoHuber(), LogCosh(), Careless(), Lopsided()], ids=str)
@pytest.mark.parametrize("size", [1e-3, 1.0, 500.0])
def test_convex_losses_pass(loss: Loss, size: float) -> None:
    labels = (-1.0, 1.0) if isinstance(loss, Margin) else (-size, 0.0, size / 7)
    assert counterexample(loss, MetScores(-size, size, 1.0, labels), size) is None
    assert counterexample(loss, None) is None


@pytest.mark.parametrize("loss", [Cauchy(), WrongSlope()], ids=str)
@pytest.mark.parametrize("size", [10.0, 1e3, 1e6])
def test_others_are_refuted(loss: Loss, size: float) -> None:
    found = counterexample(loss, MetScores(-size, size, 1.0, (0.0, size / 3)), 1.0)
    assert found is not None
    assert "label" in found
    assert "slope" in found


def test_losses_of_the_package_are_not_asked() -> None:
    assert first_met(Square()) is None
    assert first_met(OnMistakes(Hinge())) is None
    assert train(zoo.ogd_eager(Square(), 0.1), [[1.0]], [1.0]).met is None


class Boasting(Square):
    """(r/2)², with the facts of r²"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return (p - y) ** 2 / 4, (p - y) / 2

    @property
    def curvature(self) -> float:
        return 2.0


class Short(Margin):
    """A hinge that claims to be 0.1-Lipschitz"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return (1 - y * p, -y) if y * p < 1 else (0.0, 0.0)

    @property
    def lipschitz(self) -> float:
        return 0.1


class Unfalling(Falling):
    """|m|, which does not fall"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return abs(p) + 0.5, math.copysign(1.0, p)

    @property
    def error_per_loss(self) -> float:
        return 1.0


class FalseDual(Short):
    """A hinge with the conjugate of another"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return (1 - y * p, -y) if y * p < 1 else (0.0, 0.0)

    def conjugate(self, a: float, y: float) -> float:
        return 3.0 * y * a if 0.0 <= -y * a <= 1.0 else math.inf

    def envelope(self, p: float, y: float, mu: float) -> tuple[float, float]:
        return Hinge().envelope(p, y, mu)


@pytest.mark.parametrize(
    ("loss", "word"),
    [(Boasting(), "strongly convex"), (Short(), "lipschitz"), (Unfalling(), "error_per_loss"), (FalseDual(), "conjug")],
    ids=str,
)
def test_false_declarations_are_found(loss: Loss, word: str) -> None:
    assert word in str(counterexample(loss, None))


# ---- runs ------------------------------------------------------------------------------------------------------------


def rows() -> tuple[Any, Any]:
    """Half of the labels far away, where the slope of `Cauchy` is next to nothing."""
    X = RNG.normal(size=(600, 2))
    return X, 300 * np.sign(X[:, 0])


def test_a_loss_that_is_not_convex_gets_no_certificate(tmp_path: Path) -> None:
    X, y = np.ones((3000, 1)), np.full(3000, 300.0)
    run = train(zoo.ogd_eager(Cauchy(), 10.0, 300.0), X, y)
    assert run.regret([300.0], X, y) > 2 * run.certificate.bound  # so it must not hold
    run.save(tmp_path / "model.lr")
    for each in (run, read(tmp_path / "model.lr")):
        assert each.met == run.met
        assert not any(c.holds for c in each.certificates)
        premise = next(p for p in each.certificate.premises if p.name == PREMISE)
        assert "slope" in premise.observed
        assert each.certificate.linear_regret is None
        assert np.isnan(each.trace.bound).all()


def test_a_convex_one_does(tmp_path: Path) -> None:
    X, y = rows()
    run = train(zoo.ogd_eager(PseudoHuber(), 0.1, 100.0, Average()), X, y)
    assert run.certificate.holds
    assert any(p.name == PREMISE and p.holds for p in run.certificate.premises)
    assert run.regret([100.0, 0.0], X, y) <= run.certificate.bound


def test_late_answers_and_restarts_too() -> None:
    X, y = rows()
    late = delayed(zoo.ogd_eager(Cauchy(), 0.1, 100.0), 2).learn(X, y, delay=3).deliver()
    asked = delayed(zoo.ogd_eager(Cauchy(), 0.1, 100.0), 2)
    asked.tell(asked.ask(X)[0], y)
    again = doubling(zoo.ogd_eager(Cauchy(), 0.1, 100.0), 2).learn(X, y)
    for run in (late, asked, again):
        assert not any(c.holds for c in run.certificates)
        assert all(c.linear_regret is None for c in run.certificates)


def test_no_gap_without_convexity() -> None:
    X, y = rows()
    assert best_in_hindsight(Cauchy(), X, y, L2Ball(100.0)).gap == math.inf
    assert best_in_hindsight(PseudoHuber(), X, y, L2Ball(100.0)).gap < 1.0


class Parabola(MultiLoss):
    """−Σs², which is concave"""

    def at(self, scores: Cells, known: int, guess: int, y: int, slopes: Cells) -> float:
        total = 0.0
        for k in range(known):
            slopes[k] = -2.0 * scores[k]
            total -= scores[k] * scores[k]
        return total


def test_many_classes() -> None:
    X = RNG.normal(size=(30, 2))
    learner = Multiclass(Parabola(), ProjectedGradient(L2Ball(1.0), Constant(0.1)))
    run = train(learner, X, RNG.integers(0, 3, 30), classes=[0, 1, 2], compiled=False)
    assert not any(c.holds for c in run.certificates)
    assert isinstance(AdaGrad(0.5), AdaGrad)


# ---- experts and games -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linearised", [True, False])
@pytest.mark.parametrize("aggregator", [Hedge(0.5), AdaHedge()], ids=str)
def test_experts(linearised: bool, aggregator: Any, tmp_path: Path) -> None:
    """A mean between two forecasts is worse than both where the loss is not convex."""
    forecasts, outcomes = [[-40.0, 40.0]] * 50, [40.0, -40.0] * 25
    mixture = ExpertMixture(2, aggregator, Cauchy(), linearised=linearised).learn(forecasts, outcomes)
    mixture.save(tmp_path / "model.lr")
    for each in (mixture, read(tmp_path / "model.lr")):
        assert not each.certificate.holds
        assert each.certificate.linear_regret is None
    assert ExpertMixture(2, aggregator, LogCosh(), linearised=linearised).learn(forecasts, outcomes).certificate.holds


class Dip(Convex):
    """−‖w‖², said to be convex"""

    def value(self, w: Vector) -> float:
        return -float(w @ w)

    def subgradient(self, w: Vector) -> Vector:
        return -2 * w

    @property
    def dimension(self) -> int:
        return 2


DIP = Function(lambda w: -float(w @ w) + float(w[0]) / 100, lambda w: -2 * w + [0.01, 0.0])
BOWL = Function(lambda w: float(w @ w), lambda w: 2 * w, 2.0)


@pytest.mark.parametrize("player", [ProjectedGradient(L2Ball(1.0), Constant(0.1)), FollowTheLeader(L2Ball(1.0))])
@pytest.mark.parametrize(
    "f",
    [Dip(), DIP, Regularised(DIP, 0.1), ScoreFunction(Cauchy(), [30.0, 0.0], 5.0)],
    ids=["own class", "function", "regularised", "of a score"],
)
def test_games(player: Any, f: Convex) -> None:
    game = play(player, [f] * 12, dimension=2)
    assert not any(c.holds for c in game.certificates)
    assert game.best().gap == math.inf


def test_games_of_convex_functions() -> None:
    game = play(ProjectedGradient(L2Ball(1.0), Constant(0.1)), [BOWL] * 12, dimension=2)
    assert game.certificate.holds
    too_curved = Function(lambda w: float(w @ w), lambda w: 2 * w, 5.0)
    game = play(
        ProjectedGradient(L2Ball(1.0), Constant(0.1)),
        [too_curved, Function(lambda w: w[0], lambda w: [1, 0])] * 6,
        dimension=2,
    )
    assert not game.certificate.holds


def test_an_at_of_another_shape_is_refused_before_it_is_compiled() -> None:
    class Alone(Loss):
        def at(self, p: float, y: float) -> Any:
            return (p - y) ** 2

    class Scored(Loss):
        def at(self, p: float) -> Any:  # type: ignore[override]
            return p, 1.0

    class Bounded(Loss):  # defined for scores above 1 alone
        def at(self, p: float, y: float) -> tuple[float, float]:
            return -math.log(p - 1.0), -1.0 / (p - 1.0)

    with pytest.raises(PartError, match=r"Alone.at must return two numbers, the loss and its slope in p; .* is 1.0"):
        zoo.ogd(Alone())
    for pair in (("a", "b"), (1j, 1j), (np.ones(1), np.ones(1)), (None, 1.0)):
        with pytest.raises(PartError, match=r"Given.at must return two numbers"):
            zoo.ogd(type("Given", (Loss,), {"at": lambda self, p, y, pair=pair: pair})())
    for real in ((1, True), (np.float32(1), np.bool_(True)), (np.int8(1), 0.5)):
        zoo.ogd(type("Given", (Loss,), {"at": lambda self, p, y, real=real: real})())
    with pytest.raises(PartError, match=r"Scored.at\(p.* must take \(p, y\), the score and the label"):
        zoo.ogd(Scored())
    zoo.ogd(Bounded())


# ---- where losses elsewhere in reach are large -----------------------------------------------------------------------


class Bumpy(Loss):
    """e^p for p ≥ 0, and a wave for p < 0"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        if p >= 0:
            return math.exp(p), math.exp(p)
        if p > -4:
            return 0.5 + 0.5 * math.cos(math.pi * p), -0.5 * math.pi * math.sin(math.pi * p)
        return 1.0 + (p + 4) ** 2, 2 * (p + 4)


class Wells(Loss):
    """Two wells at r = ±1 and a hill between them; r in units"""

    unit: float = 1.0

    def at(self, p: float, y: float) -> tuple[float, float]:
        r = (p - y) / self.unit
        if abs(r) >= 1:
            return (abs(r) - 1) ** 2, 2 * (abs(r) - 1) * math.copysign(1.0, r) / self.unit
        return (1 - r * r) ** 2 / 2, -2 * r * (1 - r * r) / self.unit


class Expanded(Loss):
    """p² − 2py + y²"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return p * p - 2 * p * y + y * y, 2 * p - 2 * y


class LessOne(Loss):
    """e^r − 1 − r, which near 0 is what of 1 was rounded"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return math.exp(p - y) - 1 - (p - y), math.exp(p - y) - 1


class Poisson(Loss):
    """e^p − yp"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return math.exp(p) - y * p, math.exp(p) - y


class SoftPlus(Loss):
    """ln(1 + e^p) with a slope from which 1 was subtracted"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return math.log1p(math.exp(p)), 1 - 1 / (1 + math.exp(p))


class FalseNearby(Loss):
    """r² with a conjugate that is false for slopes below 1"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return (p - y) ** 2, 2 * (p - y)

    def envelope(self, p: float, y: float, mu: float) -> tuple[float, float]:
        return Square().envelope(p, y, mu)

    def conjugate(self, a: float, y: float) -> float:
        return a * y + a * a / 4 - (0.01 if abs(a) < 1 else 0.0)


@pytest.mark.parametrize("far", [10.0, 40.0, 600.0, 1e9])
def test_a_wave_is_seen_however_large_losses_are_elsewhere(far: float) -> None:
    assert counterexample(Bumpy(), MetScores(-2.0, -2.0, 1.0, (0.0,)), far) is not None
    assert best_in_hindsight(Bumpy(), np.ones((9, 1)), np.zeros(9), L2Ball(far)).gap == math.inf


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("far", [3.0, 1e3, 1e6, 1e9])
def test_wells_are_seen_in_all_units(unit: float, far: float) -> None:
    assert counterexample(Wells(unit), MetScores(-unit, unit, 1.0, (0.0,)), far * unit) is not None


def test_a_conjugate_that_is_false_near_zero_is_seen_beside_large_ones() -> None:
    assert "conjugate" in str(counterexample(FalseNearby(), MetScores(-1e6, 1e6, 1.0, (0.0,)), 1e6))


@pytest.mark.parametrize("loss", [Expanded(), LessOne(), Poisson(), SoftPlus(), LogCosh(), PseudoHuber()], ids=str)
@pytest.mark.parametrize("size", [1e-3, 0.3, 37.3, 300.0, 1e6, 1e12])
def test_rounding_of_convex_losses_is_no_fault(loss: Loss, size: float) -> None:
    for label in (0.0, 0.3, size, -size / 7):
        for met in (size, size / 1e6):
            assert counterexample(loss, MetScores(-met, met / 3, 1.0, (label,)), size) is None


class Odd(MultiLoss):
    """Σd²/(1 + d²) of the distances d from ∓10"""

    scale: float = 1.0

    def at(self, scores: Cells, known: int, guess: int, y: int, slopes: Cells) -> float:
        total = 0.0
        for k in range(known):
            d = scores[k] - (10.0 if k == 0 else -10.0)
            total += self.scale * d * d / (1 + d * d)
            slopes[k] = self.scale * 2 * d / (1 + d * d) ** 2
        return total


class SoftMax(MultiLoss):
    """ln Σe^{s_k} − s_y"""

    scale: float = 1.0

    def at(self, scores: Cells, known: int, guess: int, y: int, slopes: Cells) -> float:
        top = max(scores[k] for k in range(known))
        total = sum(math.exp(scores[k] - top) for k in range(known))
        for k in range(known):
            slopes[k] = self.scale * (math.exp(scores[k] - top) / total - (k == y))
        return self.scale * (top + math.log(total) - scores[y])


@pytest.mark.parametrize("scale", [1e-200, 1e-13, 1.0, 1e100])
@pytest.mark.parametrize("size", [1.0, 20.0, 1e6])
def test_many_classes_in_all_units(scale: float, size: float) -> None:
    met = MetScores(-size, size, 1.0)
    assert counterexample(Odd(scale), met, size) is not None
    assert counterexample(SoftMax(scale), met, size) is None


class Half(PseudoHuber):
    """√(1 + r²) − 1, said to have a dual side, of which a half is missing"""

    @property
    def dual(self) -> bool:
        return True

    def conjugate(self, a: float, y: float) -> float:
        return a * y + 1 - math.sqrt(1 - a * a)


def test_half_of_a_dual_side_is_named() -> None:
    with pytest.raises(PartError, match="Half says that its dual side is known, and has no `envelope`"):
        best_in_hindsight(Half(), RNG.normal(size=(9, 2)), np.zeros(9), L2Ball(1.0))
