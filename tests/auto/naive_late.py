"""`auto` with answers that come late, transcribed from docs/delay.md in double precision: rows are dense.

Lanes step at the scores that the answer finds. Stacks learn from what they saw when the row was asked, experts are
trusted by what they said then, and of n answers under way together each counts 1/n, n the most so far.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_softmax

from tests.auto.naive import BOLD, EVEN, OPEN, SURE, Vector, Views, implicit_slope, lanes, stacks
from tests.auto.naive_classes import DEEP, DOUBT, Memory, chances_of, teach, train_lanes


class Heard(NamedTuple):
    """What came of the rows: the score given to each, Σ loss of each expert, and what lateness cost."""

    scores: Any
    losses: Vector
    drift: float


def events(delays: Any) -> Iterator[tuple[bool, int, int]]:
    """(whether it is asked, the row, how many answers are under way), in order of time."""
    waiting: list[tuple[int, int]] = []
    for s, delay in enumerate(delays):
        waiting.append((s + int(delay), s))
        yield True, s, 0
        for item in sorted(item for item in waiting if item[0] <= s):
            yield False, item[1], len(waiting)
            waiting.remove(item)


class Trust:
    """Weights by likelihood, a share for all, at a rate that falls as more answers are under way together."""

    def __init__(self) -> None:
        self.w, self.losses, self.crowd, self.t = np.full(11, 1 / 11), np.zeros(11), 0, 0

    def await_many(self, crowd: int) -> None:
        """Take the rate that this many answers call for."""
        if crowd > self.crowd > 0:
            self.w = self.w ** (self.crowd / crowd)
            self.w /= self.w.sum()
        self.crowd = max(self.crowd, crowd)

    def judge(self, likelihood: Vector, weight: float) -> None:
        self.t += 1
        self.losses = self.losses - weight * np.log(likelihood)
        powers = likelihood ** (weight / self.crowd)
        self.w = self.t / (self.t + 1) * self.w * powers / (self.w @ powers) + 1 / (self.t + 1) / 11


def classify(X: Vector, y: Vector, delays: Any, weights: Vector) -> Heard:
    """Labels ±1."""
    views, bank, pile, trust = Views(X.shape[1]), lanes(X.shape[1]), stacks(BOLD, OPEN), Trust()
    scores, then = np.zeros(y.size), dict[int, tuple[Vector, Vector]]()
    last = recent = drift = 0.0
    for asks, s, crowd in events(delays):
        if asks:
            seen = copy.deepcopy(views).of(X[s])
            raw = np.array([lane.score(seen) for lane in bank])
            u = np.concatenate([np.clip(raw, -10, 10), [1.0, last, recent]])
            p = np.clip(np.append(raw, [stack.m @ u for stack in pile]), -30, 30)
            scores[s], then[s] = math.log(float(trust.w @ expit(p)) / float(trust.w @ expit(-p))), (u, p)
            continue
        trust.await_many(crowd)
        (u, p), label, weight, seen = then.pop(s), y[s], weights[s], views.of(X[s])
        now = float(trust.w @ expit(label * p))
        drift += weight * (math.log(now) + math.log1p(math.exp(-label * scores[s])))
        trust.judge(expit(label * p), weight)
        for stack in pile:
            q, guess = float(u @ stack.P @ u), float(stack.m @ u)
            a = implicit_slope(label * np.clip(guess, -30, 30), q, weight)
            stack.learn(u, label * a, weight * max(a / weight * (1 - a / weight), 1e-4))
        if trust.t > 1:
            for lane in bank:
                lane.learn_sign(seen, label, weight, math.sqrt(1 / np.mean(views.squares[lane.view])))
        last, recent = label, 0.9 * recent + 0.1 * label
    return Heard(scores, trust.losses, drift)


class Numbers:
    """Of the labels that came, all less the first."""

    def __init__(self) -> None:
        self.came: list[float] = []
        self.misses: list[float] = []

    @property
    def origin(self) -> float:
        return self.came[0] if self.came else 0.0

    @property
    def range(self) -> tuple[float, float]:
        return (min(self.came) - self.origin, max(self.came) - self.origin) if self.came else (0.0, 0.0)

    @property
    def size(self) -> float:
        return 1 / math.sqrt(np.mean(self.misses)) if np.any(self.misses) else 0.0

    def before(self) -> tuple[float, float] | None:
        """The last label and the mean of recent ones."""
        if not self.came:
            return None
        recent = 0.0
        for value in self.came[1:]:
            recent = 0.9 * recent + 0.1 * (value - self.origin)
        return self.came[-1] - self.origin, recent

    def inputs(self, raw: Vector, before: tuple[float, float] | None) -> tuple[Vector, Vector, float]:
        """The lanes' scores within the labels' range, the stacks' inputs, and the mean of those scores."""
        p = np.clip(raw, *self.range)
        mean, size = float(p.mean()), self.size
        old = [(label - mean) * size for label in before] if before else [0.0, 0.0]
        return p, np.append((p - mean) * size, [float(size > 0), *old]), mean


