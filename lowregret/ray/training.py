"""`lowregret.ray.train`: a learner, data that may be shards or a Ray dataset, and how many are to work on them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, Unpack

from lowregret.auto import Auto, AutoMulticlass
from lowregret.compile.part import Part
from lowregret.compile.spec import to_json
from lowregret.domain import Domain
from lowregret.errors import DataError, PartError, StoreError
from lowregret.learner.growth import FIRST
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.ray.actors import Reading
from lowregret.ray.cluster import LOCAL, cluster
from lowregret.ray.driver import Plan, Training, round_rows
from lowregret.run.auto import AutoRun, auto_for
from lowregret.run.averaged import AveragedRun
from lowregret.run.begin import begin
from lowregret.run.linear import LinearRun
from lowregret.run.multiclass import MulticlassRun
from lowregret.run.session import Session
from lowregret.run.spread import SpreadRun
from lowregret.spread.averaging import require_averageable
from lowregret.spread.cut import Cut, CutFolder, table_digest
from lowregret.spread.gather import require_spreadable
from lowregret.spread.shard import deal
from lowregret.stream.ahead import Ahead
from lowregret.stream.batch import has_arrow_stream
from lowregret.stream.read import OnError, Options, detect, format_part, stream_of
from lowregret.stream.source import STDIN, expand

TURN, BATCH = 1 << 14, 1 << 10  # rows that a worker learns in a turn, and of a batch between pull and push


def train(
    learner: Linear | Multiclass | Auto | AutoMulticlass | Literal["auto"],
    data: Any,
    *,
    workers: int = 2,
    servers: int = 1,
    staleness: int = 0,
    batch: int | None = None,
    cuts: str | os.PathLike[str] | None = None,
    every: float = 60.0,
    address: str = LOCAL,
    comparator: Domain | None = None,
    format: str | None = None,
    threads: int = 1,
    on_error: OnError = "stop",
    **options: Unpack[Options],
) -> LinearRun | AutoRun | MulticlassRun:
    """Learn rows once on a Ray cluster, and return the run: a run like others, which predicts, proves and saves.

    `data`: names of files or a pattern, a `ray.data.Dataset`, or a list of shards, each whatever `read` takes; all
    nodes must reach files. `staleness` is the most rows of others that a worker may not know of when it decides one.
    With 0, workers read at once and learn in turns, of `batch` rows: any learner, and the outcome is that of `train` on
    the rows in that order, which of several files is a turn of each.
    With more, ogd, adagrad and their kin learn at once against `servers`, a `batch` between pull and push; `auto`
    (of raw features, logistic loss) in rounds of `batch` rows each, after which the workers' runs are averaged.
    `cuts`: a folder for cuts, one `every` few seconds; the same call with the same folder goes on from there.
    `address`: of the cluster, "auto" for the one this machine is part of, or "local" for one of its own.
    Whatever else is as in `read` and `train`. docs/ray.md has the proof and figures.
    """
    require_counts(workers=workers, servers=servers, staleness=staleness, batch=batch or 1)
    form = format_part(format or _detect(data), **options)
    with cluster(address, workers):
        sources = sources_of(data)
        if learner == "auto":
            learner = auto_for(Ahead(stream_of(_here(sources[0]), form)))
        reading = Reading(form, batch or batch_rows(learner, staleness, workers), threads, on_error)
        session = begin_session(learner, form, staleness, type(learner).__name__, comparator)
        plan = planned(sources, reading, workers, servers, staleness, every)
        return finish(session, plan, cuts).run


def begin_session(
    learner: Any, form: Part, staleness: int, algorithm: str, comparator: Domain | None = None
) -> Session:
    """A session before its first row."""
    return spread_session(Session(begin(learner, None, comparator=comparator), form, algorithm), staleness)


def spread_session(session: Session, staleness: int) -> Session:
    """A session that has not begun, of the kind of run that fits the staleness allowed."""
    run = session.run
    if staleness > 0 and isinstance(run, AutoRun):
        require_averageable(run.learner)
        session.run = AveragedRun.begun(run.learner, FIRST, comparator=run.comparator, seen=0)
    elif staleness > 0:
        require_spreadable(run.learner)
        session.run = SpreadRun(run.learner, run.state, run.comparator, seen=0, certify=run.certify)
    return session


def batch_rows(learner: Any, staleness: int, workers: int) -> int:
    """Rows of a turn, of a round of averaging that keeps to the staleness allowed, or between pull and push."""
    if staleness == 0:
        return TURN
    if isinstance(learner, Auto):
        return round_rows(staleness, workers)
    return min(BATCH, max(staleness // max(workers - 1, 1), 1))


def planned(
    sources: list[Any], reading: Reading, workers: int, servers: int, staleness: int, every: float = 60.0
) -> Plan:
    """Who does what, after a look at the numbers."""
    require_counts(workers=workers, servers=servers, staleness=staleness, batch=reading.size)
    return Plan(deal(sources, workers), reading, workers, servers, staleness, every)


def require_counts(**given: Any) -> None:
    """Refuse numbers of workers and the like that are no whole numbers, or too small."""
    for name, value in given.items():
        least = 0 if name == "staleness" else 1
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise PartError(f"{name} must be a whole number, at least {least}, got {value!r}")


def finish(session: Session, plan: Plan, cuts: Any = None, tell: Callable[[str], None] = lambda line: None) -> Session:
    """Learn all rows from the cut in the folder, if there is one, else from the first."""
    folder = None if cuts is None else CutFolder(cuts, _described(session, plan))
    cut = None if folder is None else folder.load()
    if cut is not None and len(cut.cursors) != len(plan.shards):
        raise StoreError(f"{cuts} tells how far {len(cut.cursors)} shards are learnt, but there are {len(plan.shards)}")
    if cut is not None:
        _require_same(cut, session, cuts)
    return Training(plan, cut or Cut(session, [0] * len(plan.shards)), folder, tell).finish()


def _require_same(cut: Cut, session: Session, cuts: Any) -> None:
    """Refuse a cut whose model is not one of this training after as many rows as it tells."""
    model, run = cut.session.run, session.run
    same = type(model) is type(run) and to_json(model.learner) == to_json(run.learner)
    if not same or sum(cut.cursors) != cut.session.rows:
        raise StoreError(f"the model in {cuts} is not of the training that cut.json tells of; delete it to begin anew")


def _described(session: Session, plan: Plan) -> dict[str, Any]:
    """The learner, the data and how rows are dealt: a cut is good for nothing else."""
    shards = [[_name(shard.data), shard.part, shard.parts] for shard in plan.shards]
    told = {"learner": to_json(session.run.learner), "comparator": to_json(session.run.comparator), "shards": shards}
    return told | {"form": to_json(session.form), "batch": plan.reading.size, "in turns": plan.staleness == 0}


def _name(data: Any) -> Any:
    from ray import ObjectRef, get, remote

    if isinstance(data, str | os.PathLike):
        return os.fspath(data)
    if isinstance(data, ObjectRef):  # looked at where it lies
        return get(remote(table_digest).options(num_cpus=0).remote(data))
    return [_name(each) for each in data] if isinstance(data, list | tuple) else table_digest(data)


# ---- data -----------------------------------------------------------------------------------------------------------


def sources_of(data: Any) -> list[Any]:
    """Data as sources of rows that can be read each on its own: files, shards, or blocks of a dataset."""
    if hasattr(data, "to_arrow_refs"):
        return list(data.to_arrow_refs())
    if has_arrow_stream(data):
        return [data]
    if _names(data):
        found: list[Any] = expand(data)
    else:
        found = [each if has_arrow_stream(each) or hasattr(each, "hex") else expand(each) for each in data]
    if any(STDIN in (each if isinstance(each, list) else [each]) for each in found if isinstance(each, str | list)):
        raise DataError("workers elsewhere cannot read standard input: put the rows into files")
    return [each if not isinstance(each, list) or len(each) > 1 else each[0] for each in found]


def _names(data: Any) -> bool:
    if isinstance(data, str | os.PathLike):
        return True
    return isinstance(data, list | tuple) and all(isinstance(each, str | os.PathLike) for each in data)


def _detect(data: Any) -> str:
    if hasattr(data, "to_arrow_refs") or has_arrow_stream(data):
        return "arrow"
    return detect(data) if _names(data) else _detect(data[0]) if isinstance(data, list | tuple) else detect(data)


def _here(source: Any) -> Any:
    """A source as this process can read it."""
    from ray import ObjectRef, get

    return get(source) if isinstance(source, ObjectRef) else source
