"""`lowregret predict`: score rows with a fixed model."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowregret import notes
from lowregret.class_run import ClassRun
from lowregret.classes import name_of, named
from lowregret.cli.form import SKIPPING
from lowregret.cli.scores import score_file
from lowregret.confusion import Confusion
from lowregret.metrics import Metrics
from lowregret.session import Session
from lowregret.state import Vector
from lowregret.stream.batch import Batch, sound
from lowregret.stream.met import Met
from lowregret.stream.read import format_of, positive_name, read_alike, stream_of
from lowregret.words import counted


def predict(args: Namespace) -> int:
    """Write a score or class for each row, in order; figures on the rows that have a label."""
    session = Session.load(args.model)
    judge = Judge(session, Confusion() if isinstance(session.run, ClassRun) else Metrics(session.run.learner.loss))
    form = read_alike(session.form, args.data, args.format)
    stream = stream_of(args.data, form, threads=args.threads, on_error=args.on_error, labelled=False)
    with score_file(args.predictions or ("-" if not args.json else None), args.link, session) as scores:
        for batch in sound(stream.batches(), SKIPPING):
            if len(batch):
                scores.write(judge.scores(batch))
            for fault in batch.faults:
                print(f"lowregret: skipped {fault}", file=sys.stderr)
    told = [*notes.other_types(args.data[0], format_of(form), args.model, format_of(session.form))]
    told += judge.notes(args.model)
    for note in told:
        print(f"lowregret: {note}", file=sys.stderr)
    rows, error = judge.rows, judge.metrics.error
    if args.json:
        figures = {"rows": rows, "error": error, "metrics": session.judged(judge.metrics)}
        print(json.dumps({"model": args.model, **figures, "notes": told}, ensure_ascii=False))
    elif not args.quiet:
        print(f"{counted(rows, 'row')} scored" + (f", {error:.2%} wrong" if error is not None else ""), file=sys.stderr)
    return 0


@dataclass
class Judge:
    """Scores rows with a model, and counts those that have a label."""

    session: Session
    metrics: Metrics | Confusion
    rows: int = 0
    met: Met = field(default_factory=Met)
    strange: int = 0  # rows whose label cannot be judged by, or is of a class that is not known
    example: Any = None  # the label of the first of them

    def scores(self, batch: Batch) -> Vector:
        """What the model says about the rows of a batch."""
        run: Any = self.session.run
        self.rows += len(batch)
        self.met.join(batch.met)
        labelled = ~np.isnan(batch.labels)
        if isinstance(self.metrics, Confusion):
            made: Vector = run.decisions(batch.rows)
            guesses = np.argmax(made, axis=1)
            codes = run.classes.encode(batch.labels, np.zeros(len(batch), bool), batch.names)
            self.metrics.see(len(run.classes), codes, guesses, labelled)
            self._note(batch, labelled & (codes < 0))
            return made if run.keep_scores else guesses
        made = run.predict(batch.rows)
        judged = np.array([run.learner.loss.accepts(y) for y in batch.labels.tolist()])
        self.metrics.see(batch.labels, batch.weights, made, judged)
        self._note(batch, labelled & ~judged)
        return made

    def _note(self, batch: Batch, strange: Any) -> None:
        if self.strange == 0 and strange.any():
            label = named(batch.labels[int(np.argmax(strange))], batch.names)
            self.example = name_of(label) if isinstance(self.metrics, Confusion) else label
        self.strange += int(strange.sum())

    def notes(self, model: str) -> Iterator[str]:
        """How the rows differ from those that the model was trained on."""
        if self.strange and isinstance(self.metrics, Metrics):
            yield notes.unjudged(self.strange, self.example, self.metrics.loss.labels)
        elif self.strange:
            yield notes.unknown_classes(self.strange, self.example)
        yield from notes.unlike(model, positive_name(self.session.form), self.session.met, self.met)
