"""A set of quantiles as one forecast: every level a mixture under its pinball loss, no crossings, one score.

    CRPS = 2∫₀¹ ρ_τ(y − Q(τ)) dτ, scored here as 2Σ_l c_l ρ_{τ_l}(y − q_l)

c_l is the length of the cell of τ_l, which ends halfway to the neighbouring levels, and at 0 and 1: Σc_l = 1. It is the
CRPS of the distribution with mass c_l at q_l, exactly, where every τ_l is the middle of its cell, as with levels
(l − ½)/L; with other levels it is a quadrature.

Levels that cross are pooled: q becomes its isotonic regression with weights c (pool adjacent violators), which never
raises that score. Proof: ρ_τ(y − q) = τ(y − q) + [q − y]₊. In a pool of mean m, Σc[q_l − y]₊ ≥ (Σc)[m − y]₊ (Jensen).
The partial sums S_k = Σ_{l≤k} c_l(q_l − m) of a pool are ≥ 0 and end with 0, so by Abel's summation
Σc_lτ_l(q_l − m) = −ΣS_k(τ_{k+1} − τ_k) ≤ 0: the linear part −Σc_lτ_lq_l does not rise either. ∎

So the regret of the set, to weights of its own for each level, is at most Σ2c_l times what each level's mixture owes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import EPSILON
from lowregret.compile.signals import let_in
from lowregret.compile.turns import in_turn
from lowregret.errors import DataError, PartError
from lowregret.experts.before import Before, all_or_none
from lowregret.experts.best import BestExpert
from lowregret.experts.certify import COMBINATIONS
from lowregret.experts.given import given_names, given_outcomes
from lowregret.experts.layered import Layered
from lowregret.experts.mixture import ExpertMixture, Matrix
from lowregret.experts.schema_cover import MOST_LEVELS, QuantilesSchema
from lowregret.experts.state import NAPS, behind_each
from lowregret.learner.validate import real_numbers
from lowregret.loss import Quantile
from lowregret.run.round_by_round import Contents, Recorded, prefixed
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted

HUGE = 1e100  # forecasts and outcomes beyond this have differences whose squares are no numbers


class Level(NamedTuple):
    """One level of a set of quantiles: its mean pinball loss, and how many of the outcomes lay at or below it."""

    level: float
    pinball: float
    below: float


class Quantiles(Recorded):
    """Experts that forecast quantiles, or numbers that these can be mixed of, and the quantiles made of theirs.

    `levels` ascend strictly between 0 and 1. `forecasts` are those of the latest `learn`, a row a round and a column a
    level, never descending; NaN where nobody was awake. O(5LN) a round, compiled.
    """

    kind = "quantiles"
    schema = QuantilesSchema()

    def __init__(self, experts: int | list[str], levels: Sequence[float], *, compiled: bool = True) -> None:
        super().__init__()
        self.names, found = given_names(experts), real_numbers(levels, "levels")
        ascending = found.ndim == 1 and 1 <= found.size <= MOST_LEVELS and np.all(np.diff(found) > 0)
        if not (ascending and found[0] > 0 and found[-1] < 1):
            raise PartError(f"levels must ascend strictly between 0 and 1, at most {MOST_LEVELS}, got {levels!r}")
        self.levels, self.cells = found, cells(found)
        self.mixtures = [Layered(self.names, Quantile(tau), compiled=compiled) for tau in found.tolist()]
        self.compiled = self.mixtures[0].compiled
        self.losses, self.below = np.zeros(found.size), np.zeros(found.size, np.int64)
        self.gained = np.zeros(found.size)  # by pooling: the losses that the levels had without it, less `losses`
        self.pending: dict[int, tuple[list[int], Vector]] = {}  # numbers at each level, and what was said
        self.forecasts: Matrix = np.empty((0, found.size))

    # ---- rounds ------------------------------------------------------------------------------------------------------

    @in_turn
    def learn(self, forecasts: Any, outcomes: Any) -> Self:
        """Rounds in order: each is forecast before its outcome is seen.

        `forecasts[t, i, l]` is expert i's quantile of level l in round t; or `forecasts[t, i]` a number of its that all
        levels may use. An expert with a NaN sleeps in that round. An outcome of NaN is not known, and not learnt.
        """
        x = self._given(real_numbers(forecasts, "forecasts"))
        y = given_outcomes(outcomes, len(x))
        self._require("outcome", y[:, None])
        learnable = np.cumsum(~np.isnan(y) & ~np.isnan(x[:, :, 0]).all(1))
        said, done, before = [], 0, self.rounds
        while done < len(x):
            end = int(np.searchsorted(learnable, self.history.due - before)) + 1
            said.append(self._learn_part(x[done:end], y[done:end]))
            self._mark()
            let_in()
            done = end
        self.forecasts = np.concatenate(said) if said else np.empty((0, self.levels.size))
        return self

    def _learn_part(self, x: Matrix, y: Vector) -> Matrix:
        """Learn rounds between two points of the curves, at all levels or none; returns the quantiles."""
        parts = [part for mixture in self.mixtures for part in (mixture, *mixture.lanes, mixture.chief)]
        with all_or_none([Before(part) for part in parts]):
            said = [m.learn(x[:, :, level], y).forecasts for level, m in enumerate(self.mixtures)]
        p = np.ascontiguousarray(np.stack(said, axis=1))
        self._score(p, p.copy(), y)
        return p

    def _score(self, p: Matrix, mixed: Matrix, y: Vector) -> None:
        """Pool what crosses, and book losses where the outcome is known; `mixed` is p before it was pooled."""
        scratch = np.empty((2, self.levels.size)), np.empty(self.levels.size, np.int64)
        booked = self.losses, self.below, self.gained
        call(quantile_rows, self.compiled, p, mixed, y, self.levels, self.cells, *scratch, *booked)

    @in_turn
    def ask(self, forecasts: Any) -> tuple[int, Vector]:
        """One round: its number, and the quantiles, made now. Tell the outcome whenever it is known."""
        x = self._given(np.array(real_numbers(forecasts, "forecasts"))[None])
        if np.isnan(x[:, :, 0]).all():
            raise DataError("no expert has a forecast: all are NaN")
        asked = [mixture.ask(x[0, :, level]) for level, mixture in enumerate(self.mixtures)]
        p = np.array([[said for _, said in asked]])
        self._score(p, p, np.array([math.nan]))
        self.pending[asked[0][0]] = [number for number, _ in asked], p[0]
        return asked[0][0], p[0].copy()

    @in_turn
    def tell(self, number: int, outcome: Any) -> float:
        """The outcome of a round that was asked; returns its score."""
        y = real_numbers([outcome], "outcomes")
        self._require("outcome", y[:, None])
        if number not in self.pending:
            return self.mixtures[0].tell(number, outcome)  # which says why not
        numbers, p = self.pending[number]
        mixed = np.array([[float(m.pending[inner][1][0, 0]) for m, inner in zip(self.mixtures, numbers, strict=True)]])
        waiting: list[tuple[ExpertMixture, int]] = list(zip(self.mixtures, numbers, strict=True))
        inside = [
            part
            for mixture, inner in zip(self.mixtures, numbers, strict=True)
            for part in mixture._numbered_inside(inner)
        ]
        with all_or_none([Before(mixture, inner) for mixture, inner in (*waiting, *inside)]):
            for mixture, inner in waiting:
                mixture.tell(inner, outcome)
        del self.pending[number]
        before = self.loss
        self._score(p[None], mixed, y)
        self._mark()
        return self.loss - before

    # ---- results -----------------------------------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        """Rounds whose outcome was learnt."""
        return self.mixtures[0].rounds

    @property
    def loss(self) -> float:
        """Σ_t 2Σ_l c_l ρ_{τ_l}(y_t − q_t[l]), the CRPS of all rounds by quadrature."""
        return float(2 * self.cells @ self.losses)

    @property
    def scores(self) -> list[Level]:
        """Mean pinball loss and calibration of each level."""
        n = max(self.rounds, 1)
        rows = zip(self.levels.tolist(), (self.losses / n).tolist(), (self.below / n).tolist(), strict=True)
        return [Level(*row) for row in rows]

    @property
    def weights(self) -> Matrix:
        """Trust in each expert in the coming round, a row for each level."""
        return np.array([mixture.weights for mixture in self.mixtures])

    @property
    def expert_losses(self) -> Vector:
        """The score of each expert's own quantiles, over the rounds in which it was awake."""
        return np.asarray(2 * self.cells @ np.array([mixture.book.losses for mixture in self.mixtures]))

    @property
    def best(self) -> BestExpert:
        """The expert whose quantiles were best, over the rounds in which it was awake."""
        k = int(np.argmax(self._behind))
        return BestExpert(k, self.names[k], float(self.expert_losses[k]))

    @property
    def regret(self) -> float:
        """The score less that of the best expert; what pooling gained is left out of it if somebody slept."""
        slept = any(mixture.book.counts[NAPS] for mixture in self.mixtures)
        return float(np.max(self._behind)) - (0.0 if slept else float(2 * self.cells @ self.gained))

    @property
    def _behind(self) -> Vector:
        """By how much each expert did better than the levels before pooling."""
        owed = np.array([behind_each(mixture.book) for mixture in self.mixtures])
        return np.asarray(2 * self.cells @ owed)

    @property
    def certificates(self) -> list[Certificate]:
        """Against weights of its own for every level."""
        each = [mixture.certificate for mixture in self.mixtures]
        linear = [c.linear_regret for c in each]
        known = None if None in linear else float(2 * self.cells @ np.array(linear, float))
        premises = tuple(
            Premise(same[0].name, all(p.holds for p in same), next((p.observed for p in same if not p.holds), None))
            for same in zip(*(c.premises for c in each), strict=True)
        )
        found = Certificate(
            "QUANTILES",
            "regret ≤ Σ_l 2c_l·(what the mixture of level l owes to its best combination)",
            COMBINATIONS | {"of": "weights for each level"},
            known,
            float(2 * self.cells @ [c.bound for c in each]),
            premises,
            regret=self.regret,
            rounding=float(2 * self.cells @ [c.rounding for c in each]) + 4 * EPSILON * (self.rounds + 16) * self.loss,
        )
        return [found]

    def _of(self) -> str:
        return f"{counted(len(self.names), 'expert')} at {counted(self.levels.size, 'level')}"

    def _facts(self) -> Iterator[str]:
        yield counted(self.rounds, "round")
        yield f"CRPS {self.loss / max(self.rounds, 1):.4g} a round"
        yield f"regret {self.regret:.4g} to the best expert"

    # ---- files -------------------------------------------------------------------------------------------------------

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description: dict[str, Any] = {"names": self.names, "levels": self.levels.tolist(), "compiled": self.compiled}
        numbers = np.array([inner for inner, _ in self.pending.values()], np.int64).reshape(-1, self.levels.size)
        said = np.array([p for _, p in self.pending.values()]).reshape(-1, self.levels.size)
        arrays: Arrays = {"losses": self.losses, "below": self.below, "gained": self.gained}
        arrays |= {"pending.numbers": numbers, "pending.said": said}
        for level, mixture in enumerate(self.mixtures):
            description[f"level {level}"], kept = mixture.contents()
            arrays |= prefixed(f"level {level}", kept)
        return description, arrays

    @classmethod
    def _made(cls, found: Contents) -> Self:
        names, levels, compiled = found.tell("names", "levels", "compiled")
        made = cls(names, levels, compiled=compiled)
        made.mixtures = [Layered.from_contents(found.inner(f"level {level}")) for level in range(len(levels))]
        made.losses, made.below, made.gained = (found.arrays[name] for name in ("losses", "below", "gained"))
        for numbers, said in zip(found.arrays["pending.numbers"].tolist(), found.arrays["pending.said"], strict=True):
            made.pending[numbers[0]] = numbers, said
        return made

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _given(self, x: Matrix) -> Matrix:
        """Forecasts as x[t, i, l], all NaN for an expert asleep, or an error that says what is wrong with them."""
        n, levels = len(self.names), self.levels.size
        if x.shape[1:] not in ((n,), (n, levels)):
            raise DataError(
                f"a round has forecasts of shape {x.shape[1:]}, expected ({n}, {levels}): experts, then levels"
            )
        self._require("forecast", x.reshape(len(x), -1))
        found = np.repeat(x[:, :, None], levels, axis=2) if x.ndim == 2 else x.copy()
        found[np.isnan(found).any(2)] = math.nan
        return found

    def _require(self, what: str, values: Matrix) -> None:
        bad = np.argwhere(np.abs(values) > HUGE)
        if bad.size:
            t, k = bad[0].tolist()
            raise DataError(f"round {self.mixtures[0].asked + t}: the {what} {values[t, k]:g} is too large: scale it")


