"""Rounds of `auto` by two threads: one looks at rows ahead, the other scores and learns them; the same to the last bit.

How a row is seen (`view.py`) depends on the features of the rows before, not on labels or scores. So one thread goes
ahead, brings measures up to date and writes both views of each row into a ring of sheets, from which the other takes
them. It keeps θ, which stands beside the measures in the table, in an array of its own until both are done.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lowregret.auto.learner import HEAVY, WIDE, Auto, Mind, Workspace
from lowregret.auto.view import COLUMNS, COUNT, DEVIATION, MEAN, PACE, Sheet, look
from lowregret.compile.atomic import add, give_way, read
from lowregret.compile.kernel import kernel
from lowregret.compile.memory import prefetch
from lowregret.compile.simd import LANES
from lowregret.rows import Rows
from lowregret.state import DIMENSION, State
from lowregret.types import Cells, Index, Vector, cell

SHEETS = 64  # rows that may be looked at ahead
TOLD = 8  # rows after which the other is told
PATIENCE = 2048  # looks at a number that the other is to change, before giving way
_SEEN, _TAKEN, _ENDED = np.uint64(0), np.uint64(8), np.uint64(16)  # gate[…], a cache line apart


class Ring(NamedTuple):
    """Sheets for rows that were looked at and not yet learnt."""

    shaped: Cells
    plain: Cells
    paces: Cells  # `pace` once the row is kept
    sound: Cells  # whether all its squares are numbers
    gate: Cells  # rows seen; rows taken; whether one of both has ended

    @classmethod
    def of(cls, entries: int) -> Ring:
        """A ring for rows of up to this many entries."""
        shaped, plain = (np.zeros((SHEETS, entries + LANES), np.float32) for _ in range(2))
        return cls(shaped, plain, np.zeros((SHEETS, PACE)), np.zeros(SHEETS, np.int64), np.zeros(24, np.int64))

    def end(self) -> None:
        """Let nobody wait for the other any more."""
        self.gate[int(_ENDED)] = 1


def wait(gate: Cells, which: Index, least: int) -> bool:
    """Wait until a count has come so far; returns whether it has, or the other has ended."""
    looks = 0
    while read(gate, which) < least:
        if read(gate, _ENDED) > 0 and read(gate, which) < least:
            return False
        looks += 1
        if looks % PATIENCE == 0:
            give_way()
    return True


@kernel
def view_rows(s: State, pace: Cells, sheet: Sheet, x: Rows, weights: Vector, ring: Ring, i: int, stop: int) -> int:
    """Look at rows i … stop − 1, and keep what is known of features with them, θ aside; returns the first not kept."""
    begin, told = i, 0
    while i < stop:
        n = i - begin
        slot = n % SHEETS
        if not wait(ring.gate, _TAKEN, n - SHEETS + 1):
            return i
        sound = x.inside(i) and look(s.table, pace, x, i, sheet)
        ring.sound[slot] = sound
        if sound:
            end = x.end(i) - x.begin(i)
            for v in range(np.uint64(0), end):
                ring.shaped[slot, v], ring.plain[slot, v] = sheet.shaped[v], sheet.plain[v]
            if weights.size == 0 or weights[i] != 0.0:
                keep_measures(s.table, pace, x, i, min(i + 1, stop - 1), sheet)
            for k in range(PACE):
                ring.paces[slot, k] = pace[k]
        told += 1
        if told == TOLD or not sound or i + 1 == stop:
            add(ring.gate, _SEEN, told)
            told = 0
        if not sound:
            return i
        i += 1
    return i


@kernel
def view_again(s: State, pace: Cells, sheet: Sheet, x: Rows, weights: Vector, i: int, stop: int) -> None:
    """Keep what is known of features after rows i … stop − 1, which were kept before, θ aside."""
    while i < stop:
        look(s.table, pace, x, i, sheet)
        if weights.size == 0 or weights[i] != 0.0:
            keep_measures(s.table, pace, x, i, min(i + 1, stop - 1), sheet)
        i += 1


def keep_measures(table: Cells, pace: Cells, x: Rows, i: int, ahead: int, sheet: Sheet) -> None:
    """Keep what `look` found, θ aside. Meanwhile measures of the row `ahead` are asked for."""
    for k in range(PACE):
        pace[k] += sheet.sums[k]
    end, coming, last = x.end(i) - x.begin(i), x.begin(ahead), x.end(ahead)
    for v in range(np.uint64(0), end):
        if coming + v < last:
            prefetch(table, cell(x.column(ahead, coming + v), COLUMNS))
        at, to = v * np.uint64(COLUMNS), sheet.places[v]
        table[to + COUNT] = sheet.cells[at + COUNT]
        table[to + MEAN] = sheet.cells[at + MEAN]
        table[to + DEVIATION] = sheet.cells[at + DEVIATION]


@kernel
def learn_viewed(
    learner: Auto, s: State, mind: Mind, work: Workspace, x: Rows, y: Vector, weights: Vector, beside: Vector,
    scores: Vector, theta: Vector, ring: Ring, i: int, stop: int,
) -> int:  # fmt: skip
    """Learn rows i … stop − 1 as the other sees them; returns the first row not learnt, as `learn_rows` does."""
    begin, sheet = i, work.sheet
    while i < stop:
        n = i - begin
        slot = n % SHEETS
        weight = weights[i] if weights.size > 0 else 1.0
        if weight != 0.0 and not (0.0 < weight <= HEAVY and learner.loss.accepts(y[i]) and weight * y[i] * y[i] < WIDE):
            break
        if not (wait(ring.gate, _SEEN, n + 1) and ring.sound[slot] != 0):
            break
        if weight != 0.0 and not learner.fits(mind, y[i], weight):
            break
        for v in range(np.uint64(0), x.end(i) - x.begin(i)):
            sheet.shaped[v], sheet.plain[v] = ring.shaped[slot, v], ring.plain[slot, v]
        scores[i] = learner.score(s, mind, work, x, i, beside, weight != 0.0)
        if not math.isfinite(scores[i]):
            break
        if weight != 0.0:
            slope = learner.book(s, y[i], weight, scores[i])
            for k in range(PACE):
                mind.pace[k] = ring.paces[slot, k]
            for k in range(x.begin(i), x.end(i)):
                theta[x.column(i, k)] -= slope * x.value(i, k)
            theta[np.uint64(s.counts[DIMENSION] - 1)] -= slope
            learner.follow(s, mind, work, x, i, min(i + 1, y.size - 1), y[i], weight, 1.0)
        i += 1
        if i % TOLD == 0:
            add(ring.gate, _TAKEN, i - begin - read(ring.gate, _TAKEN))
    add(ring.gate, _ENDED, 1)
    return i
