"""A trillion features on a thousand nodes, by formulas: beside Agarwal, Chapelle, Dudík and Langford (JMLR 15, 2014).

They report 17 billion rows with 2.1 trillion non-zeros, 16 million parameters, 1,000 nodes and 70 minutes.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.scale.averaging import tree
from benchmarks.scale.curves import cluster_of
from lowregret.learner.linear import Linear
from lowregret.spread.costs import NUMBER, BatchShape, Cluster, WorkCosts, bounds
from lowregret.spread.figures import Counted
from lowregret.spread.gather import Ledger, gather
from lowregret.spread.register import Register
from lowregret.spread.server import FeatureServer

ROWS, ENTRIES, PARAMETERS, NODES, MINUTES = 17e9, 2.1e12, 16e6, 1000, 70
SERVERS = 100
BATCHES = (256, 1024, 4096, 16384, 65536)
LEAN = 20e-6  # seconds of either side of a call without an interpreter, assumed


def distinct(entries: float, parameters: float = PARAMETERS) -> float:
    """Distinct features among so many draws, feature j being met in proportion to 1/j: Σ_j 1 − (1 − p_j)^entries."""
    edges = np.unique(np.floor(np.geomspace(1, parameters + 1, 4000)))
    middle, many = np.sqrt(edges[:-1] * (edges[1:] - 1).clip(1)), np.diff(edges)
    p = 1 / middle / (math.log(parameters) + 0.5772)
    return float(many @ -np.expm1(entries * np.log1p(-np.minimum(p, 0.5))))


def shape_of(rows: int, ledger: int = 376) -> BatchShape:
    """A batch of so many of their rows: all that it touches moves."""
    entries = rows * ENTRIES / ROWS
    features = distinct(entries)
    return BatchShape(rows, entries, features, features, 1.05, ledger=ledger)


def servers(costs: WorkCosts, title: str) -> Iterator[str]:
    """What servers would take, by the size of a batch."""
    yield f"\n{title}\n"
    yield "| batch | distinct features | rows/s | held up by | min | TB | bytes/row | τ | √(1 + 2τ) | √((1 + 2τ)/T) |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for rows in BATCHES:
        cluster = cluster_of(NODES, SERVERS, costs)
        told = bounds(cluster, shape_of(rows))
        tau, rate, sent = told.staleness, told.rows_per_second, told.bytes_per_row
        yield (
            f"| {rows:,} | {shape_of(rows).features:,.0f} | {rate:,.0f} | {told.bottleneck} "
            f"| {ROWS / rate / 60:,.0f} | {sent * ROWS / 1e12:,.0f} | {sent:,.0f} "
            f"| {tau:,.0f} | {math.sqrt(1 + 2 * tau):,.0f} | {math.sqrt((1 + 2 * tau) / ROWS):.1e} |"
        )


def rounds(costs: WorkCosts) -> Iterator[str]:
    """What rounds of averaging would take, by their number in one pass."""
    yield "\n| rounds | rows of a worker between two | minutes | of them in trees | TB moved | staleness |"
    yield "|---|---|---|---|---|---|"
    cluster = cluster_of(NODES, SERVERS, costs)
    own = ROWS / NODES * (costs.learn_row + ENTRIES / ROWS * (costs.learn_entry + costs.take_entry))
    model = 2 * NUMBER * PARAMETERS
    for many in (1, 10, 100, 1000):
        trees, slowest = many * tree(cluster, model), straggle(cluster)
        yield (
            f"| {many:,} | {ROWS / NODES / many:,.0f} | {(own * slowest + trees) / 60:,.1f} | {trees / 60:,.2f} "
            f"| {many * 2 * model * NODES / 1e12:,.1f} | {ROWS * (NODES - 1) / NODES / many / 2:,.0f} |"
        )


def straggle(cluster: Cluster) -> float:
    """By how much the slowest worker of a round is slower, which is a straggler if there is one."""
    most = math.exp(cluster.unequal * math.sqrt(2 * math.log(cluster.workers)))
    return cluster.straggling if cluster.stragglers > 0 else most


def cut(learner: Linear, features: int) -> tuple[float, float, int]:
    """Processor seconds to put a run of so many features together, and to file it, and the bytes of the file."""
    ids, width = np.arange(features, dtype=np.uint64), learner.rule.width()
    register = Register(learner)
    server = FeatureServer(learner, ids, np.random.default_rng(0).random((features, width)))
    ledger = Ledger(register.sums, register.counts, register.ledger, register.lags)
    begin = time.process_time()
    run = gather(learner, ledger, [server.contents()], Counted.none(learner.loss))
    middle = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        run.save(Path(folder) / "run.lr")
        return middle - begin, time.process_time() - middle, (Path(folder) / "run.lr").stat().st_size


def tell(learner: Linear, costs: WorkCosts) -> None:
    """Print all tables."""
    print("\n".join(servers(costs, "Calls as measured")))
    print(
        "\n".join(
            servers(replace(costs, call=LEAN, served=LEAN, stored=LEAN), f"Calls at {LEAN * 1e6:.0f} µs of either side")
        )
    )
    print("\n".join(rounds(costs)))
    features = 1 << 20
    together, filed, size = cut(learner, features)
    print(
        f"\ncut of {features:,} features: {together / features * 1e9:.0f} ns a feature to put together, "
        f"{filed / features * 1e9:.0f} to file, {size / features:.1f} bytes in the file"
    )
