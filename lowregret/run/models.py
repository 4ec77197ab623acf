"""Models that are fixed: they score rows, the same whether a run uses them or the file that is kept of one.

A file for prediction alone keeps them whole, with one exception. The weights of `auto`'s lanes are most of its model,
and random bits, which do not get smaller by compressing; where they would take more than 1 MB, they are rounded to 12
bits of their mantissas, so that each is off by at most 2⁻¹³ of itself, but not those of the bias.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from lowregret.auto.classes import SHARES, AutoMulticlass, ClassMind, ClassWorkspace
from lowregret.auto.frozen import Frozen, foretell_rows, trust_in
from lowregret.auto.frozen_classes import foretell_classes
from lowregret.auto.learner import EXPERTS, WEIGHTS, Auto, Mind, Workspace
from lowregret.auto.view import COLUMNS, COUNT
from lowregret.compile.call import call
from lowregret.compile.memory import zeros
from lowregret.compile.simd import LANES
from lowregret.features import Forest
from lowregret.features.schema import PREFIX, STORED
from lowregret.learner.growth import join, split
from lowregret.learner.linear import Linear, score_rows
from lowregret.learner.multiclass import Multiclass, Room, score_classes
from lowregret.rows import EVERY, Rows, longest
from lowregret.store.file import Arrays
from lowregret.types import Cells, Vector

WHOLE = 1 << 18  # weights of lanes that are kept whole
MANTISSA = 12  # bits that are kept of each if there are more
_SINGLE = 23  # bits that a float32 has
_ENDING = np.uint32((1 << _SINGLE - MANTISSA) - 1)
_HALF = np.uint32(1 << _SINGLE - MANTISSA - 1)
_LARGEST = (np.array(np.finfo(np.float32).max).view(np.uint32) & ~_ENDING).view(np.float32)

_NONE: Vector = np.empty(0)
_NO_CODES = np.empty(0, np.int64)
_NO_PRIORS = np.empty((1, 0))
_NOBODY = np.empty((0, 0))
CHUNK = 4096  # rows whose cells are looked up at a time: trees stay in the processor's cache, rows do too


class FixedModel(ABC):
    """A fixed model of a learner; its rows have places for columns."""

    @abstractmethod
    def scores(self, x: Rows, compiled: bool) -> Vector:
        """The score of each row, or a row of scores, one for each class; NaN where there is none: O(nnz · classes)."""

    @abstractmethod
    def compact(self, met: int, room: int) -> Self:
        """A copy as a file keeps it, in memory of its own: the first `met` of `room` places, and the bias."""

    @abstractmethod
    def arrays(self, met: int) -> Arrays:
        """The arrays by which a file keeps a compact model: views of its memory."""

    @classmethod
    @abstractmethod
    def of(cls, learner: Any, classes: int, arrays: Arrays, room: int) -> Self:
        """The compact model that `arrays` tells of, with this many places."""


@dataclass(frozen=True, eq=False)
class LinearModel(FixedModel):
    """A weight for each place, the bias last."""

    learner: Linear
    weights: Vector

    def scores(self, x: Rows, compiled: bool) -> Vector:
        scores = np.empty(x.shape[0])
        call(score_rows, compiled, self.learner.scorer, self.weights, x, EVERY, scores)
        return scores

    def compact(self, met: int, room: int) -> Self:
        return replace(self, weights=_copied(self.weights, self.learner.bias > 0, met, room))

    def arrays(self, met: int) -> Arrays:
        bias = self.learner.bias > 0
        return split("weights", self.weights, self.weights.size - bias, met, bias)

    @classmethod
    def of(cls, learner: Any, classes: int, arrays: Arrays, room: int) -> Self:
        return cls(learner, join("weights", arrays, room))


@dataclass(frozen=True, eq=False)
class ClassModel(FixedModel):
    """A matrix of weights: a row for each place, the bias last, and a column for each class."""

    learner: Multiclass
    weights: Vector

    def scores(self, x: Rows, compiled: bool) -> Vector:
        scores = np.empty((x.shape[0], self.weights.shape[1]))
        call(score_classes, compiled, self.learner, self.weights.ravel(), x, EVERY, scores)
        return scores

    def compact(self, met: int, room: int) -> Self:
        return replace(self, weights=_copied(self.weights, self.learner.bias > 0, met, room))

    def arrays(self, met: int) -> Arrays:
        bias = self.learner.bias > 0
        return split("weights", self.weights.ravel(), len(self.weights) - bias, met, bias)

    @classmethod
    def of(cls, learner: Any, classes: int, arrays: Arrays, room: int) -> Self:
        return cls(learner, join("weights", arrays, room).reshape(-1, classes))


@dataclass(frozen=True, eq=False)
class Curved:
    """The kept model of a companion, which goes by the cells of a forest that rows lie in: see `curve.py`."""

    forest: Forest
    model: Any  # as that of the run

    def scores(self, x: Rows, compiled: bool) -> Vector:
        """The score of each row, chunk by chunk; NaN where there is none."""
        found = []
        for begin in range(0, x.shape[0], CHUNK):
            rows = np.arange(begin, min(begin + CHUNK, x.shape[0]))
            while rows.size:
                celled = self.forest.rows(x, rows, compiled)
                scores = self.model.scores(celled, compiled)
                found.append(scores)
                rows = rows[len(scores) :]
                if rows.size:  # one that cannot be scored
                    found.append(np.full((1, *scores.shape[1:]), math.nan))
                    rows = rows[1:]
        return np.concatenate(found)

    def arrays(self) -> Arrays:
        """The arrays by which a file keeps a compact model."""
        kept = {f"curve.{name}": array for name, array in self.model.arrays(self.forest.columns).items()}
        return kept | forest_contents(self.forest)

    @classmethod
    def of(cls, model: Any, learner: Any, classes: int, arrays: Arrays) -> Self | None:
        """The companion's compact model of this kind that `arrays` tells of, if it does."""
        forest = Forest.stored(**under(PREFIX, arrays)) if "forest.nodes" in arrays else None
        if forest is None:
            return None
        return cls(forest, model.of(learner.plain(), classes, under("curve.", arrays), forest.columns))


