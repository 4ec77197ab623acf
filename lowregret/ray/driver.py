"""The driver of a training on Ray: it starts actors, takes cuts, and begins again from the last one when an actor dies.

Nothing is learnt here. Whoever dies, all actors are ended and made anew, with the state and the cursors of the last
cut: rows learnt since then are learnt again, and nothing of the first time is kept, so none is lost or counted twice.
"""

from __future__ import annotations

import math
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lowregret.certificate.trace import next_mark
from lowregret.errors import LowRegretError, PartError
from lowregret.ray.actors import AveragingWorker, ParameterWorker, Reading, RegisterKeeper, RelayWorker
from lowregret.run.averaged import AveragedRun
from lowregret.run.session import Session
from lowregret.run.spread import SpreadRun
from lowregret.spread.averaging import merge
from lowregret.spread.cut import Cut, CutFolder
from lowregret.spread.figures import Counted, counted_of, joined, session_of, total_norms
from lowregret.spread.gather import Ledger, gather, ledger_of, scatter
from lowregret.spread.server import FeatureServer
from lowregret.spread.shard import Shard
from lowregret.state import DIMENSION, ROUNDS, TOTAL

GLANCE = 0.2  # seconds between looks at how far workers are
FIRST_MARK = 1024  # rounds before the history begins
PATIENCE = 30.0  # seconds for which workers wait for a processor each, before they share those that there are
TIRES = 20  # times in a row that actors may die before the first cut after it


class Plan(NamedTuple):
    """The shards of a training, how they are read, and by how many workers and servers."""

    shards: list[Shard]
    reading: Reading
    workers: int
    servers: int
    staleness: int
    every: float  # seconds between cuts


