"""The record of a run of `auto`: the mind of its mixture, the experts over the rounds, and the model that is kept."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lowregret.auto.frozen import (
    DONE,
    OFTEN,
    Frozen,
    blend,
    close_round,
    copy_measures,
    fresh_votes,
    hedge_weights,
    joined_votes,
    kept_priors,
    kept_stacks,
    left_votes,
    met,
    trust_in,
)
from lowregret.auto.learner import HIGH, LOW, MIXED, ORIGIN, PARTITIONS, TRUST, UNIT, join, leave
from lowregret.auto.stack import EVEN, fresh_stack
from lowregret.auto.view import COLUMNS
from lowregret.certificate import Certificate
from lowregret.certificate.trace import Trace, linear_regrets
from lowregret.compile.call import call
from lowregret.compile.memory import zeros
from lowregret.compile.simd import LANES
from lowregret.domain import Domain
from lowregret.learner.growth import join as joined
from lowregret.rows import Rows, longest
from lowregret.run.auto_experts import Keeping, Standings, against_fixed, against_forests
from lowregret.run.eras import KEPT, LOST, ROUND, WIDTH, Eras, next_end, sums, thinned
from lowregret.run.record import RunRecord
from lowregret.run.reserving import Reserving
from lowregret.state import LONGEST, ROUNDS, SUMS, TOTAL
from lowregret.store.file import Arrays
from lowregret.types import Vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Mixture(RunRecord):
    """A record with the trust in the experts: the present one, at the marks of the history and at the ends of eras.

    A run of `auto` also has `measures` of its features (see `auto/view.py`), `lots`, the classes it has room for, and
    a `new_desk` for rows.
    """

    def __init__(
        self,
        mind: Any,
        spread: float,
        *,
        history: Any = (),
        contests: Any = (),
        eras: Any = (),
        average: Any = None,
        votes: Any = None,
        means: Any = None,
        folded: tuple[int, int] = (0, 0),
        glance: int = 0,
        reserving: Reserving | None = None,
    ) -> None:
        super().__init__(history)
        self.mind = mind  # has `trust`
        self._contests, self._eras = list(contests), list(eras)
        self.average = np.empty(0, np.float32) if average is None else average  # of the lanes' weights
        self.votes = fresh_votes() if votes is None else votes  # on the kept experts
        self.priors = kept_priors(spread)
        self.means = fresh_stack(EVEN, self.priors) if means is None else means  # the stack of the lanes' averages
        self.folded, self.glance = folded, glance  # rounds and entries when lanes were averaged; when that may be next
        self.reserving = reserving or Reserving()  # rows that the model on trial never learnt
        self._desks: dict[bool, tuple[int, int, Any]] = {}  # entries and classes that there is room for, and the desk

    # ---- proof -----------------------------------------------------------------------------------------------------

    def contest(self, run: Any) -> Standings:
        """The experts of the mixture: their losses, and how far each is trusted."""
        rate, drift = (1.0, 0.0) if run.late is None else (run.late.rate, run.late.drift)
        classifies = bool(run.learner.loss.classifies)
        told = run.weight, 0.0 if classifies else self._size(run), run.lots
        return Standings(run.loss, run.rounds, self.mind.trust, classifies, rate, drift, *told)

    def _size(self, run: Any) -> float:
        """A number that no score exceeds, of the mixture or of an expert: all lie within the range of labels."""
        past, longest = self.mind.past, math.sqrt(float(run.state.sums[LONGEST]))
        return float(abs(past[ORIGIN]) + past[UNIT] * max(abs(past[LOW]), abs(past[HIGH]))) + longest

    def certificates(self, run: Any) -> list[Certificate]:
        """The certificates against the best expert and against fixed linear predictors."""
        return [self.certificate(run), self.fixed_certificate(run)]

    def certificate(self, run: Any) -> Certificate:
        """The certificate against the best expert."""
        return self.contest(run).certificate()

    def fixed_certificate(self, run: Any) -> Certificate:
        return against_fixed(run.books, run.comparator, run.measures)

    def forest_certificate(self, run: Any) -> Certificate | None:
        """FOREST: the regret against fixed weightings of all cells and features, if there are partitions."""
        companion = run.curve.run
        if companion is None:
            return None
        forest = run.curve.forest
        return against_forests(run, companion, forest.trees, forest.width)

    def linear_regret(self, run: Any, comparator: Domain) -> float:
        """Σ g_t s_t + max_u⟨u, −Σ g_t x_t⟩ against a set of fixed predictors, without a second pass: O(d)."""
        return float(against_fixed(run.books, comparator, run.measures).linear_regret or 0.0)

    def regret_at_most(self, run: Any) -> float | None:
        return self.fixed_certificate(run).measured

    def trace(self, run: Any) -> Trace:
        """Loss, regret against the best expert so far and its bound, over the rounds."""
        marks = zip(self.history, self._contests, self._drifts(run), strict=True)
        kept = {int(row[SUMS + ROUNDS]): (row[TOTAL], t, drift) for row, t, drift in marks}
        if run.late is None:  # the drift is not known at the ends of eras
            kept |= {int(row[ROUND]): (row[LOST], row[KEPT:], 0.0) for row in self._eras}
        now = self.contest(run)
        kept[run.rounds] = run.loss, self.mind.trust, now.drift
        found = [
            replace(now, rounds=t, total=float(total), trust=trust, drift=float(drift))
            for t, (total, trust, drift) in sorted(kept.items(), key=lambda item: item[0])
        ]
        return Trace(
            np.array([c.rounds for c in found], np.int64),
            np.array([c.total for c in found]),
            np.array([c.linear_regret for c in found]),
            np.array([c.certificate().promised for c in found]),
            now.certificate().id,
        )

    def _drifts(self, run: Any) -> Vector:
        """The cost of late answers in the mixture's loss, at the marks of the history."""
        drifts = run.drifts(len(self.history))
        return np.zeros(len(self.history)) if drifts is None else drifts

    def fixed_trace(self, run: Any) -> tuple[Any, Vector]:
        """Rounds, and the linearised regret against fixed linear predictors after each of them."""
        return linear_regrets(run.linear, np.array([*self.history, run.snapshot()]), run.comparator)

    def eras(self, run: Any, count: int | None) -> Eras:
        """The run in all eras that are kept, or in `count` of them."""
        rows = list(self._eras)
        if run.rounds and (not rows or rows[-1][ROUND] != run.rounds):
            rows.append(sums(run.rounds, run.loss, self.mind.trust))
        now = self.contest(run)
        return replace(Eras.of(rows, count, now.classifies), rate=now.rate, drift=now.drift, rounding=now.rounding)

    def plot(self, run: Any, path: str | os.PathLike[str] | None, theirs: Vector | None) -> Figure:
        """Mean loss and regret over the rounds; below, mean losses in eras and how far each expert was trusted."""
        from lowregret.show.plot import plot_auto

        return plot_auto(run, path, theirs)

    def brief(self, run: Any) -> list[str]:
        return [f"regret {self.contest(run).linear_regret:.4g} to the best expert"]

    def _lost(self, run: Any) -> float:
        """The mixture's loss by its scores when the answers came: what experts are compared with."""
        return float(run.loss - (0.0 if run.late is None else run.late.drift))

    # ---- while learning ----------------------------------------------------------------------------------------------

    def join(self, run: Any, alone: bool) -> None:
        """Take the companion in among the experts that play live; `alone`: instead of the others, kept too."""
        if self.mind.trust[PARTITIONS] == 0:
            classifies = bool(run.learner.loss.classifies)
            self.mind.trust[:] = join(self.mind.trust, self._lost(run), classifies, alone)
            if alone:
                self.votes = joined_votes(close_round(self.votes), alone)

    def leave(self, run: Any) -> None:
        """Take the companion out again; those who stay share its trust."""
        lost = self._lost(run) if run.learner.loss.classifies else float(self.mind.trust[MIXED])
        self.mind.trust[:] = leave(self.mind.trust, lost)
        self.votes = left_votes(self.votes)

    def mark(self, run: Any) -> None:
        now = run.snapshot()
        self._contests.append(self.mind.trust.copy())
        self.history.append(now)

    def see(self, run: Any, x: Rows, y: Any, w: Vector, begin: int, end: int, rounds: int) -> None:
        self.reserving.see(run, x, y, w, begin, end, rounds)

    def drop_trial(self, run: Any) -> None:
        super().drop_trial(run)
        self.reserving.forget()

    def next_pause(self, run: Any) -> int:
        return next_end(run.rounds)

    def pause(self, run: Any) -> None:
        """Keep the sums of the era that ends, and add the lanes to their means if enough was learnt since."""
        rounds = run.rounds
        if run.certify and not (self._eras and self._eras[-1][ROUND] == rounds):
            self._eras = [*thinned(self._eras, rounds), sums(rounds, run.loss, self.mind.trust)]
        if rounds >= self.glance:
            features, entries = met(run.measures)
            lacking = OFTEN * features - (entries - self.folded[1])
            if lacking <= 0:
                self._fold(run)
                self.folded = rounds, entries
            self.glance = rounds + math.ceil(max(lacking, 0) * rounds / max(entries, 1))

    def _fold(self, run: Any) -> None:
        """Add the lanes' weights to their means, weighed by the rounds since that was done last: O(d)."""
        if not self.average.size:
            self.average = zeros(run.measures.size // COLUMNS * run.lots * LANES, np.float32)
        share = (run.rounds - self.folded[0]) / run.rounds
        call(blend, run.compiled, run.measures, self.mind.bank, self.average, run.lots, share)

    def desk(self, run: Any, x: Rows, learnt: bool) -> Any:
        """Memory for one row of x, which is learnt or judged; reused from batch to batch while it has room."""
        entries, (most, lots, desk) = longest(x), self._desks.get(learnt, (-1, 0, None))
        if entries > most or lots != run.lots:
            desk = run.new_desk(entries)
            self._desks[learnt] = entries, run.lots, desk
        return desk

    # ---- the model that is kept ------------------------------------------------------------------------------------

    def keeper(self, run: Any) -> Keeping:
        """The experts of the kept model: the loss of each while it was frozen, and how far each is trusted."""
        rows, weight = run.trial.records[:, :, :2].sum(axis=(0, 1))
        size = 0.0 if run.learner.loss.classifies else self._size(run)
        return Keeping(self.votes, int(rows), float(weight), size, run.lots)

    def model(self, run: Any) -> Frozen:
        """The model that would be kept if the run ended now."""
        trust, stacks = trust_in(hedge_weights(self.votes)), kept_stacks(self.mind.stacks, self.means)
        return Frozen(run.measures, self.average, self.mind._replace(trust=trust, stacks=stacks))

    def freeze(self, run: Any) -> Frozen:
        """A copy of the model that `predict` uses, in the memory of the model frozen before: O(d)."""
        self.votes = close_round(self.votes)
        if run.curve.is_settled(run) and self.votes[DONE + PARTITIONS] == math.inf:
            self.votes = joined_votes(self.votes, False)
        self.reserving.forget()
        now, lots, model = self.model(run), run.lots, run.frozen
        if model is None:
            model = Frozen.fresh(now.measures, now.mind, lots)
        if now.average.size != model.average.size:
            model = model._replace(average=zeros(now.average.size, np.float32))
        call(copy_measures, run.compiled, now.measures, model.measures)
        call(blend, run.compiled, now.measures, now.mind.bank, model.mind.bank, lots, 1.0)
        if now.average.size:
            call(blend, run.compiled, now.measures, now.average, model.average, lots, 1.0)
        for name in ("pace", "stacks", "trust", "past"):
            getattr(model.mind, name)[...] = getattr(now.mind, name)
        return model

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self, run: Any) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super().contents(run)
        described = {"folded": list(self.folded), "glance": self.glance}
        kept = {
            "contests": np.array(self._contests).reshape(-1, TRUST),
            "eras": np.array(self._eras).reshape(-1, WIDTH),
            "votes": self.votes,
            "means": self.means,
        }
        kept |= run.split("average", self.average) | _mind_arrays(run, "mind", self.mind) | self.reserving.arrays()
        return description | described, arrays | kept

    def frozen_arrays(self, run: Any) -> Arrays:
        if run.frozen is None:
            return {}
        model = run.frozen
        arrays = run.split("frozen.average", model.average) | _mind_arrays(run, "frozen.mind", model.mind)
        shared = "measures" in model.mind.by_feature()
        return arrays if shared else arrays | run.split("frozen.measures", model.measures)

    @classmethod
    def of(cls, minds: Any, spread: float, description: dict[str, Any], arrays: Arrays) -> Mixture:
        """The mixture with these `contents`, whose mind is one of `minds`."""
        kept: dict[str, Any] = {name: arrays[name] for name in ("history", "contests", "eras", "votes", "means")}
        kept |= {"folded": tuple(description["folded"]), "glance": description["glance"]}
        kept["reserving"] = Reserving.of(arrays)
        room = description["room"]
        return cls(_gathered(minds, "mind", arrays, room), spread, average=joined("average", arrays, room), **kept)


def frozen_of(minds: Any, description: dict[str, Any], arrays: Arrays) -> Frozen | None:
    """The model on trial that a file keeps, if there is one."""
    if "frozen.average" not in arrays:
        return None
    room = description["room"]
    mind = _gathered(minds, "frozen.mind", arrays, room)
    shared = "measures" in mind.by_feature()
    measures = mind.measures if shared else joined("frozen.measures", arrays, room)
    return Frozen(measures, joined("frozen.average", arrays, room), mind)


def _mind_arrays(run: Any, prefix: str, mind: Any) -> Arrays:
    arrays = {f"{prefix}.{name}": array for name, array in mind._asdict().items()}
    for name in mind.by_feature():
        arrays |= run.split(f"{prefix}.{name}", getattr(mind, name))
    return arrays


def _gathered(kind: Any, prefix: str, arrays: Arrays, room: int) -> Any:
    """A mind of the given kind made of the arrays of a file, with room for this many features."""
    mind = kind(*(arrays[f"{prefix}.{name}"] for name in kind._fields))
    return mind._replace(**{name: joined(f"{prefix}.{name}", arrays, room) for name in mind.by_feature()})
