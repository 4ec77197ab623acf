"""Linear learners: a loss of the score ⟨w, x⟩, and a rule that moves w; `learn_rows`, the compiled loop over rows."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lowregret.compile.kernel import kernel
from lowregret.compile.part import Part
from lowregret.domain import Radial
from lowregret.errors import PartError
from lowregret.learner.centre import as_centre
from lowregret.loss import Loss, Square
from lowregret.loss.verify import misjudged, misshapen
from lowregret.mirror import Euclidean
from lowregret.output import Last, Output
from lowregret.rows import WEIGHTIEST, Rows
from lowregret.rule import MirrorDescent, ProjectedGradient, Rule
from lowregret.state import (
    AVERAGED,
    BLUR,
    BLURRIEST,
    DIMENSION,
    DIVISOR,
    GIVEN,
    LONGEST,
    LOSS,
    MISTAKES,
    ROUNDS,
    SLOPE,
    TOTAL,
    WEIGHTED,
    State,
)
from lowregret.step import Constant
from lowregret.types import Index, Vector

_ANY_RULE, _ANY_LOSS = MirrorDescent(Euclidean(), Constant(1.0)), Square()
SWOLLEN = 1e300  # weights beyond which a row may make them overflow: it is then learnt on trial
MOST = 1e300  # that blur counts up to: nothing is proved by then
FAR = 1e4  # how far the scale of an iterate may fall below the average scale before sums of both lose digits


class Learner(Part):
    """The base of all learners: a rule, the iterate that it hands out, and the ledger of a round."""

    losses: ClassVar[type[Part]]  # which it takes
    example: ClassVar[str]

    if TYPE_CHECKING:  # fields of every learner, in its own order

        @property
        def loss(self) -> Any: ...
        @property
        def rule(self) -> Rule: ...
        @property
        def output(self) -> Output: ...
        @property
        def ridge(self) -> float: ...
        @property
        def bias(self) -> float: ...

    def check(self) -> None:
        for name, kind, example in (
            ("loss", self.losses, self.example),
            ("rule", Rule, "ProjectedGradient(Reals(), Constant(0.1))"),
            ("output", Output, "Average()"),
        ):
            value = getattr(self, name)
            self.require(isinstance(value, kind), f"{name} must be a {kind.__name__} such as {example}, got {value!r}")
        fault = misshapen(self.loss)
        self.require(fault is None, f"{fault}")
        fault = misjudged(self.loss)
        self.require(fault is None, f"{fault}: change `decision` instead, which both follow")
        self.require(0 <= self.ridge < math.inf, f"ridge must be ≥ 0, got {self.ridge}")
        self.require(0 <= self.bias < math.inf, f"bias must be ≥ 0, got {self.bias}")
        if self.ridge > 0:
            self.require(
                isinstance(self.rule, ProjectedGradient),
                "ridge needs a rule that can shrink w: "
                f"use ProjectedGradient instead of {type(self.rule).__name__}, or ridge=0",
            )
            self.require(
                isinstance(self.rule.domain, Radial),
                f"ridge shrinks all coordinates at once, which only R^d and the L2 ball allow in O(nnz): "
                f"use L2Ball instead of {type(self.rule.domain).__name__}, or ridge=0",
            )

    def require_weights(self, d: int) -> None:
        """Refuse a number of weights that the learner cannot have."""
        self.rule.fits(d)

    def centred(self) -> bool:
        """Whether weights are counted from another point than 0."""
        return False

    def begun(self, d: int) -> State:
        """The state before round 1, with d weights."""
        if d < 1:
            raise PartError("a learner needs at least one feature")
        self.require_weights(d)
        s = State.zeros(d, self.rule.columns(d), self.output.averages())
        self.rule.begin(s)
        return s

    # ---- compiled ----------------------------------------------------------------------------------------------------

    def square(self, x: Rows, i: int) -> float:
        """‖x_i‖², bias included."""
        return self.bare_square(x, i) + self.bias * self.bias

    def bare_square(self, x: Rows, i: int) -> float:
        """‖x_i‖² without the bias. Four sums: fast, in an order of addition that never changes."""
        k, end = x.begin(i), x.end(i)
        one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
        q0 = q1 = q2 = q3 = 0.0
        while k + four <= end:
            q0 += x.value(i, k) * x.value(i, k)
            q1 += x.value(i, k + one) * x.value(i, k + one)
            q2 += x.value(i, k + two) * x.value(i, k + two)
            q3 += x.value(i, k + three) * x.value(i, k + three)
            k += four
        while k < end:
            q0 += x.value(i, k) * x.value(i, k)
            k += one
        return (q0 + q1) + (q2 + q3)

    def weighed_square(self, s: State, x: Rows, i: int) -> float:
        """Σ metric(j)·x_i[j]²"""
        total = 0.0
        for k in range(x.begin(i), x.end(i)):
            value = x.value(i, k)
            total += self.rule.metric(s, x.column(i, k), value) * value * value
        if self.bias != 0.0:
            total += self.rule.metric(s, np.uint64(s.counts[DIMENSION] - 1), self.bias) * self.bias * self.bias
        return total

    def swollen(self, s: State, square: float) -> float:
        """A finite number that weights may grow to by a sub-gradient with ‖z‖₂² = square."""
        return min(self.rule.swell(s, square), SWOLLEN)

    def blur(self, s: State, weight: float, square: float) -> None:
        """Book ‖x_t‖₂² = square, by which rounding may move the score: also where the loss is flat, and z_t = 0."""
        length = min(math.sqrt(square), MOST)
        s.sums[BLUR] = min(s.sums[BLUR] + weight * length, MOST)
        s.sums[BLURRIEST] = max(s.sums[BLURRIEST], length)

    def enter(self, s: State, value: float, wrong: bool, scale: float, weight: float, square: float) -> None:
        """Book the round's loss, the length of its row, and its iterate if past ones matter."""
        s.sums[TOTAL] += value
        self.blur(s, weight, square)
        if self.rule.weighted():
            s.sums[WEIGHTED] += self.rule.importance(s) * value
        s.counts[MISTAKES] += wrong
        if self.output.averages():
            self.keep(s, s.counts[ROUNDS] + 1, scale)

    def keep(self, s: State, t: int, scale: float) -> None:
        """Let w_t count in the output."""
        s.sums[LONGEST] = max(s.sums[LONGEST], self.rule.square_length(s))
        weight = self.output.weight(t)
        if self.output.replaces():
            if weight > 0.0:
                s.sums[AVERAGED], s.sums[DIVISOR] = scale, -float(t)
            return
        if abs(s.sums[AVERAGED]) > FAR * s.sums[DIVISOR] * abs(scale):
            self.rule.rebase(s)
        s.sums[AVERAGED] += weight * scale
        s.sums[DIVISOR] += weight

    def push(self, s: State, j: Index, g: float, round_sums: Any) -> Any:
        """Give coordinate j of z_t to the rule, keeping the output right."""
        self.note(s, j)
        return self.rule.push(s, j, g, round_sums)

    def note(self, s: State, j: Index) -> None:
        """Before weight j moves: let it count in the output, and in what is known of its size."""
        if self.output.averages():
            self.rule.book(s, j)
        if not self.rule.tells_widest():
            self.rule.gauge(s, j)

    def point(self, s: State, w: Vector) -> None:
        """Write the present iterate into w, bias last: O(d)."""
        self.rule.point(s, w)

    def model(self, s: State, w: Vector) -> None:
        """Write the iterate that `output` asks for into w, bias last: O(d)."""
        self.chosen(s, w)

    def chosen(self, s: State, w: Vector) -> None:
        """Write the rule's own part of that iterate into w."""
        if not self.output.averages() or s.sums[DIVISOR] == 0.0:
            self.rule.point(s, w)
        else:
            for j in range(w.size):
                w[j] = self.rule.booked(s, j)


