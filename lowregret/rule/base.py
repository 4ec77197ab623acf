"""The contract of update rules: O(1) per touched coordinate, O(1) per round besides (amortised).

scale(s)                 common factor of all coordinates of w_t
raw(s, j)                coordinate j of w_t, up to scale
open(s, …)               a sub-gradient z_t arrives
push(s, j, g, sums)      absorb its coordinate j
settle(s, …, sums)       close the round: aggregates, and the ledger that the certificates read
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lowregret.compile.numerics import FAINT
from lowregret.compile.part import Part
from lowregret.domain import Domain
from lowregret.errors import PartError
from lowregret.rows import Rows
from lowregret.state import AVERAGED, DIMENSION, DIVISOR, State, slot
from lowregret.step import Step
from lowregret.types import Cells, Index, Vector, cell

WIDEST = slot("widest")  # max |w_t[j]| of weights that have moved since: all, but for those of the present iterate
SEEN = np.uint64(1)  # lag[2j + SEEN]: AVERAGED when lag[2j] was brought up to date; DIVISOR if one iterate is kept


class Rule(Part):
    """How w_{t+1} follows from w_t and z_t."""

    instead: ClassVar[str] = "In games (`play`), any object with the two methods point() and learn(z) plays."

    if TYPE_CHECKING:  # a field of some rules, which an inherited property would hide

        @property
        def domain(self) -> Domain:
            """The set in which the iterates lie."""

    @abstractmethod
    def fits(self, d: int) -> None:
        """Refuse a dimension in which the rule cannot run."""

    @abstractmethod
    def width(self) -> int:
        """Columns of the table."""

    def columns(self, d: int) -> int:
        """Columns of the table in dimension d, for rules whose columns depend on it."""
        return self.width()

    def accepts(self, cells: Vector) -> bool:
        """Whether rows of the table, a coordinate each, can be such: sums of squares are not below 0, for one. O(n)."""
        return True

    @abstractmethod
    def costs_dimension(self) -> bool:
        """Whether a round costs O(d) whatever the row."""

    @abstractmethod
    def schedule(self) -> Step:
        """The step schedule."""

    def first(self, d: int) -> Vector:
        """w_1 in dimension d."""
        return self.domain.projection(np.zeros(d))

    def grows(self) -> bool:
        """Whether iterates of more coordinates are, with zeros for those that were not met, what they were."""
        return True

    def keeps_sum(self) -> bool:
        """Whether Σz_t, which the linearised regret needs, is kept."""
        return True

    def weighted(self) -> bool:
        """Whether the schedule weighs the rounds."""
        return self.schedule().weighted()

    def importance(self, s: State) -> float:
        """c_t, the weight of the coming round in the regret."""
        return self.schedule().importance(s)

    def needs_loss(self) -> bool:
        """Whether the round's loss and its slope in the score are asked for, `s.sums[LOSS]` and `s.sums[SLOPE]`."""
        return False

    def swell(self, s: State, square: float) -> float:
        """A number that no weight exceeds after a sub-gradient with ‖z‖₂² = square; 0 where weights grow as z does."""
        return 0.0

    def faint(self, s: State, steep: float, size: float, square: float) -> bool:
        """Whether weights may leave their set, for ‖z‖₂² = square = steep·size, slopes times features, lacks digits."""
        return self.fades(s, FAINT * (1.0 + math.sqrt(steep) + math.sqrt(size)), square)

    def fades(self, s: State, floor: float, square: float) -> bool:
        """Whether z with ‖z‖₂² = square may lead out of the set, where squares of lengths below `floor` lack digits.

        So it is if a running length keeps iterates in their set, and the rate makes such lengths matter.
        """
        return False

    def needs_weight(self) -> bool:
        """Whether the row's importance weight and the slope are asked for, `s.sums[GIVEN]` and `s.sums[SLOPE]`."""
        return False

    def weighs(self) -> bool:
        """Whether Σ metric(j)·g_t[j]² should be known before g_t is pushed, instead of ‖g_t‖₂²."""
        return False

    def metric(self, s: State, j: Index, x: float) -> float:
        """The weight of a feature j of value x in it."""
        return 1.0

    @abstractmethod
    def begin(self, s: State) -> None:
        """Set a zero state to w_1 (once per run, not compiled)."""

    @abstractmethod
    def idle(self, s: State) -> None:
        """A round without sub-gradient."""

    @abstractmethod
    def scale(self, s: State) -> float: ...

    @abstractmethod
    def raw(self, s: State, j: Index) -> float: ...

    @abstractmethod
    def open(self, s: State, inner: float, product: float, square: float, ridge: float) -> Any:
        """`inner` is ⟨w_t, g_t⟩ for the row's sub-gradient g_t, `product` the same of the raw weights.

        `ridge` λ adds (λ/2)‖w‖² to the loss. `square` is ‖g_t‖₂², or weighed by `metric`.
        """

    @abstractmethod
    def push(self, s: State, j: Index, g: float, round_sums: Any) -> Any: ...

    def tells_widest(self) -> bool:
        """Whether the length of iterates is known: `widest` tells it, or the rule's own sums do.

        Else learners look at each weight of a row, and before it moves, so that no score is rounded by more than is
        booked.
        """
        return False

    facts: ClassVar[dict[str, Any]] = {"tells_widest": tells_widest}

    def gauge(self, s: State, j: Index) -> None:
        """Let weight j count in what is known of the size of weights."""
        s.sums[WIDEST] = max(s.sums[WIDEST], abs(self.scale(s) * self.raw(s, j)))

    def gauge_row(self, s: State, x: Rows, i: int, biased: bool, lanes: int, known: int) -> None:
        """Let the weights that row i is scored with count, unless the rule tells their size itself.

        They are those of `known` classes, a feature having `lanes` weights.
        """
        if self.tells_widest():
            return
        width, bias = np.uint64(lanes), np.uint64(s.counts[DIMENSION]) - np.uint64(lanes)
        for lane in range(np.uint64(known)):
            for k in range(x.begin(i), x.end(i)):
                self.gauge(s, np.uint64(x.column(i, k)) * width + lane)
            if biased:
                self.gauge(s, bias + lane)

    def widest(self, round_sums: Any) -> float:
        """The largest |w_t[j]| of the coordinates that moved, as the running sums of rounds have it."""
        return 0.0

    def push_block(self, s: State, first: Index, count: int, slopes: Cells, value: float, round_sums: Any) -> Any:
        """Absorb slopes[k]·value as coordinate first + k, for all k < count."""
        for k in range(np.uint64(count)):
            round_sums = self.push(s, first + k, slopes[k] * value, round_sums)
        return round_sums

    def parted(self) -> bool:
        """Whether `push` moves a coordinate by what is known of that coordinate alone: several threads may move theirs.

        Then `open` does nothing, and `reckon` can stand for `settle`.
        """
        return False

    def reckon(self, s: State, inner: float, square: float, eta: float) -> None:
        """Fold a round, decided at rate `eta`, into the sums that all rules share; `square` is ‖g_t‖₂².

        `eta` 0: while θ = 0 every rate gives w_1, so that of after the round will do.
        """

    def changes(self, before: Vector, after: Vector) -> Vector:
        """The changes that a worker made to each coordinate, for `join`, of its cells before and after: O(n).

        Given by `parted` rules alone; the first column is the change of θ.
        """
        raise PartError(f"{self} moves its weights together: what others learnt cannot be joined")

    def join(self, s: State, j: Index, change: Cells, at: Index, share: float) -> None:
        """Add change[at], …, which a worker learnt of coordinate j: a row of `changes`.

        `share` is 1/(1 + m) if m others joined theirs since the worker began.
        """

    @abstractmethod
    def settle(self, s: State, inner: float, entries: int, round_sums: Any) -> None:
        """`entries` is the number of coordinates pushed."""

    def square_length(self, s: State) -> float:
        """A number that ‖w_t‖₂² does not exceed but by rounding, inf if none is known: O(1)."""
        return math.inf

    def point(self, s: State, w: Vector) -> None:
        """Write w_t into w: O(d)."""
        scale = self.scale(s)
        for j in range(w.size):
            w[j] = scale * self.raw(s, j)

    # ---- past iterates, see `output.py`: whoever changes a raw weight first books what it has contributed ------------

    def book(self, s: State, j: Index) -> None:
        """Before raw weight j changes."""
        at = cell(j, 2)
        if s.sums[DIVISOR] < 0.0:
            if s.lag[at + SEEN] != s.sums[DIVISOR]:
                s.lag[at] = self.raw(s, j)
                s.lag[at + SEEN] = s.sums[DIVISOR]
            return
        since = s.sums[AVERAGED] - s.lag[at + SEEN]
        if since != 0.0:  # else the weight may already have changed, and even have overflowed
            s.lag[at] += since * self.raw(s, j)
            s.lag[at + SEEN] = s.sums[AVERAGED]

    def booked(self, s: State, j: Index) -> float:
        """Coordinate j of the average, or of the iterate that is kept."""
        at = cell(j, 2)
        if s.sums[DIVISOR] < 0.0:
            unchanged = s.lag[at + SEEN] != s.sums[DIVISOR]
            return s.sums[AVERAGED] * (self.raw(s, j) if unchanged else s.lag[at])
        since = s.sums[AVERAGED] - s.lag[at + SEEN]
        return (s.lag[at] + since * self.raw(s, j)) / s.sums[DIVISOR]

    def book_all(self, s: State) -> None:
        """Before all raw weights change at once: O(d) if past iterates matter, else nothing."""
        for j in range(s.lag.size // 2):
            self.book(s, j)

    def rebase(self, s: State) -> None:
        """Count AVERAGED from 0 again."""
        self.book_all(s)
        s.sums[AVERAGED] = 0.0
        for j in range(s.counts[DIMENSION]):
            s.lag[cell(j, 2) + SEEN] = 0.0
