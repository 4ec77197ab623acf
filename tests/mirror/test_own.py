"""Mirror maps of one's own, given by their textbook side: the same run as by coordinates, and the same certificates."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import (
    Adaptive,
    Average,
    Box,
    Constant,
    Entropy,
    Euclidean,
    FollowTheRegularisedLeader,
    InverseSqrt,
    L1Ball,
    L2Ball,
    Linear,
    Logistic,
    MirrorDescent,
    Multiclass,
    PartError,
    PNorm,
    Reals,
    Simplex,
    Softmax,
    Square,
    load,
    play,
    train,
)
from lowregret.compile.numerics import norm
from lowregret.convex import QuadraticFunction
from lowregret.domain import Domain, Point
from lowregret.learner import Delayed, Doubling
from lowregret.mirror import Mirror
from lowregret.mirror.base import GIVES
from lowregret.regret import regret
from lowregret.types import Vector

RNG = np.random.default_rng(5)
COSTS = RNG.normal(size=(60, 4))


class Link(Mirror):
    """tanh(θ), of which nothing else is told"""

    def link(self, theta: Vector) -> Vector:
        return np.tanh(theta)


class Binary(Mirror):
    """½Σ[(1 + w)ln(1 + w) + (1 − w)ln(1 − w)] on [−1, 1]: link tanh(θ), 1-strongly convex"""

    @property
    def domain(self) -> Domain:
        return Box(-1.0, 1.0)

    def link(self, theta: Vector) -> Vector:
        return np.tanh(theta)

    def value(self, w: Vector) -> float:
        if np.any(np.abs(w) > 1):
            return math.inf
        sides = np.concatenate([1 + w, 1 - w])
        return 0.5 * float(np.sum(sides * np.log(np.where(sides > 0, sides, 1.0))))

    def strength(self) -> float:
        return 1.0


class Ball(Mirror):
    """½‖w‖² on a ball, by its textbook side"""

    radius: float = 1.0

    @property
    def domain(self) -> Domain:
        return L2Ball(self.radius)

    def link(self, theta: Vector) -> Vector:
        return L2Ball(self.radius).projection(theta)

    def value(self, w: Vector) -> float:
        return 0.5 * float(w @ w)

    def strength(self) -> float:
        return 1.0

    def highest(self, comparator: Domain, d: int) -> float:
        return 0.5 * comparator.reach(2, d) ** 2


class Softer(Mirror):
    """Σ w ln w on the simplex, by its textbook side"""

    norm: ClassVar[str] = "1"

    @property
    def domain(self) -> Domain:
        return Simplex(1.0)

    def link(self, theta: Vector) -> Vector:
        return Entropy().link(theta)

    def value(self, w: Vector) -> float:
        return Entropy().value(w)

    def strength(self) -> float:
        return 1.0


class Streaming(Binary):
    """The same map by its coordinates, compiled"""

    def strength(self) -> float:
        return 1.0

    def whole(self) -> bool:
        return False

    def width(self) -> int:
        return 1

    def stores_rate(self) -> bool:
        return False

    def begin(self, s: Any) -> None:
        pass

    def raw(self, s: Any, j: Any, eta: float) -> float:
        return math.tanh(eta * s.table[j])

    def scale(self, s: Any, eta: float) -> float:
        return 1.0

    def open(self, product: float, square: float) -> float:
        return square

    def push(self, s: Any, j: Any, g: float, eta: float, round_sums: Any) -> Any:
        s.table[j] -= g
        return round_sums

    def close(self, s: Any, eta: float, scale: float, entries: int, round_sums: Any) -> Any:
        return round_sums

    def refresh(self, s: Any, eta: float) -> None:
        pass


PAIRS = [(Ball(0.7), Euclidean(L2Ball(0.7))), (Softer(), Entropy())]
steps = pytest.mark.parametrize("step", [Constant(0.2), InverseSqrt(0.3), Adaptive()], ids=str)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: type(pair[0]).__name__)
@steps
def test_the_textbook_side_plays_as_the_coordinates_do(pair: tuple[Mirror, Mirror], step: Any) -> None:
    own, known = (play(MirrorDescent(mirror, step), COSTS, compiled=False) for mirror in pair)
    assert np.allclose(own.points, known.points, rtol=0, atol=1e-12)
    theirs = {c.id: c for c in known.certificates}
    for c in own.certificates:
        assert c.holds
        assert c.bound == pytest.approx(theirs[c.id].bound)
    assert {"THM-2.21", "LEM-2.20"} <= {c.id for c in own.certificates} or not step.constant
    assert own.regret <= own.linear_regret() + 1e-9 <= min(c.bound for c in own.certificates) + 2e-9


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: type(pair[0]).__name__)
@pytest.mark.parametrize("output", [Average()], ids=str)
def test_narrow_rows(pair: tuple[Mirror, Mirror], output: Any) -> None:
    x = RNG.normal(size=(80, 4)) * (RNG.random((80, 4)) < 0.6)
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    own, known = (
        train(Linear(Logistic(), MirrorDescent(mirror, Constant(0.2)), output), x, y, compiled=False) for mirror in pair
    )
    assert np.allclose(own.weights, known.weights)
    assert own.loss == pytest.approx(known.loss)
    assert {c.id for c in own.certificates} <= {c.id for c in known.certificates}
    for u in own.comparator.projection(RNG.normal(size=4)), own.weights:
        assert own.regret(u, x, y) <= own.certificate.linear_regret + 1e-9  # type: ignore[operator]
    assert own.certificate.holds


@steps
def test_coordinates_make_it_compiled_and_change_nothing(step: Any) -> None:
    x, y = RNG.normal(size=(200, 4)) * (RNG.random((200, 4)) < 0.5), RNG.normal(size=200)
    slow, fast = (train(Linear(Square(), MirrorDescent(m, step)), x, y) for m in (Binary(), Streaming()))
    assert (slow.compiled, fast.compiled) == (False, True)
    assert not fast.learner.rule.costs_dimension()
    assert slow.learner.rule.costs_dimension()
    assert np.allclose(slow.weights, fast.weights)
    assert [c.id for c in slow.certificates] == [c.id for c in fast.certificates]
    for own, other in zip(slow.certificates, fast.certificates, strict=True):
        assert own.holds
        assert other.holds
        assert own.bound == pytest.approx(other.bound)


@given(st.integers(1, 30), st.integers(1, 5), st.floats(0.01, 3.0), st.integers(0, 2**31))
@settings(max_examples=30, deadline=None)
def test_the_equality_at_the_next_point(rounds: int, d: int, eta: float, seed: int) -> None:
    """LEM-2.20 at u = w_{T+1}; and for every u the slack is the Fenchel-Young gap."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rounds, d))
    game = play(MirrorDescent(Binary(), Constant(eta)), z)
    next_point = np.tanh(-eta * z.sum(axis=0))
    found = regret(game, next_point)
    equal = next(c for c in _against(game, next_point) if c.id == "LEM-2.20")
    assert found.value == pytest.approx(equal.bound, abs=1e-9 * (1 + float(np.sum(np.abs(z)))))
    u = np.clip(rng.normal(size=d), -1, 1)
    other = next(c for c in _against(game, u) if c.id == "LEM-2.20")
    assert other.slack is not None
    assert other.slack >= -1e-9
    assert game.regret_to(u) == pytest.approx(other.bound - other.slack, abs=1e-9 * (1 + float(np.sum(np.abs(z)))))


