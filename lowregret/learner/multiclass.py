"""Learners of many classes: a score for each class, a loss of all scores, and the same rules that move one vector.

The weights of all classes are one vector over pairs (feature j, class ℓ), laid out feature by feature: weight (j, ℓ) is
coordinate j·L + ℓ, where L is the number of *lanes*, the classes that there is room for. So ψ(x, ℓ) = x ⊗ e_ℓ, a row is
scored for all classes in one pass over contiguous lanes, and every rule, step, output and theorem is what it is for one
score. Lanes of classes that were not met yet hold zeros.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import FAINT
from lowregret.compile.part import Part
from lowregret.errors import PartError
from lowregret.learner.late import DRIFT, Waiting
from lowregret.learner.linear import Learner, Linear
from lowregret.loss.multiclass import MultiLoss
from lowregret.output import Last, Output
from lowregret.rows import WEIGHTIEST, Rows
from lowregret.rule import ProjectedGradient, Rule
from lowregret.state import DIMENSION, ROUNDS, State
from lowregret.types import Cells, Index, Vector

NONE, FAILED = -1, -2  # no class to predict yet; a score or loss that is no finite number


MET, GUESSED = 0, 1  # late.past[slot, …]: classes met, and the guess, when a row was asked


class Room(NamedTuple):
    """The memory that a round needs besides the state."""

    known: Cells  # [the number of classes met so far]
    raw: Cells  # (lanes,) scores up to the rule's common factor
    scores: Cells  # (rows, lanes), or (1, lanes) if they are not wanted
    slopes: Cells  # (lanes,)

    @classmethod
    def of(cls, known: Any, lanes: int, rows: int = 1) -> Room:
        """Memory for rows whose scores are kept, or for one row after the other."""
        return cls(known, np.zeros(lanes), np.zeros((max(rows, 1), lanes)), np.zeros(lanes))


class Multiclass(Learner):
    """Predict the class of the highest score ⟨w_ℓ, x⟩, suffer φ(scores, y) + (ridge/2)‖w‖², learn from all slopes.

    `bias` > 0 appends a feature of that constant value. `unit` scales every row to length 1 first (not its bias), which
    changes no prediction of a given w, but makes long rows count like short ones.
    """

    losses: ClassVar[type[Part]] = MultiLoss
    example: ClassVar[str] = "Softmax()"

    loss: MultiLoss
    rule: Rule
    output: Output = Last()
    ridge: float = 0.0
    bias: float = 0.0
    unit: bool = False

    def check(self) -> None:
        super().check()
        rule = self.rule
        self.require(
            not (rule.weighs() or rule.needs_loss() or rule.needs_weight()),
            f"{type(rule).__name__} is made for one score a row: use ProjectedGradient, MirrorDescent or AdaGrad",
        )
        self.require(
            not (isinstance(rule, ProjectedGradient) and rule.start is not None),
            "classes and their weights are laid out as they are met, so there is no start to begin at: leave it out",
        )

    @classmethod
    def like(cls, learner: Linear, loss: MultiLoss) -> Multiclass:
        """A learner of many classes with the rule, output, ridge and bias of `learner`."""
        return cls(loss, learner.rule, learner.output, learner.ridge, learner.bias)

    def start(self, features: int, lanes: int) -> State:
        """The state before round 1, with room for these features and classes."""
        if lanes < 1:
            raise PartError("a learner of classes needs at least one class")
        return self.begun((features + (self.bias > 0)) * lanes)

    # ---- compiled ----------------------------------------------------------------------------------------------------

    def factor(self, x: Rows, i: int) -> float:
        """The factor of row i: 1, or 1/‖x_i‖ where rows are made unit vectors."""
        if not self.unit:
            return 1.0
        square = self.bare_square(x, i)
        if square < FAINT * FAINT:
            return self.magnified(x, i)
        return 1.0 / math.sqrt(square)

    def magnified(self, x: Rows, i: int) -> float:
        """1/‖x_i‖ of a row whose square lacks digits, in the unit of its largest entry; 1 if that is beyond numbers."""
        largest, square = 0.0, 0.0
        for k in range(x.begin(i), x.end(i)):
            largest = max(largest, abs(x.value(i, k)))
        for k in range(x.begin(i), x.end(i)):
            share = x.value(i, k) / largest if largest > 0.0 else 0.0
            square += share * share
        factor = 1.0 / largest / math.sqrt(square) if largest > 0.0 else 1.0
        return factor if factor < math.inf else 1.0

    def dot(self, s: State, x: Rows, i: int, factor: float, known: int, raw: Cells) -> None:
        """raw[ℓ] = ⟨w_ℓ, x_i⟩ up to the rule's scale, ℓ < known: O(nnz · classes), in an order that never changes."""
        rule, lanes = self.rule, np.uint64(raw.size)
        for lane in range(np.uint64(known)):
            raw[lane] = 0.0
        for k in range(x.begin(i), x.end(i)):
            first, value = np.uint64(x.column(i, k)) * lanes, x.value(i, k)
            for lane in range(np.uint64(known)):
                raw[lane] += value * rule.raw(s, first + lane)
        if self.unit:
            for lane in range(np.uint64(known)):
                raw[lane] *= factor
        if self.bias != 0.0:
            first = np.uint64(s.counts[DIMENSION]) - lanes
            for lane in range(np.uint64(known)):
                raw[lane] += self.bias * rule.raw(s, first + lane)

    def guess(self, s: State, x: Rows, i: int, factor: float, scale: float, scores: Cells, room: Room) -> int:
        """Score row i; returns the class of the highest score, NONE if no class was met, FAILED if scores overflow."""
        known = room.known[0]
        self.dot(s, x, i, factor, known, room.raw)
        best, total = NONE, 0.0
        for label in range(known):
            scores[label] = room.raw[label] * scale
            total += scores[label]
            if best == NONE or scores[label] > scores[best]:
                best = label
        return best if math.isfinite(total) else FAILED

    def learn(self, s: State, x: Rows, i: int, y: int, weight: float, room: Room, late: Waiting, limit: float) -> int:
        """One round: returns the class predicted before the row was learnt, NONE, or FAILED if nothing was learnt.

        So it is if the loss, ⟨w, z⟩, and squares of slopes and z reach the limit, or that of z is too small to be told.
        """
        scale, factor, before = self.rule.scale(s), self.factor(x, i), room.known[0]
        scores = room.scores[i if room.scores.shape[0] > 1 else 0]
        guess = self.guess(s, x, i, factor, scale, scores, room)
        waits = late.of.size > 0 and late.of[i] >= 0
        if waits and weight == 0.0 and guess != FAILED:
            self.ask(i, guess, before, scores, late)
        if weight == 0.0 or guess == FAILED:
            return guess
        if y >= before:  # a class that was not met yet, whose weights are 0
            room.raw[y] = scores[y] = 0.0
        known = max(before, y + 1)
        if waits:
            guess = self.remember(late.of[i], known, scores, late)
        value = weight * self.loss.at(scores, known, guess, y, room.slopes)
        size, inner, product, squares, touched = self.length(x, i, factor), 0.0, 0.0, 0.0, 0
        for label in range(known):
            slope = room.slopes[label] = weight * room.slopes[label]
            inner, product = inner + slope * (room.raw[label] * scale), product + slope * room.raw[label]
            squares += slope * slope
            touched += slope != 0.0
        idle = touched == 0 and self.ridge == 0.0
        square = 0.0 if idle else squares * size
        reached = abs(value) + abs(inner) + squares + square + self.swollen(s, square)
        if not reached < limit or (touched > 0 and self.rule.faint(s, squares, size, square)):  # or one is no number
            return FAILED
        room.known[0] = known
        self.drift(known, scores, scale, room, late, waits)
        self.rule.gauge_row(s, x, i, self.bias != 0.0, room.raw.size, known)
        self.enter(s, value, guess != y, scale, weight, size)
        if idle:
            self.rule.idle(s)
            return guess
        opened = self.rule.open(s, inner, product, square, self.ridge)
        self.move(s, x, i, factor, known, touched, room.slopes, opened, inner)
        return guess

    def drift(self, known: int, scores: Cells, scale: float, room: Room, late: Waiting, waits: bool) -> None:
        """Count by how much scores of a row that waited lose more than those of the moment, by the slopes."""
        for label in range(known if waits else 0):
            late.ledger[DRIFT] += room.slopes[label] * (scores[label] - room.raw[label] * scale)

    def remember(self, slot: Index, known: int, scores: Cells, late: Waiting) -> int:
        """Bring back the scores that a row had when it was asked; returns the class predicted then."""
        for label in range(known):
            scores[label] = late.scores[slot, label] if label < late.past[slot, MET] else 0.0
        return int(late.past[slot, GUESSED])

    def ask(self, i: int, guess: int, known: int, scores: Cells, late: Waiting) -> None:
        """Keep the scores of row i, whose answer comes later."""
        slot = late.of[i]
        late.past[slot, MET], late.past[slot, GUESSED] = known, guess
        for label in range(known):
            late.scores[slot, label] = scores[label]

    def move(
        self, s: State, x: Rows, i: int, factor: float, known: int, touched: int, slopes: Cells, sums: Any, inner: float
    ) -> None:
        """Push z = Σ_ℓ slope_ℓ · x ⊗ e_ℓ, and close the round."""
        entries = int(x.end(i) - x.begin(i)) + (1 if self.bias != 0.0 else 0)
        if 2 * touched > known:
            entries *= known
            sums = self.push_lanes(s, x, i, factor, known, slopes, sums)
        else:
            entries *= touched
            sums = self.push_few(s, x, i, factor, known, slopes, sums)
        self.rule.settle(s, inner, entries, sums)

    def length(self, x: Rows, i: int, factor: float) -> float:
        """The square of the length of row i as it is learnt, bias included."""
        if not self.unit:
            return self.square(x, i)
        square = factor * factor * self.bare_square(x, i) if factor * FAINT < 1.0 else 1.0
        return square + self.bias * self.bias

    def push_lanes(self, s: State, x: Rows, i: int, factor: float, known: int, slopes: Cells, round_sums: Any) -> Any:
        """All lanes, one after the other within each feature."""
        lanes = np.uint64(slopes.size)
        for k in range(x.begin(i), x.end(i)):
            first = np.uint64(x.column(i, k)) * lanes
            round_sums = self.push_block(s, first, known, slopes, factor * x.value(i, k), round_sums)
        if self.bias != 0.0:
            first = np.uint64(s.counts[DIMENSION]) - lanes
            round_sums = self.push_block(s, first, known, slopes, self.bias, round_sums)
        return round_sums

    def push_block(self, s: State, first: Index, known: int, slopes: Cells, value: float, round_sums: Any) -> Any:
        """Give the lanes of one feature to the rule, keeping the output right."""
        if self.output.averages() or not self.rule.tells_widest():
            for lane in range(np.uint64(known)):
                self.note(s, first + lane)
        return self.rule.push_block(s, first, known, slopes, value, round_sums)

    def push_few(self, s: State, x: Rows, i: int, factor: float, known: int, slopes: Cells, round_sums: Any) -> Any:
        """Where most slopes are 0: feature by feature within each lane that moves."""
        lanes = np.uint64(slopes.size)
        for lane in range(np.uint64(known)):
            slope = slopes[lane]
            if slope != 0.0:
                for k in range(x.begin(i), x.end(i)):
                    j = np.uint64(x.column(i, k)) * lanes + lane
                    round_sums = self.push(s, j, slope * (factor * x.value(i, k)), round_sums)
                if self.bias != 0.0:
                    j = np.uint64(s.counts[DIMENSION]) - lanes + lane
                    round_sums = self.push(s, j, slope * self.bias, round_sums)
        return round_sums

    def score(self, w: Vector, x: Rows, i: int, scores: Cells) -> None:
        """scores[ℓ] = ⟨w_ℓ, x_i⟩ for a fixed model with as many lanes as scores, the bias last."""
        lanes, factor = np.uint64(scores.size), self.factor(x, i)
        first = np.uint64(w.size) - lanes
        for lane in range(lanes):
            scores[lane] = self.bias * w[first + lane] if self.bias != 0.0 else 0.0
        for k in range(x.begin(i), x.end(i)):
            first, value = np.uint64(x.column(i, k)) * lanes, factor * x.value(i, k)
            for lane in range(lanes):
                scores[lane] += value * w[first + lane]


