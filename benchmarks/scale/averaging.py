"""Rounds of averaging, played: every worker learns R rows from one common model, then models are averaged, and so on.

Weights are averaged by the precision that each worker gained, for each feature by itself, and so are sums of squares,
for a worker's rate is that of its own rows; gradient sums add up: w ← w + Σ_k ΔP_k(w_k − w)/Σ_k ΔP_k. A round lasts
as long as its slowest worker, and then twice the height of a tree of all workers, through which the whole model goes up
and down. Predictions are certified like any others: Σℓ'p and Σz do not ask how weights came about.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from benchmarks.scale.calibrate import batch_of
from benchmarks.scale.rows import Data
from lowregret.domain import Domain
from lowregret.learner.linear import Linear
from lowregret.rule.adagrad import Metric
from lowregret.run.spread import SpreadRun
from lowregret.spread.costs import NUMBER, Cluster
from lowregret.spread.figures import Counted
from lowregret.spread.gather import Ledger, gather
from lowregret.spread.register import Register
from lowregret.spread.server import FeatureServer, _row_of, join_changes
from lowregret.spread.worker import BatchWorker
from lowregret.state import State

THETA, WEIGHT, SQUARES = 0, 1, 2  # columns of the table of AdaGrad and its kin


class Averaged(NamedTuple):
    """A run in rounds, and its price."""

    run: SpreadRun
    seconds: float
    bytes: float
    rounds: int


class Learnt(NamedTuple):
    """What a worker learnt in a round, by feature."""

    ids: Any
    theta: Any
    squares: Any  # times the precision gained
    gained: Any  # precision
    moved: Any  # by how much the weight moved, times that


def averaged(learner: Linear, data: Data, cluster: Cluster, size: int, comparator: Domain | None = None) -> Averaged:
    """Play all rows in rounds of `size` rows for each worker."""
    rows, worker, register = batch_of(data), BatchWorker(learner), Register(learner)
    server, rng = FeatureServer(learner), np.random.default_rng(0)
    slowness = np.exp(cluster.unequal * rng.normal(size=cluster.workers))
    slowness[: round(cluster.stragglers * cluster.workers)] *= cluster.straggling
    seconds, sent, rounds, per = 0.0, 0.0, 0, size * cluster.workers
    for begin in range(0, len(rows), per):
        blocks = [(b, min(b + size, len(rows))) for b in range(begin, min(begin + per, len(rows)), size)]
        grants = [register.begin(k, end - at) for k, (at, end) in enumerate(blocks)]
        found, lasting = [], 0.0
        for k, (at, end) in enumerate(blocks):
            batch = rows.part(at, end)
            ids = worker.take(batch)
            cells, _ = server.pull(ids)
            worker.learn(grants[k], cells)  # type: ignore[arg-type]
            found.append(learnt(learner, ids, cells, worker.changes))
            register.enter(k, worker.account)
            entries, uneven = batch.rows.indices.size, math.exp(cluster.uneven * rng.normal())
            own = cluster.costs.take(entries, ids.size) + cluster.costs.learn(end - at, entries, ids.size)
            lasting = max(lasting, own * float(slowness[k]) * uneven)
        for k in range(len(blocks)):
            register.settle(k)
        merge(server, found)
        model = 2 * NUMBER * len(server.places)
        seconds += lasting + tree(cluster, model)
        sent += 2 * model * (cluster.workers - 1)
        rounds += 1
    ledger = Ledger(register.sums, register.counts, register.ledger, register.lags)
    counted = Counted(worker.metrics, worker.tally, worker.uniform, worker.met)
    return Averaged(gather(learner, ledger, [server.contents()], counted, (), comparator), seconds, sent, rounds)


def tree(cluster: Cluster, model: float) -> float:
    """Seconds in which a sum over all workers goes up a tree and down again, in pieces that follow each other."""
    if cluster.workers == 1:
        return 0.0
    height = math.ceil(math.log2(cluster.workers))
    each = cluster.latency + cluster.costs.call + cluster.costs.served
    return 2 * (height * each + 2 * model * (1 / cluster.bandwidth + cluster.costs.byte))


def learnt(learner: Linear, ids: Any, cells: Any, changes: Any) -> Learnt:
    """The outcome of a worker that began with these cells."""
    rule = learner.rule
    assert isinstance(rule, Metric), "averaging by precision needs AdaGrad or its kin"
    after = cells.copy()
    state = State(after.reshape(-1), np.empty(0), np.empty(0), np.empty(0, np.int64))
    join_changes(rule, state, np.arange(ids.size, dtype=np.uint64), changes, np.ones(ids.size), changes.shape[1])
    gained = rule.precisions(after[:, SQUARES]) - rule.precisions(cells[:, SQUARES])
    moved = after[:, WEIGHT] - cells[:, WEIGHT]
    return Learnt(ids, changes[:, 0], gained * changes[:, 1], gained, gained * moved)


def merge(server: FeatureServer, found: list[Learnt]) -> None:
    """Add up gradients, and average weights and squares."""
    ids, at = np.unique(np.concatenate([each.ids for each in found]), return_inverse=True)
    theta, squares, gained, moved = (
        np.bincount(at, np.concatenate([each[k] for each in found]), ids.size) for k in (1, 2, 3, 4)
    )
    server.push(ids, np.zeros((ids.size, 3)), np.zeros(ids.size), np.ones(ids.size))  # makes room
    places = server.places.find(_row_of(ids), server.state.dimension, True).indices  # type: ignore[attr-defined]
    cells = server.cells[places]
    cells[:, THETA] += theta
    for column, summed in ((SQUARES, squares), (WEIGHT, moved)):
        cells[:, column] += np.divide(summed, gained, out=np.zeros(ids.size), where=gained > 0)
    server.cells[places] = cells
