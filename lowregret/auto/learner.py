"""`auto`: eight lanes, three stacks of them and a mixture of all eleven, in one pass and without a parameter.

Each row is seen in two views (`view.py`), scored by the lanes (`bank.py`) and the stacks (`stack.py`), and the eleven
scores are mixed (`binary.py`, `regression.py`), with a bound on what the mixture loses to the best of them. Then the
label comes, and all of them learn. O(nnz) a row, eight lanes in one vector instruction.

A twelfth expert may join later: another `auto`, which also sees the cells of random partitions that rows lie in
(`run/curve.py`). It is given by its scores, made `beside`. An expert that has not joined has an infinite loss.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from lowregret.auto.bank import LANE_NAMES, WIDTH, adagrad, lane_gains, lane_rates, lane_scores, lane_steps
from lowregret.auto.stack import PADDED, STACK_NAMES, STACKS
from lowregret.auto.view import COLUMNS, PACE, ROWS, Sheet, keep
from lowregret.compile.memory import zeros
from lowregret.compile.simd import LANES, Eight, double, load, spread, store
from lowregret.errors import DataError
from lowregret.features import Partitions
from lowregret.learner.linear import Learner, Linear
from lowregret.loss import Loss
from lowregret.mirror import Euclidean
from lowregret.output import Last, Output
from lowregret.rows import Rows
from lowregret.rule import MirrorDescent, Rule
from lowregret.state import DIMENSION, ENERGY, LINEAR, LONGEST, MISTAKES, ROUNDS, TOTAL, State
from lowregret.step import Constant
from lowregret.types import Cells, Vector, cell

PARTITIONS = LANES + STACKS  # the place of the expert that may join, after all that are there from the first row
EXPERTS = PARTITIONS + 1
NAMES = (*LANE_NAMES, *STACK_NAMES, "partitions")

# ---- trust[…]: of the mixture ---------------------------------------------------------------------------------------
WEIGHTS, LOSSES = 0, PADDED  # of each expert
PRODUCTS = np.uint64(2 * PADDED)  # of each expert's likelihoods that are not among its losses yet
GAP = 3 * PADDED  # what mixing cost beyond the mix loss
MIXED = GAP + 1  # Σ over rounds of the experts' losses, weighed as they were trusted
TRUST = MIXED + 1

# ---- past[…]: of the labels -----------------------------------------------------------------------------------------
LAST, RECENT = 0, 1  # the last label, and a running mean
ORIGIN, UNIT = 2, 3  # the lanes see (label − origin)/unit
LOW, HIGH = 4, 5  # range of the labels
MEAN, DEVIATION = 6, 7  # their mean, and Σ(label − mean)²
MISSES = 8  # the mean of (label − mean of the lanes' scores)²
PAST = 9

HEAVY = 1e12  # larger importance weights are refused: squares of slopes are summed in single precision
WIDE = 1e280  # larger weight·label² are refused: losses would overflow


def require_light(weights: Vector, i: int, place: str) -> None:
    """Refuse row i if its importance weight is beyond HEAVY."""
    if weights.size and HEAVY < weights[i] < math.inf:
        raise DataError(
            f"{place}: weight {weights[i]:g} is above {HEAVY:g}, too large for `auto`: divide all weights by one number"
        )


class Mind(NamedTuple):
    """Numbers carried from row to row, beside the ledger (`State`, whose table holds θ and what `view.py` keeps)."""

    bank: Cells
    pace: Cells
    stacks: Cells
    trust: Cells
    past: Cells

    @staticmethod
    def by_feature() -> tuple[str, ...]:
        """The arrays that have cells for each feature, the bias last."""
        return ("bank",)

    @classmethod
    def fresh(cls, dimension: int, stacks: Vector) -> Mind:
        """The mind before the first row, with these stacks."""
        past = np.zeros(PAST)
        past[UNIT] = 1.0
        return cls(zeros(dimension * WIDTH, np.float32), np.zeros(PACE), stacks, fresh_trust(), past)


def fresh_trust() -> Vector:
    """Equal trust in all experts but the one that may join."""
    trust = np.zeros(TRUST)
    trust[:PARTITIONS], trust[2 * PADDED : GAP] = 1 / PARTITIONS, 1.0
    trust[LOSSES + PARTITIONS] = math.inf
    return trust


def join(trust: Vector, lost: float, classifies: bool, alone: bool) -> Vector:
    """A copy of the trust in which one more expert is, taken to have lost as much as the mixture so far.

    `alone`: the others leave. docs/auto.md proves that the certificates go on to hold, for all of them.
    """
    trust = settle(trust)
    if not classifies:
        lost, trust[GAP] = trust[MIXED], trust[GAP] * math.log(EXPERTS) / math.log(PARTITIONS)
    trust[LOSSES + PARTITIONS] = lost
    if alone:
        trust[LOSSES : LOSSES + PARTITIONS], trust[GAP] = math.inf, 0.0
    trust[:PARTITIONS] *= 0.0 if alone else PARTITIONS / EXPERTS
    trust[PARTITIONS] = 1.0 if alone else 1 / EXPERTS
    return trust


def leave(trust: Vector, lost: float) -> Vector:
    """A copy of the trust without the expert that joined.

    If it was alone, the others come back, taken to have lost as much as the mixture so far.
    """
    trust = settle(trust)
    trust[PARTITIONS], trust[LOSSES + PARTITIONS] = 0.0, math.inf
    if not trust[:PARTITIONS].sum():
        trust[:PARTITIONS], trust[LOSSES : LOSSES + PARTITIONS] = 1.0, lost
    trust[:PARTITIONS] /= trust[:PARTITIONS].sum()
    return trust


def expert_losses(trust: Vector) -> Vector:
    """Each expert's total loss."""
    products = int(PRODUCTS)
    return trust[LOSSES : LOSSES + EXPERTS] - np.log(trust[products : products + EXPERTS])