@dataclass
class Training:
    """A training under way: the last cut, and how to go on from it."""

    plan: Plan
    cut: Cut
    folder: CutFolder | None = None
    tell: Callable[[str], None] = lambda line: None
    deaths: int = 0
    _actors: list[Any] = field(default_factory=list)
    _share: float = 1.0  # of a processor, that a worker asks for

    def finish(self) -> Session:
        """Learn all rows, whoever dies on the way."""
        from ray.exceptions import RayError, RayTaskError

        since = 0  # deaths since the last cut
        while True:
            number = self.cut.number
            try:
                return self._learn()
            except RayTaskError as error:
                cause = error.cause
                if isinstance(cause, LowRegretError):
                    raise cause from None
                if not isinstance(cause, RayError):
                    raise
                problem: Exception = cause
            except RayError as error:  # of an actor, or of what lay on a node that is gone
                problem = error
            finally:
                self._end()
            self.deaths += 1
            since = since + 1 if self.cut.number == number else 0
            if since >= TIRES:
                raise LowRegretError(f"actors died {TIRES} times before another cut: {cause_of(problem)}") from problem
            self.tell(f"an actor died: all go back to the cut after {self.cut.session.run.rounds:,} rounds")

    def _learn(self) -> Session:
        """Learn from the cut to the end, in the way that fits the run."""
        if self.plan.staleness == 0:
            return self._relay()
        return self._average() if isinstance(self.cut.session.run, AveragedRun) else self._spread()

    def _end(self) -> None:
        """End all actors."""
        from ray import kill

        for actor in self._actors:
            kill(actor)
        self._actors.clear()

    def _actor(self, kind: type, *args: Any, cpus: float = 0.0) -> Any:
        from ray import remote

        actor: Any = remote(kind).options(num_cpus=cpus, scheduling_strategy="SPREAD").remote(*args)
        self._actors.append(actor)
        return actor

    def _workers(self, kind: type, given: list[tuple[Any, ...]]) -> list[Any]:
        """Workers of these arguments, once all are there: whoever finds no free processor would wait for ever."""
        from ray import get, kill, wait

        workers = [self._actor(kind, *each, cpus=self._share) for each in given]
        absent = [worker.__ray_ready__.remote() for worker in workers]
        until = time.perf_counter() + PATIENCE
        while absent and (self._share == 0.0 or time.perf_counter() < until):
            found, absent = wait(absent, num_returns=len(absent), timeout=GLANCE)
            get(found)  # raises if one died
            if absent:
                self.tell(f"{len(absent)} of {len(workers)} workers are not there yet")
        if not absent:
            return workers
        self.tell(f"{len(absent)} of {len(workers)} workers found no free processor: they share those that there are")
        for worker in workers:
            kill(worker)
        del self._actors[-len(workers) :]
        self._share = 0.0
        return self._workers(kind, given)

    def _sources(self) -> Iterator[tuple[dict[int, Shard], dict[int, int], Reading]]:
        """The shards of each worker, with how far they are."""
        plan = self.plan
        for k in range(plan.workers):
            own = range(k, len(plan.shards), plan.workers)
            yield {at: plan.shards[at] for at in own}, {at: self.cut.cursors[at] for at in own}, plan.reading

    def _keep(self, session: Session, cursors: list[int]) -> None:
        """Make this the cut to go back to."""
        self.cut = Cut(session, cursors, self.cut.number + 1)
        if self.folder is not None:
            self.folder.save(self.cut)

    # ---- one run that goes from worker to worker -----------------------------------------------------------------

    def _relay(self) -> Session:
        """Let workers learn in turns: rows are read by all at once, and learnt in order."""
        from ray import get, wait

        workers = self._workers(RelayWorker, [(source,) for source in self._sources()])
        turns, cursors = list(range(len(self.plan.shards))), list(self.cut.cursors)
        packed: Any = pickle.dumps(self.cut.session)
        kept = time.perf_counter()
        while turns:
            under_way = []
            for at in turns:  # each waits for the session of the one before
                call = workers[at % self.plan.workers].turn.options(num_returns=2)
                packed, told = call.remote(packed, at)
                under_way.append(told)
            wait(under_way, num_returns=len(under_way))
            for told in get(under_way):
                cursors[told.shard] = told.cursor
                if told.done:
                    turns.remove(told.shard)
            self.tell(f"{told.rows:,} rows  loss {told.mean_loss:.4g}")
            if turns and time.perf_counter() - kept > self.plan.every:
                self._keep(pickle.loads(get(packed)), list(cursors))
                kept = time.perf_counter()
        session: Session = pickle.loads(get(packed))
        self._keep(session, cursors)
        return session

    # ---- rounds of averaging -------------------------------------------------------------------------------------

    def _average(self) -> Session:
        """Let workers learn rounds of rows, each with a run of its own, and make one of them after each round."""
        from ray import get

        most = min(self.plan.reading.size, round_rows(self.plan.staleness, self.plan.workers))
        workers = self._workers(AveragingWorker, [(source, most) for source in self._sources()])
        session, cursors, kept = self.cut.session, list(self.cut.cursors), time.perf_counter()
        while workers:
            packed = pickle.dumps(session)
            calls = [worker.round.options(num_returns=2).remote(packed) for worker in workers]
            reports = get([told for _, told in calls])
            runs = [pickle.loads(run) for run in get([run for run, _ in calls])]
            session = _averaged(session, runs, [report.counted for report in reports])
            for report in reports:
                for at, cursor in report.cursors.items():
                    cursors[at] = cursor
            workers = [worker for worker, report in zip(workers, reports, strict=True) if not report.done]
            self.tell(f"{session.rows:,} rows  loss {session.mean_loss:.4g}")
            if not workers or time.perf_counter() - kept > self.plan.every:
                self._keep(session, list(cursors))
                kept = time.perf_counter()
        return session

    # ---- servers and workers -------------------------------------------------------------------------------------

    def _spread(self) -> Session:
        """Let workers learn at once against servers, with a pause now and then for a cut or a mark of the history."""
        from ray import get

        run, plan = self.cut.session.run, self.plan
        assert isinstance(run, SpreadRun)
        register = self._actor(RegisterKeeper, run.learner, plan.staleness)
        get(register.resume.remote(ledger_of(run)))
        parts = scatter(run, plan.servers)
        servers = [self._actor(FeatureServer, run.learner, *part) for part in parts]
        given = [(k, run.learner, source, register, servers) for k, source in enumerate(self._sources())]
        workers = self._workers(ParameterWorker, given)
        team = _Team(register, servers, workers, self.cut, list(run.record.history))
        kept = time.perf_counter()
        while not team.done:
            mark = max(next_mark(team.rounds), FIRST_MARK)
            team.work(mark, max(kept + plan.every, time.perf_counter() + GLANCE), self.tell)
            team.mark()
            if team.done or time.perf_counter() - kept > plan.every:
                self._keep(*team.gathered())
                kept = time.perf_counter()
        return self.cut.session


