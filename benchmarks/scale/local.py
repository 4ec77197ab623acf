"""Runs on this machine that the simulator is compared with: threads of one process, and actors of Ray.

Both do what `lowregret.ray` does between two cuts: every worker takes, begins, pulls, learns, enters and pushes until
its rows end. Told are wall-clock and processor seconds of that alone, starting up and compiling left out.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.scale.calibrate import batch_of
from benchmarks.scale.rows import Data
from lowregret.certificate.spread import MISSED
from lowregret.learner.linear import Linear
from lowregret.ray.actors import ParameterWorker, Reading, RegisterKeeper
from lowregret.spread.costs import WorkCosts
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
                cells, seen = server.pull(ids)
            worker.learn(grant, cells)  # type: ignore[arg-type]
            with desk:
                register.enter(k, worker.account)
            moved = worker.changes.any(axis=1)
            with rack:
                server.push(ids[moved], worker.changes[moved], seen[moved], worker.steps[moved])

    hands = [BatchWorker(learner) for _ in range(workers)]
    threads = [threading.Thread(target=work, args=(k, hand)) for k, hand in enumerate(hands)]
    begin, spent = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told(register, time.perf_counter() - begin, time.process_time() - spent)


# ---- Ray ------------------------------------------------------------------------------------------------------------


class Host:
    """A process in which a register, a server or a worker lives for one run: processes take long to start."""

    def __init__(self) -> None:
        self.it: Any = None

    def house(self, kind: type, *args: Any) -> None:
        """Be another."""
        self.it = kind(*args)

    def spent(self) -> float:
        """Processor seconds so far, all threads together."""
        return time.process_time()

    def begin(self, *args: Any) -> Any:
        return self.it.begin(*args)

    def enter(self, *args: Any) -> Any:
        return self.it.enter(*args)

    def settle(self, *args: Any) -> Any:
        return self.it.settle(*args)

    def look(self) -> Any:
        return self.it.look()

    def pull(self, *args: Any) -> Any:
        return self.it.pull(*args)

    def push(self, *args: Any) -> Any:
        return self.it.push(*args)

    def work(self) -> Any:
        return self.it.work()

    def swap(self, given: Any) -> Any:
        """An array as large as the one given."""
        return np.ones(given.size)


class Hosts(NamedTuple):
    """Processes of Ray."""

    register: Any
    server: Any
    workers: list[Any]

    @classmethod
    def start(cls, workers: int) -> Hosts:
        """Start processes for so many workers at most."""
        import ray

        register, server, *hands = (ray.remote(Host).options(num_cpus=0).remote() for _ in range(workers + 2))
        return cls(register, server, hands)


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
        name = f"{data.name}-{len(data.y)}-{workers}-{size}-{k}"
        text, kept = folder / f"{name}.svm", folder / f"{name}.lrc"
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


def with_ray(hosts: Hosts, learner: Linear, data: Data, workers: int, size: int, folder: Path) -> OnRay:
    """Workers, a server and the register as actors on this machine."""
    import ray

    get: Any = ray.get
    hands, others = hosts.workers[:workers], [hosts.register, hosts.server]
    ready = [hosts.register.house.remote(RegisterKeeper, learner), hosts.server.house.remote(FeatureServer, learner)]
    for k, (hand, path) in enumerate(zip(hands, shards(data, workers, size, folder), strict=True)):
        source = {k: Shard(str(path))}, {k: 0}, Reading(format_part("lrc"), size)
        ready.append(hand.house.remote(ParameterWorker, k, learner, source, hosts.register, [hosts.server]))
    get(ready)

    def spent(actors: list[Any]) -> float:
        return float(sum(get([each.spent.remote() for each in actors])))

    before, begin = (spent(hands), spent(others)), time.perf_counter()
    get([hand.work.remote() for hand in hands])
    seconds = time.perf_counter() - begin
    mine, theirs = spent(hands) - before[0], spent(others) - before[1]
    shown = RegisterKeeper(learner)
    shown.resume(get(hosts.register.look.remote()))
    return OnRay(told(shown, seconds, mine + theirs), mine, theirs)


FEW, MANY, TINY = 50, 550, 16  # batches, and rows of each, of the runs from which the costs of calls are told


def calls_of_ray(
    hosts: Hosts, costs: WorkCosts, learner: Linear, data: Data, folder: Path, runs: int
) -> tuple[WorkCosts, dict[str, float]]:
    """WorkCosts with those of calls between actors: what a run with more tiny batches takes beyond one with fewer.

    A batch has four calls: begin, pull, enter, push. What a byte costs is told by an array there and back.
    """
    found: dict[int, list[OnRay]] = {FEW: [], MANY: []}
    for _ in range(runs):
        for n in found:
            part = Data(f"{data.name}{n}", data.x[: n * TINY], data.y[: n * TINY])
            found[n].append(with_ray(hosts, learner, part, 1, TINY, folder))

    def more(figure: Callable[[OnRay], float]) -> float:
        """By how much a batch adds to a figure."""
        few, many = (statistics.median([figure(run) for run in found[n]]) for n in (FEW, MANY))
        return (many - few) / (MANY - FEW)

    rows = batch_of(data).part(0, TINY * FEW)
    features = float(np.mean([np.unique(b.rows.indices).size for b in blocks(rows, TINY, 0, 1)]))
    entries = rows.rows.indices.size / FEW
    own = costs.take(entries, features) + costs.learn(TINY, entries, features)
    their = costs.pulled(features) + costs.pushed(features) + 2 * costs.registered(1)
    call = max(more(lambda run: run.workers) - own, 0.0) / 4
    served = max(more(lambda run: run.others) - their, 0.0) / 4
    byte, stored, speed = byte_of_ray(hosts)
    figures = {"batch": more(lambda run: run.measured.seconds), "byte": byte, "bytes per second": speed}
    return replace(costs, call=call, served=served, byte=byte, stored=stored), figures


def byte_of_ray(hosts: Hosts, turns: int = 8, times: int = 8) -> tuple[float, float, float]:
    """Processor seconds at either end for a byte, and for an array in the store; bytes per second there and back."""
    import ray

    get: Any = ray.get
    other, sizes = hosts.server, (10, 20_000, 200_000)
    found: dict[int, list[tuple[float, float]]] = {size: [] for size in sizes}
    for turn in range(turns + 2):
        for size in sizes:
            given, before = np.ones(size), time.process_time() + get(other.spent.remote())
            begin = time.perf_counter()
            for _ in range(times):
                get(other.swap.remote(given))
            lasting = (time.perf_counter() - begin) / times
            spent = (time.process_time() + get(other.spent.remote()) - before) / times
            if turn > 1:  # the first ones make room
                found[size].append((spent, lasting))
    tiny, few, many = (np.median(found[size], axis=0) for size in sizes)
    more = 16 * (sizes[2] - sizes[1])
    spent, lasting = (many - few).tolist()
    byte = max(spent, 0.0) / 2 / more
    stored = (few - tiny).tolist()[0] / 4 - byte * 8 * sizes[1]  # two arrays, two ends
    return byte, max(stored, 0.0), more / lasting
