"""WorkCosts measured on this machine, in processor seconds, which others on it disturb little.

Each step of a batch (take, learn, pull, push, and the register's) is done many times on batches of several sizes from
several sets of rows; the median of each kind of batch counts, and costs are fitted to them, relative errors alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from benchmarks.scale.rows import Data
from lowregret.learner.linear import Linear
from lowregret.rows import as_rows, as_sparse
from lowregret.spread.costs import WorkCosts
from lowregret.spread.register import Register
from lowregret.spread.server import FeatureServer
from lowregret.spread.worker import BatchWorker
from lowregret.stream.batch import Batch

SIZES = (16, 64, 256, 1024)
BATCHES = 40  # of each kind
FLIGHTS = (1, 100, 1000)


class Kind(NamedTuple):
    """Batches of one size from one set: sizes on the average, and median seconds of each step."""

    data: str
    rows: float
    entries: float
    features: float
    moved: float
    seconds: dict[str, float]


def batch_of(data: Data) -> Batch:
    """All rows as one batch."""
    return Batch(as_sparse(as_rows(data.x)), data.y, np.empty(0), np.arange(data.y.size), "rows")


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of a call, and its value."""
    begin = time.thread_time()
    found = call()
    return time.thread_time() - begin, found


def steps(learner: Linear, data: Data, size: int) -> Kind:
    """Learn batches with one worker and one server, and see how long each step takes."""
    whole, worker, server, register = batch_of(data), BatchWorker(learner), FeatureServer(learner), Register(learner)
    found: dict[str, list[float]] = {name: [] for name in ("take", "pull", "learn", "push", "register")}
    sizes = []
    for k in range(2 * BATCHES):
        begin = k * size % (len(whole) - size + 1)
        slicing, rows = timed(lambda: whole.part(begin, begin + size))  # noqa: B023
        taking, ids = timed(lambda: worker.take(rows))  # noqa: B023
        asking, grant = timed(lambda: register.begin(0, size))
        pulling, (cells, seen) = timed(lambda: server.pull(ids))  # noqa: B023
        learning, _ = timed(lambda: worker.learn(grant, cells))  # noqa: B023
        entering, _ = timed(lambda: register.enter(0, worker.account))
        choosing, (told, *learnt) = timed(lambda: chosen(ids, worker.changes, seen, worker.steps))  # noqa: B023
        pushing, _ = timed(lambda: server.push(told, *learnt))  # noqa: B023
        if k >= BATCHES:  # the first ones compile, and fill what is empty
            spent = slicing + taking, pulling, learning + choosing, pushing, (asking + entering) / 2
            for name, seconds in zip(found, spent, strict=True):
                found[name].append(seconds)
            sizes.append((size, rows.rows.indices.size, ids.size, told.size))
    mean, entries, features, moved = np.mean(sizes, axis=0).tolist()
    return Kind(
        data.name, mean, entries, features, moved, {name: statistics.median(times) for name, times in found.items()}
    )


def chosen(ids: Any, changes: Any, seen: Any, steps: Any) -> tuple[Any, ...]:
    """The features that moved, as a worker picks them before it pushes."""
    moved = changes.any(axis=1)
    return ids[moved], changes[moved], seen[moved], steps[moved]


def registering(learner: Linear) -> Iterator[tuple[int, float]]:
    """Seconds of a call to a register with so many batches under way."""
    for flights in FLIGHTS:
        register, times = Register(learner), []
        for k in range(flights):
            register.begin(k, 8)
        for _ in range(200):
            times.append(timed(lambda: register.begin("another", 8))[0])  # noqa: B023
            register._flights.pop("another")
        yield flights, statistics.median(times)


def fitted(columns: list[list[float]], seconds: list[float]) -> list[float]:
    """WorkCosts ≥ 0 that come closest to the seconds, relative errors counting alike."""
    scale = 1 / np.array(seconds)
    found, _ = nnls(np.array(columns).T * scale[:, None], np.ones(len(seconds)))
    return [float(cost) for cost in found]


def calibrated(learner: Linear, sets: list[Data]) -> tuple[WorkCosts, list[Kind]]:
    """WorkCosts of a learner, without those of calls between processes, and what they were fitted to."""
    kinds = [steps(learner, data, size) for data in sets for size in SIZES]
    one = [1.0] * len(kinds)
    rows, entries = [kind.rows for kind in kinds], [kind.entries for kind in kinds]
    features, moved = [kind.features for kind in kinds], [kind.moved for kind in kinds]

    def of(name: str, *columns: list[float]) -> list[float]:
        return fitted([one, *columns], [kind.seconds[name] for kind in kinds])

    take, learn = of("take", entries, features), of("learn", rows, entries, features)
    pull, push = of("pull", features), of("push", moved)
    flights, times = zip(*registering(learner), strict=True)
    flight = fitted([[1.0] * len(flights), [float(n) for n in flights]], list(times))[1]
    desk = statistics.median(kind.seconds["register"] for kind in kinds)
    return WorkCosts(
        take_batch=take[0], take_entry=take[1], take_feature=take[2],
        learn_batch=learn[0], learn_row=learn[1], learn_entry=learn[2], learn_feature=learn[3],
        pull=pull[0], pull_feature=pull[1], push=push[0], push_feature=push[1],
        register=desk - flight, register_flight=flight,
    ), kinds  # fmt: skip


def residuals(costs: WorkCosts, kinds: list[Kind]) -> dict[str, list[float]]:
    """Fitted over measured, of each step of each kind of batch."""
    return {
        "take": [costs.take(kind.entries, kind.features) / kind.seconds["take"] for kind in kinds],
        "learn": [costs.learn(kind.rows, kind.entries, kind.features) / kind.seconds["learn"] for kind in kinds],
        "pull": [(costs.pull + costs.pull_feature * kind.features) / kind.seconds["pull"] for kind in kinds],
        "push": [(costs.push + costs.push_feature * kind.moved) / kind.seconds["push"] for kind in kinds],
    }