def cause_of(problem: Exception) -> str:
    """The words behind what Ray tells of a death: not where it was, and not what else it might have been."""
    lines = str(problem).splitlines()
    inside = [k for k, line in enumerate(lines) if line[:1].isspace()]  # of a traceback, or of a list of numbers
    text = " ".join(lines[inside[-1] + 1 :] if inside else lines) or type(problem).__name__
    return text.split(" Some common causes")[0]


def round_rows(staleness: int, workers: int) -> int:
    """The rows of a worker in a round of averaging, such that none lacks more rows of the others than allowed."""
    rows = staleness // max(workers - 1, 1)
    if rows == 0:
        raise PartError(
            f"{workers} workers that average lack {workers - 1} rows of others at least: allow that staleness, or 0"
        )
    return rows


def _averaged(session: Session, runs: list[AveragedRun], counted: list[Counted]) -> Session:
    """The session after a round in which these runs were made of its own."""
    before = session.run
    assert isinstance(before, AveragedRun)
    run, all_counted = merge(before, runs), joined(counted_of(session), *counted)
    run.tally = all_counted.tally
    if run.rounds >= max(next_mark(before.rounds), FIRST_MARK):
        run.record.mark(run)
    return session_of(run, session, all_counted)


class _Team:
    """The actors of a training with servers, and what was handed in since its cut."""

    def __init__(self, register: Any, servers: list[Any], workers: list[Any], cut: Cut, history: list[Any]) -> None:
        self.register, self.servers, self.workers = register, servers, workers
        self.session, self.cursors, self.history = cut.session, list(cut.cursors), history
        self.rounds = cut.session.run.rounds
        self.done = False
        self._counted: list[Counted] = [counted_of(cut.session)]

    def work(self, mark: int, until: float, tell: Callable[[str], None]) -> None:
        """Let all work until `mark` rounds are done, or that time has come, or rows end; then all stand still."""
        from ray import get, wait

        get(self.register.open.remote())
        calls: list[Any] = [worker.work.remote() for worker in self.workers]
        ready: list[Any] = []
        shut = False
        while len(ready) < len(calls):
            ready, _ = wait(calls, num_returns=len(calls), timeout=GLANCE)
            get(ready)  # raises if one died
            ledger: Ledger = get(self.register.look.remote())
            self.rounds = int(ledger.counts[ROUNDS])
            if self.rounds:
                tell(f"{self.rounds:,} rows  loss {float(ledger.sums[TOTAL]) / self.rounds:.4g}")
            if not shut and (self.rounds >= mark or time.perf_counter() > until):
                get(self.register.shut.remote())
                shut = True
        reports = get(calls)
        for report in reports:
            self._counted.append(report.counted)
            for at, cursor in report.cursors.items():
                self.cursors[at] = cursor
        self.done = all(report.done for report in reports)
        self.rounds = int(get(self.register.look.remote()).counts[ROUNDS])

    def mark(self) -> None:
        """Add the ledger as it is to the history."""
        from ray import get

        ledger: Ledger = get(self.register.look.remote())
        norms = total_norms(get([server.norms.remote() for server in self.servers]))
        counts = ledger.counts.astype(float)
        counts[DIMENSION] = 1
        if not self.history or self.history[-1][len(ledger.sums) + ROUNDS] < counts[ROUNDS]:
            self.history.append(np.concatenate([ledger.sums, counts, norms]))

    def gathered(self) -> tuple[Session, list[int]]:
        """The session as it is, put together, and how far the shards are."""
        from ray import get

        before = self.session.run
        assert isinstance(before, SpreadRun)
        ledger: Ledger = get(self.register.look.remote())
        counted = joined(*self._counted)
        contents = get([server.contents.remote() for server in self.servers])
        run = gather(before.learner, ledger, contents, counted, self.history, before.comparator)
        self.session, self._counted = session_of(run, self.session, counted), [counted]
        return self.session, list(self.cursors)


def tell_on(stream: Any = None, live: bool | None = None) -> Callable[[str], None]:
    """Show lines on standard error: one that changes on a terminal, else one now and then."""
    out = stream or sys.stderr
    changing = out.isatty() if live is None else live
    last = [-math.inf]

    def tell(line: str) -> None:
        now = time.perf_counter()
        if now - last[0] >= (GLANCE if changing else 10.0):
            out.write(f"\r\x1b[2K{line}" if changing else f"{line}\n")
            out.flush()
            last[0] = now

    return tell