def _against(game: Any, u: Vector) -> Any:
    game.comparator = Point(u)
    game.__dict__.pop("certificates", None)
    return game.certificates


def test_a_link_alone_is_certified_by_the_linearised_regret() -> None:
    for player in (MirrorDescent(Link(), Constant(0.1)), FollowTheRegularisedLeader(Link(), 0.1)):
        game = play(player, COSTS)
        assert [c.id for c in game.certificates] == ["LEM-2.5"]
        w = np.array([np.tanh(-0.1 * COSTS[:t].sum(axis=0)) for t in range(60)])
        assert np.allclose(game.points, w)
        exact = np.sum(w * COSTS) + np.linalg.norm(COSTS.sum(axis=0))
        assert game.certificate.bound == pytest.approx(exact)
        assert game.certificate.holds
        assert "promised" not in str(game)


def test_rows_by_a_link_alone() -> None:
    x, y = RNG.normal(size=(60, 4)), np.where(RNG.random(60) < 0.5, 1.0, -1.0)
    run = train(Linear(Logistic(), MirrorDescent(Link(), Constant(0.3))), x, y)
    theta = np.zeros(4)
    for row, label in zip(x, y, strict=True):
        score = float(np.tanh(0.3 * theta) @ row)
        theta += label * row / (1 + math.exp(label * score))
    assert np.allclose(run.weights, np.tanh(0.3 * theta))
    assert [c.id for c in run.certificates] == ["LEM-2.5"]
    assert run.certificate.holds
    for u in RNG.normal(size=(5, 4)):
        assert run.regret(L2Ball(1.0).projection(u), x, y) <= run.certificate.proved