class Linear(Learner):
    """Predict p_t = ⟨w_t, x_t⟩, suffer ℓ(p_t, y_t) + (ridge/2)‖w_t‖², and feed z_t = ∂ℓ·x_t (+ ridge·w_t) to the rule.

    `bias` > 0 appends a feature of that constant value (its weight is the last coordinate).

    `centre` is a w₀ to count weights from, such as `run.weights` of another run: the rule then moves w − w₀, from where
    it begins; the loss is ℓ(p_t, y_t) + (ridge/2)‖w_t − w₀‖²; and comparators are w₀ + U (see `centre.py`).
    """

    losses: ClassVar[type[Part]] = Loss
    example: ClassVar[str] = "Hinge()"

    loss: Loss
    rule: Rule
    output: Output = Last()
    ridge: float = 0.0
    bias: float = 0.0
    centre: Any = None

    def check(self) -> None:
        super().check()
        object.__setattr__(self, "centre", as_centre(self.centre))

    def require_weights(self, d: int) -> None:
        super().require_weights(d)
        self.centre.fits(d)

    def centred(self) -> bool:
        return self.centre.shifts()

    def start(self, features: int) -> State:
        """The state before round 1 for rows of this many features."""
        return self.begun(features + (self.bias > 0))

    @cached_property
    def scorer(self) -> Linear:
        """This learner with a fixed rule and loss, so that scoring is compiled once for all of them."""
        return replace(self.judge, loss=_ANY_LOSS, output=Last())

    @cached_property
    def judge(self) -> Linear:
        """This learner with a fixed rule, so that loops that do not learn are compiled once for all rules."""
        return replace(self, rule=_ANY_RULE, ridge=0.0, centre=None)

    # ---- compiled ----------------------------------------------------------------------------------------------------

    def dot(self, s: State, x: Rows, i: int) -> float:
        """⟨w, x_i⟩ up to the rule's scale, in four sums that the processor adds side by side."""
        rule = self.rule
        k, end = x.begin(i), x.end(i)
        one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
        p0 = p1 = p2 = p3 = 0.0
        while k + four <= end:
            p0 += x.value(i, k) * rule.raw(s, x.column(i, k))
            p1 += x.value(i, k + one) * rule.raw(s, x.column(i, k + one))
            p2 += x.value(i, k + two) * rule.raw(s, x.column(i, k + two))
            p3 += x.value(i, k + three) * rule.raw(s, x.column(i, k + three))
            k += four
        while k < end:
            p0 += x.value(i, k) * rule.raw(s, x.column(i, k))
            k += one
        if self.bias != 0.0:
            p0 += self.bias * rule.raw(s, np.uint64(s.counts[DIMENSION] - 1))
        return (p0 + p1) + (p2 + p3)

    def learn(self, s: State, x: Rows, i: int, y: float, weight: float, limit: float) -> float:
        """One round: returns the score made before the row was learnt; NaN means that nothing was learnt.

        So it is if the numbers of the round reach the limit (see `absorb`). A weight of 0 changes nothing either.
        """
        scale = self.rule.scale(s)
        raw = self.dot(s, x, i)
        return self.absorb(s, x, i, y, weight, self.lifted(raw * scale, x, i), raw, scale, limit)

    def lifted(self, p: float, x: Rows, i: int) -> float:
        """p + ⟨w₀, x_i⟩"""
        if not self.centre.shifts():
            return p
        if self.bias != 0.0:
            p += self.bias * self.centre.at(self.centre.w.size - 1)
        for k in range(x.begin(i), x.end(i)):
            p += x.value(i, k) * self.centre.at(x.column(i, k))
        return p

    def point(self, s: State, w: Vector) -> None:
        self.rule.point(s, w)
        self.recentre(w)

    def model(self, s: State, w: Vector) -> None:
        self.chosen(s, w)
        self.recentre(w)

    def recentre(self, w: Vector) -> None:
        """w ← w₀ + w"""
        if self.centre.shifts():
            for j in range(w.size):
                w[j] += self.centre.at(j)

    def absorb(
        self, s: State, x: Rows, i: int, y: float, weight: float, p: float, raw: float, scale: float, limit: float
    ) -> float:
        """The second half of a round: judge the score p, made for row i now or earlier, and learn; returns p or NaN.

        `raw` is ⟨w, x_i⟩ up to `scale`, for the present w. Nothing is learnt if score, loss, slope, the square of the
        sub-gradient and what weights may swell to together reach the limit, or if that square is too small to be told.
        """
        if weight == 0.0:
            return p
        value, slope = self.loss.at(p, y)
        value, slope = weight * value, weight * slope
        size = self.square(x, i)
        square = slope * slope * size if slope != 0.0 else 0.0
        reached = abs(p) + abs(value) + abs(slope) + square + self.swollen(s, square)
        if not reached < limit or (
            slope != 0.0 and self.rule.faint(s, slope * slope, size, square)
        ):  # or one is no number
            return math.nan
        self.rule.gauge_row(s, x, i, self.bias != 0.0, 1, 1)
        self.enter(s, value, self.loss.wrong(p, y), scale, weight, size)
        if slope == 0.0 and self.ridge == 0.0:
            self.rule.idle(s)
            return p
        inner = slope * (raw * scale)
        if self.rule.weighs():
            square = slope * slope * self.weighed_square(s, x, i)
        if self.rule.needs_loss():
            s.sums[LOSS], s.sums[SLOPE] = value, slope
        if self.rule.needs_weight():
            s.sums[GIVEN], s.sums[SLOPE] = weight, slope
        round_sums = self.rule.open(s, inner, slope * raw, square, self.ridge)
        entries = int(x.end(i) - x.begin(i)) + (1 if self.bias != 0.0 else 0) if slope != 0.0 else 0
        if slope != 0.0:
            for k in range(x.begin(i), x.end(i)):
                round_sums = self.push(s, x.column(i, k), slope * x.value(i, k), round_sums)
            if self.bias != 0.0:
                round_sums = self.push(s, np.uint64(s.counts[DIMENSION] - 1), slope * self.bias, round_sums)
        self.rule.settle(s, inner, entries, round_sums)
        return p

    def score(self, w: Vector, x: Rows, i: int) -> float:
        """⟨w, x_i⟩ for a fixed model, the bias last."""
        p = self.bias * w[w.size - 1] if self.bias != 0.0 else 0.0
        for k in range(x.begin(i), x.end(i)):
            p += x.value(i, k) * w[x.column(i, k)]
        return p


