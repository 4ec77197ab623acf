"""`auto` for many classes: a bank of lanes for each class against all others, and stacks and a mixture of all classes.

Lane k scores class ℓ as p_kℓ and gives it the chance σ(p_kℓ)/Σσ; a stack adds the lanes' scores, weighted, and gives
e^{sum}/Σ. All chances are mixed with a grain of doubt, which is what a class that was never met gets.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from lowregret.auto.bank import WIDTH, adagrad, lane_gains, lane_rates, lane_scores, lane_steps
from lowregret.auto.learner import EXPERTS, LOSSES, PARTITIONS, WEIGHTS, fresh_trust, require_partitions
from lowregret.auto.logit import CERTAIN, bends, implicit, margins, slopes
from lowregret.auto.mixture import share_trust
from lowregret.auto.stack import (
    EVEN,
    FADE,
    INPUTS,
    LAST_LABEL,
    ONE,
    OPEN,
    PADDED,
    RECENT_LABELS,
    SIZE,
    STACKS,
    fresh_stacks,
    stack_learn,
    stack_project,
)
from lowregret.auto.view import COLUMNS, PACE, ROWS, Sheet, keep
from lowregret.compile.kernel import apart
from lowregret.compile.memory import zeros
from lowregret.compile.part import Part
from lowregret.compile.simd import LANES, load, spread, store, total
from lowregret.features import Partitions
from lowregret.learner.linear import Learner
from lowregret.learner.multiclass import NONE, Multiclass, Room
from lowregret.loss import Softmax
from lowregret.mirror import Euclidean
from lowregret.output import Last, Output
from lowregret.rows import Rows
from lowregret.rule import MirrorDescent, Rule
from lowregret.state import ENERGY, LINEAR, LONGEST, MISTAKES, ROUNDS, TOTAL, State
from lowregret.step import Constant
from lowregret.types import Cells

DOUBT = 1e-6  # the part of every chance that is spread over all classes and one not met yet
DEEP = 20.0  # inputs of the stacks lie at most this below the best class
QUIET = np.float32(1e-6)  # squared slopes below which a class has nothing to learn from a row

LAST_CLASS, SHARES = 0, 1  # past[…]: the last class; then two numbers for each: how often, and its recent share


class ClassMind(NamedTuple):
    """Numbers carried from row to row, beside the ledger."""

    measures: Cells  # of features, see `view.py`
    bank: Cells
    pace: Cells
    stacks: Cells
    trust: Cells
    past: Cells

    @staticmethod
    def by_feature() -> tuple[str, ...]:
        """The arrays that have cells for each feature, the bias last."""
        return ("measures", "bank")

    @staticmethod
    def by_class() -> tuple[str, ...]:
        """The arrays that have cells for each class of a feature."""
        return ("bank",)

    @classmethod
    def fresh(cls, places: int, lots: int) -> ClassMind:
        """The mind before the first row, with room for these features (the bias included) and classes."""
        past = np.zeros(SHARES + 2 * lots)
        past[LAST_CLASS] = NONE
        bank = zeros(places * lots * WIDTH, np.float32)
        return cls(
            zeros(places * COLUMNS, np.float64), bank, np.zeros(PACE), fresh_stacks(EVEN, OPEN), fresh_trust(), past
        )


class ClassWorkspace(NamedTuple):
    """Memory for one row; nothing in it is carried to the next."""

    sheet: Sheet
    gains: Cells
    lanes: Cells  # scores, eight for each class
    inputs: Cells  # of the stacks: a row for each, a column for each class
    chances: Cells  # likewise, of the experts
    likelihoods: Cells
    slopes: Cells
    along: Cells

    @classmethod
    def of(cls, entries: int, lots: int) -> ClassWorkspace:
        """Memory for rows of up to `entries` entries, and for this many classes."""
        gains = np.zeros(LANES * (entries + 1), np.float32)
        few = (np.zeros(n) for n in (INPUTS * lots, EXPERTS * lots, PADDED, PADDED, STACKS * PADDED))
        return cls(Sheet.of(entries), gains, np.zeros(LANES * lots, np.float32), *few)


class AutoMulticlass(Learner):
    """Bayes' mixture of eleven experts over classes, with a falling share as in `AutoClassifier`."""

    losses: ClassVar[type[Part]] = Softmax
    example: ClassVar[str] = "Softmax()"

    loss: Softmax = Softmax()
    partitions: Partitions = Partitions()

    # What it is compared with: fixed linear predictors with a bias.
    rule: ClassVar[Rule] = MirrorDescent(Euclidean(), Constant(1.0))
    output: ClassVar[Output] = Last()
    ridge: ClassVar[float] = 0.0
    bias: ClassVar[float] = 1.0

    @property
    def spread(self) -> float:
        """The variance of a stack's weights before the first row."""
        return float(OPEN.max())

    @property
    def linear(self) -> Multiclass:
        """The learner of which fixed linear predictors are the comparators."""
        return Multiclass(self.loss, self.rule, bias=self.bias)

    def check(self) -> None:
        super().check()
        require_partitions(self)

    def plain(self) -> Self:
        """This learner without partitions."""
        return replace(self, partitions=Partitions(trees=0))

    def start(self, features: int, lanes: int) -> State:
        """The ledger before round 1."""
        return State.zeros((features + 1) * lanes, 1, False)

    # ---- compiled --------------------------------------------------------------------------------------------------

    def listen(self, mind: ClassMind, work: ClassWorkspace, room: Room) -> None:
        """Write the inputs of the stacks: scores below the best class of each lane, and what the labels before say."""
        lots, known, past = room.raw.size, room.known[0], mind.past
        for k in range(LANES):
            top = -math.inf
            for c in range(known):
                top = max(top, np.float64(work.lanes[np.uint64(c * LANES + k)]))
            for c in range(known):
                p = np.float64(work.lanes[np.uint64(c * LANES + k)])
                work.inputs[k * lots + c] = max(p - top, -DEEP)
        for c in range(known):
            work.inputs[ONE * lots + c] = math.log((past[SHARES + c] + 1.0) / (mind.pace[ROWS] + 1.0 + known))
            work.inputs[LAST_LABEL * lots + c] = 1.0 if past[LAST_CLASS] == c else 0.0
            work.inputs[RECENT_LABELS * lots + c] = past[SHARES + lots + c]

    def judge_classes(self, mind: ClassMind, work: ClassWorkspace, room: Room, aware: bool, experts: int) -> None:
        """Write the chances that the first experts give; without `aware` the labels before do not count."""
        for k in range(experts):
            if k < LANES:
                self.share(work, room, k)
            else:
                self.weigh(mind.stacks, k - LANES, work, room, INPUTS if aware else LAST_LABEL, k)
                self.normalise(work, room, k)

    def share(self, work: ClassWorkspace, room: Room, k: int) -> None:
        """Make chances of lane k's scores, σ(p)/Σσ: each class was learnt against all others, so σ(p) is its chance."""
        first, known, total = k * room.raw.size, room.known[0], 0.0
        for c in range(known):
            p = np.float64(work.lanes[np.uint64(c * LANES + k)])
            work.chances[first + c] = 1.0 / (1.0 + math.exp(min(max(-p, -CERTAIN), CERTAIN)))
            total += work.chances[first + c]
        for c in range(first, first + known):
            work.chances[c] = (1.0 - DOUBT) * work.chances[c] / total + DOUBT / (known + 1)

    def weigh(self, stacks: Cells, stack: int, work: ClassWorkspace, room: Room, inputs: int, k: int) -> None:
        """Write the scores of a stack, made of the first inputs, where expert k's chances will be."""
        lots = room.raw.size
        for c in range(room.known[0]):
            p = 0.0
            for i in range(inputs):
                p += stacks[np.uint64(stack * SIZE + i)] * work.inputs[i * lots + c]
            work.chances[k * lots + c] = p

    def normalise(self, work: ClassWorkspace, room: Room, k: int) -> None:
        """Make chances of expert k's scores."""
        first, known, top, total = k * room.raw.size, room.known[0], -math.inf, 0.0
        for c in range(first, first + known):
            top = max(top, work.chances[c])
        for c in range(first, first + known):
            work.chances[c] = math.exp(work.chances[c] - top)
            total += work.chances[c]
        for c in range(first, first + known):
            work.chances[c] = (1.0 - DOUBT) * work.chances[c] / total + DOUBT / (known + 1)

    def score(
        self,
        mind: ClassMind,
        work: ClassWorkspace,
        x: Rows,
        i: int,
        room: Room,
        beside: Any,
        scores: Cells,
        aware: bool,
    ) -> int:
        """Write ln(chance) of each class for row i, once looked at; returns the likeliest, or NONE."""
        self.ask(mind, mind.bank, work, x, i, room, aware, PARTITIONS)
        if beside.shape[0] > 0:
            self.heed(work, room, beside, i)
        return self.mix(mind, work, room, scores)

    def heed(self, work: ClassWorkspace, room: Room, beside: Any, n: int) -> None:
        """Write the chances that the expert that joined gives, of which the n-th scores beside are logarithms."""
        for c in range(room.known[0]):
            work.chances[PARTITIONS * room.raw.size + c] = math.exp(beside[n, c])

    @apart
    def ask(
        self, mind: ClassMind, bank: Cells, work: ClassWorkspace, x: Rows, i: int, room: Room, aware: bool, experts: int
    ) -> None:
        """Write the chances that the first experts give to the classes of row i, by the weights in a bank."""
        lots = room.raw.size
        width = np.uint64(bank.size * COLUMNS) // np.uint64(mind.measures.size * lots)
        for c in range(room.known[0]):
            p = lane_scores(bank, x, i, work.sheet, self.spot(mind, lots, c), width)
            store(work.lanes, np.uint64(c * LANES), p)
        self.listen(mind, work, room)
        self.judge_classes(mind, work, room, aware, experts)

    def mix(self, mind: ClassMind, work: ClassWorkspace, room: Room, scores: Cells) -> int:
        """Write ln(chance) of each class, all experts mixed; returns the likeliest, or NONE."""
        lots, best = room.raw.size, NONE
        for c in range(room.known[0]):
            p = 0.0
            for k in range(EXPERTS):
                p += mind.trust[WEIGHTS + k] * work.chances[k * lots + c]
            scores[c] = math.log(p)
            if best == NONE or scores[c] > scores[best]:
                best = c
        return best

    def spot(self, mind: ClassMind, lots: int, c: int) -> tuple[int, int, Any]:
        """Where the lanes of class c are, and the bias."""
        return (lots, c, np.uint64(mind.measures.size // COLUMNS - 1))

    def doubt(self, mind: ClassMind, work: ClassWorkspace, room: Room, y: int, met: int) -> None:
        """Write the share of the class that it was in what each expert gave to all met by now, as the loss does.

        `met` were met when the row was scored: another had DOUBT/(met + 1), and if none was met, all are alike.
        """
        lots, known, unmet = room.raw.size, room.known[0], DOUBT / (met + 1)
        total = (1.0 - unmet if met > 0 else 0.0) + (max(known, y + 1) - met) * unmet
        for k in range(EXPERTS):
            work.likelihoods[k] = (work.chances[k * lots + y] if y < known else unmet) / total
        if mind.trust[LOSSES + PARTITIONS] == math.inf:
            work.likelihoods[PARTITIONS] = 1.0

    def learn(
        self,
        s: State,
        mind: ClassMind,
        work: ClassWorkspace,
        x: Rows,
        i: int,
        y: int,
        weight: float,
        room: Room,
        scores: Cells,
        guess: int,
        rate: float,
    ) -> None:
        """One round, of row i, which was given these scores, of all classes met by now, and this guess."""
        before = room.known[0]
        keep(mind.measures, mind.pace, x, i, i, work.sheet, 0.0)
        if y >= before:
            for k in range(LANES):
                work.lanes[np.uint64(y * LANES + k)] = 0.0
            room.known[0] = y + 1
        s.sums[TOTAL] += weight * self.loss.at(scores, room.known[0], guess, y, room.slopes)
        s.counts[MISTAKES] += guess != y
        s.counts[ROUNDS] += 1
        self.book(s, x, i, weight, room, scores)
        share_trust(mind.trust, work.likelihoods, weight, mind.pace[ROWS], rate)
        if y < before:
            self.teach(mind, work, room, y, weight)
        if mind.pace[ROWS] > 1.0:
            self.train_lanes(mind, work, x, i, room, y, weight)
        self.remember(mind, room, y)

    def book(self, s: State, x: Rows, i: int, weight: float, room: Room, scores: Cells) -> None:
        """θ −= slopes ⊗ x, the bias included; ENERGY is Σ‖slopes‖², LONGEST the largest ‖scores‖²."""
        lots, known, square = np.uint64(room.raw.size), np.uint64(room.known[0]), 0.0
        for c in range(known):
            room.slopes[c] *= weight
            s.sums[LINEAR] += room.slopes[c] * scores[c]
            s.sums[ENERGY] += room.slopes[c] * room.slopes[c]
            square += scores[c] * scores[c]
        s.sums[LONGEST] = max(s.sums[LONGEST], square)
        for k in range(x.begin(i), x.end(i)):
            first, value = np.uint64(x.column(i, k)) * lots, x.value(i, k)
            for c in range(known):
                s.table[first + c] -= room.slopes[c] * value
        first = np.uint64(s.table.size) - lots
        for c in range(known):
            s.table[first + c] -= room.slopes[c]

    def teach(self, mind: ClassMind, work: ClassWorkspace, room: Room, y: int, weight: float) -> None:
        """A step of every stack, along the slope of its log loss."""
        for k in range(STACKS):
            self.move(mind.stacks, k, work, room, y, weight, OPEN, LANES + k)

    @apart
    def move(
        self, stacks: Cells, k: int, work: ClassWorkspace, room: Room, y: int, weight: float, priors: Any, expert: int
    ) -> None:
        """A step of stack k, which gives the chances of that expert."""
        lots = room.raw.size
        for i in range(INPUTS):
            g = -work.inputs[i * lots + y]
            for c in range(room.known[0]):
                g += work.chances[expert * lots + c] * work.inputs[i * lots + c]
            work.slopes[i] = g
        q = weight * stack_project(stacks, k, work.slopes, work.along)
        stack_learn(stacks, k, work.along, -weight / (1.0 + q), weight / (1.0 + q), priors)

    def train_lanes(
        self, mind: ClassMind, work: ClassWorkspace, x: Rows, i: int, room: Room, y: int, weight: float
    ) -> None:
        """An implicit step of the lanes of every class, unless all of them knew."""
        rates = lane_rates(mind.pace, 1.0)
        for c in range(room.known[0]):
            sign, p = 1.0 if c == y else -1.0, load(work.lanes, np.uint64(c * LANES))
            g = slopes(p, sign, weight)
            squares = adagrad(g * g, spread(np.float32(0)))
            if total(squares) > QUIET:
                at = self.spot(mind, room.raw.size, c)
                q = lane_gains(mind.bank, x, i, i, work.sheet, work.gains, squares, at)
                slope = implicit(margins(p, sign), rates * q * np.float32(weight))
                moves = rates * slope * np.float32(weight * sign), adagrad(squares, bends(slope, weight))
                lane_steps(mind.bank, x, i, work.sheet, work.gains, moves, at)

    def remember(self, mind: ClassMind, room: Room, y: int) -> None:
        """Keep what later rows need of the label."""
        past, lots = mind.past, room.raw.size
        past[LAST_CLASS] = y
        past[SHARES + y] += 1.0
        for c in range(room.known[0]):
            now = 1.0 if c == y else 0.0
            past[SHARES + lots + c] = FADE * past[SHARES + lots + c] + (1.0 - FADE) * now
