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
from lowregret.classes import name_of, named
from lowregret.cli.form import SKIPPING
from lowregret.cli.scores import score_file
from lowregret.cli.show import judged, lost
from lowregret.judge import Judged, judge, no_rows
from lowregret.metrics import Metrics
from lowregret.session import Session, loss_json
from lowregret.state import Vector
from lowregret.stream.batch import Batch, sound
from lowregret.stream.met import Met
from lowregret.stream.read import format_of, positive_name, read_alike, stream_of
from lowregret.words import counted


def predict(args: Namespace) -> int:
    """Write a score or class for each row, in order; figures on the rows that have a label."""
    session = Session.load(args.model)
    scorer = Scorer(session, no_rows(session.run))
    form = read_alike(session.form, args.data, args.format)
    how = args.threads, args.on_error
    stream = stream_of(args.data, form, *how, labelled=False, whole=False)
    with score_file(args.predictions or ("-" if not args.json else None), args.link, session) as scores:
        for batch in sound(stream.batches(), SKIPPING):
            if len(batch):
                scores.write(scorer.scores(batch))
            for fault in batch.faults:
                print(f"lowregret: skipped {fault}", file=sys.stderr)
    told = [*notes.other_types(args.data[0], format_of(form), args.model, format_of(session.form))]
    told += scorer.notes(args.model)
    for note in told:
        print(f"lowregret: {note}", file=sys.stderr)
    found = scorer.found
    if args.json:
        figures: dict[str, Any] = {"loss": loss_json(session.run, found.total, found.mean_loss), "error": found.error}
        figures |= {"metrics": session.judged(found), "notes": told}
        print(json.dumps({"model": args.model, "rows": scorer.rows, **figures}, ensure_ascii=False))
    elif not args.quiet:
        print("\n".join([f"{counted(scorer.rows, 'row')} scored", *_figures(session, found)]), file=sys.stderr)
    return 0


def _figures(session: Session, found: Judged) -> list[str]:
    """How the rows with a label were predicted, as `train` tells it."""
    if not found.rows:
        return []
    loss = f"loss       {lost(session, found, found.mean_loss)}, of {counted(found.rows, 'row')} with a label"
    return [loss, *judged(session, found)]


@dataclass
class Scorer:
    """Scores rows with a model, and counts those that have a label."""

    session: Session
    found: Judged
    rows: int = 0
    met: Met = field(default_factory=Met)
    strange: int = 0  # rows whose label cannot be judged by, or is of a class that is not known
    example: Any = None  # the label of the first of them

    def scores(self, batch: Batch) -> Vector:
        """What the model says about the rows of a batch."""
        run: Any = self.session.run
        self.rows += len(batch)
        self.met.join(batch.met)
        made = judge(run, batch, batch.weights, self.found)
        if isinstance(self.found, Metrics):
            accepted = np.array([run.learner.loss.accepts(y) for y in batch.labels.tolist()])
        else:
            accepted = run.classes.encode(batch.labels, np.zeros(len(batch), bool), batch.names) >= 0
        strange = ~np.isnan(batch.labels) & ~accepted
        if self.strange == 0 and strange.any():
            label = named(batch.labels[int(np.argmax(strange))], batch.names)
            self.example = label if isinstance(self.found, Metrics) else name_of(label)
        self.strange += int(strange.sum())
        return made

    def notes(self, model: str) -> Iterator[str]:
        """How the rows differ from those that the model was trained on."""
        if self.strange and isinstance(self.found, Metrics):
            yield notes.unjudged(self.strange, self.example, self.found.loss.labels)
        elif self.strange:
            yield notes.unknown_classes(self.strange, self.example)
        yield from notes.unweighted(self.session.form.parameters.get("weight", ""), self.met)
        yield from notes.unlike(model, positive_name(self.session.form), self.session.met, self.met)