@kernel
def learn_classes(
    learner: Multiclass,
    s: State,
    x: Rows,
    y: Any,
    weights: Vector,
    room: Room,
    late: Waiting,
    guesses: Any,
    i: int,
    until: int,
    limit: float,
) -> int:
    """Learn rows i, i+1, … until `until` rounds are done or the rows end; returns the first row not learnt.

    Stops early at a row that cannot be learnt, or not before there is more room, or that reaches the limit, leaving the
    state as it was before it.
    An empty `weights` means 1 everywhere; a row of weight 0 is predicted but changes nothing. A row with a slot in
    `late` is asked if its weight is 0, else it is its answer that comes.
    """
    while i < y.size and s.counts[ROUNDS] < until:
        weight = weights[i] if weights.size > 0 else 1.0
        if weight != 0.0 and not (0.0 < weight <= WEIGHTIEST and 0 <= y[i] < room.raw.size):
            break
        if not x.inside(i):
            break
        guess = learner.learn(s, x, i, y[i], weight, room, late, limit)
        if guess == FAILED:
            break
        guesses[i] = guess
        i += 1
    return i


@kernel
def score_classes(learner: Multiclass, w: Vector, x: Rows, picked: Any, scores: Any) -> None:
    """scores[n, ℓ] = ⟨w_ℓ, x_i⟩ for a fixed model w and i = picked[n], or all rows (`EVERY`): O(nnz · classes)."""
    for n in range(scores.shape[0]):
        learner.score(w, x, picked[n] if picked.size > 0 else n, scores[n])


