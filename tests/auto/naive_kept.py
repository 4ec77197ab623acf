"""The model that `auto` keeps of two classes, transcribed from its description: rows are dense, and all are judged."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from tests.auto.naive import EVEN, Lane, Stack, Vector, Views, classified, implicit_slope


def is_era_end(t: int) -> bool:
    """Eras are 16 rounds long, and twice that whenever 64 of them would not hold all rounds."""
    length = 16
    while 64 * length < t:
        length *= 2
    return t % length == 0


def hedge(losses: Vector, gap: float) -> Vector:
    behind = losses - losses.min()
    w = np.exp(-math.log(11) / gap * behind) if gap else (behind == 0).astype(float)
    return w / w.sum()


@dataclass
class Model:
    """What is kept: lanes, their means, stacks, and how far each of the eleven experts is trusted."""

    views: Views
    bank: list[Lane]
    means: list[Vector]
    pile: list[Stack]
    trust: Vector

    def experts(self, x: Vector) -> tuple[Vector, Vector]:
        """Scores of the experts, and the inputs of the stack of means."""
        seen = deepcopy(self.views).of(x)
        lanes = np.array([lane.score(seen) for lane in self.bank])
        means = np.array([float(w @ seen[lane.view]) for w, lane in zip(self.means, self.bank, strict=True)])
        now, then = (np.append(np.clip(raw, -10, 10), [1.0, 0.0, 0.0]) for raw in (lanes, means))
        stacked = [float(self.pile[0].m @ now), float(self.pile[1].m @ now), float(self.pile[2].m @ then)]
        return np.clip(np.append(means, stacked), -30, 30), then

    def score(self, x: Vector) -> float:
        p, _ = self.experts(x)
        return math.log(float(self.trust @ expit(p)) / float(self.trust @ expit(-p)))


class Keeper:
    """Takes means of the lanes, freezes models and judges them."""

    def __init__(self) -> None:
        self.means: list[Vector] = []
        self.folded = self.entries = 0
        self.done, self.now, self.gap, self.mixed, self.own = np.zeros(11), np.zeros(11), 0.0, 0.0, 0.0
        self.stack = Stack(0.0, 0.3, False, EVEN)
        self.stack.prior[9:] = 0.0
        self.stack.P = np.diag(self.stack.prior)
        self.frozen: Model | None = None

    def fold(self, bank: list[Lane], t: int, features: int, entries: int) -> None:
        if entries - self.entries >= 32 * features:
            share = (t - self.folded) / t
            before = self.means or [np.zeros_like(lane.w) for lane in bank]
            self.means = [m + share * (lane.w - m) for m, lane in zip(before, bank, strict=True)]
            self.folded, self.entries = t, entries

    def model(self, views: Views, bank: list[Lane], pile: list[Stack]) -> Model:
        _, gap, _ = self.closed()
        means = self.means or [lane.w for lane in bank]
        return deepcopy(Model(views, bank, means, [*pile[:2], self.stack], hedge(self.done + self.now, gap)))

    def closed(self) -> tuple[Vector, float, float]:
        """Losses, gap and mixed losses after a round of AdaHedge."""
        w = hedge(self.done, self.gap)
        mix = (self.done + self.now).min() - self.done.min()
        if self.gap:
            eta = math.log(11) / self.gap
            mix = self.now.min() - math.log(w @ np.exp(-eta * (self.now - self.now.min()))) / eta
        mixed = float(w @ self.now)
        return self.done + self.now, self.gap + max(mixed - mix, 0.0), self.mixed + mixed

    def judge(self, x: Vector, y: float) -> None:
        if self.frozen is None:
            return
        p, u = self.frozen.experts(x)
        self.now += expit(-y * p) ** 2
        self.own += float(expit(-y * self.frozen.score(x))) ** 2
        q, guess = float(u @ self.stack.P @ u), float(self.stack.m @ u)
        a = implicit_slope(y * guess, q, 1.0)
        self.stack.learn(u, y * a, max(a * (1 - a), 1e-4))


def keep(X: Vector, y: Vector) -> tuple[Keeper, Model]:
    """The keeper after all rounds, and the model that it would keep."""
    keeper = Keeper()
    for t, moment in enumerate(classified(X, y), 1):
        keeper.judge(X[t - 1], y[t - 1])
        parts = moment.views, moment.bank, moment.pile
        if is_era_end(t):
            counts = np.count_nonzero(X[:t], axis=0)
            keeper.fold(moment.bank, t, int(np.count_nonzero(counts)), int(counts.sum()))
        if t >= 16 and t & (t - 1) == 0:
            keeper.done, keeper.gap, keeper.mixed = keeper.closed()
            keeper.now = np.zeros(11)
            keeper.frozen = keeper.model(*parts)
    return keeper, keeper.model(*parts)
