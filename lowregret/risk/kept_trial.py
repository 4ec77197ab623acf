"""The loss of a model once it is kept: frozen after 16, 32, 64, … rounds, it scores the rows up to the next doubling.

The figures of a run are *live*: each row is judged by what was learnt from all rows before it. Whoever saves the model
and scores a file with it has the *kept* model, which learns no more; where rows are not alike, it does worse. A trial
measures that in the same pass: the model as `predict` would use it is frozen, and judged on rows that it never saw.

The first 2^13 rows are all judged, then one in every 2, 4, … 256, at a place that a hash of the round tells: 4,096 of
each doubling, and more where they are one in 256.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.kernel import kernel
from lowregret.compile.random import hash_number, key_of
from lowregret.loss import Loss
from lowregret.types import Vector

FIRST = 16  # rounds before the first model is frozen
PARTS = 8  # of the rounds between two models: what is lost soon after and long after
ROWS, WEIGHT, LOSS, WRONG, LIVE_LOSS, LIVE_WRONG = range(6)  # of a part: rows judged, and sums over all rows
FIELDS = 6
ALL, RAREST = 12, 8  # powers of two: rounds frozen after which all rows are judged; at least every 2^RAREST-th is
HORIZONS = (1, 4, 8)  # parts within which figures are given: an eighth, half, or as many rows as were learnt
HEADLINE = 4  # the one among them that stands for all
LEAST = 32  # rows judged within it, before which nothing is said

NONE = np.empty(0, np.int64)  # rows
_KEY = key_of(7)


def next_freeze(rounds: int) -> int:
    """The round after which the model is frozen next."""
    return max(FIRST, 1 << rounds.bit_length())


def freezes(rounds: int) -> int:
    """How often a model was frozen in this many rounds."""
    return max(rounds.bit_length() - FIRST.bit_length() + 1, 0)


class Foretold(NamedTuple):
    """The losses of a frozen model and of the live one on some rows, and where each was wrong."""

    values: Vector
    wrong: Any
    live_values: Vector
    live_wrong: Any


@dataclass(frozen=True)
class Figures:
    """Loss and share of errors over the judged rows of some parts; the error is None for regression."""

    rows: int
    loss: float
    error: float | None
    live_loss: float
    live_error: float | None

    @classmethod
    def of(cls, sums: Vector, classifies: bool) -> Figures:
        """The figures of all parts, added up."""
        loss, wrong, live_loss, live_wrong = (float(v) for v in sums[LOSS:] / (sums[WEIGHT] or 1.0))
        errors = (wrong, live_wrong) if classifies else (None, None)
        return cls(int(sums[ROWS]), loss, errors[0], live_loss, errors[1])


@dataclass(frozen=True)
class Kept:
    """The figures of the kept model: of those frozen last, on the latter half of a run."""

    figures: Figures  # up to half as many rows as a model had learnt
    frozen: tuple[int, ...]  # the rounds after which these models were frozen
    horizons: tuple[tuple[float, Figures], ...]  # likewise up to other shares
    repeated: bool = False  # whether rows were learnt again since, of which these figures know nothing

    @property
    def loss(self) -> float:
        """Mean loss."""
        return self.figures.loss

    @property
    def error(self) -> float | None:
        """Share of rows predicted wrongly; None for regression."""
        return self.figures.error

    @property
    def models(self) -> str:
        """The rounds after which models were frozen, in words."""
        return " and ".join(f"{n:,}" for n in self.frozen)

    @property
    def horizon(self) -> str:
        """The rows for which the figures hold, in words."""
        return (
            f"models kept after {self.models} rows, on the rows that follow {self.stretch}, up to half as many as each "
            "had learnt"
        )

    @property
    def stretch(self) -> str:
        """Where judged rows lie, in words: parts of a model's rows count if they end in the latter half."""
        return f"in about the latter half of the {'first pass' if self.repeated else 'run'}"

    @property
    def worth(self) -> float | None:
        """How much labels that come at once save on the same rows: of the error, or for numbers of the mean loss.

        None if that is little: below a tenth of it, or within the noise of these rows.
        """
        f = self.figures
        kept, live = (f.loss, f.live_loss) if f.error is None or f.live_error is None else (f.error, f.live_error)
        noise = 3 * math.sqrt(max(kept, live) / max(f.rows, 1)) if f.error is not None else 0.0
        return kept - live if kept - live > max(0.1 * abs(kept), noise) else None

    def to_json(self) -> dict[str, Any]:
        """The public form."""
        f = self.figures
        near = [{"rows": share, "loss": g.loss, "error": g.error, "judged": g.rows} for share, g in self.horizons]
        live = {"loss": None if math.isnan(f.live_loss) else f.live_loss, "error": f.live_error}
        told = {"error": f.error, "loss": f.loss, "horizon": self.horizon, "judged": f.rows}
        return told | {"frozen": list(self.frozen), "live": live, "horizons": near, "first_pass_only": self.repeated}