def settle(trust: Vector) -> Vector:
    """A copy of the trust with all pending likelihoods moved into the losses."""
    kept = trust.copy()
    kept[LOSSES : LOSSES + EXPERTS], kept[2 * PADDED : GAP] = expert_losses(trust), 1.0
    return kept


class Workspace(NamedTuple):
    """Memory for one row; nothing in it is carried to the next."""

    sheet: Sheet
    gains: Cells
    lanes: Cells  # their scores
    experts: Cells  # their scores
    chances: Cells  # what they give to +1
    doubts: Cells  # and to −1
    inputs: Cells
    along: Cells  # what the stacks' covariances make of the inputs, a row each
    margins: Cells  # of the stacks
    widths: Cells  # and the variances of their scores

    @classmethod
    def of(cls, entries: int) -> Workspace:
        """Memory for rows of up to this many entries."""
        gains = np.zeros(LANES * (entries + 1), np.float32)
        lanes, margins, widths = (np.zeros(LANES, np.float32) for _ in range(3))
        experts, chances, doubts, inputs = (np.zeros(PADDED) for _ in range(4))
        along = np.zeros(STACKS * PADDED)
        return cls(Sheet.of(entries), gains, lanes, experts, chances, doubts, inputs, along, margins, widths)


def require_partitions(learner: Any) -> None:
    """Refuse a learner whose partitions are none."""
    learner.require(
        isinstance(learner.partitions, Partitions), f"partitions must be Partitions(…), got {learner.partitions!r}"
    )


