"""Parts of the user's own that raise an error amid a round: nothing of it is kept, and going on is as if it had not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from lowregret import (
    Absolute,
    Constant,
    FollowTheLeader,
    L2Ball,
    Linear,
    MirrorDescent,
    ProjectedGradient,
    Square,
    delayed,
    play,
    train,
)
from lowregret.convex import Function
from lowregret.loss import Loss
from lowregret.mirror import Euclidean, Mirror
from lowregret.run.begin import begin
from lowregret.state import State
from lowregret.step import Step
from lowregret.structured import Classes, Structured, sequences

N = 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)


class Touchy:
    """What raises an error beyond `most`, once: then it bears more."""

    most: ClassVar[float] = np.inf

    @classmethod
    def bear(cls, size: float) -> None:
        if size > Touchy.most:
            Touchy.most *= 1.3
            raise ValueError("too much")


class Far(Loss):
    """|p − y|, which fails where scores are large"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        Touchy.bear(abs(p))
        return abs(p - y), 1.0 if p > y else -1.0


class Long(Step):
    """0.1, which fails where sub-gradients are long"""

    falling: ClassVar[bool] = True

    def rate(self, s: State, present: float) -> float:
        Touchy.bear(present)
        return 0.1


class Link(Mirror):
    """tanh(θ), which fails where θ is large"""

    def link(self, theta: Any) -> Any:
        Touchy.bear(float(np.abs(theta).max()))
        return np.tanh(theta)


EAGER = ProjectedGradient(L2Ball(2.0), Constant(0.1))
RUNS: dict[str, tuple[Callable[[], Any], float, dict[str, Any]]] = {
    "loss": (lambda: begin(Linear(Far(), EAGER), 3, compiled=False), 0.3, {}),
    "step": (lambda: begin(Linear(Absolute(), ProjectedGradient(L2Ball(2.0), Long())), 3, compiled=False), 2.0, {}),
    "link": (lambda: begin(Linear(Square(), MirrorDescent(Link(), Constant(0.5))), 3, compiled=False), 2.0, {}),
    "late": (
        lambda: begin(Linear(Absolute(), ProjectedGradient(L2Ball(2.0), Long())), 3, compiled=False, delay=3),
        2.0,
        {},
    ),
    "blocks": (
        lambda: begin(Linear(Far(), MirrorDescent(Euclidean(), Constant(0.1))), 3, compiled=False, learners=2, block=4),
        0.5,
        {},
    ),
    "asked": (lambda: delayed(Linear(Far(), EAGER), 3, compiled=False), 0.3, {"delay": 5}),
}


@pytest.mark.parametrize("kind", RUNS)
def test_a_row_that_an_own_part_refuses_is_not_learnt_in_part(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start, most, how = RUNS[kind]
    unbroken, run, done, failed = start().learn(X, Y, **how), start(), 0, 0
    monkeypatch.setattr(Touchy, "most", most)
    while done < N:
        try:
            run.learn(X[done:], Y[done:], **how)
        except ValueError:
            failed += 1
        done = run.asked if kind == "asked" else done + run.learnt.done
    assert failed > 2
    expected, found = unbroken.contents()[1], run.contents()[1]
    assert [name for name in expected if found[name].tobytes() != expected[name].tobytes()] == []


class Near(Loss):
    """|p − y|, which fails where labels are beyond a limit, in compiled loops, too"""

    limit: NDArray[np.float64]

    def at(self, p: float, y: float) -> tuple[float, float]:
        if y > self.limit[0]:
            raise ValueError("too much")
        return abs(p - y), 1.0 if p > y else -1.0


def test_a_block_that_an_own_part_breaks_off_is_decided_as_it_began() -> None:
    """Compiled, many rows are learnt at once, and undone: also which iterate decides the block that was begun."""
    y, limit = np.arange(1.0, N + 1), np.array([np.inf])
    learner = Linear(Near(limit), MirrorDescent(Euclidean(), Constant(0.1)))
    unbroken, run = begin(learner, 3, learners=1, block=8).learn(X, y), begin(learner, 3, learners=1, block=8)
    for limit[0] in range(3, N, 5):
        with pytest.raises(ValueError, match="too much"):
            run.learn(X[run.rounds :], y[run.rounds :])
    limit[0] = np.inf
    run.learn(X[run.rounds :], y[run.rounds :])
    expected, found = unbroken.contents()[1], run.contents()[1]
    assert [name for name in expected if found[name].tobytes() != expected[name].tobytes()] == []


@pytest.mark.parametrize("own", [False, True])
def test_a_structure_that_an_own_step_refuses_is_not_learnt_in_part(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Space:
        """Two classes, in plain Python."""

        dimension = 6

        def argmax(self, w: Any, x: Any, y: Any = None) -> int:
            cost = 0 if y is None else 1 - np.eye(2)[y]
            return int(np.argmax(w.reshape(2, 3) @ x + cost))

        def psi(self, x: Any, y: int) -> Any:
            return np.outer(np.eye(2)[y], x).ravel()

    labels = (Y > 0).astype(int)
    data: Any = list(zip(X, labels.tolist(), strict=True)) if own else sequences(X, labels, lengths=[1] * N)
    learner = Structured(Space() if own else Classes(2), ProjectedGradient(L2Ball(2.0), Long()))
    unbroken, run = (train(learner, data[:k], compiled=False) for k in (N, 1))
    failed = 0
    monkeypatch.setattr(Touchy, "most", 2.0)
    while run.rounds < N:
        try:
            run.learn(data[run.rounds :])
        except ValueError:
            failed += 1
    assert failed > 2
    assert [array.tobytes() for array in run.state] == [array.tobytes() for array in unbroken.state]
    assert run.figures.tolist() == unbroken.figures.tolist()


def test_a_function_that_cannot_be_followed_is_not_followed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def far(goal: Any) -> Function:
        def value(w: Any) -> float:
            Touchy.bear(float(np.abs(w).max()))
            return float(np.linalg.norm(w - goal) ** 1.5)

        return Function(value, lambda w: 1.5 * (w - goal) / np.linalg.norm(w - goal) ** 0.5)

    functions = [far(goal) for goal in X[:6, :2]]
    unbroken, game = (play(FollowTheLeader(L2Ball(1.0)), given, dimension=2) for given in (functions, []))
    failed = 0
    monkeypatch.setattr(Touchy, "most", 0.1)
    while game.rounds < len(functions):
        try:
            game.learn(functions[game.rounds :])
        except ValueError:
            failed += 1
    assert failed > 2
    assert game.points.tolist() == unbroken.points.tolist()
    assert game.certificate.bound == unbroken.certificate.bound
