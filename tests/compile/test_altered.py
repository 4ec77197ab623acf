"""A class that changes a part of the package inherits none of its theorems."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from lowregret import play, train, zoo
from lowregret.certificate import certificates
from lowregret.convex.functions import QuadraticFunction
from lowregret.domain import Box, Domain, L2Ball, Point, Reals
from lowregret.domain.base import Radial
from lowregret.experts import ExpertMixture, Hedge
from lowregret.hindsight.best import best_in_hindsight
from lowregret.learner.kernel_perceptron import Kernel
from lowregret.learner.linear import Linear
from lowregret.loss import Cost, Falling, Hinge, Logistic, Loss, Margin, OnMistakes, Square
from lowregret.mirror import Entropy, Euclidean, Mirror
from lowregret.output import Average
from lowregret.rule import AdaGrad, MirrorDescent, ProjectedGradient
from lowregret.state import State
from lowregret.step import Constant, Step
from lowregret.types import Vector

pytestmark = pytest.mark.usefixtures("interpreted")

RNG = np.random.default_rng(3)


class Weighted(Hinge):
    """[1 − y·p]₊, a hundredth of it for label −1."""

    def at(self, p: float, y: float) -> tuple[float, float]:
        weight = 1.0 if y > 0 else 0.01
        gap = 1.0 - y * p
        return (weight * gap, -weight * y) if gap > 0.0 else (0.0, 0.0)


class Wide(Hinge):
    margin: float = 2.0


class Renamed(Hinge):
    labels: ClassVar[str] = "no or yes"

    def helper(self) -> float:
        return 1.0


class Mixin:
    def at(self, p: float, y: float) -> tuple[float, float]:
        return 0.5 * (p - y) ** 2, p - y


class Halved(Mixin, Square):
    pass


class HalvedAgain(Halved):
    @property
    def curvature(self) -> float:
        return 1.0


class Longer(L2Ball):
    def projection(self, v: Vector) -> Vector:
        return super().projection(np.asarray(v) / 3) * 3

    def shrink(self, norm: float) -> float:
        return 1.0 if norm <= 3 * self.radius else 3 * self.radius / norm


class Twice(Constant):
    def rate(self, s: State, present: float) -> float:
        return self.eta * (1.0 + s.counts[0])


class Growing(Step):
    def rate(self, s: State, present: float) -> float:
        return 0.001 * (1.0 + s.counts[0])


class Reversed(ProjectedGradient):
    def settle(self, s: State, inner: float, entries: int, round_sums: Any) -> None:
        super().settle(s, inner, entries, round_sums)


class Flat(Euclidean):
    def link(self, theta: Vector) -> Vector:
        return super().link(theta) * 0.0


class Tilted(QuadraticFunction):
    def value(self, w: Vector) -> float:
        return float(w @ self.z)

    def subgradient(self, w: Vector) -> Vector:
        return np.array(self.z)


class Lazy(Hedge):
    def absorb(self, s: Any) -> None:
        pass


def test_what_changes_a_part_is_no_such_part() -> None:
    for made, kind in ((Weighted(), Hinge), (Halved(), Square), (HalvedAgain(), Square), (Longer(1.0), L2Ball)):
        assert not isinstance(made, kind)
        assert isinstance(made, Loss | Domain)
        assert issubclass(type(made), kind)
    assert isinstance(Weighted(), Margin)
    assert isinstance(HalvedAgain(), HalvedAgain)


def test_what_changes_nothing_stays_what_it_is() -> None:
    for made in (Wide(), Renamed()):
        assert isinstance(made, Hinge)
        assert made.lipschitz == 1.0
        assert made.dual
    assert Wide().error_per_loss == 0.5


def test_what_changes_a_part_later_makes_it_no_such_part() -> None:
    class Plain(Hinge):
        """Nothing is changed, yet."""

    class Plainer(Plain):
        """Nor here."""

    assert isinstance(Plainer(), Hinge)
    assert Plainer().dual
    setattr(Plain, "at", Weighted.at)  # noqa: B010
    losses: list[Any] = [Plain(), Plainer()]
    for loss in losses:
        assert not isinstance(loss, Hinge)
        assert isinstance(loss, Margin)
        assert not loss.dual
        assert math.isinf(loss.lipschitz)


def test_facts_are_not_inherited_but_declared() -> None:
    loss = Weighted()
    assert (loss.lipschitz, loss.curvature, loss.smoothness) == (math.inf, 0.0, math.inf)
    assert loss.error_per_loss is None
    assert not any((loss.dual, loss.kinked, loss.convex_in_label))
    assert loss.highest(1.0, 1.0) == math.inf
    assert Halved().curvature == 0.0
    assert HalvedAgain().curvature == 1.0


def test_a_falling_loss_is_worth_what_its_cheaper_label_is() -> None:
    class Uneven(Falling):
        def at(self, p: float, y: float) -> tuple[float, float]:
            weight = 1.0 if y > 0 else 0.25
            return (weight * (1.0 - y * p), -weight * y) if y * p < 1 else (0.0, 0.0)

    assert Uneven().error_per_loss == 4.0


def two_classes(n: int) -> tuple[Any, Any]:
    y = np.where(RNG.random(n) < 0.5, 1.0, -1.0)
    return np.ones((n, 1)), y


def test_class_weights_bound_no_error() -> None:
    """Half of the rows are wrong for a model that always says +1, whose weighted loss is small."""
    X, y = two_classes(3000)
    run = train(zoo.ogd_eager(Weighted(), 0.1, 1.0, Average()), X, y)
    assert float(np.mean(np.sign(run.predict(X)) != y)) > 0.4
    for risk in run.risks(0.05):
        assert not (risk.premises_hold and risk.of == "error" and risk.output != "drawn" and risk.bound < 0.4)


def test_no_gap_comes_from_an_inherited_conjugate() -> None:
    X, y = RNG.normal(size=(40, 2)), np.where(RNG.random(40) < 0.5, 1.0, -1.0)
    found = best_in_hindsight(Weighted(), X, y, L2Ball(2.0))
    grid = np.linspace(-2, 2, 81)
    points = [np.array([a, b]) for a in grid for b in grid if a * a + b * b <= 4]
    least = min(sum(Weighted().at(float(u @ x), t)[0] for x, t in zip(X, y, strict=True)) for u in points)
    assert found.value - found.gap <= least


def test_no_mistake_bound_of_a_changed_hinge() -> None:
    from lowregret.errors import PartError

    X, y = two_classes(200)
    learner = replace(zoo.perceptron(), loss=OnMistakes(Weighted()))
    run = train(learner, X, y)
    with pytest.raises(PartError, match="mistake bounds speak of"):
        run.mistake_certificates(np.ones(1), X, y)


@pytest.mark.parametrize(
    "rule",
    [
        ProjectedGradient(Longer(1.0), Constant(0.1)),
        MirrorDescent(Euclidean(Longer(1.0)), Constant(0.1)),
        MirrorDescent(Flat(), Constant(0.1)),
        ProjectedGradient(L2Ball(1.0), Twice(0.001)),
        MirrorDescent(Euclidean(L2Ball(1.0)), Twice(0.001)),
        ProjectedGradient(L2Ball(1.0), Growing()),
        MirrorDescent(Euclidean(L2Ball(1.0)), Growing()),
        Reversed(L2Ball(1.0), Constant(0.1)),
    ],
    ids=str,
)
def test_no_theorem_of_what_was_changed(rule: Any) -> None:
    """What is left is the linearised regret, or a bound of infinity."""
    X, y = RNG.normal(size=(200, 3)), RNG.normal(size=200)
    run = train(Linear(Square(), rule), X, y, compiled=False)
    for found in run.certificates:
        assert found.id == "LEM-2.5" or not (found.holds and found.bound < math.inf), found


def test_games_and_mixtures_too() -> None:
    game = play(ProjectedGradient(L2Ball(1.0), Constant(0.1)), [Tilted([1.0, 2.0])] * 5)
    assert game.functions[0].curvature == 0.0
    assert game.regret == pytest.approx(5 * math.sqrt(5.0) + game.loss, rel=1e-6)
    mixture = ExpertMixture(2, Lazy(1.0), linearised=False).learn([[0.0, 1.0]] * 100, [1.0] * 100)
    assert mixture.certificate.bound == math.inf


def test_auto_is_not_made_of_a_changed_loss() -> None:
    from lowregret.errors import PartError

    class Steeper(Logistic):
        def at(self, p: float, y: float) -> tuple[float, float]:
            value, slope = super().at(p, y)
            return 5 * value, 5 * slope

    with pytest.raises(PartError, match="auto learns with"):
        zoo.auto(Steeper())


def test_the_package_alters_nothing_of_its_own() -> None:
    from lowregret.loss import CostHinge, MultiHinge

    assert isinstance(CostHinge(np.array([[0.0, 1.0], [1.0, 0.0]])), MultiHinge)
    assert isinstance(AdaGrad(0.5, Box(-1.0, 1.0)).domain, Box)
    assert certificates(Linear(Hinge(), ProjectedGradient(Reals(), Constant(0.1))), State.zeros(1, 2, False))
    assert isinstance(Entropy(), Entropy)


# ---- parts of one's own that say what is not so ----------------------------------------------------------------------


class Modest(Radial):
    """A ball of radius 5 that says its radius is 0.1."""

    name: ClassVar[str] = "modest"

    def projection(self, v: Vector) -> Vector:
        return L2Ball(5.0).projection(v)

    def shrink(self, norm: float) -> float:
        return 1.0 if norm <= 5.0 else 5.0 / norm

    def support(self, theta: Vector) -> float:
        return 0.1 * float(np.linalg.norm(theta))

    def reach(self, q: float, d: int) -> float:
        return 0.1

    def diameter(self, d: int) -> float:
        return 0.2


class Honest(Modest):
    """A ball of radius 5."""

    def projection(self, v: Vector) -> Vector:
        return L2Ball(5.0).projection(v)

    def support(self, theta: Vector) -> float:
        return 5.0 * float(np.linalg.norm(theta))

    def reach(self, q: float, d: int) -> float:
        return L2Ball(5.0).reach(q, d)

    def diameter(self, d: int) -> float:
        return 10.0


def test_a_set_that_is_larger_than_it_says_certifies_nothing() -> None:
    X = RNG.normal(size=(300, 2))
    y = X @ [3.0, 1.0]
    for domain, known in ((Modest(), False), (Honest(), True)):
        run = train(Linear(Square(), ProjectedGradient(domain, Constant(0.05))), X, y, compiled=False)
        assert run.certificate.holds == known
        assert (run.regret([3.0, 1.0], X, y) <= run.certificate.bound) == known
        assert (run.certificate.linear_regret is not None) == known


class Strong(Euclidean):
    """½‖w‖² that says it is 100-strongly convex."""

    def value(self, w: Vector) -> float:
        return 0.5 * float(w @ w)

    def strength(self) -> float:
        return 100.0

    def highest(self, comparator: Domain, d: int) -> float:
        return 0.5 * comparator.reach(2, d) ** 2


class Fair(Strong):
    def value(self, w: Vector) -> float:
        return 0.5 * float(w @ w)

    def strength(self) -> float:
        return 1.0

    def highest(self, comparator: Domain, d: int) -> float:
        return 0.5 * comparator.reach(2, d) ** 2


def test_a_mirror_map_that_is_less_convex_than_it_says() -> None:
    from lowregret.mirror.verify import counterexample

    assert "strength 100" in str(counterexample(Strong(), L2Ball(1.0), 2))
    assert counterexample(Fair(), L2Ball(1.0), 2) is None
    run = train(Linear(Square(), MirrorDescent(Strong(), Constant(0.05))), [[1.0, 2.0]] * 9, [1.0] * 9, compiled=False)
    assert not any(c.premises_hold for c in run.certificates)


class Half(Mirror):
    """R(w) = ½‖w‖², and its link is still to be said"""

    def value(self, w: Vector) -> float:
        return 0.5 * float(w @ w)

    def strength(self) -> float:
        return 1.0


class Turning(Half):
    """The link of ½‖w‖² within 50, and its opposite beyond: no gradient of a convex function"""

    def link(self, theta: Vector) -> Vector:
        return np.array(theta if np.max(np.abs(theta)) < 50 else -theta)


class Winding(Half):
    """The opposite in a gap so narrow that nobody looks there"""

    def link(self, theta: Vector) -> Vector:
        return np.array(-theta if 3.99 < theta[0] < 4.01 else theta)


class Turned(Half):
    """A link that is written for two coordinates, and no gradient"""

    def link(self, theta: Vector) -> Vector:
        return np.array([theta[1], -theta[0]])


def test_a_mirror_map_is_tried_where_the_run_came_to() -> None:
    rows, ones = np.full((300, 1), -1.0), np.ones(300)
    run = train(Linear(Cost(), MirrorDescent(Turning(), Constant(1.0))), rows, ones, compiled=False)
    assert run.regret(np.ones(1), rows, ones) > 10 * max(c.bound for c in run.certificates)
    assert not any(c.premises_hold for c in run.certificates)
    run = train(Linear(Cost(), MirrorDescent(Turned(), Constant(1.0))), [[1.0, 2.0]] * 9, [1.0] * 9, compiled=False)
    assert not any(c.premises_hold for c in run.certificates)


def test_a_bound_that_the_run_refutes_proves_nothing() -> None:
    """Five rounds, one of them at the opposite of where the map says: regret is more than the theorem's bound."""
    rows, ones = np.full((5, 1), -1.0), np.ones(5)
    learner = Linear(Cost(), MirrorDescent(Winding(), Constant(1.0)))
    run = train(learner, rows, ones, comparator=Point(np.array([2.0])), compiled=False)
    found = next(c for c in run.certificates if c.id == "THM-2.21")
    true = run.regret(np.array([2.0]), rows, ones)
    assert found.premises_hold
    assert found.bound < true <= found.proved
    assert not found.holds


class Distance(Kernel):
    """1 − ‖a − b‖², which is no inner product"""

    def value(self, a: Vector, b: Vector) -> float:
        total = 1.0
        for j in range(a.size):
            total -= (a[j] - b[j]) * (a[j] - b[j])
        return total


class Plain(Kernel):
    """⟨a, b⟩"""

    def value(self, a: Vector, b: Vector) -> float:
        total = 0.0
        for j in range(a.size):
            total += a[j] * b[j]
        return total


def test_a_kernel_that_is_none() -> None:
    X = RNG.normal(size=(80, 2))
    y = np.where(RNG.random(80) < 0.5, 1.0, -1.0)
    for kernel, known in ((Distance(), False), (Plain(), True)):
        run = train(zoo.kernel_perceptron(kernel), X, y, compiled=False)
        assert run.certificate.premises_hold == known


class Both(Logistic, Hinge):
    """The logistic loss, which comes before the hinge."""


class BothAgain(Both):
    """The same once more."""


def test_of_two_bases_the_one_behind_is_changed_by_the_one_before() -> None:
    for made in (Both(), BothAgain()):
        assert isinstance(made, Logistic)
        assert not isinstance(made, Hinge)
