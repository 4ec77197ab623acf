"""Loss, staleness and throughput against the number of workers, played on rows of several kinds; and their pictures."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.averaging import averaged
from benchmarks.scale.rows import Data, a9a, covtype, enron, shuffled, zipf
from lowregret import L2Ball, Logistic, train, zoo
from lowregret.hindsight import best_in_hindsight
from lowregret.learner.linear import Linear
from lowregret.spread.costs import Cluster, WorkCosts, bounds
from lowregret.spread.simulate import rehearse

WORKERS = {1: 1, 10: 2, 100: 8, 1000: 16}  # with so many servers
BATCH = 32
LATENCY, BANDWIDTH = 50e-6, 1.25e9  # of a network of 10 Gbit/s, assumed
ENVELOPE = 500  # bytes of a message besides arrays, about
POINTS = 200  # of a curve over time


def cluster_of(workers: int, servers: int, costs: WorkCosts, **more: Any) -> Cluster:
    """A data centre: measured costs, an assumed network, and workers that are not all alike."""
    unlike = {"unequal": 0.1, "uneven": 0.3, "stragglers": 0.01 if workers > 50 else 0.0} | more
    return Cluster(workers, servers, costs=costs, latency=LATENCY, bandwidth=BANDWIDTH, envelope=ENVELOPE, **unlike)


def plans(folder: Path) -> Iterator[tuple[str, Data, int]]:
    """Which algorithm learns what, in batches of how many rows."""
    place = covtype(folder)
    near = Data("covtype, in order", place.x[:50_000], place.y[:50_000])
    mixed = shuffled(place)
    yield "adagrad", zipf(100_000), BATCH
    yield "adagrad", near, BATCH
    yield "adagrad", Data(mixed.name, mixed.x[:50_000], mixed.y[:50_000]), BATCH
    yield "adagrad", shuffled(enron(folder)), BATCH


def kept(found: Iterator[dict[str, Any]], path: Path) -> None:
    """Write what is found, again after each."""
    told: list[dict[str, Any]] = []
    for each in found:
        told.append(each)
        path.write_text(json.dumps(told))
        print({k: v for k, v in each.items() if k != "timeline"}, file=sys.stderr, flush=True)


def measure(learners: dict[str, Linear], costs: dict[str, WorkCosts], folder: Path, out: Path) -> None:
    """Play all plans with servers, and in rounds; write curves.json, rounds.json and growth.json."""
    for kind, play in (("curves", played), ("rounds", in_rounds)):
        kept(over_workers(play, learners, costs, folder), out / f"{kind}.json")
    kept(growth(costs["ogd"], shuffled(a9a(folder))), out / "growth.json")


def over_workers(
    play: Callable[..., dict[str, Any]], learners: dict[str, Linear], costs: dict[str, WorkCosts], folder: Path
) -> Iterator[dict[str, Any]]:
    """All plans with more and more workers."""
    for name, data, batch in plans(folder):
        learner = learners[name]
        alone = train(learner, data.x, data.y)
        ball = L2Ball(float(np.linalg.norm(alone.weights)))
        least = {"alone": alone.mean_loss, "regret alone": alone.linear_regret(ball)}
        for workers, servers in WORKERS.items():
            yield play(name, learner, data, cluster_of(workers, servers, costs[name]), batch, ball) | least


def played(name: str, learner: Linear, data: Data, cluster: Cluster, batch: int, ball: L2Ball) -> dict[str, Any]:
    """Figures of a run with servers."""
    begin = time.process_time()
    p = rehearse(learner, data.x, data.y, cluster, batch, comparator=ball)
    told, run = bounds(cluster, p.shape), p.run
    every = p.entries[:: max(len(p.entries) // POINTS, 1)]
    lags = [entry.lag for entry in p.entries for _ in range(entry.rows)]
    return {
        "kind": "servers", "data": data.name, "algorithm": name, "rows": len(data.y), "workers": cluster.workers,
        "servers": cluster.servers, "batch": batch, "loss": run.mean_loss, "regret": run.linear_regret(ball),
        "bound": run.certificate.bound, "by": run.certificate.id, "staleness": run.mean_staleness,
        "most": run.staleness, "quantiles": np.quantile(lags, [0.01, 0.5, 0.99]).tolist(), "seconds": p.seconds,
        "rows per second": p.rows_per_second,
        "bottleneck": p.bottleneck, "busy": p.busy._asdict(), "bytes": p.traffic.bytes / len(data.y),
        "formula": told.rows_per_second, "formula names": told.bottleneck, "formula staleness": told.staleness,
        "formulas": told._asdict(), "shape": p.shape._asdict(), "playing": time.process_time() - begin,
        "timeline": [(entry.time, entry.lag, entry.loss) for entry in every],
    }  # fmt: skip


def in_rounds(name: str, learner: Linear, data: Data, cluster: Cluster, batch: int, ball: L2Ball) -> dict[str, Any]:
    """Figures of rounds of averaging, in which as many rows are learnt by each worker between two meetings."""
    p = averaged(learner, data, cluster, batch, ball)
    return {
        "kind": "averaging", "data": data.name, "algorithm": name, "rows": len(data.y), "workers": cluster.workers,
        "batch": batch, "loss": p.run.mean_loss, "regret": p.run.linear_regret(ball), "seconds": p.seconds,
        "staleness": p.run.mean_staleness, "bytes": p.bytes / len(data.y), "rows per second": len(data.y) / p.seconds,
    }  # fmt: skip


def growth(costs: WorkCosts, data: Data, batch: int = 4, rate: float = 0.03) -> Iterator[dict[str, Any]]:
    """Exact regret against the best in a ball by staleness, at one rate and at rates for it, beside √(1 + 2τ)."""
    alone = train(zoo.ogd(Logistic(), rate), data.x, data.y)
    ball = L2Ball(float(np.linalg.norm(alone.weights)))
    best = best_in_hindsight(Logistic(), data.x, data.y, ball, seconds=60.0).value / len(data.y)
    for workers in (1, 4, 16, 64, 256):
        tau = (workers - 1) * batch
        for eta in (rate, rate / math.sqrt(1 + 2 * tau))[: 1 + (workers > 1)]:
            cluster = cluster_of(workers, 1, costs, stragglers=0.0)
            told = played("ogd", zoo.ogd(Logistic(), eta), data, cluster, batch, ball)
            yield told | {"rate": eta, "alone": alone.mean_loss, "best": best}
