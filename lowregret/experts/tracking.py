"""Radii that follow a quantile of scores, and what keeps their coverage: loops of `ConformalIntervals`, O(1) a round.

Tracker j holds q and moves by online gradient descent on the pinball loss of a score s: q ← q + η_j(1[s > q] − α), with
η_j = 2⁻ʲ·(the largest score known), which never falls. Mixed trackers guess a radius; what was missed so far widens it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.kernel import kernel
from lowregret.types import Vector

TRACKERS = 16  # rates from the largest score down to 2⁻¹⁵ of it
WINDOW = 100  # rounds over which coverage is also told
TINY = 1e-100  # scores below this count as 0: their squares are no numbers

# ---- sums[...] ------------------------------------------------------------------------------------------------------
COVER_SUM_NAMES = ("largest", "base", "loss", "price", "pull", "width")
LARGEST = 0  # B, the largest score known
BASE = 1  # b, the largest score when the present phase began: a phase ends when it has more than doubled
LOSS = 2  # Σ ρ(s_t, q_t)
PRICE = 3  # Σ ρ(s_t, q_t) − ρ(s_t, q̂_t): what coverage costs
PULL = 4  # Σ (α − 1[s_t > q_t])·q_t
WIDTH = 5  # Σ 2q_t

# ---- counts[...] ----------------------------------------------------------------------------------------------------
COVER_COUNT_NAMES = ("rounds", "misses", "scores", "forced", "points", "above")
ROUNDS = 0  # intervals whose outcome is known
MISSES = 1  # outcomes outside their interval
SCORES = 2  # scores known, also of rounds without an interval
FORCED = 3  # misses though the budget had been used up
POINTS = 4  # hits by intervals of width 0 that the budget forced
ABOVE = 5  # scores above their radius: misses, but for ends p ± q that are rounded


class CoverBook(NamedTuple):
    """The state of intervals."""

    trackers: Vector  # their radii
    spent: Vector  # ½Σ η_t g_t² of each
    began: Vector  # Σ max_u (q − u)²/(2·2⁻ʲb) over the phases, at the beginning of each, 0 ≤ u ≤ 2b
    sums: Vector
    counts: NDArray[np.int64]

    @classmethod
    def fresh(cls) -> CoverBook:
        """Nothing known yet."""
        sums, counts = np.zeros(len(COVER_SUM_NAMES)), np.zeros(len(COVER_COUNT_NAMES), np.int64)
        return cls(np.zeros(TRACKERS), np.zeros(TRACKERS), np.zeros(TRACKERS), sums, counts)

    def copy(self) -> CoverBook:
        """A copy that shares no array."""
        c = self
        return CoverBook(c.trackers.copy(), c.spent.copy(), c.began.copy(), c.sums.copy(), c.counts.copy())


def excess(c: CoverBook, alpha: float) -> float:
    """E, the number of misses beyond α of the rounds."""
    return float(c.counts[MISSES] - alpha * c.counts[ROUNDS])


def widened(c: CoverBook, guess: float, alpha: float, budget: float, largest: float) -> float:
    """q = q̂(h + E)/(h − E), at most twice the largest score; that itself once E ≥ h, and 0 once E ≤ −h."""
    over = excess(c, alpha)
    if over >= budget:
        return 2.0 * largest
    if over <= -budget:
        return 0.0
    return min(guess * (budget + over) / (budget - over), 2.0 * largest)


def follow(c: CoverBook, at: Any, score: float, alpha: float) -> None:
    """Move all trackers by the score of a round in which they stood at `at`."""
    largest = c.sums[LARGEST]
    if largest == 0.0 and score > 0.0:
        for j in range(c.trackers.size):
            c.trackers[j] = score
    elif largest > 0.0:
        rate = largest
        for j in range(c.trackers.size):
            g = alpha - (1.0 if score > at[j] else 0.0)
            c.trackers[j] -= rate * g
            c.spent[j] += 0.5 * rate * g * g
            rate *= 0.5
    c.sums[LARGEST] = max(largest, score)
    c.counts[SCORES] += 1
    if c.sums[LARGEST] > 2.0 * c.sums[BASE]:
        begin_phase(c)


def begin_phase(c: CoverBook) -> None:
    """Book how far trackers are from any radius at most, relative to their rates, where a phase begins."""
    c.sums[BASE] = c.sums[LARGEST]
    rate = c.sums[BASE]
    for j in range(c.trackers.size):
        away = max(abs(c.trackers[j]), abs(2.0 * c.sums[BASE] - c.trackers[j]))
        c.began[j] += away * (away / (2.0 * rate))
        rate *= 0.5


def pinball(score: float, radius: float, alpha: float) -> float:
    """ρ = (1 − α)[s − q]₊ + α[q − s]₊"""
    return (1.0 - alpha) * (score - radius) if score > radius else alpha * (radius - score)


def outside(forecast: float, radius: float, outcome: float) -> int:
    """Whether an outcome lies outside the ends that were given, which are rounded: 1 if so, else 0."""
    return 1 if outcome < forecast - radius or outcome > forecast + radius else 0


def count(c: CoverBook, guess: float, radius: float, score: float, alpha: float, forced: int, missed: int) -> None:
    """Book a round whose interval was given; `forced`: 1 if the budget forced it wide, −1 if to a point, else 0."""
    above = 1 if score > radius else 0
    own = pinball(score, radius, alpha)
    c.sums[LOSS] += own
    c.sums[PRICE] += own - pinball(score, guess, alpha)
    c.sums[PULL] += (alpha - above) * radius
    c.sums[WIDTH] += 2.0 * radius
    c.counts[ROUNDS] += 1
    c.counts[MISSES] += missed
    c.counts[ABOVE] += above
    c.counts[FORCED] += 1 if missed == 1 and forced > 0 else 0
    c.counts[POINTS] += 1 if missed == 0 and forced < 0 else 0


def forcing(c: CoverBook, alpha: float, budget: float) -> int:
    """Whether the budget forces the coming interval wide (1), to a point (−1), or leaves it free (0)."""
    over = excess(c, alpha)
    return 1 if over >= budget else (-1 if over <= -budget else 0)


@kernel
def track_rows(c: CoverBook, scores: Any, alpha: float, x: Any, largest: Any) -> None:
    """Radii of trackers before each score, between 0 and the largest known, which is −1 while none is."""
    for t in range(scores.size):
        top = c.sums[LARGEST]
        largest[t] = top if c.counts[SCORES] > 0 else -1.0
        for j in range(c.trackers.size):
            x[t, j] = min(max(c.trackers[j], 0.0), top)
        if not math.isnan(scores[t]):
            follow(c, c.trackers, scores[t], alpha)


@kernel
def cover_rows(
    c: CoverBook, guesses: Any, p: Any, y: Any, scores: Any, largest: Any, alpha: float, budget: float, radii: Any,
    missed: Any,
) -> None:  # fmt: skip
    """Radii of intervals, each before its score, and whether it was missed; −1 where nothing was counted."""
    for t in range(scores.size):
        missed[t] = -1.0
        radii[t] = math.inf
        if largest[t] >= 0.0:
            radii[t] = widened(c, guesses[t], alpha, budget, largest[t])
            if not math.isnan(scores[t]):
                out = outside(p[t], radii[t], y[t])
                count(c, guesses[t], radii[t], scores[t], alpha, forcing(c, alpha, budget), out)
                missed[t] = out