class Auto(Learner):
    """A learner that needs no tuning; `zoo.auto(loss)` makes the one for a loss."""

    loss: Loss
    partitions: Partitions = Partitions()

    # What it is compared with: fixed linear predictors with a bias.
    rule: ClassVar[Rule] = MirrorDescent(Euclidean(), Constant(1.0))
    output: ClassVar[Output] = Last()
    ridge: ClassVar[float] = 0.0
    bias: ClassVar[float] = 1.0

    @property
    def linear(self) -> Linear:
        """The learner of which fixed linear predictors are the comparators."""
        return Linear(self.loss, self.rule, bias=self.bias)

    def start(self, features: int) -> State:
        """The ledger before round 1 for rows of this many features."""
        return State.zeros(features + 1, COLUMNS, False)._replace(table=zeros((features + 1) * COLUMNS, np.float64))

    def check(self) -> None:
        super().check()
        require_partitions(self)

    def plain(self) -> Self:
        """This learner without partitions."""
        return replace(self, partitions=Partitions(trees=0))

    @abstractmethod
    def stacks(self) -> Vector:
        """The stacks before the first row."""

    # ---- what the loss decides, compiled ---------------------------------------------------------------------------

    def fits(self, mind: Mind, y: float, weight: float) -> bool:
        """Whether lanes can see the label, as often as it counts, in the present unit of labels."""
        return True

    def extent(self, mind: Mind, y: float, weight: float) -> float:
        """How large the numbers are that lanes meet at a row, of labels that have a unit: see `AutoRegressor`."""
        return 0.0

    def misled(self, mind: Mind) -> bool:
        """Whether one label made lanes blind to all others."""
        return False

    def listen(self, mind: Mind, work: Workspace, known: bool) -> None:
        """Write the scores of all experts, given the lanes'; `known`: whether the row follows the last one learnt."""
        store(work.experts, np.uint64(0), double(load(work.lanes, np.uint64(0))))
        self.hear(mind, work, known)

    @abstractmethod
    def hear(self, mind: Mind, work: Workspace, known: bool) -> None:
        """Limit the scores of the first experts, which are the lanes', and write those of the stacks."""

    @abstractmethod
    def heed(self, mind: Mind, work: Workspace, score: float) -> None:
        """Write the score of the expert that joined, which was made beside."""

    def limited(self, mind: Mind, score: float) -> float:
        """A score made beside, within the limits that experts have now."""
        return score

    @abstractmethod
    def teach(self, stacks: Cells, mind: Mind, work: Workspace, y: float, weight: float, priors: Any) -> None:
        """Let the first stack learn from the inputs of a row and its label, alone."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """The variance of a stack's weights before the first row."""

    @abstractmethod
    def lost(self, mind: Mind, work: Workspace, k: int, y: float) -> float:
        """The loss of expert k, once mixed, by which it is weighed among those that are kept.

        Of two classes it is the square of the chance given to the wrong one: the log loss of a frozen expert hangs on
        the few rows that it was much too sure of, where the mixture of all is not.
        """

    @abstractmethod
    def weighed(self, p: float, y: float) -> float:
        """The loss of a score p by which kept experts are weighed."""

    @abstractmethod
    def mix(self, mind: Mind, work: Workspace) -> float:
        """The score that all experts make together."""

    @abstractmethod
    def judge(self, mind: Mind, work: Workspace, y: float, weight: float, t: float, rate: float) -> None:
        """Trust the experts anew; `rate`: see `share_trust`."""

    def fade(self, mind: Mind, power: float) -> None:
        """Bring trust to a rate that is lower by this factor, where trust has one."""

    @abstractmethod
    def lean(self, mind: Mind, work: Workspace, y: float, weight: float) -> Eight:
        """The slope of each lane, up to its sign."""

    @abstractmethod
    def answer(self, mind: Mind, work: Workspace, y: float, weight: float, q: Eight) -> tuple[Eight, Eight]:
        """Let the stacks learn; returns the implicit slope of each lane, negated, if ⟨z, H⁻¹z⟩ = q, and curvatures."""

    @abstractmethod
    def reach(self, mind: Mind) -> float:
        """The factor of an AdaGrad lane's rate: the spread of labels."""

    def believed(self, mind: Mind, y: float) -> float:
        """The label that lanes and stacks learn; experts are judged by the one that came."""
        return y

    @abstractmethod
    def remember(self, mind: Mind, y: float) -> None:
        """Keep what later rows need of the label."""

    # ---- a row, compiled -------------------------------------------------------------------------------------------

    def score(self, s: State, mind: Mind, work: Workspace, x: Rows, i: int, beside: Vector, known: bool) -> float:
        """The score of row i, which was looked at; `known`: whether it follows the last one learnt."""
        at = (1, 0, np.uint64(s.counts[DIMENSION] - 1))
        store(work.lanes, np.uint64(0), lane_scores(mind.bank, x, i, work.sheet, at, np.uint64(WIDTH)))
        self.listen(mind, work, known)
        if beside.size > 0:
            self.heed(mind, work, beside[i])
        return self.mix(mind, work)

    def learn(
        self, s: State, mind: Mind, work: Workspace, x: Rows, i: int, ahead: int, y: float, weight: float, p: float,
        rate: float,
    ) -> None:  # fmt: skip
        """One round, of row i, which was given the score p; `ahead`: the next row."""
        slope = self.book(s, y, weight, p)
        keep(s.table, mind.pace, x, i, ahead, work.sheet, slope)
        s.table[cell(s.counts[DIMENSION] - 1, COLUMNS)] -= slope
        self.follow(s, mind, work, x, i, ahead, y, weight, rate)

    def book(self, s: State, y: float, weight: float, p: float) -> float:
        """Add a round to the sums; returns the slope of its loss, as often as it counts.

        ENERGY and LONGEST are those of a player whose iterate is the score: Σ g², and the largest p².
        """
        value, slope = self.loss.at(p, y)
        s.sums[TOTAL] += weight * value
        g = weight * slope
        s.sums[LINEAR] += g * p
        s.sums[ENERGY] += g * g
        s.sums[LONGEST] = max(s.sums[LONGEST], min(p * p, WIDE))
        s.counts[MISTAKES] += self.loss.wrong(p, y)
        s.counts[ROUNDS] += 1
        return g

    def follow(
        self, s: State, mind: Mind, work: Workspace, x: Rows, i: int, ahead: int, y: float, weight: float, rate: float
    ) -> None:
        """Let experts, lanes and stacks learn from row i, whose features are kept."""
        believed = self.believed(mind, y)
        self.judge(mind, work, y, weight, mind.pace[ROWS], rate)
        self.train(s, mind, work, x, i, ahead, believed, weight)
        self.remember(mind, believed)

    def train(
        self, s: State, mind: Mind, work: Workspace, x: Rows, i: int, ahead: int, y: float, weight: float
    ) -> None:
        """An implicit step of every lane and stack; of the first row, of which the lanes see nothing, of the stacks."""
        at = (1, 0, np.uint64(s.counts[DIMENSION] - 1))
        later, rates = mind.pace[ROWS] > 1.0, spread(np.float32(0))
        squares = q = rates
        if later:
            g = self.lean(mind, work, y, weight)
            squares = adagrad(g * g, squares)
            rates = lane_rates(mind.pace, self.reach(mind))
            q = lane_gains(mind.bank, x, i, ahead, work.sheet, work.gains, squares, at)
        slopes, bends = self.answer(mind, work, y, weight, rates * q)
        if later:
            moves = rates * slopes, adagrad(squares, bends)
            lane_steps(mind.bank, x, i, work.sheet, work.gains, moves, at)