def test_followers() -> None:
    """FTRL on linear functions is mirror descent; on others it needs R."""
    game = play(FollowTheRegularisedLeader(Binary(), 0.1), COSTS)
    lazy = play(MirrorDescent(Binary(), Constant(0.1)), COSTS)
    assert np.allclose(game.points, lazy.points)
    assert {c.id for c in game.certificates} == {"FTRL-ID", "LEM-2.3", "THM-2.11", "THM-2.11+"}
    assert all(c.holds for c in game.certificates)
    quadratics = [QuadraticFunction(z) for z in COSTS[:8]]
    assert play(FollowTheRegularisedLeader(Binary(), 0.1), quadratics).certificate.holds
    with pytest.raises(PartError, match=r"Link: its link alone does not tell .* value\(w\)"):
        play(FollowTheRegularisedLeader(Link(), 0.1), quadratics)


def test_late_answers_restarts_and_classes() -> None:
    late = play(Delayed(MirrorDescent(Binary(), Constant(0.1)), 3), COSTS)
    assert {"DELAY", "LEM-2.20+DRIFT"} <= {c.id for c in late.certificates}
    assert all(c.holds for c in late.certificates)
    assert late.regret <= late.certificate.bound
    assert play(Doubling(MirrorDescent(Binary(), Constant(0.5))), COSTS).certificate.holds
    y = RNG.integers(0, 3, 50).tolist()
    run = train(
        Multiclass(Softmax(), MirrorDescent(Binary(), Constant(0.1))), RNG.normal(size=(50, 2)), y, classes=[0, 1, 2]
    )
    assert run.certificate.holds


def test_highest_of_the_usual_sets() -> None:
    """Corners, where R is convex: exact where the set has them, an upper bound elsewhere."""
    mirror, d = Binary(), 3
    for domain in (Box(-0.5, 0.25), L2Ball(0.4), L1Ball(0.9), Simplex(0.8)):
        told = mirror.highest(domain, d)
        tried = [mirror.value(domain.projection(3 * v)) for v in RNG.normal(size=(400, d))]
        assert max(tried) <= told + 1e-12
        if not isinstance(domain, L2Ball):
            assert max(tried) >= 0.8 * told
    assert mirror.highest(L2Ball(2.0), d) == math.inf
    assert mirror.highest(Reals(), d) == math.inf
    assert Link().highest(L2Ball(0.5), d) == math.inf


def test_tuned_rates() -> None:
    step = Binary().tuned(radius=0.5, lipschitz=2.0, rounds=100, dimension=3)
    height = Binary().highest(L2Ball(0.5), 3)
    assert step.eta == pytest.approx(math.sqrt(2 * height / 100) / 2)
    with pytest.raises(PartError, match=r"cannot be tuned: .*strength.*value"):
        Link().tuned(radius=1.0, lipschitz=1.0, rounds=10, dimension=2)


