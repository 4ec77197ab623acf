"""Players of one's own, any object with two methods, and adversaries, any callable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import (
    Constant,
    DataError,
    DivergedError,
    FollowTheLeader,
    FollowTheRegularisedLeader,
    L2Ball,
    Logistic,
    MirrorDescent,
    PartError,
    ProjectedGradient,
    Simplex,
    StoreError,
    play,
)
from lowregret.convex import Convex, Function, LinearFunction, QuadraticFunction, ScoreFunction
from lowregret.mirror import Euclidean
from lowregret.regret import Moving, Switching, Windows, regret
from lowregret.types import Vector

pytestmark = pytest.mark.usefixtures("interpreted")

RNG = np.random.default_rng(11)
COSTS = RNG.normal(size=(50, 3))


class Descent:
    """Projected gradient descent, written by hand."""

    def __init__(self, d: int, eta: float = 0.2) -> None:
        self.w, self.eta = np.zeros(d), eta

    def point(self) -> Vector:
        return self.w

    def learn(self, z: Vector) -> None:
        self.w = L2Ball(1.0).projection(self.w - self.eta * z)


class Declared(Descent):
    """It says where it plays."""

    domain = L2Ball(1.0)


class Leader:
    """Follow the leader on quadratics: it looks at the functions."""

    def __init__(self, d: int) -> None:
        self.seen: list[Any] = []
        self.d = d

    @property
    def point(self) -> Vector:
        return np.mean([f.z for f in self.seen], axis=0) if self.seen else np.zeros(self.d)

    def learn(self, z: Vector, f: Any) -> None:
        self.seen.append(f)


class Lottery:
    """A point drawn anew whenever it is asked."""

    def __init__(self, d: int) -> None:
        self.rng, self.d, self.asked = np.random.default_rng(0), d, 0

    def point(self) -> Vector:
        self.asked += 1
        return self.rng.normal(size=self.d)

    def learn(self, z: Vector) -> None:
        pass


def test_it_plays_as_the_rule_it_is() -> None:
    known = play(ProjectedGradient(L2Ball(1.0), Constant(0.2)), COSTS, compiled=False)
    for player in (Descent(3), Declared(3)):
        own = play(player, COSTS)
        assert np.allclose(own.points, known.points)
        assert own.loss == pytest.approx(known.loss)
        assert own.regret == pytest.approx(known.regret)
        assert own.linear_regret() == pytest.approx(known.linear_regret())
        assert [c.id for c in own.certificates] == ["LEM-2.5"]
        assert own.certificate.bound == own.certificate.linear_regret == own.linear_regret()
        assert own.certificate.holds
        assert own.trace.bound[-1] >= own.trace.regret[-1] - 1e-9
    assert play(Leader(3), [QuadraticFunction(z) for z in COSTS]).regret > 0


@given(st.integers(1, 25), st.integers(1, 4), st.integers(0, 2**31))
@settings(max_examples=25, deadline=None)
def test_the_linearised_regret_certifies_whatever_is_played(rounds: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(rounds, d))
    functions = [
        LinearFunction(x) if i % 3 == 0 else QuadraticFunction(x) if i % 3 == 1 else ScoreFunction(Logistic(), x, 1.0)
        for i, x in enumerate(rows)
    ]
    game = play(Lottery(d), functions)
    assert game.regret <= game.certificate.proved + 1e-9 * (1 + abs(game.regret))
    for u in rng.normal(size=(5, d)):
        assert game.regret_to(L2Ball(1.0).projection(u)) <= game.certificate.proved + 1e-9


def test_it_is_asked_once_a_round_and_its_point_is_its_own() -> None:
    player, seen = Lottery(2), []

    def adversary(t: int, w: Vector) -> Vector:
        seen.append(w.copy())
        w[:] = 7.0  # what it is given is a copy
        return np.ones(2)

    game = play(player, adversary, 9, dimension=2)
    assert player.asked == 9
    assert np.array_equal(np.array(seen), game.points)

    class Moody(Descent):
        def learn(self, z: Vector) -> None:
            self.w += 1.0  # in place: the record must not change with it
            z[:] = 0.0

    game = play(Moody(2), np.ones((3, 2)))
    assert game.points.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert game.gradients.tolist() == [[1.0, 1.0]] * 3


def test_any_callable_is_an_adversary() -> None:
    class Contrary:
        def __call__(self, t: int, w: Vector) -> Any:
            return QuadraticFunction(-w) if t % 2 else np.sign(w + 1e-9)

    for player in (Descent(2), MirrorDescent(Euclidean(), Constant(0.1))):
        game = play(player, Contrary(), 40, dimension=2)
        assert game.rounds == 40
        assert game.regret <= game.certificate.proved + 1e-9


def test_regret_of_every_kind() -> None:
    game = play(Descent(3), COSTS)
    assert regret(game, np.zeros(3)).bound == pytest.approx(game.loss)
    assert regret(game, Windows(10)).value >= 0
    assert regret(game, Switching(2, Simplex())).value > regret(game, Simplex()).value - 1e-9
    assert regret(game, Moving(np.zeros((50, 3)))).certificate is None  # of a player about whom no theorem speaks


def test_playing_outside_the_set_that_it_names_certifies_nothing() -> None:
    class Outside(Descent):
        domain = L2Ball(0.1)

    game = play(Outside(3), COSTS)
    assert game.comparator == L2Ball(0.1)
    assert not game.certificate.premises_hold
    (premise,) = game.certificate.premises
    assert premise.name == "the points played lie in the player's l2-ball"
    assert premise.observed.startswith("round 2 is played at")


def test_a_function_that_is_not_convex_certifies_nothing() -> None:
    bumps = [Function(lambda w: float(-w @ w), lambda w: -2 * w)] * 10
    game = play(Lottery(2), bumps, dimension=2)
    assert not game.certificate.premises_hold


def test_going_on_and_not_saving(tmp_path: Path) -> None:
    game = play(play(Descent(3), COSTS[:20]), COSTS[20:])
    assert np.array_equal(game.points, play(Descent(3), COSTS).points)
    with pytest.raises(StoreError, match="a game of Descent can be played but not saved"):
        game.save(tmp_path / "game.lr")
    assert not list(tmp_path.iterdir())


class Mute:
    def point(self) -> Vector:
        return np.zeros(3)


class Greedy(Descent):
    def learn(self, z: Vector, f: Any, more: Any) -> None:  # type: ignore[override]
        pass


class Wide(Descent):
    def point(self) -> Vector:
        return np.zeros(5)


class Wordy(Descent):
    def point(self) -> Any:
        return "here"


class Lost(Descent):
    def point(self) -> Vector:
        return np.full(3, np.nan)


class Placed(Descent):
    domain = "everywhere"


@pytest.mark.parametrize(
    ("player", "error", "said"),
    [
        (Mute(), PartError, r"Mute cannot play: it lacks learn\(z\), what it learns"),
        (3.0, PartError, r"float cannot play: it lacks point\(\), where it plays.* and learn\(z\)"),
        (Descent, PartError, r"Descent is a class: give a player made of it, such as Descent\("),
        (Greedy(3), PartError, r"Greedy.learn\(z.* must take \(z\), or \(z, f\)"),
        (Wide(3), DataError, r"round 1: Wide.point\(\) gave shape \(5,\), the functions take 3 coordinates"),
        (Wordy(3), DataError, r"round 1: Wordy.point\(\) must give numbers"),
        (Lost(3), DivergedError, r"round 1: Lost.point\(\) gave nan for coordinate 0"),
        (Placed(3), PartError, "Placed.domain must be a Domain such as"),
    ],
)
def test_who_cannot_play_is_told_why(player: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        play(player, COSTS)


def test_a_function_without_its_sub_gradient() -> None:
    with pytest.raises(PartError, match=r"needs a sub-gradient too: Function\(f, gradient\)"):
        play(Descent(3), [lambda w: 0.0], dimension=3)


@pytest.mark.parametrize(
    ("adversary", "error", "said"),
    [
        (lambda w: w, PartError, r"an adversary is called with \(t, w_t\).*not so <lambda>\(w\)"),
        (lambda t, w: None, DataError, "round 1: an answer is a vector of costs, .*, got None"),
        (lambda t, w: 1.0, DataError, "round 1: an answer is a vector of costs, .*, got 1.0"),
        (lambda t, w: w * (np.nan if t == 2 else 1.0), DataError, r"round 2: LinearFunction: z\[0\] = nan"),
        (lambda t, w: np.ones(t), DataError, "round 1: the function takes 1 coordinates, the player has 3"),
    ],
)
def test_an_answer_that_is_none_is_told_with_its_round(adversary: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        play(Descent(3), adversary, 3, dimension=3)


@pytest.mark.parametrize(
    "player", [ProjectedGradient(L2Ball(3.0), Constant(0.1)), FollowTheLeader(L2Ball(3.0))], ids=["rule", "follower"]
)
def test_functions_that_change_what_they_are_given(player: Any) -> None:
    """The point played is not theirs: it was moved, and the record with it."""
    goal = np.array([1.0, 2.0])

    def careless(w: Vector) -> float:
        w -= goal
        return float(np.linalg.norm(w))

    def slope(w: Vector) -> Vector:
        w -= goal
        return w / (np.linalg.norm(w) or 1.0)

    far = Function(lambda w: float(np.linalg.norm(w - goal)), lambda w: (w - goal) / (np.linalg.norm(w - goal) or 1.0))
    played, expected = (play(player, [f] * 12, dimension=2) for f in (Function(careless, slope), far))
    assert np.array_equal(played.points, expected.points)
    assert played.regret == expected.regret
    assert played.certificate == expected.certificate


def test_a_sub_gradient_may_be_given_in_the_same_array_again() -> None:
    class Bowl(Convex):
        """½‖w‖²"""

        def value(self, w: Vector) -> float:
            return 0.5 * float(w @ w)

        def subgradient(self, w: Vector) -> Vector:
            shared[:] = w
            return shared

    shared = np.zeros(2)
    game = play(ProjectedGradient(L2Ball(3.0), Constant(0.1), start=np.ones(2)), [Bowl()] * 5, dimension=2)
    assert np.array_equal(game.gradients, game.points)
    assert game.certificate.holds


@pytest.mark.parametrize(
    ("player", "scale"),
    [
        (FollowTheRegularisedLeader(Euclidean(L2Ball(1.0)), 1e-200), 1e160),
        (ProjectedGradient(L2Ball(1e200), Constant(0.1)), 1.0),
        (MirrorDescent(Euclidean(L2Ball(1e200)), Constant(0.1)), 1.0),
    ],
    ids=["follower", "eager", "lazy"],
)
def test_squares_beyond_numbers_are_no_tracebacks(player: Any, scale: float) -> None:
    """Their bounds are infinite, which is true."""
    game = play(player, [LinearFunction([3.0 * scale, -1.0]), LinearFunction([-1.0, 2.0 * scale])])
    assert all(c.proved >= game.regret or not c.holds for c in game.certificates)
    assert regret(game, Moving(np.zeros((2, 2)))).value == pytest.approx(game.loss)