def forest_contents(forest: Forest) -> Arrays:
    """The arrays by which a file keeps a forest."""
    return {f"{PREFIX}{name}": getattr(forest, name) for name in STORED}


def under(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


@dataclass(frozen=True, eq=False)
class AutoModel(FixedModel):
    """The model that `auto` keeps, of one score a row."""

    learner: Auto
    kept: Frozen
    curved: Curved | None = None

    def scores(self, x: Rows, compiled: bool) -> Vector:
        scores, every = np.empty(x.shape[0]), np.arange(x.shape[0])
        desk = Workspace.of(longest(x))  # of its own: several threads may predict at once
        beside = self.curved.scores(x, compiled) if self.curved and x.shape[0] else _NONE
        given = x, every, _NONE, _NONE, beside, scores, _NONE, _NONE, _NO_PRIORS
        call(foretell_rows, compiled, self.learner, self.kept, desk, *given)
        return scores

    def compact(self, met: int, room: int) -> Self:
        return replace(self, kept=_compact(self.kept, 1, 1, met, room), curved=compact(self.curved))

    def arrays(self, met: int) -> Arrays:
        return _kept_arrays(self.kept, met) | (self.curved.arrays() if self.curved else {})

    @classmethod
    def of(cls, learner: Any, classes: int, arrays: Arrays, room: int) -> Self:
        measures = _joined_measures(arrays, room)
        kept = Frozen(measures, _joined_means(arrays, room), Mind(**_mind(arrays, room)))
        return cls(learner, kept, Curved.of(cls, learner, classes, arrays))


@dataclass(frozen=True, eq=False)
class AutoClassModel(FixedModel):
    """The model that `auto` keeps of many classes; its lanes have room for `lots` of them."""

    learner: AutoMulticlass
    kept: Frozen
    classes: int
    lots: int
    curved: Curved | None = None

    def scores(self, x: Rows, compiled: bool) -> Vector:
        rows, every = x.shape[0], np.arange(x.shape[0])
        room = Room.of(np.array([self.classes]), self.lots, max(rows, 2))
        desk = ClassWorkspace.of(longest(x), self.lots)  # of its own: several threads may predict at once
        guesses = np.empty(rows, np.int64)
        beside = self.curved.scores(x, compiled) if self.curved and rows else _NOBODY
        given = x, room, every, _NO_CODES, _NONE, beside, _NONE, guesses, _NONE, _NONE, _NO_PRIORS
        call(foretell_classes, compiled, self.learner, self.kept, desk, *given)
        return room.scores[:rows, : self.classes]

    def compact(self, met: int, room: int) -> Self:
        kept = _compact(self.kept, self.lots, self.classes, met, room)
        past = kept.mind.past
        shares = past[SHARES:].reshape(2, self.lots)[:, : self.classes]
        mind = kept.mind._replace(measures=kept.measures, past=np.concatenate([past[:SHARES], shares.ravel()]))
        return replace(self, kept=kept._replace(mind=mind), lots=self.classes, curved=compact(self.curved))

    def arrays(self, met: int) -> Arrays:
        return _kept_arrays(self.kept, met) | (self.curved.arrays() if self.curved else {})

    @classmethod
    def of(cls, learner: Any, classes: int, arrays: Arrays, room: int) -> Self:
        measures = _joined_measures(arrays, room)
        mind = ClassMind(measures=measures, **_mind(arrays, room))
        kept = Frozen(measures, _joined_means(arrays, room), mind)
        return cls(learner, kept, classes, classes, Curved.of(cls, learner, classes, arrays))


def model_for(learner: Any) -> type[FixedModel]:
    """The kind of model that a learner hands out."""
    return next(model for kind, model in MODELS.items() if isinstance(learner, kind))


MODELS: dict[type, type[FixedModel]] = {
    Linear: LinearModel,
    Multiclass: ClassModel,
    Auto: AutoModel,
    AutoMulticlass: AutoClassModel,
}


# ---- the memory of models, and their arrays in files ----------------------------------------------------------------


def compact(curved: Curved | None) -> Curved | None:
    """A companion's model as a file keeps it."""
    if curved is None:
        return None
    return replace(curved, model=curved.model.compact(curved.forest.columns, curved.forest.columns))


def _copied(rows: Any, bias: bool, met: int, room: int) -> Any:
    """A copy of the first `met` rows, then empty ones up to `room`, then the last one if it is that of the bias."""
    copy = zeros((room + bias) * math.prod(rows.shape[1:]), rows.dtype).reshape(room + bias, *rows.shape[1:])
    copy[:met], copy[room:] = rows[:met], rows[len(rows) - bias :]
    return copy


def _compact(kept: Frozen, lots: int, classes: int, met: int, room: int) -> Frozen:
    """A kept model in memory of its own; without θ and the sums of lanes, which are for learning only."""
    measures = _copied(kept.measures.reshape(-1, COLUMNS), True, met, room)
    measures[:, : int(COUNT)] = 0.0
    banks = []
    for bank in (kept.mind.bank, kept.average):
        if bank.size:
            weights = bank.reshape(kept.measures.size // COLUMNS, lots, -1)[:, :classes, :LANES]
            bank = _copied(weights, True, met, room)
            if bank[:met].size > WHOLE:
                round_weights(bank[:met])
        banks.append(bank.reshape(-1))
    mind = kept.mind._replace(bank=banks[0], pace=kept.mind.pace.copy(), past=kept.mind.past.copy())
    return Frozen(measures.reshape(-1), banks[1], mind)


def round_weights(weights: Any) -> None:
    """Make each of these single-precision numbers the nearest one with `MANTISSA` bits behind the point."""
    bits = weights.view(np.uint32)
    bits += _HALF
    bits &= ~_ENDING
    np.clip(weights, -_LARGEST, _LARGEST, out=weights)


def _kept_arrays(kept: Frozen, met: int) -> Arrays:
    """The arrays of a compact kept model."""
    measures, mind = kept.measures.reshape(-1, COLUMNS), kept.mind
    arrays = {"measures": measures[:met, int(COUNT) :], "pace": mind.pace, "stacks": mind.stacks, "past": mind.past}
    arrays["trust"] = mind.trust[WEIGHTS : WEIGHTS + EXPERTS]
    for name, bank in (("lanes", mind.bank), ("means", kept.average)):
        if bank.size:
            arrays |= split(name, bank, len(measures) - 1, met, True)
    return arrays


def _mind(arrays: Arrays, room: int) -> dict[str, Cells]:
    """The arrays of a mind that learns no more, but for the measures."""
    given = {name: arrays[name] for name in ("pace", "stacks", "past")}
    return given | {"bank": join("lanes", arrays, room), "trust": trust_in(arrays["trust"])}


def _joined_means(arrays: Arrays, room: int) -> Cells:
    """The means of lanes, if any were taken."""
    return join("means", arrays, room) if "means" in arrays else np.empty(0, np.float32)


def _joined_measures(arrays: Arrays, room: int) -> Cells:
    """The measures of features, laid out as `auto/view.py` says, without θ."""
    kept, cells = arrays["measures"], zeros((room + 1) * COLUMNS, np.float64)
    cells.reshape(-1, COLUMNS)[: len(kept), int(COUNT) :] = kept
    return cells
