"""The simulator beside runs on this machine: processor seconds, staleness and loss, medians of several runs."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.scale.local import Hosts, Measured, median, with_ray, with_threads
from benchmarks.scale.rows import Data
from lowregret.learner.linear import Linear
from lowregret.spread.costs import Cluster, WorkCosts
from lowregret.spread.simulate import rehearse

WORKERS = (1, 2, 3)
CORES = 2
UNEVEN = 0.3  # σ of the logarithm of pieces of work, on a machine that others keep busy


class Row(NamedTuple):
    """A run as it was and as it was foretold."""

    how: str
    data: str
    algorithm: str
    batch: int
    workers: int
    measured: Measured
    foretold: Measured

    @property
    def errors(self) -> list[float]:
        """Foretold over measured, less 1: processor seconds, staleness, loss."""
        pairs = zip(self.foretold[1:], self.measured[1:], strict=True)
        return [mine / theirs - 1 if theirs else 0.0 for mine, theirs in pairs]


def foretold(learner: Linear, data: Data, cluster: Cluster, batch: int) -> Measured:
    """Figures of a run that was played, with `uneven` work; the median of three."""
    played = [rehearse(learner, data.x, data.y, cluster, batch, seed=seed) for seed in range(3)]
    return median([Measured(p.seconds, sum(p.work.values()), p.run.mean_staleness, p.run.mean_loss) for p in played])


def threads(name: str, learner: Linear, costs: WorkCosts, data: Data, batch: int, runs: int) -> Iterator[Row]:
    """Threads of one process: one at a time, as the interpreter has it."""
    for workers in WORKERS:
        measured = median([with_threads(learner, data, workers, batch) for _ in range(runs)])
        cluster = Cluster(workers, costs=costs, cores=1, uneven=UNEVEN)
        yield Row("threads", data.name, name, batch, workers, measured, foretold(learner, data, cluster, batch))


def on_ray(
    hosts: Hosts, name: str, learner: Linear, costs: WorkCosts, data: Data, batch: int, runs: int, folder: Path
) -> Iterator[Row]:
    """Actors of Ray on the cores of this machine."""
    for workers in WORKERS:
        measured = median([with_ray(hosts, learner, data, workers, batch, folder).measured for _ in range(runs)])
        cluster = Cluster(workers, costs=costs, cores=CORES, uneven=UNEVEN)
        yield Row("Ray", data.name, name, batch, workers, measured, foretold(learner, data, cluster, batch))


def table(rows: list[Row]) -> list[str]:
    """A line of Markdown for each run."""
    lines = [
        "| how | rows | algorithm | batch | workers | processor s | played | staleness | played | loss | played |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        (_, spent, lag, loss), (_, spent_, lag_, loss_) = row.measured, row.foretold
        lines.append(
            f"| {row.how} | {row.data} | `{row.algorithm}` | {row.batch} | {row.workers} | {spent:.3f} | {spent_:.3f} "
            f"| {lag:.0f} | {lag_:.0f} | {loss:.4f} | {loss_:.4f} |"
        )
    worst = [max(abs(row.errors[k]) for row in rows) for k in range(3)]
    middle = [statistics.median(abs(row.errors[k]) for row in rows) for k in range(3)]
    shown = zip(("processor seconds", "staleness", "loss"), middle, worst, strict=True)
    return [*lines, "", "; ".join(f"{name}: median error {m:.0%}, worst {w:.0%}" for name, m, w in shown)]


def as_json(rows: list[Row]) -> list[dict[str, Any]]:
    """Rows for a file."""
    return [row._asdict() | {"measured": row.measured._asdict(), "foretold": row.foretold._asdict()} for row in rows]
