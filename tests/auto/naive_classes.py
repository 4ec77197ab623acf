"""`auto` for many classes, transcribed from its description in double precision: rows are dense, labels are codes.

Codes are numbered as they are met. A class not met before has the chance DOUBT/(known + 1).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_softmax

from tests.auto.naive import EVEN, OPEN, Lane, Stack, Vector, Views, lanes, stacks

DOUBT, DEEP, QUIET = 1e-6, 20.0, 1e-6


class Made(NamedTuple):
    """What came of the rows."""

    guesses: Any  # the class of each row before it was learnt, −1 for none
    chances: list[Vector]  # that the mixture gave to the classes known then
    losses: Vector  # Σ −weight·ln(chance) of each expert
    each: Any  # the same, a row of losses each
    total: float  # of the mixture, among the classes met


class Memory:
    """Of labels."""

    def __init__(self, known: int) -> None:
        self.counts, self.recent, self.last = np.zeros(known), np.zeros(known), -1

    def inputs(self, rows: int) -> Vector:
        """Frequencies, the last class, and recent shares: a row each, a column for each class."""
        known = self.counts.size
        return np.array([np.log((self.counts + 1) / (rows + known)), np.arange(known) == self.last, self.recent], float)

    def add(self, y: int) -> None:
        now = np.eye(self.counts.size)[y]
        self.counts, self.recent, self.last = self.counts + now, 0.9 * self.recent + 0.1 * now, y

    def widen(self) -> None:
        self.counts, self.recent = np.append(self.counts, 0.0), np.append(self.recent, 0.0)


def chances_of(raw: Vector, stacked: Vector) -> Vector:
    """Lanes: σ of each score over their sum; stacks: softmax; both with a grain of doubt."""
    alone = expit(np.clip(raw, -30, 30))
    shares = np.vstack([alone / alone.sum(axis=1, keepdims=True), np.exp(log_softmax(stacked, axis=1))])
    return (1 - DOUBT) * shares + DOUBT / (raw.shape[1] + 1)


def teach(stack: Stack, u: Vector, chances: Vector, y: int, weight: float) -> None:
    """A Newton step on the slope of the stack's log loss."""
    slope = u @ chances - u[:, y]
    q = weight * float(slope @ stack.P @ slope)
    stack.learn(slope, -weight / (1 + q), weight)


def train_lanes(banks: list[list[Lane]], views: Views, seen: Any, y: int, weight: float) -> None:
    """One class against all others, unless the AdaGrad lanes of a class knew."""
    for c, bank in enumerate(banks):
        sign = 1.0 if c == y else -1.0
        slopes = [weight * expit(-sign * lane.score(seen)) for lane in bank if lane.rate]
        if max(slopes) ** 2 > QUIET:
            for lane in bank:
                lane.learn_sign(seen, sign, weight, math.sqrt(1 / np.mean(views.squares[lane.view])))


def classify_many(X: Vector, codes: Any, weights: Vector | None = None, known: int = 0) -> Made:
    """One pass; `known` classes are named beforehand."""
    d = X.shape[1]
    views, pile, memory = Views(d), stacks(EVEN, OPEN), Memory(known)
    banks = [lanes(d) for _ in range(known)]
    trust, each, total = np.full(11, 1 / 11), np.zeros((len(codes), 11)), 0.0
    guesses, mixed = np.full(len(codes), -1), []
    for t, (x, y) in enumerate(zip(X, codes, strict=True), 1):
        weight = 1.0 if weights is None else weights[t - 1]
        seen, before = views.of(x), len(banks)
        raw = np.array([[bank[k].score(seen) for bank in banks] for k in range(8)]).reshape(8, before)
        u = np.zeros((11, before))
        chances = np.zeros((11, before))
        if before:
            u = np.vstack([np.maximum(raw - raw.max(axis=1, keepdims=True), -DEEP), memory.inputs(t)])
            chances = chances_of(raw, np.array([stack.m for stack in pile]) @ u)
            guesses[t - 1] = int(np.argmax(trust @ chances))
        mixed.append(trust @ chances)
        new = DOUBT / (before + 1)
        given = np.column_stack([chances, np.full(11, new)]) if y == before else chances
        likelihood = given[:, y] / given.sum(axis=1)
        met = np.append(mixed[-1], new) if y == before else mixed[-1]
        total += weight * (math.log(met.sum()) - math.log(met[y]))
        each[t - 1] = -weight * np.log(likelihood)
        powers = likelihood**weight
        trust = t / (t + 1) * trust * powers / (trust @ powers) + 1 / (t + 1) / 11
        if y < before:
            for stack, own in zip(pile, chances[8:], strict=True):
                teach(stack, u, own, y, weight)
        else:
            banks.append(lanes(d))
            memory.widen()
        if t > 1:
            train_lanes(banks, views, seen, y, weight)
        memory.add(y)
    return Made(guesses, mixed, each.sum(axis=0), each, total)