class Trial:
    """The judgement of frozen models; `records` has a block of parts for each.

    It ends when rows are learnt again, which are new to no model.
    """

    def __init__(self, records: Vector | None = None, ended: int | None = None) -> None:
        self.records = np.zeros((0, PARTS, FIELDS)) if records is None else records
        self.ended = ended  # the number of rounds before; 0 if no rows are known to have been new

    def end(self, rounds: int) -> None:
        """Judge no more."""
        self.ended = rounds if self.ended is None else self.ended

    def is_void(self, repeated: bool) -> bool:
        """Whether rows came again while models were judged, who may have learnt them; `repeated`: some came again."""
        return repeated and self.ended is None

    @property
    def frozen(self) -> int:
        """The round after which the latest model was frozen; 0 before the first."""
        return FIRST << (len(self.records) - 1) if len(self.records) else 0

    @property
    def share(self) -> float:
        """The share of the rows that are judged now."""
        return 0.5**self._rarity

    @property
    def _rarity(self) -> int:
        return min(max(self.frozen.bit_length() - 1 - ALL, 0), RAREST)

    def freeze(self) -> None:
        """Begin with the next model."""
        self.records = np.concatenate([self.records, np.zeros((1, PARTS, FIELDS))])

    def picked(self, weights: Vector, begin: int, end: int, rounds: int) -> tuple[Any, Any]:
        """Which rows begin … end − 1 are judged, and their rounds; `rounds` were played before them.

        Of every 2^rarity rounds one is, at a place that a hash tells.
        """
        if not self.frozen or self.ended is not None:
            end = begin
        played = np.flatnonzero(weights[begin:end]) if weights.size else None
        count, rarity = end - begin if played is None else played.size, self._rarity
        groups = np.arange(rounds + 1 >> rarity, (rounds + count >> rarity) + 1, dtype=np.uint64)
        t = groups << np.uint64(rarity)
        if rarity:
            with np.errstate(over="ignore"):
                t = t + (hash_number(_KEY, groups) >> np.uint64(64 - rarity))
        t = t[(t > rounds) & (t <= rounds + count)].astype(np.int64)
        places = t - rounds - 1
        return begin + (places if played is None else played[places]), t

    def judge(
        self, weights: Vector, begin: int, end: int, rounds: int, foretold: Callable[[Any, Vector], Foretold]
    ) -> None:
        """Count what `foretold(picked, their weights)` tells of those rows begin … end − 1 that are judged."""
        picked, t = self.picked(weights, begin, end, rounds) if begin < end else (NONE, NONE)
        if picked.size:
            each = weights[picked] if weights.size else np.ones(picked.size)
            self.see(t, each, foretold(picked, each))

    def see(self, t: Any, weights: Vector, told: Foretold) -> None:
        """Count rows of these rounds."""
        parts, each = (t - self.frozen - 1) * PARTS // self.frozen, weights / self.share
        counted: tuple[Any, ...] = (1.0, each, *(each * column for column in told))
        for field, values in enumerate(counted):
            np.add.at(self.records[-1, :, field], parts, values)  # one after the other, however rows come in batches

    def kept(self, rounds: int, classifies: bool) -> Kept | None:
        """The figures over the latter half of the rounds; None before enough rows were judged."""
        if self.ended == 0:
            return None
        repeated = self.ended is not None and self.ended < rounds
        rounds = rounds if self.ended is None else self.ended
        starts = [FIRST << k for k in range(len(self.records))]
        used = [
            (start, part, self.records[k, part])
            for k, start in enumerate(starts)
            for part in range(PARTS)
            if 2 * (start + start * (part + 1) / PARTS) > rounds and self.records[k, part, ROWS]
        ]
        figures = {}
        for parts in HORIZONS:
            near = [sums for _, part, sums in used if part < parts]
            if near:
                figures[parts] = Figures.of(np.sum(near, axis=0), classifies)
        if HEADLINE not in figures or figures[HEADLINE].rows < LEAST:
            return None
        frozen = tuple(sorted({start for start, part, _ in used if part < HEADLINE}))
        horizons = tuple((parts / PARTS, figures[parts]) for parts in figures)
        return Kept(figures[HEADLINE], frozen, horizons, repeated)


@kernel
def judge_scores(loss: Loss, y: Vector, kept: Vector, live: Vector, told: Any) -> None:
    """Write the rows of a `Foretold`: the loss of each kept score, whether it is wrong, and both of live scores."""
    for i in range(y.size):
        told[0, i], _ = loss.at(kept[i], y[i])
        told[1, i] = loss.wrong(kept[i], y[i])
        told[2, i], _ = loss.at(live[i], y[i])
        told[3, i] = loss.wrong(live[i], y[i])
