"""Intervals around forecasts, whoever makes them: a long-run coverage that is proved for every sequence of outcomes.

A score is s = |y − p|; the interval is p ± q. With E = misses − αn over n rounds whose outcome is known,

    q = q̂·(h + E)/(h − E), at most 2B;   2B once E ≥ h;   0 once E ≤ −h

q̂ mixes trackers of the (1 − α)-quantile of scores: online gradient descent on their pinball loss at sixteen rates,
mixed by `MLPoly` (adaptive conformal inference without a rate to choose: Gibbs, Candès, NeurIPS 2021, use one tracker).
B is the largest score known, h the budget. Missed is an outcome outside the ends as they were given, rounded.

Coverage. Let d be how many outcomes became known at most between a forecast and its own outcome (0 if none is late).
If E exceeds h + (1 − α)d before an outcome is told, E ≥ h held when its interval was made, for E rises by at most 1 − α
a round: the interval was 2B wide to each side, and is missed only by a score of more than twice the largest known. With
F such misses, −(h + α(1 + d + Z)) ≤ E ≤ h + (1 − α)(1 + d + F), Z counting hits by intervals of width 0. ∎ No premise
is needed: not of the forecasts, not of the outcomes. In time, F ≤ 1 + log₂(largest score/first): each doubles it.

Pinball loss. Against every fixed radius u, Σρ(q_t) − Σρ(u) is at most the sum of Σ[ρ(q_t) − ρ(q̂_t)], the price of
coverage as observed; what the mixture owes tracker j (ML-POLY); what the tracker owes u; and 2(1 − α)B. Trackers count
at most the largest score known, and lose by that only when it grows, by as much as it grows: (1 − α)B. A phase lasts
until the largest score b at its beginning has more than doubled. In a phase rates never fall, so the tracker owes u at
most (u − q)²/(2η) + ½Ση_tg_t², q and η = 2⁻ʲb at its beginning; and min(u, 2b) is no worse than u there but in the
round that ends it, by at most what the largest score grows: (1 − α)B again. ∎
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.compile.call import call
from lowregret.compile.numerics import EPSILON
from lowregret.compile.signals import let_in
from lowregret.compile.turns import in_turn
from lowregret.errors import DataError, PartError
from lowregret.experts import tracking
from lowregret.experts.aggregator import MLPoly
from lowregret.experts.before import Before, all_or_none
from lowregret.experts.certify import bound_against, rounding
from lowregret.experts.given import given_outcomes
from lowregret.experts.mixture import ExpertMixture
from lowregret.experts.schema_cover import ConformalSchema
from lowregret.experts.substitute import Mean
from lowregret.experts.tracking import (
    ABOVE,
    LARGEST,
    LOSS,
    MISSES,
    PRICE,
    PULL,
    SCORES,
    TINY,
    TRACKERS,
    WIDTH,
    WINDOW,
    CoverBook,
)
from lowregret.learner.validate import real_numbers
from lowregret.loss import Quantile
from lowregret.run.round_by_round import Contents, Recorded, prefixed
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted, percent, percent_down, percent_up

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

HUGE = 1e100  # forecasts and outcomes beyond this have differences whose squares are no numbers
BUDGET = 20.0  # misses that the count may be off at most: a point of coverage after some 2,000 rounds
SHOWN = 1000  # rounds kept for a picture, at most twice as many


class Coverage(NamedTuple):
    """How often outcomes lay inside, and between which shares that was bound to be."""

    wanted: float
    realised: float
    rounds: int
    low: float
    high: float
    delay: int  # outcomes known between a forecast and its own outcome, at most
    forced: int  # misses by the widest interval there can be
    width: float  # the mean
    window: int  # rounds of a window
    worst: float | None  # the least coverage in any window; None before there was one

    @property
    def holds(self) -> bool:
        """Whether the realised coverage is where the theorem says."""
        return not self.rounds or self.low - 1e-9 <= self.realised <= self.high + 1e-9

    def to_json(self) -> dict[str, Any]:
        """For `lowregret experts --json`."""
        known = {} if self.rounds else {"realised": None}
        return self._asdict() | known | {"holds": self.holds}

    def __str__(self) -> str:
        if not self.rounds:
            return "coverage         of no outcome yet: the first one says how wide intervals are"
        lines = [
            f"coverage         {percent(self.realised)} of {counted(self.rounds, 'outcome')} inside, "
            f"{100 * self.wanted:g}% wanted",
            f"                 bound to lie between {percent_down(self.low)} and {percent_up(self.high)}, "
            "whatever the outcomes",
            f"                 mean width {self.width:.6g}",
        ]
        if self.delay:
            lines[1] += f", up to {counted(self.delay, 'outcome')} late"
        if self.worst is not None:
            lines.append(f"                 {percent(self.worst, 0)} in the worst {self.window} rounds in a row")
        return "\n".join(lines)


class ConformalIntervals(Recorded):
    """p ± q around any stream of forecasts p, so that 1 − α of the outcomes lie inside in the long run.

    `lower` and `upper` are the ends in the rounds of the latest `learn`: from −∞ to ∞ until a first outcome is known,
    which is not counted. `budget`: h, the number of misses that may be too many or too few. Compiled; O(16) a round.
    """

    kind = "conformal"
    schema = ConformalSchema()

    def __init__(self, coverage: float = 0.9, *, budget: float = BUDGET, compiled: bool = True) -> None:
        super().__init__()
        if not (isinstance(coverage, (int, float)) and 0 < coverage < 1):
            raise PartError(f"coverage must lie strictly between 0 and 1, such as 0.9, got {coverage!r}")
        if not (isinstance(budget, (int, float)) and 1 <= budget < math.inf):
            raise PartError(f"the budget must be a number of misses from 1 on, got {budget!r}")
        self.wanted, self.budget = float(coverage), float(budget)
        self.alpha = 1 - self.wanted
        names = [f"rate 2^-{j}" for j in range(TRACKERS)]
        self.mixture = ExpertMixture(names, MLPoly(), Quantile(self.wanted), compiled=compiled)
        self.compiled, self.book = self.mixture.compiled, CoverBook.fresh()
        self.delay, self.worst = 0, -1  # misses in the worst window, −1 before there was one
        self.window: Vector = np.empty(0)  # whether the latest rounds were missed
        self.curve: list[Vector] = []  # rounds, misses, misses in the window, radius
        self.every = 1
        self.pending: dict[int, tuple[float, float, float, int, int, Vector]] = {}
        self.lower, self.upper = np.empty(0), np.empty(0)

    # ---- rounds ------------------------------------------------------------------------------------------------------

    @in_turn
    def learn(self, forecasts: Any, outcomes: Any) -> Self:
        """Rounds in order: each interval is made before its outcome is seen: O(T).

        A forecast of NaN has no interval; an outcome of NaN is not known, and not learnt.
        """
        p = self._given(forecasts, "forecasts")
        y = self._given(given_outcomes(outcomes, len(p)), "outcomes")
        scores = np.abs(y - p)
        scores = np.where(scores < TINY, 0.0, scores)
        learnable = np.cumsum(~np.isnan(scores)) - (0 if self.book.counts[SCORES] else 1)
        radii, done, before = np.empty(len(p)), 0, self.rounds
        while done < len(p):
            end = int(np.searchsorted(learnable, self.history.due - before)) + 1
            self._learn_part(p[done:end], y[done:end], scores[done:end], radii[done:end])
            self._mark()
            let_in()
            done = end
        self.lower, self.upper = p - radii, p + radii
        return self

    def _learn_part(self, p: Vector, y: Vector, scores: Vector, radii: Vector) -> None:
        """Learn rounds between two points of the curves."""
        rows = len(scores)
        x, largest, missed = np.empty((rows, TRACKERS)), np.empty(rows), np.empty(rows)
        before = self.book.copy()
        try:
            with all_or_none([Before(self.mixture)]):
                call(tracking.track_rows, self.compiled, self.book, scores, self.alpha, x, largest)
                guesses = self.mixture.learn(x, scores).forecasts
        except BaseException:  # interrupted: nothing of this part is learnt
            self.book = before
            raise
        rest = guesses, p, y, scores, largest, self.alpha, self.budget, radii, missed
        call(tracking.cover_rows, self.compiled, self.book, *rest)
        learnt = missed >= 0
        self._note(missed[learnt], radii[learnt])

    @in_turn
    def ask(self, forecast: float) -> tuple[int, tuple[float, float]]:
        """One round: its number, and both ends of the interval. Tell the outcome whenever it is known: O(16)."""
        p = float(self._given([forecast], "forecasts")[0])
        if math.isnan(p):
            raise DataError("there is no forecast: it is NaN")
        largest, known = float(self.book.sums[LARGEST]), self.book.counts[SCORES] > 0
        number, guess = self.mixture.ask(np.clip(self.book.trackers, 0.0, largest))
        radius = tracking.widened(self.book, guess, self.alpha, self.budget, largest) if known else math.inf
        forced = tracking.forcing(self.book, self.alpha, self.budget)
        told = int(self.book.counts[SCORES])
        self.pending[number] = p, guess, radius, forced, told, self.book.trackers.copy()
        return number, (p - radius, p + radius)

    @in_turn
    def tell(self, number: int, outcome: float) -> bool:
        """The outcome of a round that was asked; returns whether it lay inside."""
        y = float(self._given([outcome], "outcomes")[0])
        p, guess, radius, forced, told, at = self.pending.get(number, (0.0, 0.0, 0.0, 0, 0, self.book.trackers))
        score = 0.0 if abs(y - p) < TINY else abs(y - p)
        self.mixture.tell(number, score)  # which refuses a number that does not wait
        del self.pending[number]
        self.delay = max(self.delay, int(self.book.counts[SCORES]) - told)
        tracking.follow(self.book, at, score, self.alpha)
        if math.isinf(radius):
            return True
        missed = tracking.outside(p, radius, y)
        tracking.count(self.book, guess, radius, score, self.alpha, forced, missed)
        self._note(np.array([float(missed)]), np.array([radius]))
        self._mark()
        return not missed

    # ---- results -----------------------------------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        """Intervals whose outcome is known."""
        return int(self.book.counts[tracking.ROUNDS])

    @property
    def loss(self) -> float:
        """Σ ρ(s_t, q_t), the pinball loss of the radii at the level that is wanted."""
        return float(self.book.sums[LOSS])

    @property
    def coverage(self) -> Coverage:
        """The share of outcomes inside, and what was proved of it: 1 − α − (h + (1 − α)(1 + d + F))/n at least."""
        n, alpha, counts = max(self.rounds, 1), self.alpha, self.book.counts
        forced, points = int(counts[tracking.FORCED]), int(counts[tracking.POINTS])
        low = 1 - alpha - (self.budget + (1 - alpha) * (1 + self.delay + forced)) / n
        high = 1 - alpha + (self.budget + alpha * (1 + self.delay + points)) / n
        return Coverage(
            self.wanted,
            1 - int(counts[MISSES]) / n if self.rounds else math.nan,
            self.rounds,
            max(low, 0.0),
            min(high, 1.0),
            self.delay,
            forced,
            float(self.book.sums[WIDTH]) / n,
            WINDOW,
            None if self.worst < 0 else 1 - self.worst / WINDOW,
        )

    @property
    def certificates(self) -> list[Certificate]:
        """The pinball loss of the radii against that of every fixed radius."""
        c, inner, sums = self.book, self.mixture, self.book.sums
        largest = float(sums[LARGEST])
        owed = [bound_against(inner.aggregator, False, inner.book, j)[2] for j in range(TRACKERS)]
        bound = float(sums[PRICE]) + 2 * self.wanted * largest + float(np.min(owed + c.began + c.spent))
        linear = float(sums[PULL]) + max(float(c.counts[ABOVE]) - self.alpha * self.rounds, 0.0) * largest
        late = Premise("each outcome was known before the next forecast", self.delay == 0, f"{self.delay} late")
        found = Certificate(
            "CONFORMAL",
            "Σρ(q_t) − Σρ(u) ≤ Σ[ρ(q_t) − ρ(q̂_t)] + 2(1 − α)B + min_j (what q̂ owes tracker j + "
            "Σ_phases max_u (u − q)²/(2η) + ½Ση_tg_t²), B the largest score, for every radius u",
            {"set": "radii"},
            linear if linear <= bound else None,
            bound,
            (late,),
            rounding=rounding(inner.book, Mean()) + 4 * EPSILON * (self.rounds + 16) * self.loss,
        )
        return [found]

    @property
    def coverage_over_time(self) -> Vector:
        """Rows of rounds, coverage so far, that of the latest hundred, and the radius: at most 2,000, evenly spaced."""
        rounds, misses, latest, radius = np.array(self.curve).reshape(-1, 4).T
        return np.column_stack([rounds, 1 - misses / rounds, 1 - latest / np.minimum(rounds, WINDOW), radius])

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Coverage over the rounds, so far and of the latest hundred, inside what was proved; below, the radius."""
        from lowregret.experts.plot_cover import plot_coverage

        return plot_coverage(self, path)

    def _of(self) -> str:
        return f"{self.wanted:g} coverage"

    def _facts(self) -> Iterator[str]:
        yield counted(self.rounds, "round")
        if self.rounds:
            yield f"coverage {self.coverage.realised:.4g}"
            yield f"mean width {self.coverage.width:.4g}"

    # ---- files -------------------------------------------------------------------------------------------------------

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        inner, kept = self.mixture.contents()
        plain = {name: getattr(self, name) for name in ("wanted", "budget", "compiled", "delay", "worst", "every")}
        waiting = list(self.pending.values())
        arrays = {
            "pending.round": np.array(list(self.pending), np.int64),
            "pending.given": np.array([row[:3] for row in waiting]).reshape(-1, 3),
            "pending.state": np.array([row[3:5] for row in waiting], np.int64).reshape(-1, 2),
            "pending.trackers": np.array([row[5] for row in waiting]).reshape(-1, TRACKERS),
            "window": self.window,
            "curve": np.array(self.curve).reshape(-1, 4),
        }
        return plain | {"mixture": inner}, self.book._asdict() | arrays | prefixed("mixture", kept)

    @classmethod
    def _made(cls, found: Contents) -> Self:
        coverage, budget, compiled = found.tell("wanted", "budget", "compiled")
        made = cls(coverage, budget=budget, compiled=compiled)
        made.mixture, made.book = ExpertMixture.from_contents(found.inner("mixture")), found.record(CoverBook)
        made.delay, made.worst, made.every = found.tell("delay", "worst", "every")
        made.window, made.curve = found.arrays["window"], list(found.arrays["curve"])
        given, state, at = (found.arrays[f"pending.{name}"] for name in ("given", "state", "trackers"))
        for row, number in enumerate(found.arrays["pending.round"].tolist()):
            p, guess, radius = given[row].tolist()
            forced, told = state[row].tolist()
            made.pending[number] = p, guess, radius, forced, told, at[row].copy()
        return made

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _note(self, missed: Vector, radii: Vector) -> None:
        """Keep what the picture needs of rounds that were just counted, and how bad a window was at worst."""
        if not missed.size:
            return
        first, past = self.rounds - missed.size, np.concatenate([self.window, missed])
        total = np.concatenate([[0.0], np.cumsum(past)])
        ends = np.arange(self.window.size + 1, past.size + 1)
        latest = total[ends] - total[np.maximum(ends - WINDOW, 0)]
        rounds = np.arange(first + 1, self.rounds + 1)
        full = rounds >= WINDOW
        self.worst = int(max(self.worst, latest[full].max())) if full.any() else self.worst
        misses = self.book.counts[MISSES] - missed.sum() + np.cumsum(missed)
        self.window = past[-WINDOW:]
        while self.rounds // self.every > 2 * SHOWN:
            self.curve, self.every = self.curve[1::2], 2 * self.every
        shown = rounds % self.every == 0
        self.curve += list(np.column_stack([rounds, misses, latest, radii])[shown])

    def _given(self, values: Any, what: str) -> Vector:
        """Forecasts or outcomes, one number a round, or an error that says what is wrong with them."""
        found = real_numbers(values, what)
        if found.ndim != 1:
            raise DataError(f"{what} must be one number a round, got an array of shape {found.shape}")
        bad = np.flatnonzero(np.abs(found) > HUGE)
        if bad.size:
            t, size = self.mixture.asked + int(bad[0]), found[bad[0]]
            raise DataError(f"round {t}: {size:g} among the {what} is too large: scale them")
        return found
