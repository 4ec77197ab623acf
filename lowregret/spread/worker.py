"""A worker: it learns batches of its rows on copies of what it pulled, and tells what it learnt.

    batch = worker.take(rows)             the features that it touches
    worker.learn(grant, cells)            row by row, by the loop that learns everywhere
    worker.changes, worker.steps          what to push
    worker.account                        what to enter

Its own rows are never stale to it; those of others are, from the pull to the push.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.compile.numerics import norm
from lowregret.learner.linear import Linear
from lowregret.risk.statistics import Tally
from lowregret.rows import as_sparse
from lowregret.rule.base import WIDEST
from lowregret.rule.per_coordinate import keeps_weights, largest_kept
from lowregret.run.linear import LinearRun
from lowregret.run.metrics import Metrics
from lowregret.run.outcome import Learnt
from lowregret.spread.register import Account, Grant
from lowregret.spread.server import BIAS
from lowregret.state import DIMENSION, MASS, PEAK, PUSHES, State
from lowregret.stream.batch import Batch
from lowregret.stream.places import Placed, Places
from lowregret.types import Vector


class BatchWorker:
    """Learns batches on local copies; its tally and metrics are of the rows that it learnt since it was made."""

    def __init__(self, learner: Linear) -> None:
        self.learner = learner
        self.metrics = Metrics(learner.loss)
        self._run = LinearRun(learner, learner.start(1), certify=False)
        self._places = Places()
        self._batch: Batch | None = None
        self._placed: Placed | None = None

    @property
    def tally(self) -> Tally:
        """Counts of the rows learnt."""
        return self._run.tally

    @property
    def uniform(self) -> bool:
        """Whether all weights were 1."""
        return self._run.uniform

    @property
    def met(self) -> Any:
        """Scores and labels at which a loss of the user's own is put to the test."""
        return self._run.met

    def take(self, batch: Batch) -> Any:
        """Take rows to be learnt next; returns the features that they touch: O(nnz)."""
        rows = as_sparse(batch.rows)
        self._batch, self._placed = batch, self._places.place(rows, batch.weights, True)
        ids = self._places.columns.copy()
        taken = as_sparse(self._placed.rows)
        entries = taken.indices[taken.indptr[0] : taken.indptr[len(batch)]].astype(np.int64)
        self.steps = np.bincount(entries, minlength=ids.size)[: ids.size].astype(float)
        if self.learner.bias > 0:
            self.steps = np.append(self.steps, float(len(batch)))
        self._places.forget_after(0)
        return np.append(ids, np.uint64(BIAS)) if self.learner.bias > 0 else ids

    def learn(self, grant: Grant, cells: Vector) -> Learnt:
        """Learn the rows taken, on copies of the rows of the table of the features that they touch: O(nnz)."""
        assert self._batch is not None
        assert self._placed is not None
        batch, bias = self._batch, self.learner.bias > 0
        room = len(cells) - bias + 1  # the last is nobody's: what rows without weight read
        table = np.zeros((room + bias, cells.shape[1]))
        table[: len(cells) - bias], table[room:] = cells[: len(cells) - bias], cells[len(cells) - bias :]
        state = State(table.reshape(-1), np.empty(0), grant.sums.copy(), grant.counts.copy())
        state.counts[DIMENSION], state.counts[PUSHES] = room + bias, 0
        state.sums[MASS] = state.sums[PEAK] = float(table[:, 0] @ table[:, 0])
        self._run.state = state
        rows = replace(as_sparse(self._placed.rows), columns=room)
        learnt = self._run.learn_batch(replace(batch, rows=rows))
        self.metrics.see(learnt.labels, batch.weights[: learnt.done], learnt.guesses)
        after = np.concatenate(
            [state.table.reshape(table.shape)[: len(cells) - bias], state.table.reshape(table.shape)[room:]]
        )
        self.changes = self.learner.rule.changes(cells, after)
        if keeps_weights(self.learner.rule):  # those that others move before this worker comes to it
            state.sums[WIDEST] = max(state.sums[WIDEST], largest_kept(cells), largest_kept(after))
        self.account = Account(grant, state.sums, state.counts, norm(self.changes[:, 0]))
        return learnt
