"""Learning on a Ray cluster, from the command line."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import redirect_stdout

from lowregret.cli import BAD, DONE
from lowregret.cli.arguments import THEORY
from lowregret.cli.clock import Clock
from lowregret.cli.form import form_of, open_rows
from lowregret.cli.keeper import save_somewhere
from lowregret.cli.labels import settle_labels
from lowregret.cli.streams import FRESH
from lowregret.cli.work.train import nothing, require_places, start_session, tell_session
from lowregret.errors import DataError, PartError
from lowregret.ray.actors import Reading
from lowregret.ray.cluster import cluster
from lowregret.ray.driver import tell_on
from lowregret.ray.training import batch_rows, finish, planned, sources_of, spread_session
from lowregret.run.block_learners import FREE

_ALONE = (
    "follow resume delay learners holdout skip predictions partitions weights report importance predict_only dimension"
)


def require_alone(args: Namespace) -> None:
    """Refuse options of learning here that workers elsewhere do not have."""
    said = {name: getattr(args, name, None) for name in _ALONE.split()}
    said |= {"passes": args.passes > 1, "holdout": args.holdout.every or args.holdout.last or args.holdout.percent}
    said |= {
        "cache": args.keep_rows,
        "certify": args.certify != "stream",
        "eta": args.eta == THEORY,
        "block": args.block == FREE,
    }
    for name in (name for name, value in said.items() if value):
        words = {"certify": "certify " + args.certify, "eta": "eta theory", "block": f"block {FREE}"}
        told = words.get(name, name.replace("_", "-"))
        raise PartError(f"--{told} is of learning in this process: leave it out with --ray, or leave --ray out")


def learn_on_ray(args: Namespace, clock: Clock) -> int:
    """Learn all rows on a cluster; the model is kept and the proof shown as everywhere."""
    require_places(args)
    workers, servers, staleness = args.workers or 2, args.servers or 1, args.staleness or 0
    block, args.block = args.block, None  # here it is the size of a turn, not of blocks of several learners
    with redirect_stdout(sys.stderr), cluster(args.ray, workers):  # Ray says on standard output that a worker died
        form = form_of(args)
        form, stream = settle_labels(args, form, open_rows(args, form, None), None)
        session = spread_session(start_session(args, form, stream), staleness)
        size = block or batch_rows(session.run.learner, staleness, workers)
        reading = Reading(form, size, args.threads or 1, args.on_error)
        plan = planned(sources_of(args.data), reading, workers, servers, staleness, args.checkpoint)
        tell = (lambda line: None) if args.quiet else tell_on()
        done = finish(session, plan, args.cuts, tell)
    if done.run.rounds == 0:
        raise DataError(nothing(done, args))
    model = save_somewhere(done, args.place) if args.model else None
    if sys.stderr.isatty() and not args.quiet:
        sys.stderr.write(FRESH)
    tell_session(done, args, clock.read(), model)
    return DONE if model == args.model else BAD