def regress(X: Vector, y: Vector, delays: Any) -> Heard:
    """Numbers: AdaHedge sets its own rate."""
    views, bank, pile, seen_labels = Views(X.shape[1]), lanes(X.shape[1]), stacks(EVEN, SURE), Numbers()
    trust, losses, gap, drift = np.full(11, 1 / 11), np.zeros(11), 0.0, 0.0
    scores, then = np.zeros(y.size), dict[int, Any]()
    for asks, s, _ in events(delays):
        known = seen_labels
        if asks:
            views_then, before = copy.deepcopy(views).of(X[s]), known.before()
            raw = np.array([lane.score(views_then) for lane in bank])
            p, u, mean = known.inputs(raw, before)
            guesses = [stack.m @ u / known.size if known.size else 0.0 for stack in pile]
            stacked = np.clip(mean + np.array(guesses), *known.range)
            said = known.origin + np.append(p, stacked)
            scores[s], then[s] = float(trust @ said), (p, before, said)
            continue
        (p, before, said), label, seen = then.pop(s), y[s], views.of(X[s])
        u, mean = known.inputs(p, before)[1], float(np.clip(said[:8] - known.origin, *known.range).mean())
        loss = (said - label) ** 2
        drift += (scores[s] - label) ** 2 - (float(trust @ said) - label) ** 2
        mixed, eta = float(trust @ loss), math.log(11) / gap if gap else math.inf
        mix = (losses + loss).min() - losses.min()
        if gap:
            mix = loss.min() - math.log(trust @ np.exp(-eta * (loss - loss.min()))) / eta
        losses, gap = losses + loss, gap + max(mixed - mix, 0.0)
        behind = losses - losses.min()
        trust = np.exp(-math.log(11) / gap * behind) if gap else (behind == 0).astype(float)
        trust /= trust.sum()
        target, past = label - (known.came[0] if known.came else label), np.array(known.came)
        if known.size:
            for stack in pile:
                q = float(u @ stack.P @ u)
                stack.learn(u, ((target - mean) * known.size - float(stack.m @ u)) / (1 + q), 1.0)
        known.misses.append((target - mean) ** 2)
        if past.size:
            for lane in bank:
                scale = math.sqrt(1 / np.mean(views.squares[lane.view]))
                lane.learn_number(seen, target, 1.0, scale, math.sqrt(float(np.mean((past - past.mean()) ** 2))))
        known.came.append(label)
    return Heard(scores, losses, drift)


def class_inputs(raw: Vector, memory: Memory, rows: int) -> Vector:
    return np.vstack([np.maximum(raw - raw.max(axis=1, keepdims=True), -DEEP), memory.inputs(rows)])


def classify_many(X: Vector, y: Any, delays: Any) -> Heard:
    """Classes, numbered as their answers come; scores are chances of the classes met then."""
    d = X.shape[1]
    views, pile, memory, banks, trust = Views(d), stacks(EVEN, OPEN), Memory(0), list[Any](), Trust()
    codes, scores, then, drift = dict[Any, int](), [np.zeros(0)] * len(y), dict[int, Any](), 0.0

    def raw_scores(seen: Any) -> Vector:
        return np.array([[bank[k].score(seen) for bank in banks] for k in range(8)]).reshape(8, len(banks))

    for asks, s, crowd in events(delays):
        if asks:
            raw, chances = raw_scores(copy.deepcopy(views).of(X[s])), np.zeros((11, 0))
            if banks:
                u = class_inputs(raw, memory, trust.t + 1)
                chances = chances_of(raw, np.array([stack.m for stack in pile]) @ u)
            scores[s], then[s] = trust.w @ chances, (raw, memory.last, memory.recent.copy(), chances)
            continue
        trust.await_many(crowd)
        (raw, last, recent, given), seen, before = then.pop(s), views.of(X[s]), len(banks)
        code, met = codes.setdefault(y[s], before), raw.shape[1]
        mixed, u, own = trust.w @ given, np.zeros((11, 0)), given[8:]
        likelihood = np.array([math.exp(-softmax_loss(expert, max(before, code + 1), code)) for expert in given])
        if before:
            old = copy.deepcopy(memory)
            old.last, old.recent[:met] = last, recent
            wide = np.hstack([raw, raw_scores(seen)[:, met:]])
            u = class_inputs(wide, old, trust.t + 1)
            own = chances_of(wide, np.array([stack.m for stack in pile]) @ u)[8:]
        drift += softmax_loss(scores[s], max(before, code + 1), code) - softmax_loss(mixed, max(before, code + 1), code)
        trust.judge(likelihood, 1.0)
        if code < before:
            for stack, chance in zip(pile, own, strict=True):
                teach(stack, u, chance, code, 1.0)
        else:
            banks.append(lanes(d))
            memory.widen()
        if trust.t > 1:
            train_lanes(banks, views, seen, code, 1.0)
        memory.add(code)
    return Heard(scores, trust.losses, drift)


def softmax_loss(chances: Vector, classes: int, code: int) -> float:
    """The loss of a row among all classes met by now; those not met when the chances were given have little."""
    all_chances = np.append(chances, np.full(classes - chances.size, DOUBT / (chances.size + 1)))
    return -float(log_softmax(np.log(all_chances))[code])
