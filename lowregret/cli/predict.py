"""`lowregret predict`: score rows with a fixed model."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

import numpy as np

from lowregret.cli.scores import ScoreFile
from lowregret.error import DataError
from lowregret.metrics import Metrics
from lowregret.session import Session
from lowregret.stream.read import stream_of


def predict(args: Namespace) -> int:
    """Write a score for each row, in order; figures on the rows that have a label."""
    session = Session.load(args.model)
    loss = session.run.learner.loss
    metrics, rows = Metrics(loss), 0
    stream = stream_of(args.data, session.form, threads=args.threads, on_error=args.on_error, labelled=False)
    with ScoreFile(args.predictions or ("-" if not args.json else None), args.link, loss) as scores:
        for batch in stream.batches():
            if len(batch):
                made = session.run.predict(batch.rows)
                scores.write(made)
                judged = np.array([loss.accepts(y) for y in batch.labels.tolist()])
                metrics.see(batch.labels, batch.weights, made, judged)
                rows += len(batch)
            for fault in batch.faults:
                print(f"lowregret: skipped {fault}", file=sys.stderr)
            if batch.fault:
                raise DataError(batch.fault)
    if args.json:
        print(json.dumps({"model": args.model, "rows": rows, "error": metrics.error, "metrics": metrics.to_json()}))
    elif not args.quiet:
        print(
            f"{rows:,} rows scored" + (f", {metrics.error:.2%} wrong" if metrics.error is not None else ""),
            file=sys.stderr,
        )
    return 0
