"""`auto` transcribed from its description, in double precision, without regard to speed: rows are dense."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

Vector = NDArray[np.float64]
ADAGRAD = ((0.5, "shaped"), (4.0, "shaped"), (20.0, "shaped"), (4.0, "plain"))
KALMAN = ((1.0, 1.0, "shaped"), (10.0, 1.0, "shaped"), (1.0, 0.99, "plain"), (3.0, 0.9, "plain"))
WALKS, SURE, OPEN = (0.0, 1e-6, 1e-4), (0.1, 0.1, 0.1), (0.1, 0.3, 0.3)  # of the stacks, and their priors
BOLD, EVEN = np.array([0, 1, 1, 0, 0, 1, 0, 0]) / 3, np.full(8, 1 / 8)  # with what the stacks begin


def implicit_slope(m: float, q: float, weight: float) -> float:
    """a = weight·σ(−(m + q·a))"""
    return float(brentq(lambda a: a - weight * expit(-(m + q * a)), 0.0, weight, xtol=1e-14))


class Views:
    """Both views of rows, the bias last."""

    def __init__(self, d: int) -> None:
        self.values: list[list[float]] = [[] for _ in range(d)]
        self.rows = 0
        self.lengths: list[float] = []
        self.squares: dict[str, list[float]] = {"shaped": [], "plain": []}

    def of(self, x: Vector) -> dict[str, Vector]:
        self.rows += 1
        shaped, plain, roots = np.zeros(x.size), np.zeros(x.size), np.zeros(x.size, bool)
        for j in np.flatnonzero(x):
            self.values[j].append(float(x[j]))
            seen = np.array(self.values[j])
            if np.all(seen == seen[0]) and seen.size == self.rows:
                continue
            plain[j] = x[j] / math.sqrt(np.mean(seen**2))
            if np.any(seen != seen[0]) and 2 * seen.size > self.rows:
                away = (x[j] - seen.mean()) / seen.std()
                shaped[j] = away if abs(away) > 1e-6 else 0.0
            else:
                shaped[j], roots[j] = math.copysign(math.sqrt(abs(plain[j])), x[j]), True
        length = float(np.linalg.norm(shaped[roots]))
        if self.rows > 1:
            self.lengths.append(length)
            if length > 0:
                shaped[roots] *= np.mean(self.lengths) / length
        views = {"shaped": np.append(shaped, 1.0), "plain": np.append(plain, 1.0)}
        if self.rows > 1:
            for name, z in views.items():
                self.squares[name].append(float(z @ z))
        return views


class Lane:
    """One linear learner with implicit steps in a diagonal metric."""

    def __init__(self, d: int, view: str, rate: float = 0.0, prior: float = 0.0, memory: float = 1.0) -> None:
        self.w, self.sums = np.zeros(d + 1), np.zeros(d + 1)
        self.view, self.rate, self.prior, self.memory = view, rate, prior, memory

    def score(self, views: dict[str, Vector]) -> float:
        return float(self.w @ views[self.view])

    def inverse(self, z: Vector, slope: float, scale: float, reach: float) -> Vector:
        if self.rate:
            with np.errstate(divide="ignore"):
                metric = np.sqrt(self.sums + slope**2 * z**2)
            return np.where(metric > 0, self.rate * reach * scale / np.where(metric > 0, metric, 1.0), 0.0)
        return 1 / (1 / self.prior + self.sums)

    def learn_sign(self, views: dict[str, Vector], y: float, weight: float, scale: float) -> None:
        z, p = views[self.view], self.score(views)
        slope = weight * expit(-y * p)
        inverse = self.inverse(z, slope, scale, 1.0)
        q = float(z @ (inverse * z))
        a = implicit_slope(y * p, q, weight)
        s = a / weight
        self.w += inverse * z * y * a
        self.sums = self.faded(z, slope**2 if self.rate else weight * max(s * (1 - s), 1e-4))

    def learn_number(self, views: dict[str, Vector], y: float, weight: float, scale: float, reach: float) -> None:
        z, missed = views[self.view], y - self.score(views)
        inverse = self.inverse(z, weight * missed, scale, reach)
        q = weight * float(z @ (inverse * z))
        self.w += inverse * z * weight * missed / (1 + q)
        self.sums = self.faded(z, (weight * missed) ** 2 if self.rate else weight)

    def faded(self, z: Vector, amount: float) -> Vector:
        """A feature that is absent is not visited, so nothing of it fades."""
        return np.where(z != 0, self.memory * self.sums, self.sums) + amount * z**2


def lanes(d: int) -> list[Lane]:
    return [
        *(Lane(d, view, rate=rate) for rate, view in ADAGRAD),
        *(Lane(d, view, prior=prior, memory=memory) for prior, memory, view in KALMAN),
    ]


class Stack:
    """A full-matrix filter on the lanes' scores, 1, the last label and the mean of recent labels."""

    def __init__(self, walk: float, prior: float, alone: bool, start: Vector) -> None:
        self.m = np.append(start, np.zeros(3))
        self.prior = np.append(np.full(8, prior), np.zeros(3) if alone else np.full(3, prior))
        self.P, self.walk = np.diag(self.prior), walk

    def learn(self, u: Vector, slope: float, bend: float) -> None:
        along = self.P @ u
        q = float(u @ along)
        self.m = self.m + along * slope
        self.P = self.P - bend / (1 + bend * q) * np.outer(along, along)
        np.fill_diagonal(self.P, np.minimum(np.maximum(np.diag(self.P), 0.0) + self.walk, self.prior))


