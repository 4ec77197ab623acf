"""`lowregret predict`: score rows with a fixed model."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from lowregret.cli.form import SKIPPING
from lowregret.cli.scores import score_file
from lowregret.cli.show import judged, lost
from lowregret.judge import Judged, judge, no_rows
from lowregret.session import Session, loss_json
from lowregret.stream.batch import sound
from lowregret.stream.read import stream_of
from lowregret.words import counted


def predict(args: Namespace) -> int:
    """Write a score or class for each row, in order; figures on the rows that have a label."""
    session = Session.load(args.model)
    run, rows, found = session.run, 0, no_rows(session.run)
    stream = stream_of(args.data, session.form, threads=args.threads, on_error=args.on_error, labelled=False)
    with score_file(args.predictions or ("-" if not args.json else None), args.link, run) as scores:
        for batch in sound(stream.batches(), SKIPPING):
            if len(batch):
                scores.write(judge(run, batch, batch.weights, found))
                rows += len(batch)
            for fault in batch.faults:
                print(f"lowregret: skipped {fault}", file=sys.stderr)
    if args.json:
        figures = {"loss": loss_json(run, found.total, found.mean_loss), "error": found.error}
        print(json.dumps({"model": args.model, "rows": rows, **figures, "metrics": session.judged(found)}))
    elif not args.quiet:
        print("\n".join([f"{counted(rows, 'row')} scored", *_figures(session, found)]), file=sys.stderr)
    return 0


def _figures(session: Session, found: Judged) -> list[str]:
    """How the rows with a label were predicted, as `train` tells it."""
    if not found.rows:
        return []
    loss = f"loss       {lost(session, found, found.mean_loss)}, of {counted(found.rows, 'row')} with a label"
    return [loss, *judged(session, found)]