@kernel
def judge_classes(
    loss: MultiLoss, known: int, codes: Any, scores: Any, slopes: Cells, values: Vector, guesses: Any
) -> None:
    """The loss of each row of scores, and the class it speaks for; a class beyond those known has the score 0."""
    for n in range(codes.size):
        y, classes = codes[n], known
        guesses[n] = np.argmax(scores[n, :known])
        if y >= known:
            y, classes = known, known + 1
            scores[n, known] = 0.0
        values[n] = loss.at(scores[n], classes, guesses[n], y, slopes)


@kernel
def class_loss(
    learner: Multiclass, w: Vector, x: Rows, y: Any, weights: Vector, guesses: Any, first: int, room: Room
) -> float:
    """Σ c_i φ of the fixed model w on row i, judged among the classes that were known then: O(nnz · classes).

    `guesses` are the run's own, which settle what `PerceptronLoss` is in each round; `first` classes were known
    from the beginning. A row of weight 0 is no round: its class need not be known.
    """
    known, total = first, 0.0
    for i in range(y.size):
        if weights[i] != 0.0:
            known = max(known, y[i] + 1)
            learner.score(w, x, i, room.raw)
            total += weights[i] * learner.loss.at(room.raw, known, guesses[i], y[i], room.slopes)
    return total


@kernel
def longest(learner: Multiclass, x: Rows, rows: int) -> float:
    """max ‖x_i‖² as rows are learnt, bias included."""
    most = 0.0
    for i in range(rows):
        most = max(most, learner.length(x, i, learner.factor(x, i)))
    return most