def stacks(start: Vector, priors: tuple[float, ...]) -> list[Stack]:
    return [Stack(walk, prior, k == 0, start) for k, (walk, prior) in enumerate(zip(WALKS, priors, strict=True))]


@dataclass
class Moment:
    """What there is after a round, to be copied by whoever wants to keep it."""

    views: Views
    bank: list[Lane]
    pile: list[Stack]
    scores: Vector
    losses: Vector


def classify(X: Vector, y: Vector, weights: Vector | None = None) -> tuple[Vector, Vector]:
    """Scores of the mixture, and what each expert lost."""
    *_, end = classified(X, y, weights)
    return end.scores, end.losses


def classified(X: Vector, y: Vector, weights: Vector | None = None) -> Iterator[Moment]:
    """Round by round."""
    views, bank, pile = Views(X.shape[1]), lanes(X.shape[1]), stacks(BOLD, OPEN)
    trust, losses, scores = np.full(11, 1 / 11), np.zeros(11), np.zeros(y.size)
    last = recent = 0.0
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        weight = 1.0 if weights is None else weights[t - 1]
        seen = views.of(x)
        raw = np.array([lane.score(seen) for lane in bank])
        u = np.concatenate([np.clip(raw, -10, 10), [1.0, last, recent]])
        p = np.clip(np.append(raw, [stack.m @ u for stack in pile]), -30, 30)
        scores[t - 1] = math.log(float(trust @ expit(p)) / float(trust @ expit(-p)))
        likelihood = expit(label * p) ** weight
        losses -= np.log(likelihood)
        trust = t / (t + 1) * trust * likelihood / (trust @ likelihood) + 1 / (t + 1) / 11
        for stack in pile:
            q, guess = float(u @ stack.P @ u), float(stack.m @ u)
            a = implicit_slope(label * guess, q, weight)
            s = a / weight
            stack.learn(u, label * a, weight * max(s * (1 - s), 1e-4))
        if t > 1:
            for lane in bank:
                lane.learn_sign(seen, label, weight, math.sqrt(1 / np.mean(views.squares[lane.view])))
        last, recent = label, 0.9 * recent + 0.1 * label
        yield Moment(views, bank, pile, scores, losses)


def regress(X: Vector, y: Vector) -> tuple[Vector, Vector]:
    """Scores of the mixture, and what each expert lost."""
    views, bank, pile = Views(X.shape[1]), lanes(X.shape[1]), stacks(EVEN, SURE)
    losses, scores, gap = np.zeros(11), np.zeros(y.size), 0.0
    misses: list[float] = []
    taught = np.zeros(y.size)  # the labels as they are believed
    trust = np.full(11, 1 / 11)
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        past, origin = taught[: t - 1], y[0] if t > 1 else 0.0
        low, high = (past.min() - origin, past.max() - origin) if t > 1 else (0.0, 0.0)
        seen = views.of(x)
        raw = np.clip([lane.score(seen) for lane in bank], low, high)
        mean, size = raw.mean(), 1 / math.sqrt(np.mean(misses)) if np.any(misses) else 0.0
        recent = (past[0] if t > 1 else 0.0) - origin
        for value in past[1:]:
            recent = 0.9 * recent + 0.1 * (value - origin)
        last = (past[-1] if t > 1 else 0.0) - origin
        u = np.append((raw - mean) * size, [float(size > 0), (last - mean) * size, (recent - mean) * size])
        guesses = np.array([stack.m @ u / size if size else 0.0 for stack in pile])
        p = np.append(raw, np.clip(mean + guesses, low, high))
        scores[t - 1] = origin + trust @ p
        loss = (origin + p - label) ** 2
        eta = math.log(11) / gap if gap else math.inf
        mixed = float(trust @ loss)
        if gap:
            mix = loss.min() - math.log(trust @ np.exp(-eta * (loss - loss.min()))) / eta
        else:
            mix = (losses + loss).min() - losses.min()
        losses, gap = losses + loss, gap + max(mixed - mix, 0.0)
        behind = losses - losses.min()
        trust = np.exp(-math.log(11) / gap * behind) if gap else (behind == 0).astype(float)
        trust /= trust.sum()
        across = high - low if t >= 64 and high > low else math.inf
        taught[t - 1] = np.clip(label, origin + low - 32 * across, origin + high + 32 * across)
        target = taught[t - 1] - y[0]
        if size:
            for stack in pile:
                q = float(u @ stack.P @ u)
                stack.learn(u, ((target - mean) * size - float(stack.m @ u)) / (1 + q), 1.0)
        misses.append((target - mean) ** 2)
        if t > 1:
            for lane in bank:
                scale = math.sqrt(1 / np.mean(views.squares[lane.view]))
                reach = math.sqrt(float(np.sum((past - past.mean()) ** 2)) / (t - 1))
                lane.learn_number(seen, target, 1.0, scale, reach)
    return scores, losses
