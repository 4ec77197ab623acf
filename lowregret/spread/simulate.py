"""A spread run played in virtual time, before there is a cluster: `rehearse`.

Rows are learnt by the very servers, register and worker of this room; only time is invented. Each piece of work keeps
a processor busy, each message a link, by the `WorkCosts` of a `Cluster`, and what waits, waits. So loss, certificate,
staleness and bytes are those of a real run with this schedule, and seconds are as good as the costs are.

    cluster = Cluster(workers=1000, servers=32, latency=1e-4, costs=costs)
    played = rehearse(zoo.adagrad(Logistic()), X, y, cluster, batch=64)
    played.run.mean_loss, played.run.staleness, played.run.certificate, played.seconds, played.bottleneck

Worker k learns blocks k, k + W, k + 2W, … of the rows, as workers do who share a file. O(nnz) for each row and
O(W) for each batch, whatever the cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lowregret.certificate.trace import next_mark
from lowregret.domain import Domain
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.rows import Dense, Features, as_rows, as_sparse, without_zeros
from lowregret.run.spread import SpreadRun
from lowregret.spread.clock import Cores, Gate, Lane, Process, VirtualClock
from lowregret.spread.costs import BatchShape, Cluster
from lowregret.spread.figures import Counted
from lowregret.spread.gather import Ledger, gather, require_spreadable
from lowregret.spread.register import CLOSED, WAIT, Account, Grant, Register
from lowregret.spread.server import FeatureServer, routes
from lowregret.spread.worker import BatchWorker
from lowregret.stream.batch import Batch
from lowregret.types import Vector

FIRST_MARK = 1024  # rounds before the history begins
NEARLY = 0.7  # of the time: who is busy for so much of it holds the others up


class EnteredBatch(NamedTuple):
    """A batch as it was entered."""

    time: float
    worker: int
    first: int  # its first row
    rows: int
    lag: int  # rows that it lacked
    loss: float  # per row, of all rows entered so far


class Traffic(NamedTuple):
    """Bytes between processes, envelopes included, and messages."""

    pulled: int = 0  # requests and answers
    pushed: int = 0
    ledger: int = 0  # to and from the register
    messages: int = 0

    @property
    def bytes(self) -> int:
        return self.pulled + self.pushed + self.ledger


class Busy(NamedTuple):
    """Shares of the time in which each kind of resource was busy; of servers and links the busiest."""

    workers: float
    server: float
    link: float
    register: float
    waiting: float  # workers, for leave to begin

    @property
    def bottleneck(self) -> str:
        """Who held the others up: a resource that is nearly always busy, the bound on staleness, or else latency."""
        most, name = max(zip(self[:4], ("workers", "servers", "network", "register"), strict=True))
        if self.waiting > max(most, 1 - NEARLY):
            return "bound on staleness"
        return name if most >= NEARLY else "latency"


class Rehearsal(NamedTuple):
    """A run that was played, and its price."""

    run: SpreadRun
    seconds: float
    entries: list[EnteredBatch]
    traffic: Traffic
    busy: Busy
    shape: BatchShape  # of its batches, on the average: for `bounds`
    work: dict[str, float]  # processor seconds of workers, servers and the register, each all together

    @property
    def rows_per_second(self) -> float:
        return sum(entry.rows for entry in self.entries) / self.seconds if self.seconds else math.inf

    @property
    def bottleneck(self) -> str:
        return self.busy.bottleneck


def rehearse(
    learner: Linear,
    features: Features,
    labels: Any,
    cluster: Cluster,
    batch: int = 1024,
    weights: Any = None,
    comparator: Domain | None = None,
    seed: int = 0,
) -> Rehearsal:
    """Play the training of these rows on a cluster. `seed` draws who is slow, and when."""
    require_spreadable(learner)
    for name, value in (("workers", cluster.workers), ("servers", cluster.servers), ("batch", batch)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise PartError(f"{name} must be a whole number, at least 1, got {value!r}")
    y = np.ascontiguousarray(labels, float)
    w = np.empty(0) if weights is None else np.ascontiguousarray(weights, float)
    rows = as_rows(features)
    x = without_zeros(rows, 0, rows.shape[0]) if isinstance(rows, Dense) else as_sparse(rows)
    if x.shape[0] != y.size:
        raise PartError(f"there are {x.shape[0]} rows and {y.size} labels")
    return _Play(learner, Batch(x, y, w, np.arange(y.size), "rows"), cluster, batch, seed).finish(comparator)


class _Node:
    """A processor, and a link with two directions."""

    def __init__(self) -> None:
        self.processor, self.sent, self.taken = Lane(), Lane(), Lane()


class _Play:
    """Servers, a register and virtual workers on a clock. The workers' batches are learnt by one `BatchWorker`."""

    def __init__(self, learner: Linear, rows: Batch, cluster: Cluster, size: int, seed: int) -> None:
        self.learner, self.rows, self.cluster, self.size = learner, rows, cluster, size
        self.clock, self.cores, self.chance = VirtualClock(), Cores(cluster.cores), np.random.default_rng(seed)
        self.register, self.worker = Register(learner, cluster.staleness), BatchWorker(learner)
        self.servers = [FeatureServer(learner) for _ in range(cluster.servers)]
        self.desk, self.racks = _Node(), [_Node() for _ in range(cluster.servers)]
        self.nodes = [_Node() for _ in range(cluster.workers)]
        self.slowness = np.exp(cluster.unequal * self.chance.normal(size=cluster.workers))
        self.slowness[: round(cluster.stragglers * cluster.workers)] *= cluster.straggling
        self.entries: list[EnteredBatch] = []
        self.traffic = Traffic()
        self.under_way = self.standing = 0
        self.waited = self.ended = 0.0
        self.marked = 0  # rounds at the last mark
        self.opened, self.all_stand = Gate(), Gate()
        self.sums = np.zeros(5)  # batches, non-zeros, features, features moved, the busiest server's features

    def finish(self, comparator: Domain | None) -> Rehearsal:
        """Play to the end."""
        for k in range(self.cluster.workers):
            self.clock.start(self._work(k))
        if self.cluster.glance > 0:
            self.clock.start(self._look())
        self.clock.run()
        worker, register = self.worker, self.register
        counted = Counted(worker.metrics, worker.tally, worker.uniform, worker.met)
        ledger = Ledger(register.sums, register.counts, register.ledger, register.lags)
        contents = [server.contents() for server in self.servers]
        run = gather(self.learner, ledger, contents, counted, (), comparator)
        return Rehearsal(run, self.ended, self.entries, self.traffic, self._busy(), self._shape(), self._seconds())

    # ---- a worker, as in `ParameterWorker` --------------------------------------------------------------------------

    def _work(self, k: int) -> Process:
        landing = self.clock.together([])
        for begin in range(k * self.size, len(self.rows), self.cluster.workers * self.size):
            rows = self.rows.part(begin, min(begin + self.size, len(self.rows)))
            ids = self.worker.take(rows)
            yield self._hand(k, self.cluster.costs.take(rows.rows.indices.size, ids.size))
            yield from landing
            grant = yield from self._begin(k, len(rows))
            landing = yield from self._learn(k, begin, rows, ids, grant)
        yield from landing
        self.register.settle(k)
        self.ended = max(self.ended, self.clock.now)
        self._stand()

    def _begin(self, k: int, rows: int) -> Process:
        """Leave to begin, sooner or later."""
        (pause, most), since = self.cluster.pause, math.inf
        while True:
            found = yield from self._call(k, self.desk, (0,), lambda: self._asked(k, rows), "ledger")
            if found == CLOSED:
                self._stand()
                yield self.opened
                pause = self.cluster.pause[0]
            elif found == WAIT:
                since = min(since, self.clock.now)
                yield self.clock.now + pause
                pause = min(2 * pause, most)
            else:
                break
        self.waited += max(self.clock.now - since, 0.0)
        return found

    def _learn(self, k: int, begin: int, rows: Batch, ids: Any, grant: Grant) -> Process:
        """Pull, learn, enter and push; returns the process that waits for the pushes to land."""
        owned, cells = routes(ids, len(self.servers)), np.empty((ids.size, self.learner.rule.width()))
        seen = np.empty(ids.size)
        yield from self.clock.together([self._pull(k, to, ids, own, cells, seen) for to, own in enumerate(owned)])
        self.worker.take(rows)
        self.worker.learn(grant, cells)
        account, changes, steps = self.worker.account, self.worker.changes, self.worker.steps
        yield self._hand(k, self.cluster.costs.learn(len(rows), rows.rows.indices.size, ids.size))
        up = 2 * (account.sums.nbytes + account.counts.nbytes) + 8
        yield from self._call(k, self.desk, (up,), lambda: self._entered(k, begin, len(rows), account), "ledger")
        moved: Any = changes.any(axis=1)
        told = [own[moved[own]] for own in owned]
        self.sums += 1, rows.rows.indices.size, ids.size, int(moved.sum()), max(own.size for own in owned)
        landing = self.clock.together(
            [
                self._push(k, to, ids[own], changes[own], seen[own], steps[own])
                for to, own in enumerate(told)
                if own.size
            ]
        )
        yield self.clock.now  # they are sent before the next batch is taken
        return landing

    def _pull(self, k: int, to: int, ids: Any, own: Any, cells: Vector, seen: Vector) -> Process:
        asked = ids[own]

        def answer() -> tuple[Any, float, int]:
            found, pushes = self.servers[to].pull(asked)
            return (found, pushes), self.cluster.costs.pulled(asked.size), found.nbytes + pushes.nbytes

        cells[own], seen[own] = yield from self._call(k, self.racks[to], (asked.nbytes,), answer, "pulled")

    def _push(self, k: int, to: int, ids: Any, *learnt: Vector) -> Process:
        def answer() -> tuple[Any, float, int]:
            self.servers[to].push(ids, *learnt)
            return None, self.cluster.costs.pushed(ids.size), 0

        sizes = tuple(array.nbytes for array in (ids, *learnt))
        yield from self._call(k, self.racks[to], sizes, answer, "pushed")

    def _asked(self, k: int, rows: int) -> tuple[Any, float, int]:
        """The register's answer to who would begin, its seconds and bytes."""
        seconds, found = self.cluster.costs.registered(self.under_way), self.register.begin(k, rows)
        if isinstance(found, str):
            return found, seconds, 0
        self.under_way += 1
        return found, seconds, found.sums.nbytes + found.counts.nbytes

    def _entered(self, k: int, begin: int, rows: int, account: Account) -> tuple[Any, float, int]:
        seconds, lag = self.cluster.costs.registered(self.under_way), self.register.enter(k, account)
        self.under_way -= 1
        self.entries.append(EnteredBatch(self.clock.now, k, begin, rows, lag, self.register.mean_loss))
        return lag, seconds, 0

    # ---- work and messages ------------------------------------------------------------------------------------------

    def _hand(self, k: int, seconds: float) -> float:
        """When worker k has done a piece of its own work."""
        uneven = math.exp(self.cluster.uneven * self.chance.normal()) if self.cluster.uneven else 1.0
        lasting = seconds * float(self.slowness[k]) * uneven
        return self.cores.take(self.nodes[k].processor, self.clock.now, lasting)

    def _call(
        self, k: int, node: _Node, sizes: tuple[int, ...], answer: Callable[[], tuple[Any, float, int]], kind: str
    ) -> Process:
        """A call of worker k to a node: its processor, both links, and the way there and back."""
        mine, wire, latency, costs = self.nodes[k], self.cluster.bandwidth, self.cluster.latency, self.cluster.costs
        up = sum(sizes) + self.cluster.envelope
        there = costs.byte * up + costs.stored * sum(size > self.cluster.direct for size in sizes)
        asked = self.cores.take(mine.processor, self.clock.now, costs.call + there)
        yield mine.sent.take(asked, up / wire) + latency
        come = node.taken.take(self.clock.now, up / wire)
        found, seconds, down = answer()
        back = costs.byte * (down + self.cluster.envelope) + costs.stored * (down > self.cluster.direct)
        down += self.cluster.envelope
        done = self.cores.take(node.processor, come, seconds + there + back)
        yield node.sent.take(done, down / wire) + latency
        read = mine.taken.take(self.clock.now, down / wire)
        yield self.cores.take(mine.processor, read, back) if back else read
        seen = self.traffic
        self.traffic = seen._replace(messages=seen.messages + 2, **{kind: getattr(seen, kind) + up + down})
        return found

    # ---- the driver, who stops all for a mark of the history --------------------------------------------------------

    def _look(self) -> Process:
        while self.standing < self.cluster.workers:
            yield self.clock.now + self.cluster.glance
            mark = max(next_mark(self.marked), FIRST_MARK)
            if self.register.rounds < mark or self.standing == self.cluster.workers:
                continue
            self.register.shut()
            yield self.all_stand
            yield self.clock.now + self.cluster.still
            self.marked = self.register.rounds
            self.register.open()
            self.standing -= len(self.opened.waiting)
            self.clock.open(self.opened)

    def _stand(self) -> None:
        """Another worker is at its end, or stands still."""
        self.standing += 1
        if self.standing == self.cluster.workers:
            self.clock.open(self.all_stand)

    # ---- figures ----------------------------------------------------------------------------------------------------

    def _busy(self) -> Busy:
        time = max(self.ended, 1e-300)
        links = [lane.busy for node in (*self.racks, *self.nodes) for lane in (node.sent, node.taken)]
        working = [node.processor.busy for node in self.nodes]
        racks = max(rack.processor.busy for rack in self.racks)
        lasting = self.desk.processor.busy
        waited = self.waited / len(self.nodes)
        return Busy(*(s / time for s in (sum(working) / len(working), racks, max(links), lasting, waited)))

    def _shape(self) -> BatchShape:
        batches, entries, features, moved, largest = self.sums.tolist()
        rows, rule = sum(entry.rows for entry in self.entries), self.learner.rule
        busiest = largest / max(features, 1) * len(self.servers)
        per = max(batches, 1)
        changed = 2 + (self.worker.changes.shape[1] if batches else 0)  # with steps, and pushes seen
        ledger = self.register.sums.nbytes + self.register.counts.nbytes
        return BatchShape(
            rows / per, entries / per, features / per, moved / per, busiest, rule.width() + 1, changed, ledger
        )

    def _seconds(self) -> dict[str, float]:
        def total(nodes: list[_Node]) -> float:
            return sum(node.processor.busy for node in nodes)

        return {"workers": total(self.nodes), "servers": total(self.racks), "register": total([self.desk])}
