"""Games of finite classes: a point is asked, a label predicted, the label revealed. The move
is the whole prediction.

answer(t, predict)      (x_t, y_t) for whom predicts label 1 at point x with probability predict(x)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property

import numpy as np

from lowregret.finite import Hypotheses, dimensions, make_hypotheses
from lowregret.game.environment import Answer, Environment

Predict = Callable[[int], float]
Round = tuple[int, int]  # a point and its label


class FiniteGame(Environment):
    """Labelled points; the class is named as `lowregret dimension` names it, such as thresholds:16."""

    kind: str = "thresholds:16"

    @cached_property
    def hypotheses(self) -> Hypotheses:
        return make_hypotheses(self.kind)

    @property
    def dimension(self) -> int:
        """How many hypotheses there are."""
        return len(self.hypotheses)

    @property
    def usual(self) -> int:
        return 128

    @abstractmethod
    def begin(self, rounds: int, seed: int) -> Answer:
        """A fresh game."""


def against(p: float) -> int:
    """The label that is less likely predicted; it knows the probability, not the coin."""
    return int(p < 0.5)


class Cover(FiniteGame):
    """two constant hypotheses, and the label that is less likely predicted (DEMO-COVER)

    Whoever does not draw is wrong in every round, while the better constant is right in half of them: regret ≥ T/2, for
    any learner. Weighted majority draws, and stays under √(T ln 2/2).
    """

    kind: str = "thresholds:2"

    def begin(self, rounds: int, seed: int) -> Answer:
        return lambda t, predict: (0, against(predict(0)))


class TreeAdversary(FiniteGame):
    """down a shattered tree, always against the prediction; then points at random, labelled as that path is

    LEM-3.2: Ldim mistakes against any learner that does not draw, and yet some hypothesis is right throughout. LEM-3.3:
    SOA makes no more than these.
    """

    @cached_property
    def tree(self) -> tuple[int, ...]:
        """Points in heap order: after label y at place i comes place 2i + 1 + y."""
        return dimensions(self.hypotheses).tree

    @property
    def depth(self) -> int:
        """Ldim"""
        return (len(self.tree) + 1).bit_length() - 1

    def begin(self, rounds: int, seed: int) -> Answer:
        rng = np.random.default_rng(seed)
        place, version = 0, self.hypotheses.everything

        def answer(t: int, predict: Predict) -> Round:
            nonlocal place, version
            if place < len(self.tree):
                x = self.tree[place]
                y = against(predict(x))
                place, version = 2 * place + 1 + y, self.hypotheses.agreeing(version, x, y)
                return x, y
            truth = self.hypotheses.matrix[int(self.hypotheses.members(version)[0])]
            x = int(rng.integers(self.hypotheses.points))
            return x, int(truth[x])

        return answer


class Needle(FiniteGame):
    """1[x = i]: the points are asked one by one, and none of them is it but the last

    COR-1.1: `consistent` believes in each point in turn and errs |H| − 1 times; majorities (THM-1.2) err once.
    """

    kind: str = "singletons:16"

    def begin(self, rounds: int, seed: int) -> Answer:
        points = self.hypotheses.points
        return lambda t, predict: ((t - 1) % points, int((t - 1) % points == points - 1))


class Bisection(FiniteGame):
    """all functions on a few points, labels against the prediction: every mistake halves what is possible, no more

    THM-1.2: log2|H| mistakes, which is met.
    """

    kind: str = "cube:5"

    def begin(self, rounds: int, seed: int) -> Answer:
        labels: dict[int, int] = {}

        def answer(t: int, predict: Predict) -> Round:
            x = (t - 1) % self.hypotheses.points
            return x, labels.setdefault(x, against(predict(x)))

        return answer


class NoisyLabels(FiniteGame):
    """points at random, labels of one hypothesis, some of them flipped

    THM-3.6: without a hypothesis that is always right, `agnostic` and `wm` stay near the best one. Mistake bounds that
    need such a hypothesis say nothing.
    """

    noise: float = 0.2

    def begin(self, rounds: int, seed: int) -> Answer:
        rng = np.random.default_rng(seed)
        h = self.hypotheses
        truth = h.matrix[int(rng.integers(len(h)))]
        points = rng.integers(0, h.points, rounds)
        labels = truth[points] ^ (rng.random(rounds) < self.noise)
        return lambda t, predict: (int(points[t - 1]), int(labels[t - 1]))