@kernel
def learn_rows(
    learner: Linear, s: State, x: Rows, y: Vector, weights: Vector, scores: Vector, i: int, until: int, limit: float
) -> int:
    """Learn rows i, i+1, … until `until` rounds are done or the rows end; returns the first row not learnt.

    Stops early at a row that cannot be learnt, or whose numbers reach the limit, leaving the state as it was before it.
    An empty `weights` means 1 everywhere; a row of weight 0 is scored but changes nothing.
    """
    while i < y.size and s.counts[ROUNDS] < until:
        weight = weights[i] if weights.size > 0 else 1.0
        if weight != 0.0 and not (0.0 < weight <= WEIGHTIEST and learner.loss.accepts(y[i])):
            break
        if not x.inside(i):  # learning it would write outside the table
            break
        p = learner.learn(s, x, i, y[i], weight, limit)
        if not math.isfinite(p):
            break
        scores[i] = p
        i += 1
    return i


@kernel
def score_rows(learner: Linear, w: Vector, x: Rows, picked: Any, scores: Vector) -> None:
    """scores[n] = ⟨w, x_i⟩ for a fixed model w and i = picked[n], or all rows (`EVERY`): O(nnz)."""
    for n in range(scores.size):
        scores[n] = learner.score(w, x, picked[n] if picked.size > 0 else n)


@kernel
def loss_of(learner: Linear, w: Vector, x: Rows, y: Vector, weights: Vector) -> float:
    """Σ ℓ(⟨w, x_i⟩, y_i) for one fixed w, without the ridge: O(nnz)."""
    total = 0.0
    for i in range(y.size):
        value, _ = learner.loss.at(learner.score(w, x, i), y[i])
        total += value * weights[i] if weights.size > 0 else value
    return total


@kernel
def write_model(learner: Learner, s: State, w: Vector) -> None:
    """`learner.model`, compiled."""
    learner.model(s, w)


@kernel
def write_point(learner: Learner, s: State, w: Vector) -> None:
    """`learner.point`, compiled."""
    learner.point(s, w)
