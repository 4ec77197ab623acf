"""A team in one process: workers, servers and a register, driven by any schedule of begins and pushes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lowregret.learner.linear import Linear
from lowregret.rows import as_rows
from lowregret.run.spread import SpreadRun
from lowregret.spread.figures import Counted, joined
from lowregret.spread.gather import Ledger, gather
from lowregret.spread.register import WAIT, Account, Register
from lowregret.spread.server import FeatureServer, routes
from lowregret.spread.worker import BatchWorker
from lowregret.stream.batch import Batch
from lowregret.types import Vector


class Learnt(NamedTuple):
    """A batch that was learnt: its rows, and what is to be pushed."""

    rows: Any
    scores: Vector
    ids: Any
    changes: Vector
    seen: Vector
    steps: Vector
    account: Account


def batches(x: Any, y: Vector, size: int, w: Vector | None = None) -> Iterator[tuple[Any, Batch]]:
    """The rows in batches, with their numbers."""
    x = sp.csr_matrix(x)
    for begin in range(0, len(y), size):
        at = np.arange(begin, min(begin + size, len(y)))
        weights = np.empty(0) if w is None else w[at]
        yield at, Batch(as_rows(x[at]), y[at], weights, at, "rows")  # type: ignore[arg-type]


class Team:
    """Some workers and servers. `begin` and `end` are the two halves of a batch."""

    def __init__(self, learner: Linear, workers: int, servers: int, staleness: float = np.inf) -> None:
        self.learner, self.register = learner, Register(learner, staleness)
        self.servers = [FeatureServer(learner) for _ in range(servers)]
        self.workers = [BatchWorker(learner) for _ in range(workers)]
        self.flying: dict[int, Learnt] = {}
        self.order: list[Learnt] = []  # as they were entered

    def begin(self, k: int, rows: Any, batch: Batch) -> bool:
        """Let worker k pull and learn a batch; returns whether it had leave to."""
        grant = self.register.begin(k, len(batch))
        if grant == WAIT:
            return False
        ids = self.workers[k].take(batch)
        cells, seen = np.empty((ids.size, self.learner.rule.width())), np.empty(ids.size)
        for server, own in zip(self.servers, routes(ids, len(self.servers)), strict=True):
            cells[own], seen[own] = server.pull(ids[own])
        scores = self.workers[k].learn(grant, cells).scores  # type: ignore[arg-type]
        worker = self.workers[k]
        self.flying[k] = Learnt(rows, scores.copy(), ids, worker.changes, seen, worker.steps, worker.account)
        return True

    def enter(self, k: int) -> int:
        """Enter what worker k learnt."""
        self.order.append(self.flying[k])
        return self.register.enter(k, self.flying[k].account)

    def push(self, k: int, to: int) -> None:
        """Push what worker k learnt to one server."""
        learnt = self.flying[k]
        own = routes(learnt.ids, len(self.servers))[to]
        self.servers[to].push(learnt.ids[own], learnt.changes[own], learnt.seen[own], learnt.steps[own])

    def end(self, k: int) -> int:
        """Enter and push all that worker k learnt."""
        lag = self.enter(k)
        for to in range(len(self.servers)):
            self.push(k, to)
        self.register.settle(k)
        del self.flying[k]
        return lag

    def run(self, **how: Any) -> SpreadRun:
        """The run, put together."""
        register, workers = self.register, self.workers
        counted = joined(*(Counted(w.metrics, w.tally, w.uniform, w.met) for w in workers))
        ledger = Ledger(register.sums, register.counts, register.ledger, register.lags)
        return gather(self.learner, ledger, [server.contents() for server in self.servers], counted, **how)


def spread(
    learner: Linear, x: Any, y: Vector, size: int, workers: int, servers: int, order: Any, w: Vector | None = None
) -> Team:
    """A team that has learnt all rows; each number of `order` lets that worker end its batch, and begin another."""
    team, rest = Team(learner, workers, servers), batches(x, y, size, w)
    for k in order:
        if k in team.flying:
            team.end(k)
        found = next(rest, None)
        if found is None:
            break
        assert team.begin(k, *found)
    for k in list(team.flying):
        team.end(k)
    for found in rest:
        assert team.begin(0, *found)
        team.end(0)
    return team
