"""The actors of a training on Ray: the plain classes of `lowregret.spread`, and all that crosses machines.

Each is an ordinary class; `driver.py` makes actors of them. Calls are Ray's, arrays go through its object store.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.part import Part
from lowregret.learner.linear import Linear
from lowregret.risk.statistics import Tally
from lowregret.run.session import Session
from lowregret.spread.figures import Counted, counted_of, joined_names
from lowregret.spread.gather import Ledger
from lowregret.spread.register import CLOSED, WAIT, Grant, Register
from lowregret.spread.server import routes
from lowregret.spread.shard import Shard, read_shard
from lowregret.spread.worker import BatchWorker
from lowregret.stream.batch import Batch
from lowregret.stream.names import Met
from lowregret.stream.read import OnError

BREATH = 0.0005, 0.005  # seconds between requests to begin, at first and at most


class Reading(NamedTuple):
    """How workers read their shards."""

    form: Part
    size: int  # rows of a batch
    threads: int = 1
    on_error: OnError = "stop"


class ShardQueue:
    """The shards of one worker, read one block each in turn, and how far each is learnt."""

    def __init__(self, shards: dict[int, Shard], cursors: dict[int, int], reading: Reading) -> None:
        self.cursors, self._reading = dict(cursors), reading
        self._streams: dict[int, Iterator[Batch]] = {}
        self._left: dict[int, Batch] = {}  # of a shard: rows read, and not yet given
        for at, shard in shards.items():
            data = _fetched(shard.data)
            how = reading.form, reading.size, cursors[at], reading.threads, reading.on_error
            self._streams[at] = read_shard(shard._replace(data=data), *how)

    def next(self, at: int | None = None, most: int | None = None) -> tuple[int, Batch] | None:
        """A batch of a shard, or of whichever comes first in turn, of at most this many rows; None at the end."""
        while self._streams:
            key = next(iter(self._streams)) if at is None else at
            stream = self._streams.pop(key, None)
            batch = None if stream is None else self._left.pop(key) if key in self._left else next(stream, None)
            if batch is not None:
                assert stream is not None
                self._streams[key] = stream  # last in turn now
                return key, batch if most is None else self._first(key, batch, most)
            if at is not None:
                break
        return None

    def _first(self, key: int, batch: Batch, most: int) -> Batch:
        """The first rows of a batch; the others are given next."""
        if len(batch) <= most:
            return batch
        self._left[key] = replace(batch.part(most, len(batch)), faults=[])
        return batch.part(0, most)


class WorkReport(NamedTuple):
    """The report of a worker on its rows since it was last asked."""

    cursors: dict[int, int]
    counted: Counted
    done: bool


class ParameterWorker:
    """Learns its shards against servers until they end, or the register closes for a cut."""

    def __init__(
        self, name: int, learner: Linear, source: tuple[Any, Any, Reading], register: Any, servers: list[Any]
    ) -> None:
        self.name, self.learner = name, learner
        self._source = ShardQueue(*source)
        self._register, self._servers = register, servers
        self._worker = BatchWorker(learner)
        self._counts = np.zeros(5)  # rows, non-zeros, unlabelled, skipped, seconds
        self._shown: dict[int, Met] = {}  # of each shard, names of labels and columns
        self._taken: tuple[int, Batch, Any] | None = None  # a batch that waits for leave to begin
        self._pushes: list[Any] = []  # under way

    def work(self) -> WorkReport:
        """Learn until the shards end or the register closes; all that was learnt is then at the servers."""
        while True:
            if self._taken is None:
                found = self._source.next()
                if found is None:
                    return self._report(True)
                self._taken = *found, self._worker.take(found[1])
            grant = self._begin(len(self._taken[1]))
            if grant is None:
                return self._report(False)
            self._learn(grant, *self._taken)
            self._taken = None

    def _begin(self, rows: int) -> Grant | None:
        """Wait for leave to begin; None if there is to be a cut."""
        self._land()
        pause, most = BREATH
        while (grant := _get(self._register.begin.remote(self.name, rows))) == WAIT:
            time.sleep(pause)
            pause = min(2 * pause, most)
        return None if grant == CLOSED else grant

    def _land(self) -> None:
        """Wait until all pushes are at their servers."""
        _get(self._pushes)
        self._pushes = []

    def _learn(self, grant: Grant, at: int, batch: Batch, ids: Any) -> None:
        begun, picked = time.perf_counter(), routes(ids, len(self._servers))
        calls = [server.pull.remote(ids[own]) for server, own in zip(self._servers, picked, strict=True)]
        cells, seen = np.empty((ids.size, self.learner.rule.width())), np.empty(ids.size)
        for own, (found, pushes) in zip(picked, _get(calls), strict=True):
            cells[own], seen[own] = found, pushes
        self._worker.learn(grant, cells)
        _get(self._register.enter.remote(self.name, self._worker.account))
        changes, steps = self._worker.changes, self._worker.steps
        moved: Any = changes.any(axis=1)
        for server, own in zip(self._servers, picked, strict=True):
            told = own[moved[own]]
            if told.size:
                self._pushes.append(server.push.remote(ids[told], changes[told], seen[told], steps[told]))
        self._source.cursors[at] += len(batch)
        self._shown[at] = batch.met
        self._counts += [
            *(len(batch), batch.nonzeros(len(batch)), batch.unlabelled, len(batch.faults)), time.perf_counter() - begun
        ]  # fmt: skip

    def _report(self, done: bool) -> WorkReport:
        self._land()
        _get(self._register.settle.remote(self.name))
        worker, (rows, nonzeros, unlabelled, skipped, seconds) = self._worker, self._counts.tolist()
        counts = int(rows), int(nonzeros), int(unlabelled), int(skipped), seconds
        shown = joined_names(*self._shown.values())
        counted = Counted(worker.metrics, worker.tally, worker.uniform, worker.met, shown, *counts)
        taken, self._worker, self._counts = self._taken, BatchWorker(self.learner), np.zeros(5)
        if taken is not None:
            self._taken = taken[0], taken[1], self._worker.take(taken[1])
        return WorkReport(dict(self._source.cursors), counted, done)


class RegisterKeeper(Register):
    """A register that can be looked at, and taken up from a cut."""

    def resume(self, ledger: Ledger) -> None:
        """Go on from the ledger of a cut."""
        self.sums, self.counts = ledger.sums.copy(), ledger.counts.copy()
        self.ledger, self.lags = ledger.spread.copy(), ledger.lags.copy()

    def look(self) -> Ledger:
        """The ledger as it is."""
        return Ledger(self.sums, self.counts, self.ledger, self.lags)


class RelayWorker:
    """Learns blocks of its shards with the one run there is, which goes from worker to worker."""

    def __init__(self, source: tuple[Any, Any, Reading]) -> None:
        self._source, self._size = ShardQueue(*source), source[2].size

    def turn(self, packed: bytes, at: int) -> tuple[bytes, Relayed]:
        """Learn the next block of a shard; returns the session after it, and how far the shard is.

        It comes pickled, for what Ray unpacks may not be written to.
        """
        session: Session = pickle.loads(packed)
        cursors, ended = self._source.cursors, False
        while not ended:
            found = self._source.next(at)
            ended = found is None
            if found is not None:
                session.learn(found[1])
                cursors[at] += len(found[1])
                if cursors[at] % self._size == 0:  # a block of rows may lie in several batches
                    break
        return pickle.dumps(session), Relayed(at, cursors[at], ended, session.rows, session.mean_loss)


class AveragingWorker:
    """Learns rounds of `most` rows of its shards with a run of its own, which is then averaged with those of others."""

    def __init__(self, source: tuple[Any, Any, Reading], most: int) -> None:
        self._source, self._most = ShardQueue(*source), most

    def round(self, packed: bytes) -> tuple[bytes, WorkReport]:
        """Learn a round, from the session that all begin with; returns the run after it, and what was counted."""
        session: Session = pickle.loads(packed)
        session = Session(session.run, session.form, session.algorithm)
        session.run.tally = Tally(session.run.tally.classifies)
        done = False
        while session.rows < self._most and not done:
            found = self._source.next(most=self._most - session.rows)
            done = found is None
            if found is not None:
                at, batch = found
                session.learn(batch)
                self._source.cursors[at] += len(batch)
        report = WorkReport(dict(self._source.cursors), counted_of(session), done)
        return pickle.dumps(session.run), report


class Relayed(NamedTuple):
    """How far a shard is after a turn, and the run."""

    shard: int
    cursor: int
    done: bool
    rows: int
    mean_loss: float


def _fetched(data: Any) -> Any:
    """Data that lie in Ray's object store, or as they are."""
    from ray import ObjectRef

    return _get(data) if isinstance(data, ObjectRef) else data


def _get(refs: Any) -> Any:
    from ray import get

    return get(refs)
