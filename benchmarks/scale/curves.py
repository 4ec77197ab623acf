"""Loss, staleness and throughput against the number of workers, played on rows of several kinds; and their pictures."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.averaging import averaged
from benchmarks.scale.rows import Data, a9a, covtype, enron, shuffled, zipf
from lowregret import L2Ball, train
from lowregret.hindsight import best_in_hindsight
from lowregret.learner.linear import Linear
from lowregret.spread.costs import Cluster, Costs, bounds
from lowregret.spread.simulate import rehearse

WORKERS = {1: 1, 10: 2, 100: 8, 1000: 16}  # with so many servers
BATCH = 32
LATENCY, BANDWIDTH = 50e-6, 1.25e9  # of a network of 10 Gbit/s, assumed
ENVELOPE = 500  # bytes of a message besides arrays, about
POINTS = 200  # of a curve over time


def cluster_of(workers: int, servers: int, costs: Costs, **more: Any) -> Cluster:
    """A data centre: measured costs, an assumed network, and workers that are not all alike."""
    unlike = {"unequal": 0.1, "uneven": 0.3, "stragglers": 0.01 if workers > 50 else 0.0} | more
    return Cluster(workers, servers, costs=costs, latency=LATENCY, bandwidth=BANDWIDTH, envelope=ENVELOPE, **unlike)


def plans(folder: Path) -> Iterator[tuple[str, Data, int]]:
    """Which algorithm learns what, in batches of how many rows."""
    place = covtype(folder)
    near = Data("covtype, in order", place.x[:100_000], place.y[:100_000])
    mixed = shuffled(place)
    yield "adagrad", zipf(200_000), BATCH
    yield "adagrad", near, BATCH
    yield "adagrad", Data(mixed.name, mixed.x[:100_000], mixed.y[:100_000]), BATCH
    yield "adagrad", shuffled(enron(folder)), BATCH


def measure(learners: dict[str, Linear], costs: dict[str, Costs], folder: Path, out: Path) -> None:
    """Play all plans, and write curves.json after each."""
    found: list[dict[str, Any]] = []

    def keep(told: dict[str, Any]) -> None:
        found.append(told)
        (out / "curves.json").write_text(json.dumps(found))
        print({k: v for k, v in told.items() if k != "timeline"}, file=sys.stderr, flush=True)

    for told in growth(learners["ogd"], costs["ogd"], shuffled(a9a(folder))):
        keep(told)
    for name, data, batch in plans(folder):
        learner = learners[name]
        alone = train(learner, data.x, data.y)
        ball = L2Ball(float(np.linalg.norm(alone.weights)))
        least = {"alone": alone.mean_loss, "regret alone": alone.linear_regret(ball)}
        for workers, servers in WORKERS.items():
            cluster = cluster_of(workers, servers, costs[name])
            keep(played(name, learner, data, cluster, batch, ball) | least)
            if workers > 1:
                keep(in_rounds(name, learner, data, cluster, batch, ball) | least)


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
        "most": run.staleness, "quantiles": np.quantile(lags, [0.01, 0.5, 0.99]).tolist(), "seconds": p.seconds, "rate": p.rows_per_second,
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
        "staleness": p.run.mean_staleness, "bytes": p.bytes / len(data.y), "rate": len(data.y) / p.seconds,
    }  # fmt: skip


def growth(learner: Linear, costs: Costs, data: Data, batch: int = 4) -> Iterator[dict[str, Any]]:
    """Exact regret against the best in a ball, by staleness, beside √(1 + 2τ)."""
    alone = train(learner, data.x, data.y)
    ball = L2Ball(float(np.linalg.norm(alone.weights)))
    best = best_in_hindsight(learner.loss, data.x, data.y, ball, seconds=60.0).value
    for workers in (1, 4, 16, 64, 256):
        told = played("ogd", learner, data, cluster_of(workers, 1, costs, stragglers=0.0), batch, ball)
        yield told | {"kind": "growth", "alone": alone.mean_loss, "best": best / len(data.y)}
