"""`lowregret predict`: score rows with a fixed model."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from typing import Any

import numpy as np

from lowregret.class_run import ClassRun
from lowregret.cli.form import SKIPPING
from lowregret.cli.scores import score_file
from lowregret.confusion import Confusion
from lowregret.metrics import Metrics
from lowregret.session import Session
from lowregret.state import Vector
from lowregret.stream.batch import Batch, sound
from lowregret.stream.read import stream_of
from lowregret.words import counted


def predict(args: Namespace) -> int:
    """Write a score or class for each row, in order; figures on the rows that have a label."""
    session = Session.load(args.model)
    run, rows = session.run, 0
    metrics = Confusion() if isinstance(run, ClassRun) else Metrics(run.learner.loss)
    stream = stream_of(args.data, session.form, threads=args.threads, on_error=args.on_error, labelled=False)
    with score_file(args.predictions or ("-" if not args.json else None), args.link, run) as scores:
        for batch in sound(stream.batches(), SKIPPING):
            if len(batch):
                scores.write(_judged(run, batch, metrics))
                rows += len(batch)
            for fault in batch.faults:
                print(f"lowregret: skipped {fault}", file=sys.stderr)
    if args.json:
        told = session.judged(metrics)
        print(json.dumps({"model": args.model, "rows": rows, "error": metrics.error, "metrics": told}))
    elif not args.quiet:
        print(
            f"{counted(rows, 'row')} scored" + (f", {metrics.error:.2%} wrong" if metrics.error is not None else ""),
            file=sys.stderr,
        )
    return 0


def _judged(run: Any, batch: Batch, metrics: Metrics | Confusion) -> Vector:
    """What the model says about the rows of a batch; those with a label are counted."""
    if isinstance(metrics, Confusion):
        made: Vector = run.decisions(batch.rows)
        guesses, labelled = np.argmax(made, axis=1), ~np.isnan(batch.labels)
        codes = run.classes.encode(batch.labels, np.zeros(len(batch), bool), batch.names)
        metrics.see(len(run.classes), codes, guesses, labelled)
        return made if run.keep_scores else guesses
    made = run.predict(batch.rows)
    judged = np.array([run.learner.loss.accepts(y) for y in batch.labels.tolist()])
    metrics.see(batch.labels, batch.weights, made, judged)
    return made
