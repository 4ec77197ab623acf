"""The statistics of risk certificates and of the test for drift, counted in one pass.

Rounds come in blocks of 64. Within a block the prediction of a round's loss stays what it was, the mean before the
block: predictions may be anything known beforehand, and so a round costs a few additions. Everything is counted round
by round, so the figures do not depend on how the rows came in batches.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.learner.linear import Linear
from lowregret.risk.composition import composition_evidence, count_classes, end_spans, first_chain, first_spans
from lowregret.risk.extremes import HIGH, SEEN, count_extremes, end_frames, extremes_evidence, first_frames
from lowregret.risk.independence import close_block, evidence, first_levels
from lowregret.risk.repetition import Repetition
from lowregret.rows import Rows, Sparse
from lowregret.types import Vector

BLOCK = 64  # rounds
ALARM = 1e-3  # the chance that independent rows are ever taken for dependent ones, or for rows that come again
SAMPLE = 20  # rows by which the beginning of the data is known again

# ---- counts[...]: a bit says whether a label lies above a threshold; the first block of a regression settles it ------
COUNT_NAMES = (
    *("rounds", "mistakes", "ones", "both", "before", "marked_mistakes", "marked_ones"),
    *("unlike", "printed", "first_print", "print", "again"),
)
ROUNDS = 0
MISTAKES = 1
ONES = 2  # bits 1
BOTH = 3  # bits 1 after a bit 1
BEFORE = 4  # the latest bit, 0 if there is none
MARKED_MISTAKES = 5  # MISTAKES and ONES when the present block began
MARKED_ONES = 6
UNLIKE = 7  # 1 once an importance weight was not 1
PRINTED = 8  # how many rows there are prints of, up to SAMPLE
FIRST_PRINT = 9  # of the first row
PRINT = 10  # of the first SAMPLE rows
AGAIN = 11  # whether rows came again: NOTICED, ASKED, or both
COUNTS = len(COUNT_NAMES)
NOTICED, ASKED = 1, 2  # the data began again unasked; another pass was wanted

# ---- sums[...]: f_t the loss, c_t the output's weight, m_t the prediction of f_t -------------------------------------
SUM_NAMES = (
    *("loss", "weighted", "weights", "squared_weights", "spread", "mean", "mistake_spread"),
    *("longest_row", "largest_label", "threshold", "labels", "weight", "wrong"),
)
LOSS = 0  # Σ f_t
WEIGHTED = 1  # Σ c_t f_t
WEIGHTS = 2  # Σ c_t
SQUARED_WEIGHTS = 3  # Σ c_t²
SPREAD = 4  # Σ c_t²(f_t − m_t)²
MEAN = 5  # m_t
MISTAKE_SPREAD = 6  # Σ (mistake − prediction)², over full blocks
LONGEST_ROW = 7  # max ‖x_t‖², bias included
LARGEST_LABEL = 8  # max |y_t|
THRESHOLD = 9
LABELS = 10  # Σ y_t over the first block of a regression
WEIGHT = 11  # Σ of importance weights
WRONG = 12  # the same over mistakes
TALLIES = len(SUM_NAMES)


@kernel
def count_rows(learner: Linear, x: Rows, y: Vector, weights: Vector, scores: Vector, tally: Any, end: int) -> None:
    """Count the first `end` rows, which were learnt: O(1) a row, O(nnz) if past iterates matter to the output."""
    sums, counts, levels, others, warm = tally
    i = 0
    while i < end:
        stop, weight, mistakes = min(end, i + BLOCK - counts[ROUNDS] % BLOCK), 1.0, counts[MISTAKES]
        if weights.size > 0:
            stop, weight = i + 1, weights[i]
            if weight == 0.0:
                i = stop
                continue
            counts[UNLIKE] = 1 if weight != 1.0 else counts[UNLIKE]
        count_labels(learner, y, scores, sums, counts, i, stop)
        sums[WEIGHT] += weight * (stop - i)
        sums[WRONG] += weight * (counts[MISTAKES] - mistakes)
        if warm > 0:
            count_drift(y, sums, counts, others, i, stop)
        if learner.output.averages():
            for k in range(i, stop):
                count_loss(learner, x, k, y[k], scores[k], sums, counts[ROUNDS] + k - i + 1)
        counts[ROUNDS] += stop - i
        i = stop
        if counts[ROUNDS] % BLOCK == 0:
            end_block(sums, counts, levels, warm)
            if warm > 0:
                end_frames(others[0])
                end_spans(others[2])


def count_labels(learner: Linear, y: Vector, scores: Vector, sums: Vector, counts: Any, begin: int, end: int) -> None:
    """Mistakes and bits of rows of one block. Nothing waits for the row before, so that many are counted at once."""
    threshold, mistakes, ones, both = sums[THRESHOLD], 0, 0, 0
    for i in range(np.uint64(begin), np.uint64(end)):
        mistakes += learner.loss.wrong(scores[i], y[i])
        ones += y[i] > threshold
    for i in range(np.uint64(begin + 1), np.uint64(end)):
        both += (y[i] > threshold) & (y[i - np.uint64(1)] > threshold)
    counts[BOTH] += both + (counts[BEFORE] if y[begin] > threshold else 0)
    counts[MISTAKES] += mistakes
    counts[ONES] += ones
    counts[BEFORE] = 1 if y[end - 1] > threshold else 0


def count_drift(y: Vector, sums: Vector, counts: Any, others: Any, begin: int, end: int) -> None:
    """Show labels that are not two, of rows of one block, to what settles a threshold and to the further tests."""
    frames, chain, spans = others
    if counts[ROUNDS] < BLOCK:
        for i in range(begin, end):
            sums[LABELS] += y[i]
    if chain.shape[0] > 0 and frames[0, SEEN] >= BLOCK:
        count_classes(chain, spans, y, frames[0, HIGH], begin, end)
    count_extremes(frames, y, begin, end)


def count_loss(learner: Linear, x: Rows, i: int, y: float, p: float, sums: Vector, t: int) -> None:
    """The loss of round t, and how far it was from its prediction."""
    f, _ = learner.loss.at(p, y)
    c = 1.0 if learner.output.replaces() else learner.output.weight(t)
    off = c * (f - sums[MEAN])
    sums[LOSS] += f
    sums[WEIGHTED] += c * f
    sums[WEIGHTS] += c
    sums[SQUARED_WEIGHTS] += c * c
    sums[SPREAD] += off * off
    sums[LONGEST_ROW] = max(sums[LONGEST_ROW], learner.square(x, i))
    sums[LARGEST_LABEL] = max(sums[LARGEST_LABEL], abs(y))


def end_block(sums: Vector, counts: Any, levels: Any, warm: int) -> None:
    """New predictions for the next block, and the bits of this one to the longer blocks of the test for drift."""
    rounds, mistakes, ones, marked = counts[ROUNDS], counts[MISTAKES], counts[ONES], counts[MARKED_MISTAKES]
    sums[MEAN] = sums[LOSS] / rounds
    sums[MISTAKE_SPREAD] += block_spread(mistakes - marked, BLOCK, marked, rounds - BLOCK)
    if rounds > warm:
        close_block(levels, ones - counts[MARKED_ONES], BLOCK)
    else:
        sums[THRESHOLD] = sums[LABELS] / BLOCK
    counts[MARKED_MISTAKES], counts[MARKED_ONES] = mistakes, ones


def block_spread(mistakes: int, rounds: int, earlier: int, before: int) -> float:
    """Σ (mistake − m)² over a block, m the share of mistakes in the rounds before it."""
    m = earlier / before if before > 0 else 0.0
    return mistakes * (1.0 - m) * (1.0 - m) + (rounds - mistakes) * m * m


def row_print(x: Rows, y: Vector, i: int, before: int) -> int:
    """A number by which row i is known again, after those `before`."""
    entries = x.data[x.indptr[i] : x.indptr[i + 1]] if isinstance(x, Sparse) else x.parameters["data"][i]
    return zlib.crc32(entries.tobytes(), zlib.crc32(y[i].tobytes(), before))


class Tally:
    """The counts of one run."""

    def __init__(self, classifies: bool, arrays: dict[str, Any] | None = None) -> None:
        told = arrays or {}
        self.classifies = classifies
        self.sums = told.get("tally.sums", np.zeros(TALLIES))
        self.counts = told.get("tally.counts", np.zeros(COUNTS, np.int64))
        self.levels = told.get("tally.levels", first_levels())
        self.frames = told.get("tally.frames", first_frames())
        self.chain, self.spans = told.get("tally.chain", first_chain()), told.get("tally.spans", first_spans())
        self.repetition, self._said = Repetition(told), False  # whether rows come again, found out or said
        if "tally.sums" not in told:
            self.sums[THRESHOLD] = 0.0 if classifies else math.inf

    @property
    def _warm(self) -> int:
        """Rounds that settle the threshold."""
        return 0 if self.classifies else BLOCK

    def see(
        self, learner: Linear, x: Rows, y: Vector, w: Vector, scores: Vector, end: int, compiled: bool,
        learnt: Rows | None = None,
    ) -> None:  # fmt: skip
        """Count the first `end` rows of a batch, which were learnt, with more columns if `learnt` says so."""
        prints = self._prints(x, y, end) if self.counts[PRINTED] < SAMPLE else self.counts[PRINTED:AGAIN]
        others = self.frames, self.chain if self._warm and self.classifies else self.chain[:0], self.spans
        into = (self.sums, self.counts, self.levels, others, self._warm)
        call(count_rows, compiled, learner.judge, x if learnt is None else learnt, y, w, scores, into, end)
        self.counts[PRINTED:AGAIN] = prints
        if not self._said:
            self.repetition.see(x, y, w, end, compiled)

    def _prints(self, x: Rows, y: Vector, end: int) -> tuple[int, int, int]:
        """How the data begin: the counts PRINTED, FIRST_PRINT and PRINT after these rows."""
        printed, first, found = (int(n) for n in self.counts[PRINTED:AGAIN])
        for i in range(min(end, SAMPLE - printed)):
            found = row_print(x, y, i, found)
            first = first if printed else found
            printed += 1
        return printed, first, found

    def recognised(self, x: Rows, y: Vector) -> bool:
        """Whether the data begin again with these rows: then another pass goes over them, which is noted."""
        if self.counts[PRINTED] < SAMPLE or y.size < SAMPLE or row_print(x, y, 0, 0) != self.counts[FIRST_PRINT]:
            return False
        seen = 0
        for i in range(SAMPLE):
            seen = row_print(x, y, i, seen)
        again = bool(seen == self.counts[PRINT])
        self.counts[AGAIN] |= NOTICED if again and not self._said else 0
        return again

    def repeat(self) -> None:
        """Say that all rows to come were learnt before: nobody needs to find out."""
        self.counts[AGAIN] |= ASKED
        self._said = True

    def arrays(self) -> dict[str, Any]:
        """The arrays that a file must keep to go on counting."""
        found = {"tally.sums": self.sums, "tally.counts": self.counts, "tally.levels": self.levels}
        found |= {"tally.frames": self.frames, "tally.chain": self.chain, "tally.spans": self.spans}
        return found | self.repetition.arrays()

    # ---- results -----------------------------------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        return int(self.counts[ROUNDS])

    @property
    def mistakes(self) -> int:
        return int(self.counts[MISTAKES])

    @property
    def weight(self) -> float:
        """Σ of importance weights: the number of rounds if all are 1."""
        return float(self.sums[WEIGHT])

    @property
    def wrong(self) -> float:
        """Σ of the importance weights of mistakes."""
        return float(self.sums[WRONG])

    @property
    def alike(self) -> bool:
        """Whether all importance weights were 1, or 0: rows that were not learnt."""
        return not self.counts[UNLIKE]

    @property
    def repeated(self) -> bool:
        """Whether rows were learnt more than once, as far as that was noticed."""
        return bool(self.counts[AGAIN]) or self.shuffled

    @property
    def unasked(self) -> bool:
        """Whether it was noticed that rows came again, in other passes than those that were asked for."""
        return bool(self.counts[AGAIN] & NOTICED) or self.shuffled

    @property
    def shuffled(self) -> bool:
        """Whether the order of the rows gives away that some came again, wherever that began."""
        return self.repetition.against >= math.log(1 / ALARM)

    @property
    def mistake_spread(self) -> float:
        """Σ (mistake − prediction)², with the block that is not full yet."""
        rest, marked = self.rounds % BLOCK, int(self.counts[MARKED_MISTAKES])
        return float(self.sums[MISTAKE_SPREAD]) + block_spread(self.mistakes - marked, rest, marked, self.rounds - rest)

    @property
    def dependence(self) -> float:
        """ln E against independent labels: the mean of what `independence.py` and, unless they are two, another find.

        Numbers of classes rise as these are first met, so that their extremes tell nothing.
        """
        bits = max(self.rounds - self._warm, 0)
        ones, both, last, _, marked = (int(n) for n in self.counts[ONES : MARKED_ONES + 1])
        found = [evidence(bits, ones, both, last, self.levels, ones - marked, bits % BLOCK)]
        if self._warm:
            classes = self.classifies
            found += [composition_evidence(self.chain, self.spans) if classes else extremes_evidence(self.frames)]
        top = max(found)
        return top + math.log(sum(math.exp(one - top) for one in found) / len(found))
