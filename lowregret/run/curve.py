"""Random partitions beside a run of `auto`: another `auto`, which also sees the cells that rows lie in, as an expert.

While rows are narrow, the first of them are kept. After 256, 1,024 and 4,096 rounds a forest is grown on all that
were kept (`features/grow.py`), a companion begins anew on rows with its cells, goes over the rows that were kept, and
from then on plays along: its score of a row, made before the label comes, is that of one more expert of the mixture.
After the last forest the kept rows are forgotten, and cells never change again.

A companion is a run of the same learner that is driven from here, in step with the run it belongs to: rounds, freezes
and eras are the same. Nothing is counted of the rows that it went over again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.signals import let_in
from lowregret.features import Forest
from lowregret.features.forest import Desk
from lowregret.risk.kept_trial import Trial
from lowregret.rows import Rows
from lowregret.run.models import CHUNK, Curved, forest_contents, under
from lowregret.run.outcome import rows_played
from lowregret.run.sample import Sample
from lowregret.store.file import Arrays
from lowregret.stream.places import NOTHING, Placed
from lowregret.types import Vector

LOOKS = (256, 1024, 4096)  # rounds after which a forest is grown; every run pauses and freezes its model then
NARROW, SPARSEST = 256, 16  # features met at the first look; of 16 of them, a row has at least one on average
WIDEST = 1024  # features that forests look at


class Celled(NamedTuple):
    """Rows of a batch from `begin` on, with their cells, in the memory of a desk."""

    rows: Rows | None = None
    begin: int = 0
    celled: Any = None
    desk: Desk = Desk()

    def has(self, x: Rows, i: int) -> bool:
        """Whether row i of x is among them."""
        return x is self.rows and self.begin <= i < self.begin + self.celled.shape[0]


class Curve:
    """The sample that forests are grown on, the forest, and the companion; each is None if there is none (any more)."""

    def __init__(self, sample: Sample | None = None, forest: Forest | None = None, run: Any = None) -> None:
        self.sample, self.forest, self.run = sample, forest, run
        self._ahead = Celled()

    @classmethod
    def fresh(cls, learner: Any) -> Curve:
        """Before the first row."""
        return cls(Sample() if learner.partitions.trees else None)

    # ---- learning ------------------------------------------------------------------------------------------------

    def play(self, run: Any, x: Rows, y: Any, w: Vector, i: int, goal: int) -> int:
        """Let a run learn rows from i on until it counts `goal` rounds, and the companion before it, chunk by chunk.

        Returns the first row not learnt. Whatever interrupts the companion is raised once the run has caught up.
        """
        if not i:  # another batch, which may lie in the memory of the one before
            self._ahead = self._ahead._replace(rows=None)
        while True:
            end, beside, problem = len(y), run.nobody, None
            if self._in_step(run):
                end, problem = self._advance(run, x, y, w, i, goal)
                beside = self._beside(i, end)
            done = run.pass_rows(x, y[:end], w[:end], i, goal, beside)
            if self.sample is not None:
                self.sample.add(x, y, w, i, done)
            if problem is not None:
                raise problem
            if done in (i, len(y)) or done < end or run.state.rounds >= goal:
                return done
            let_in()
            i = done

    def is_settled(self, run: Any) -> bool:
        """Whether a companion has played along since it began: before, its frozen model is worth little."""
        return self.run is not None and run.rounds not in LOOKS

    def _in_step(self, run: Any) -> bool:
        """Whether there is a companion; one that is out of step leaves."""
        if self.run is not None and self.run.rounds != run.rounds:
            self.leave(run)
        return self.run is not None

    def _advance(self, run: Any, x: Rows, y: Any, w: Vector, i: int, goal: int) -> tuple[int, BaseException | None]:
        """Let the companion learn a chunk of rows; returns the first row that it did not learn, and what went wrong."""
        end, rounds = run.fitting(y, w, i, min(i + CHUNK, len(y))), run.rounds
        try:
            rows = self._rows(x, i, end)
            end = i + rows.shape[0]
            self.run.slots = run.slots.companion(i, end) if run.slots.of.size else self.run.no_slots
            return i + self._learn(rows, y[i:end], w[i:end], goal), None
        except BaseException as problem:
            return i + rows_played(w[i:end], self.run.rounds - rounds), problem

    def _learn(self, rows: Rows, y: Any, w: Vector, goal: int) -> int:
        """Let the companion learn rows; returns the first that it did not learn."""
        run, done = self.run, 0
        codes = run._taken(y, w, None)
        try:
            while True:
                done = run._advance(rows, codes, w, done, goal)
                if done == len(codes) or run.rounds >= goal or not run._grow(Placed(rows, NOTHING), w, done):
                    return done
        finally:
            run._told(codes, done)

    def _beside(self, i: int, end: int) -> Any:
        """The companion's scores of rows i, …, end − 1, at these places, made before it learnt them."""
        scores = self.run.scores
        found = np.empty((max(end, 1), *scores.shape[1:]))
        found[i:end] = scores[: end - i]
        return found

    def carried(self) -> Sequence[Any]:
        """The arrays that learning a row changes."""
        return () if self.run is None else self.run._carried()

    def leave(self, run: Any) -> None:
        """Play along with a run no more."""
        self.sample = self.forest = None
        if self.run is not None:
            self.run = None
            run.record.leave(run)

    # ---- looks ---------------------------------------------------------------------------------------------------

    def pause(self, run: Any, rest: Callable[[], None]) -> None:
        """Grow a forest if it is time to; then the `rest` that a run does at a pause, and so does the companion."""
        begun = self._look(run)
        rest()
        if self.run is not None and not begun:
            self.run._pause()

    def _look(self, run: Any) -> bool:
        """Grow a forest on the sample if it is time to, and begin with it; returns whether that was done."""
        sample = self.sample
        if sample is None or run.rounds not in LOOKS:
            return False
        narrow = run.rounds > LOOKS[0] or (sample.is_narrow(NARROW, SPARSEST) and sample.rows.columns <= WIDEST)
        if not narrow or sample.size != run.rounds:
            self.leave(run)
            return False
        self._begin(run, sample)
        run.record.join(run, run.learner.partitions.alone)
        if run.rounds == LOOKS[-1]:
            self.sample = None
        return True

    def _begin(self, run: Any, sample: Sample) -> None:
        """Grow a forest on the sample, and let a companion learn the rows again, as a run of its own would."""
        x, w = sample.rows, sample.weights
        y = sample.labels.astype(np.int64) if run.coded else sample.labels
        matrix = sample.matrix(min(x.columns, WIDEST))
        self.forest = run.learner.partitions.grow(matrix, y, run.coded, run.compiled)
        self.run, i = run.companion(self.forest.columns), 0
        run.slots.beside[:] = 0.0  # it was not asked of rows that wait
        rows, self._ahead = self._celled(x, np.arange(y.size)), Celled()
        while i < y.size:
            goal = self.run.record.next_pause(self.run)
            piece, end = replace(rows, indptr=rows.indptr[i:]), min(i + goal - self.run.rounds, y.size)
            self._learn(piece, y[i:end], w[i:end], goal)
            if self.run.frozen is not None:
                self.run.frozen_scores(piece, y[i:end], np.arange(end - i), w[i:end], self.run.nobody)
            i = end
            if run.trial.ended is not None and self.run.rounds > run.trial.ended:
                self.end_trial(run.trial)  # or it would freeze models that the run has not
            if self.run.rounds == goal:
                self.run._pause()

    def end_trial(self, trial: Trial) -> None:
        """Freeze no more models, as the run's own trial has ended."""
        if self.run is not None:
            self.run.trial.end(trial.ended or 0)
            if trial.ended == 0:
                self.run.record.drop_trial(self.run)

    # ---- results -------------------------------------------------------------------------------------------------

    def to_json(self, run: Any) -> dict[str, Any] | None:
        """The public form: trees, cells, the rows that they were grown on, and the proof; None without partitions."""
        if self.forest is None:
            return None
        grown = max(look for look in LOOKS if look <= run.rounds)
        told = {"trees": self.forest.trees, "cells": self.forest.width, "grown_on": grown}
        return told | {"certificate": run.forest_certificate.to_json()}

    # ---- the kept model ------------------------------------------------------------------------------------------

    def foretell(self, run: Any, x: Rows, y: Any, picked: Any, weights: Vector) -> Any:
        """The scores of the companion's frozen model for the picked rows, which it is judged by."""
        if self.run is None or self.run.frozen is None:
            return run.nobody
        given = y[picked], np.arange(picked.size), weights
        return self.run.frozen_scores(self._celled(x, picked), *given, self.run.nobody)

    def model(self) -> Curved | None:
        """The companion's kept model, and the forest whose cells it goes by."""
        return None if self.run is None or self.forest is None else Curved(self.forest, self.run._model)

    def frozen_model(self) -> Curved | None:
        """The companion's model on trial, and the forest whose cells it goes by."""
        there = self.run is not None and self.run.frozen is not None and self.forest is not None
        return Curved(self.forest, self.run._frozen_model) if there else None  # type: ignore[arg-type]

    def _celled(self, x: Rows, picked: Any, desk: Desk | None = None) -> Any:
        """The picked rows with the cells that they lie in."""
        assert self.forest is not None
        return self.forest.rows(x, picked, self.run.compiled, desk)

    def _rows(self, x: Rows, i: int, end: int) -> Any:
        """Rows i, …, end − 1 with their cells, which are looked up for more rows at a time than are learnt."""
        assert self.forest is not None
        if not self._ahead.has(x, i):
            entries, last = 2 * self.forest.trees + self.forest.features, min(i + CHUNK, x.shape[0])
            desk = self._ahead.desk.fitting(CHUNK, entries, self.forest.features)
            self._ahead = Celled(x, i, self._celled(x, np.arange(i, last), desk), desk)
        first, rows = i - self._ahead.begin, self._ahead.celled
        return replace(rows, indptr=rows.indptr[first : end - self._ahead.begin + 1])

    # ---- files ---------------------------------------------------------------------------------------------------

    def contents(self, run: Any) -> tuple[dict[str, Any], Arrays]:
        """Those of a run's file that are needed to go on with the partitions; to be asked first, for one may leave."""
        self._in_step(run)
        told, found = (None, {}) if self.run is None else self.run.contents()
        if told is not None:
            told = {name: value for name, value in told.items() if name != "curve"}
        found = {f"curve.{name}": array for name, array in found.items()}
        if self.forest is not None:
            found |= forest_contents(self.forest)
        if self.sample is not None:
            found |= {f"sample.{name}": array for name, array in self.sample.arrays().items()}
        return {"curve": told}, found

    @classmethod
    def of(cls, kind: Any, description: dict[str, Any], arrays: Arrays) -> Curve:
        """The partitions of a run of this kind whose file has these contents."""
        told, sample, forest = description["curve"], under("sample.", arrays), under("forest.", arrays)
        run = None
        if told is not None:
            run = kind.of("the companion", told | {"curve": None}, under("curve.", arrays))
            run.keep_scores = run.classes is not None
        return cls(Sample(**sample) if sample else None, Forest.stored(**forest) if forest else None, run)
