"""Learning on the command line: rows in, a model kept, the proof shown."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np

from lowregret.auto import AutoMulticlass
from lowregret.cli import BAD, DONE, INTERRUPTED
from lowregret.cli.arguments import THEORY
from lowregret.cli.clock import Clock, Seconds
from lowregret.cli.form import SKIPPING, open_rows
from lowregret.cli.holdout import Holdout
from lowregret.cli.interruption import Interruption
from lowregret.cli.json_output import print_json
from lowregret.cli.keeper import Keeper
from lowregret.cli.labels import settle_labels
from lowregret.cli.make import algorithm, make_comparator, make_expansion, make_learner, unlike_auto
from lowregret.cli.progress import Progress, Search
from lowregret.cli.scores import ScoreFile, score_file
from lowregret.cli.summary import show
from lowregret.cli.theory import tuned_learner
from lowregret.compile.part import Part
from lowregret.errors import DataError, LowRegretError, PartError, StoreError
from lowregret.learner.labels import class_name
from lowregret.learner.multiclass import Multiclass
from lowregret.rows import Rows
from lowregret.run import notes
from lowregret.run.auto import AutoRun, auto_for
from lowregret.run.begin import RunOptions, begin
from lowregret.run.blocks import BlockRun
from lowregret.run.metrics import Metrics
from lowregret.run.named_importance import importance_by_name
from lowregret.run.named_weights import weights_by_name
from lowregret.run.session import Session
from lowregret.show.text import tell_importance
from lowregret.store.replacing import real_file, require_place, write_result
from lowregret.store.watched import Watched
from lowregret.stream.ahead import Ahead
from lowregret.stream.batch import Batch, Stream, raise_faults
from lowregret.stream.choose import skip_and_hold_out
from lowregret.stream.columns import has_lags
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.names import KEPT_LABELS
from lowregret.stream.read import positive_name, read_alike
from lowregret.stream.source import STDIN
from lowregret.types import Vector
from lowregret.words import counted, one_line

SHOWN_FAULTS = 5
SHOWN_COLUMNS = 8  # by their importance

# What a model brings along, so that it cannot be said again when resuming.
_FIXED = (
    "format target positive weight drop categorical text ngrams date interactions delimiter decimal bits loss "
    "algorithm eta rounds lipschitz radius p lam output l1 l2 beta clip C bias dimension zero_based no_header seed "
    "classes unit partitions block delay delay_column time_column"
)


def learn(args: Namespace, form: Part | None, stream: Stream | None, clock: Clock) -> int:
    """Learn; the model up to the last good row is kept whatever happens. Without a form, that of the resumed model."""
    require_places(args)
    session, stream = _ready(args, form, stream)
    args.holdout = _count_held_out(args.holdout, stream, args)
    problem: BaseException | None = None
    with Interruption(args.follow) as interruption, score_file(args.predictions, args.link, session) as scores:
        keeper = Keeper(session, args.place, args.checkpoint, scores, args.predict_only)
        try:
            _go_over(session, stream, args, scores, keeper, interruption)
        except KeyboardInterrupt:
            interruption.wanted = True
        except (LowRegretError, MemoryError, OSError) as error:
            problem = error
        if problem is None and not interruption.wanted:
            _require_positive(session, args)
        if args.predict_only and not (args.importance or args.report):
            session.run.frozen = None  # the model on trial: what is written takes its memory
        model = keeper.finish()
    if session.run.rounds == 0 and problem is None and not interruption.wanted:
        raise DataError(nothing(session, args))
    if args.certify == "exact" and problem is None and not interruption.wanted:
        _look_back(session, stream, args)
    if problem is None or (session.run.rounds and isinstance(problem, LowRegretError)):
        tell_session(session, args, clock.read(), model)
    if session.unwritten and model and not args.predict_only:
        lines = counted(session.unwritten.count("\n"), "line")
        print(f"lowregret: {lines} of predictions wait in {model}: --resume writes them first", file=sys.stderr)
    if isinstance(problem, MemoryError):
        print(f"lowregret: stopped after {_where(session, args, model)}", file=sys.stderr)
    if problem is not None:
        raise problem
    if interruption.wanted:
        print(f"lowregret: interrupted after {_where(session, args, model)}", file=sys.stderr)
        return INTERRUPTED
    return BAD if keeper.failed else DONE


def _ready(args: Namespace, form: Part | None, stream: Stream | None) -> tuple[Session, Stream]:
    """The session before its first row, or as it was saved, and the rows that it is to learn."""
    dictionary = Dictionary() if args.weights or args.report or args.importance else None
    if form is None:
        session = _resume_session(args)
    else:
        stream = stream or open_rows(args, form, dictionary)
        form, stream = settle_labels(args, form, stream, dictionary)
        session = start_session(args, form, stream)
    if args.certify == "exact":
        session.require_answer()
    if session.run.late is not None and args.passes > 1:
        raise PartError("the labels of this model come late, which tells how rows fare in a first pass: use --passes 1")
    session.dictionary = session.dictionary or dictionary
    return session, stream or open_rows(args, read_alike(session.form, args.data), session.dictionary)


def _where(session: Session, args: Namespace, model: str | None) -> str:
    """How far it went, and how to go on from there."""
    if args.predict_only and model:
        return f"{counted(session.rows, 'row')}; {model} is for prediction alone: begin again to learn all of them"
    if args.passes > 1:
        return f"{counted(session.run.rounds, 'round')}; passes cannot be gone on with, --resume begins a first one"
    if model:
        return f"{counted(session.rows, 'row')}; go on with --resume {model} --skip {session.rows}"
    return f"{counted(session.rows, 'row')}; {'no model is' if args.model else 'without -o, nothing was'} kept"


def nothing(session: Session, args: Namespace) -> str:
    """Why there was nothing to learn."""
    if session.run.pending:
        waits = counted(session.run.pending, "row")
        if has_lags(session.form):
            column = session.form.parameters["delay_column"]
            return f"no label of {waits} has come by the last one: numbers in {column} are lags, dates when it is known"
        return f"the labels of all {waits} are still on their way: give more rows than --delay {args.delay}"
    why = f": rows without a label: {session.unlabelled:,}" if session.unlabelled else ""
    given = [f"--{option}" for option in ("skip", "holdout") if getattr(args, option)]
    left = f" that {' and '.join(given)} {'leaves' if len(given) == 1 else 'leave'} over" if given else ""
    return f"there are no rows to learn from in {' '.join(args.data)}{left}{why}"


def _require_positive(session: Session, args: Namespace) -> None:
    """Refuse a positive label that no row has: there is nothing to keep."""
    if session.lacks_positive:
        assert session.signs is not None
        if isinstance(session.held, Metrics) and session.held.rows and session.held.positives > 0:
            raise DataError(
                f"all rows labelled --positive {session.signs[0]} are among those held out, so that nothing is learnt "
                "of them: hold out others, or fewer"
            )
        met = ", ".join(session.met.labels) + (", …" if len(session.met.labels) == KEPT_LABELS else "")
        idle = session.rows - session.unlabelled - session.metrics.rows
        perhaps = f", unless of {counted(idle, 'row')} without weight or with late labels" if idle else ""
        said = f"no label in {' '.join(args.data)} is --positive {session.signs[0]}{perhaps}"
        raise DataError(f"{said}; there are {met}: name one of them")


def tell_session(session: Session, args: Namespace, seconds: Seconds, model: str | None) -> None:
    """Show what was learnt, in the forms that were asked for."""
    for note in session.notes[len(session.remarks) :]:  # those were said when the first rows had been read
        print(f"lowregret: {one_line(note)}", file=sys.stderr)
    kept = args.eta != THEORY or args.promise.holds(session.run.certificates)
    if not kept:
        print(
            f"lowregret: {args.promise.premise} in at most T rounds was not so: nothing was promised", file=sys.stderr
        )
    found = importance_by_name(session) if args.importance or args.report else ""
    known = None if isinstance(found, str) else found
    if args.json:
        told: dict[str, Any] = {"importance": known and known.to_json()} if args.importance else {}
        told |= {"promise": args.promise.to_json() | {"holds": kept}} if args.eta == THEORY else {}
        print_json(session.to_json(seconds.to_json(), model) | told)
    elif not args.quiet:
        print(show(session, seconds, f"{model}, for prediction alone" if model and args.predict_only else model))
        if args.importance:
            print(f"importance {tell_importance(known, SHOWN_COLUMNS) if known else found}")
    if args.weights:
        write_weights(session, args.weights)
    if args.plot:
        session.run.plot(args.plot, session.theirs)
    if args.report:
        from lowregret.cli.html_report import write_report

        write_report(args.report, session, args.data, seconds, model, known)


def require_places(args: Namespace) -> None:
    """Say before learning that something could not be written after it, and see what is there before it is read."""
    args.place = Watched(args.model) if args.model else None
    for path in (args.model, args.weights, args.predictions, args.report, args.plot):
        if path not in (None, STDIN):
            require_place(path)
    if args.predict_only and not args.model:
        raise PartError("--predict-only says what -o writes: name a file after -o")
    if args.model == STDIN:
        raise StoreError("a model cannot be written to standard output: name a file after -o")
    if args.model and not os.access(folder := real_file(args.model).parent, os.W_OK):
        raise StoreError(f"cannot write {args.model}: the folder {folder} is read-only")
    if args.report or args.plot:
        from lowregret.show.plot import require_picture

        require_picture(args.plot)


def _name(args: Namespace) -> None:
    """Say which algorithm an option called for, if none was named."""
    other = unlike_auto(args)
    if not (args.algorithm or other is None or args.quiet):
        said = f"auto takes no {other}: learning with {algorithm(args)}; --algorithm names another"
        print(f"lowregret: {said}", file=sys.stderr)


def start_session(args: Namespace, form: Part, stream: Stream) -> Session:
    _name(args)
    learner, promise = make_learner(args, lambda: auto_for(stream)), None
    if args.eta == THEORY:
        places = None if args.dimension is None else args.dimension + args.bias
        learner, promise = tuned_learner(args, learner, _rows(stream, args), places)
        if not args.quiet:
            print(f"lowregret: {promise}", file=sys.stderr)
    against, certify = make_comparator(learner, args), args.certify != "off"
    classes = None
    if isinstance(learner, Multiclass | AutoMulticlass):
        if args.certify == "exact":
            raise PartError("--certify exact speaks of one score, not of many classes: use --certify stream")
        classes = [class_name(name) for name in args.classes] or None
    expand = make_expansion(args)
    if expand is not None and args.certify == "exact" and args.passes > 1:
        raise PartError("--partitions come after the first rows of the first pass: --certify exact takes --passes 1")
    how: RunOptions = {"comparator": against, "certify": certify, "expand": expand}
    how |= {"learners": args.learners, "block": args.block, "delay": 0 if has_lags(form) else args.delay or None}
    run = begin(learner, args.dimension, classes, **how)
    args.promise = promise
    return Session(run, form, algorithm(args))


def _resume_session(args: Namespace) -> Session:
    """Load the session of a model; options that it settles must not be said again."""
    said = [name for name in _FIXED.split() if getattr(args, name) not in (None, (), False)]
    if said:
        raise PartError(f"{args.resume} settles --{said[0].replace('_', '-')} already: leave it out with --resume")
    session = Session.load(args.resume)
    if args.learners is not None:
        if not isinstance(session.run, BlockRun | AutoRun):
            raise PartError(f"{args.resume} learns row by row, and goes on so: leave --learners out, or begin anew")
        session.run.learners = args.learners
    return session


def _go_over(
    session: Session,
    stream: Stream,
    args: Namespace,
    scores: ScoreFile,
    keeper: Keeper,
    interruption: Interruption,
) -> None:
    """Go over the rows, as often as wanted or until the rows held out are predicted worse."""
    skipped = session.skipped
    with Progress(session, stream.size, args.passes, not args.quiet) as progress:
        try:
            for turn in range(args.passes):
                session.begin_pass(held_last=args.holdout.last > 0, several=args.passes > 1)
                for batch in raise_faults(interruption.watch(_rows(stream, args)), SKIPPING):
                    _notice(session, stream, args.quiet)
                    if turn == 0:
                        _notice(session, stream, args.quiet)
                        _tell_faults(batch, session.skipped - skipped)
                    _require_known(session, batch)
                    seen = [scores.see] if turn == 0 else []  # scores are those of the first pass
                    if seen:
                        scores.make_room(batch)
                    session.learn(batch, *seen, scores.flush, progress.see, keeper.checkpoint)
                if interruption.wanted or not session.end_pass(more=turn + 1 < args.passes):
                    break
        finally:
            if not session.passes:
                session.end_pass()
            session.keep_best()
    if session.skipped - skipped > SHOWN_FAULTS:
        print(f"lowregret: skipped {counted(session.skipped - skipped, 'line')} in all", file=sys.stderr)


def _require_known(session: Session, batch: Batch) -> None:
    """Refuse labels that a resumed model of two does not know: they would be learnt as the negative one."""
    positive = positive_name(session.form)
    if session.origin is None or positive is None or len(session.origin[1].labels) != 1:
        return
    model, known = session.origin
    if others := notes.other_labels(known, batch.met):
        raise DataError(
            f"{batch.name} has the labels {', '.join(others)}, but {notes.knows(model, positive, known)}: "
            "write them as the model knows them, or train a new model on all rows"
        )


def _rows(stream: Stream, args: Namespace) -> Iterator[Batch]:
    """The rows of one pass."""
    return skip_and_hold_out(stream.batches(), args.skip, args.holdout.every, args.holdout.last)


def _tell_faults(batch: Batch, shown: int) -> None:
    """Show lines that could not be read, unless enough were shown."""
    for fault in batch.faults[: max(0, SHOWN_FAULTS - shown)]:
        print(f"lowregret: skipped {fault}", file=sys.stderr)


def _count_held_out(holdout: Holdout, stream: Stream, args: Namespace) -> Holdout:
    """Turn a share of the rows into a number of them, which takes a pass over the files."""
    if not holdout.percent:
        return holdout
    if STDIN in args.data:
        raise PartError("--holdout last:P% needs the number of rows, which - does not tell: use --holdout last:N")
    return holdout.of(sum(len(batch) for batch in stream.batches()))


def _notice(session: Session, stream: Stream, quiet: bool) -> None:
    """Say what the first rows show of columns, once."""
    found = stream.notices if isinstance(stream, Ahead) else None
    if found is None or session.remarks:
        return
    session.remarks = [note.sentence(shell=True) for note in found.notes]
    for note in session.remarks if not quiet else ():
        print(f"lowregret: {one_line(note)}", file=sys.stderr)


def _look_back(session: Session, stream: Stream, args: Namespace) -> None:
    """Find the best fixed choice in hindsight, which takes passes over the same rows."""

    def rows() -> Iterator[tuple[Rows, Vector, Vector]]:
        before = 0
        for batch in _rows(stream, args):
            if not batch.last:  # whose features the run need not know
                yield session.run.located_again(batch.rows, batch.weights, before), batch.labels, batch.weights
                before += int(np.count_nonzero(batch.weights)) if batch.weights.size else len(batch)

    with Search(not args.quiet) as search:
        session.look_back(rows, search.update)


def write_weights(session: Session, path: str) -> None:
    """A table of names and weights, the largest weights first."""
    lines = (f"{one_line(name)}\t{weight!r}\n" for name, weight in weights_by_name(session))
    write_result(path, "".join(lines).encode())
