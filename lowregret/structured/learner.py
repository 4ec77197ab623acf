"""Learners whose loss is a maximum or a sum over structures: structured prediction and ranking.

Both losses are, at w_t, a constant plus ⟨w_t, g_t⟩, g_t the sub-gradient: a round finds the two, then hands g_t as a
row of costs to the descent that `Linear` is. So rules, schedules, outputs, sums and certificates are those of `Linear`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np

from lowregret.compile.kernel import apart, kernel
from lowregret.compile.numerics import margin_gap
from lowregret.learner.linear import Learner, Linear
from lowregret.loss import Cost
from lowregret.output import Last, Output
from lowregret.rows import Sparse
from lowregret.rule import Rule
from lowregret.state import MISTAKES, ROUNDS, TOTAL, WEIGHTED, State
from lowregret.structured.rounds import Rounds
from lowregret.structured.scratch import FixedWeights, Scratch, ScratchSize, add_row, block_scores, collect, row_length
from lowregret.structured.space import Space, wrong_places
from lowregret.types import Cells, Vector

Judged = tuple[float, bool, float, float]


class Task(Learner):
    """A loss of groups of rows, and a rule that moves w."""

    def check(self) -> None:
        _ = self.linear  # which checks its parts

    @property
    def linear(self) -> Linear:
        """The descent on sub-gradients, each a row of costs."""
        return Linear(Cost(), self.rule, self.output, self.ridge)

    @property
    def loss(self) -> Task:
        """The task is its own loss."""
        return self

    @abstractmethod
    def dimension(self, features: int) -> int:
        """Number of weights."""

    @abstractmethod
    def room(self, longest: int, nonzeros: int) -> ScratchSize:
        """The scratch that rounds of up to `longest` rows and `nonzeros` entries need."""

    @abstractmethod
    def judge(self, reader: Any, s: Any, data: Rounds, t: int, made: Cells, scratch: Scratch) -> Judged:
        """Predict round t into `made` and pile up the sub-gradient g; compiled.

        Returns c such that the loss is c + ⟨w, g⟩, whether the prediction is wrong, and two figures to add up.
        """

    @abstractmethod
    def blurred(self, data: Rounds, t: int) -> float:
        """A length L such that the loss of round t is off by nεL‖w‖₂ at most if all scores are, by n operations each.

        Where a rounded score hides the structure that the loss is a maximum at, the sub-gradient tells nothing of it.
        """


class Structured(Task):
    """Predict argmax_ℓ ⟨w, ψ(x, ℓ)⟩, suffer φ(w) = max_ℓ [margin·γ(y, ℓ) − ⟨w, ψ(x, y) − ψ(x, ℓ)⟩] (LOSS-STRUCT).

    g = ψ(x, ℓ̂) − ψ(x, y) for the first maximiser ℓ̂. With margin 0 and a constant step on R^d this is the structured
    Perceptron: an update on mistakes only (ALG-MC-PERCEPTRON). `space`: `Chain`, `LabelTree`, `Classes`, or any object
    with `dimension`, `argmax` and `psi` (see `own.py`).
    """

    space: Any
    rule: Rule
    margin: float = 1.0
    output: Output = Last()
    ridge: float = 0.0

    def check(self) -> None:
        self.require(
            isinstance(self.space, Space) or all(hasattr(self.space, name) for name in ("dimension", "argmax", "psi")),
            f"space must be Chain(26), LabelTree(...), Classes(3), or an object with dimension, argmax and psi; "
            f"got {self.space!r}",
        )
        self.require(0 <= self.margin < math.inf, f"margin must be ≥ 0, got {self.margin}")
        super().check()

    def dimension(self, features: int) -> int:
        return self.space.dimension(features)

    def room(self, longest: int, nonzeros: int) -> ScratchSize:
        return self.space.room(longest, nonzeros)

    def judge(self, reader: Any, s: Any, data: Rounds, t: int, made: Cells, scratch: Scratch) -> Judged:
        """The figures are wrong labels, and labels."""
        begin = data.begin(t)
        nothing = self.space.score(reader, s, data, t, scratch)
        self.space.best(data, t, 0.0, scratch, made, begin)
        wrong = wrong_places(data, t, made, begin)
        cost = 0.0
        if self.margin != 0.0:
            self.space.best(data, t, self.margin, scratch, scratch.rival, 0)
            cost = self.margin * self.space.cost(data, t, scratch.rival, 0, scratch)
            self.space.difference(data, t, scratch.rival, 0, scratch)
        else:
            self.space.difference(data, t, made, begin, scratch)
        return cost + nothing, wrong > 0, float(wrong), float(data.end(t) - begin)

    def blurred(self, data: Rounds, t: int) -> float:
        """Of the right structure and of its rival, with an operation more for each place."""
        places = float(data.end(t) - data.begin(t))
        return 2.0 * self.space.extent(data, t) * (1.0 + places / (data.features + 1.0))


class Ranking(Task):
    """Order items by ⟨w, ψ_j⟩; one of them, y, is chosen (PROTO-RANK).

    Suffer Σ_{j≠y} [1 − ⟨w, ψ_y − ψ_j⟩]₊ ≥ position − 1, ψ_j the rows of features. Items that are tied with y count as
    placed before it.
    """

    rule: Rule
    output: Output = Last()
    ridge: float = 0.0

    def dimension(self, features: int) -> int:
        return features

    def room(self, longest: int, nonzeros: int) -> ScratchSize:
        return ScratchSize(longest, 0, 0, 2 * nonzeros)

    def judge(self, reader: Any, s: Any, data: Rounds, t: int, made: Cells, scratch: Scratch) -> Judged:
        """`made` is the position of the chosen item; the figures are that, and 1/position."""
        begin, n, chosen = data.begin(t), data.end(t) - data.begin(t), data.labels[t]
        nothing = 0.0
        for j in range(n):
            nothing += block_scores(reader, s, data.rows, begin + j, 1, scratch.floats, np.uint64(j))
        own = scratch.floats[chosen]
        position, near = 1, 0
        for j in range(n):
            if j != chosen:
                if not scratch.floats[j] < own:
                    position += 1
                if margin_gap(1.0, own, scratch.floats[j]) > 0.0:
                    near += 1
                    add_row(scratch, data.rows, begin + j, 1, 0, 1.0)
        if near > 0:
            add_row(scratch, data.rows, begin + chosen, 1, 0, -float(near))
        made[t] = position
        return near + nothing, position > 1, float(position), 1.0 / position

    def blurred(self, data: Rounds, t: int) -> float:
        """Of the chosen item and of each other, in a sum over these."""
        n, total = data.end(t) - data.begin(t), 0.0
        for i in range(data.begin(t), data.end(t)):
            total += row_length(data.rows, i)
        total += float(n) * row_length(data.rows, data.begin(t) + data.labels[t])
        return total * (1.0 + float(n) / (data.features + 1.0))


# ---- compiled loops --------------------------------------------------------------------------------------------------


@apart
def descend(linear: Linear, s: State, row: Sparse, constant: float, wrong: bool, length: float) -> bool:
    """Learn the collected sub-gradient of a loss constant + ⟨w, g⟩; False means that nothing was learnt.

    `length` is by how much scores were rounded, over nε‖w‖₂.
    A constant that is no number says that scores were none: their maximum tells nothing of the loss.
    """
    if not math.isfinite(constant):
        return False
    step = linear.rule.schedule()
    importance = step.importance(s)
    active = 1.0 if row.begin(0) < row.end(0) else 0.0
    if not math.isfinite(linear.learn(s, row, 0, active, 1.0, math.inf)):
        return False
    s.sums[TOTAL] += constant
    if step.weighted():
        s.sums[WEIGHTED] += importance * constant
    s.counts[MISTAKES] += wrong
    linear.blur(s, 1.0, length * length)
    return True


@kernel
def learn_rounds(
    task: Task,
    linear: Linear,
    s: State,
    data: Rounds,
    scratch: Scratch,
    row: Sparse,
    made: Cells,
    figures: Vector,
    t: int,
    until: int,
) -> int:
    """Learn rounds t, t+1, … of the data until `until` rounds are done in all; returns the first not learnt.

    Stops early at a round whose scores left the range of numbers, leaving the state as it was before.
    """
    while t < data.count() and s.counts[ROUNDS] < until:
        scratch.ends[1] = 0
        constant, wrong, one, two = task.judge(linear.rule, s, data, t, made, scratch)
        collect(scratch)
        if not descend(linear, s, row, constant, wrong, task.blurred(data, t)):
            break
        figures[0] += one
        figures[1] += two
        t += 1
    return t


@kernel
def learn_gradient(linear: Linear, s: State, row: Sparse, constant: float, wrong: bool) -> bool:
    """`descend`, compiled, for rounds that were judged elsewhere, whoever did that answering for the scores."""
    return descend(linear, s, row, constant, wrong, 0.0)


@kernel
def judge_rounds(
    task: Task,
    reader: FixedWeights,
    u: Vector,
    data: Rounds,
    scratch: Scratch,
    made: Cells,
    importance: Vector,
    losses: Vector,
    gradient: Vector,
) -> None:
    """losses[t] = f_t(u) for one fixed u; Σ importance[t]·g_t is added to `gradient` unless that is empty."""
    for t in range(data.count()):
        scratch.ends[1] = 0
        constant, _, _, _ = task.judge(reader, u, data, t, made, scratch)
        collect(scratch)
        value = 0.0
        for k in range(scratch.ends[1]):
            value += u[scratch.touched[k]] * scratch.amounts[k]
            if gradient.size > 0:
                gradient[scratch.touched[k]] += importance[t] * scratch.amounts[k]
        losses[t] = constant + value  # in the end, or it would be lost beside terms that cancel


@kernel
def decode_rounds(space: Space, reader: FixedWeights, w: Vector, data: Rounds, scratch: Scratch, made: Cells) -> None:
    """made = argmax_ℓ ⟨w, ψ(x, ℓ)⟩ of each round, for a fixed w."""
    for t in range(data.count()):
        space.score(reader, w, data, t, scratch)
        space.best(data, t, 0.0, scratch, made, data.begin(t))


@kernel
def compare_rounds(
    space: Space,
    reader: FixedWeights,
    u: Vector,
    data: Rounds,
    scratch: Scratch,
    made: Cells,
    products: Vector,
    margins: Vector,
) -> None:
    """products[t] = ⟨u, ψ(x, y) − ψ(x, made)⟩ and margins[t] = min_{ℓ≠y} ⟨u, ψ(x, y) − ψ(x, ℓ)⟩, for a fixed u."""
    for t in range(data.count()):
        scratch.ends[1] = 0
        space.score(reader, u, data, t, scratch)
        space.difference(data, t, made, data.begin(t), scratch)
        collect(scratch)
        products[t] = 0.0
        for k in range(scratch.ends[1]):
            products[t] -= u[scratch.touched[k]] * scratch.amounts[k]
        space.best(data, t, 0.0, scratch, scratch.rival, 0)
        margins[t] = space.runner_up(data, t, scratch)
