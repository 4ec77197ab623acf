"""Runs on this machine that the simulator is compared with: threads of one process, and actors of Ray.

Both do what `lowregret.ray` does between two cuts: every worker takes, begins, pulls, learns, enters and pushes until
its rows end. Told are wall-clock and processor seconds of that alone, starting up and compiling left out.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.scale.calibrate import batch_of
from benchmarks.scale.rows import Data
from lowregret.certificate.spread import MISSED
from lowregret.learner.linear import Linear
from lowregret.ray.actors import ParameterWorker, Reading, RegisterKeeper
from lowregret.spread.costs import Costs
from lowregret.spread.server import FeatureServer
from lowregret.spread.shard import Shard
from lowregret.spread.worker import BatchWorker
from lowregret.stream.batch import Batch
from lowregret.stream.read import format_part


class Measured(NamedTuple):
    """A run on this machine."""

    seconds: float
    processor: float
    staleness: float
    loss: float


def median(runs: list[Measured]) -> Measured:
    """The median of each figure."""
    return Measured(*(statistics.median(figures) for figures in zip(*runs, strict=True)))


def blocks(rows: Batch, size: int, k: int, workers: int) -> Iterator[Batch]:
    """The blocks of worker k."""
    for begin in range(k * size, len(rows), workers * size):
        yield rows.part(begin, min(begin + size, len(rows)))


def told(register: RegisterKeeper, seconds: float, processor: float) -> Measured:
    return Measured(seconds, processor, float(register.ledger[MISSED]) / register.rounds, register.mean_loss)


# ---- threads --------------------------------------------------------------------------------------------------------


def with_threads(learner: Linear, data: Data, workers: int, size: int) -> Measured:
    """Workers as threads of this process, one server, one lock for it and one for the register."""
    rows, register, server = batch_of(data), RegisterKeeper(learner), FeatureServer(learner)
    desk, rack = threading.Lock(), threading.Lock()

    def work(k: int, worker: BatchWorker) -> None:
        for batch in blocks(rows, size, k, workers):
            ids = worker.take(batch)
            with desk:
                grant = register.begin(k, len(batch))
            with rack:
                cells = server.pull(ids)
            worker.learn(grant, cells)  # type: ignore[arg-type]
            with desk:
                register.enter(k, worker.account)
            moved = worker.changes.any(axis=1)
            with rack:
                server.push(ids[moved], worker.changes[moved])

    hands = [BatchWorker(learner) for _ in range(workers)]
    threads = [threading.Thread(target=work, args=(k, hand)) for k, hand in enumerate(hands)]
    begin, spent = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told(register, time.perf_counter() - begin, time.process_time() - spent)


# ---- Ray ------------------------------------------------------------------------------------------------------------


class Timed:
    """An actor that tells its processor seconds, all threads of its process together."""

    def spent(self) -> float:
        return time.process_time()


class TimedServer(Timed, FeatureServer):
    """A server that compiles before it is needed."""

    def __init__(self, learner: Linear) -> None:
        self._learner = learner
        super().__init__(learner)

    def warm(self) -> None:
        other, ids = FeatureServer(self._learner), np.arange(2000, dtype=np.uint64)
        cells = other.pull(ids)
        other.push(ids, self._learner.rule.changes(cells, cells))


class TimedRegister(Timed, RegisterKeeper):
    """A register that tells its processor seconds."""


class TimedWorker(Timed, ParameterWorker):
    """A worker that compiles before it is needed."""

    def warm(self, rows: Batch) -> None:
        worker, register = BatchWorker(self.learner), RegisterKeeper(self.learner)
        for _ in range(3):
            ids = worker.take(rows)
            worker.learn(register.begin(0, len(rows)), np.zeros((ids.size, self.learner.rule.width())))  # type: ignore[arg-type]
            register.enter(0, worker.account)


def shards(data: Data, workers: int, size: int, folder: Path) -> list[Path]:
    """A file for each worker, with its blocks, as `lowregret convert` keeps rows."""
    import subprocess
    import sys

    from sklearn.datasets import dump_svmlight_file

    found = []
    for k in range(workers):
        at = np.concatenate(
            [np.arange(b, min(b + size, len(data.y))) for b in range(k * size, len(data.y), workers * size)]
        )
        text, kept = folder / f"{data.name}-{workers}-{size}-{k}.svm", folder / f"{data.name}-{workers}-{size}-{k}.lrc"
        if not kept.exists():
            dump_svmlight_file(data.x[at], data.y[at], str(text), zero_based=False)
            command = [sys.executable, "-m", "lowregret", "convert", str(text), "-o", str(kept), "--quiet"]
            subprocess.run(command, check=True)
            text.unlink()
        found.append(kept)
    return found


class OnRay(NamedTuple):
    """A run on Ray, and processor seconds by role."""

    measured: Measured
    workers: float
    others: float  # servers and register


def with_ray(learner: Linear, data: Data, workers: int, size: int, folder: Path, servers: int = 1) -> OnRay:
    """Workers, servers and register as actors on this machine; Ray must be up."""
    import ray

    def actor(kind: type, *args: Any) -> Any:
        return ray.remote(kind).options(num_cpus=0).remote(*args)

    form, few = format_part("lrc"), batch_of(data).part(0, size)
    register, racks = actor(TimedRegister, learner), [actor(TimedServer, learner) for _ in range(servers)]
    hands = []
    for k, path in enumerate(shards(data, workers, size, folder)):
        source = {k: Shard(str(path))}, {k: 0}, Reading(form, size)
        hands.append(actor(TimedWorker, k, learner, source, register, racks))
    ray.get([rack.warm.remote() for rack in racks] + [hand.warm.remote(few.copy()) for hand in hands])
    others = [register, *racks]

    def spent(actors: list[Any]) -> float:
        return float(sum(ray.get([each.spent.remote() for each in actors])))

    before, begin = (spent(hands), spent(others)), time.perf_counter()
    ray.get([hand.work.remote() for hand in hands])
    seconds = time.perf_counter() - begin
    mine, theirs = spent(hands) - before[0], spent(others) - before[1]
    shown = RegisterKeeper(learner)
    shown.resume(ray.get(register.look.remote()))
    for each in (*others, *hands):
        ray.kill(each)
    return OnRay(told(shown, seconds, mine + theirs), mine, theirs)


FEW, MANY, TINY = 150, 600, 16  # batches, and rows of each, of the runs from which the costs of calls are told


def calls_of_ray(costs: Costs, learner: Linear, data: Data, folder: Path) -> tuple[Costs, dict[str, float]]:
    """Costs with those of calls between actors: what a run with more tiny batches takes beyond one with fewer.

    A batch has four calls: begin, pull, enter, push. What a byte costs is told by an array there and back.
    """
    runs = {n: with_ray(learner, Data(f"{data.name}{n}", data.x[: n * TINY], data.y[: n * TINY]), 1, TINY, folder)
            for n in (FEW, MANY, FEW, MANY)}  # fmt: skip
    few, many, batches = runs[FEW], runs[MANY], MANY - FEW
    rows = batch_of(data).part(0, TINY * FEW)
    features = np.mean([np.unique(b.rows.indices).size for b in blocks(rows, TINY, 0, 1)])
    entries = rows.rows.indices.size / FEW
    own = costs.take(entries, features) + costs.learn(TINY, entries, features)
    their = costs.pulled(features) + costs.pushed(features) + 2 * costs.registered(1)
    call = max((many.workers - few.workers) / batches - own, 0.0) / 4
    served = max((many.others - few.others) / batches - their, 0.0) / 4
    trip = (many.measured.seconds - few.measured.seconds) / batches
    byte, speed = byte_of_ray()
    figures = {"batch of tiny rows": trip, "call": call, "served": served, "byte": byte, "bytes per second": speed}
    return replace(costs, call=call, served=served, byte=byte), figures


class Echo(Timed):
    """An actor that swaps arrays."""

    def swap(self, given: Any) -> Any:
        return np.ones(given.size)


def byte_of_ray(times: int = 60, size: int = 200_000) -> tuple[float, float]:
    """Processor seconds at either end for a byte of an array, and bytes per second there and back."""
    import ray

    other, found = ray.remote(Echo).options(num_cpus=0).remote(), []
    for numbers in (20_000, size):
        given, seconds = np.ones(numbers), []
        ray.get([other.swap.remote(given) for _ in range(5)])
        before = time.process_time() + ray.get(other.spent.remote())
        for _ in range(times):
            begin = time.perf_counter()
            ray.get(other.swap.remote(given))
            seconds.append(time.perf_counter() - begin)
        spent = time.process_time() + ray.get(other.spent.remote()) - before
        found.append((16 * numbers, spent / times, statistics.median(seconds)))
    ray.kill(other)
    more = found[1][0] - found[0][0]
    return (found[1][1] - found[0][1]) / 2 / more, more / (found[1][2] - found[0][2])