@pytest.mark.parametrize("mirror", [Euclidean(), Euclidean(L2Ball(2.0)), Entropy(), PNorm(3.0)], ids=repr)
def test_gradient_is_the_inverse_of_the_link(mirror: Mirror) -> None:
    for theta in RNG.normal(size=(20, 4)):
        w = mirror.link(theta)
        assert np.allclose(mirror.link(mirror.gradient(w)), w)
        assert mirror.dual_norm(theta) == pytest.approx(norm(theta, {"1": math.inf, "2": 2.0, "q": 3.0}[mirror.norm]))


def test_what_is_not_so_is_found() -> None:
    class Overstated(Binary):
        """strength 3, which is 1"""

        def link(self, theta: Vector) -> Vector:
            return np.tanh(theta)

        def value(self, w: Vector) -> float:
            return Binary().value(w)

        def strength(self) -> float:
            return 3.0

    class Mismatched(Binary):
        """another map's R"""

        def value(self, w: Vector) -> float:
            return float(w @ w)

    class Wandering(Entropy):
        """softmax by coordinates, and another link on vectors"""

        def link(self, theta: Vector) -> Vector:
            return Entropy().link(2 * theta)

        def value(self, w: Vector) -> float:
            return Entropy().value(w) / 2

    for mirror in (Overstated(), Mismatched(), Wandering()):
        lazy = play(MirrorDescent(mirror, Constant(0.1)), COSTS, compiled=False)
        assert not any(c.premises_hold for c in lazy.certificates if c.bound < math.inf), mirror
    for mirror in (Overstated(), Mismatched()):
        follower = play(FollowTheRegularisedLeader(mirror, 0.1), COSTS)
        assert not any(c.premises_hold for c in follower.certificates), mirror


def test_an_incomplete_map_says_what_is_missing_and_what_it_would_buy() -> None:
    class Nothing(Mirror):
        pass

    class Half(Link):
        def push(self, s: Any, j: Any, g: float, eta: float, round_sums: Any) -> Any:
            return round_sums

    class Shapeless(Mirror):
        def link(self, theta: Vector) -> Vector:
            return np.zeros(2)

    with pytest.raises(PartError) as told:
        Nothing()  # type: ignore[abstract]
    assert "must have link(theta): ∇R*(θ)" in str(told.value)
    assert all(f"{names}: {use}" in str(told.value) for names, use in GIVES.items())
    with pytest.raises(PartError, match=r"Half: has push but not whole, begin, .*O\(nnz\).*leave all of them out"):
        MirrorDescent(Half(), Constant(0.1))
    with pytest.raises(PartError, match="link must give 4 coordinates, got shape"):
        play(MirrorDescent(Shapeless(), Constant(0.1)), COSTS)
    with pytest.raises(PartError, match=r"does not tell ∇R: give it a method gradient"):
        Link().divergence(np.zeros(2), np.zeros(2))


def test_games_and_runs_are_saved(tmp_path: Any) -> None:
    game = play(MirrorDescent(Binary(), Constant(0.1)), COSTS[:30])
    game.save(tmp_path / "game.lr")
    again = play(load(tmp_path / "game.lr"), COSTS[30:])
    assert np.array_equal(again.points, play(MirrorDescent(Binary(), Constant(0.1)), COSTS).points)
    run = train(Linear(Logistic(), MirrorDescent(Binary(), Constant(0.1))), COSTS, np.sign(COSTS[:, 0]))
    run.save(tmp_path / "run.lr")
    assert np.array_equal(load(tmp_path / "run.lr").weights, run.weights)


def test_a_stream_must_tell_how_many_features_there_are(tmp_path: Any) -> None:
    """A link may mix coordinates, so what it is of more of them is not what it was."""
    from lowregret import read

    path = tmp_path / "rows.svm"
    path.write_text("1 1:1 2:0.5\n-1 3:1\n")
    learner = Linear(Logistic(), MirrorDescent(Binary(), Constant(0.1)))
    with pytest.raises(PartError, match=r"may mix coordinates.*dimension"):
        train(learner, read(str(path)))
    with pytest.raises(PartError, match=r"may mix coordinates.*classes"):
        train(Multiclass(Softmax(), learner.rule), COSTS, [0, 1] * 30)
    assert train(learner, read(str(path)), dimension=4).rounds == 2