def cells(levels: Vector) -> Vector:
    """The lengths of the cells of levels: each ends halfway to its neighbours, the first at 0 and the last at 1."""
    ends = np.concatenate([[0.0], (levels[1:] + levels[:-1]) / 2, [1.0]])
    return np.diff(ends)


def pool(p: Any, t: int, shares: Any, blocks: Any, sizes: Any) -> None:
    """p[t] becomes its isotonic regression with weights `shares`: O(L), given room for L blocks."""
    used = 0
    for level in range(p.shape[1]):
        blocks[0, used], blocks[1, used], sizes[used] = p[t, level], shares[level], 1
        used += 1
        while used > 1 and blocks[0, used - 2] > blocks[0, used - 1]:
            one, other = blocks[1, used - 2], blocks[1, used - 1]
            mean = blocks[0, used - 2] + (blocks[0, used - 1] - blocks[0, used - 2]) * (other / (one + other))
            blocks[0, used - 2], blocks[1, used - 2] = mean, one + other
            sizes[used - 2] += sizes[used - 1]
            used -= 1
    level = 0
    for block in range(used):
        for _ in range(sizes[block]):
            p[t, level] = blocks[0, block]
            level += 1


def gain(tau: float, y: float, a: float, b: float) -> float:
    """ρ_τ(y − a) − ρ_τ(y − b), whose sign and size are right however far y is from both."""
    if a <= y and b <= y:
        return tau * (b - a)
    if a >= y and b >= y:
        return (1.0 - tau) * (a - b)
    return tau * (y - a) - (1.0 - tau) * (b - y) if a < y else (1.0 - tau) * (a - y) - tau * (y - b)


@kernel
def quantile_rows(
    p: Any, mixed: Any, y: Any, levels: Any, shares: Any, blocks: Any, sizes: Any, losses: Any, below: Any, gained: Any
) -> None:
    """Pool the levels of each row of p that cross, and book losses and outcomes below, where they are known.

    `mixed` are the rows before they were pooled, from which pooling gained.
    """
    for t in range(p.shape[0]):
        if math.isnan(p[t, 0]):
            continue
        pool(p, t, shares, blocks, sizes)
        if not math.isnan(y[t]):
            for level in range(p.shape[1]):
                r = y[t] - p[t, level]
                losses[level] += levels[level] * r if r > 0.0 else (levels[level] - 1.0) * r
                below[level] += 1 if r <= 0.0 else 0
                gained[level] += gain(levels[level], y[t], mixed[t, level], p[t, level])
