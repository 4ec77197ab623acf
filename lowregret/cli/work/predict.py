"""`lowregret predict`: score rows with a fixed model."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowregret.cli.arguments import follow_of
from lowregret.cli.form import SKIPPING
from lowregret.cli.interruption import Interruption
from lowregret.cli.json_output import print_json
from lowregret.cli.scores import score_file
from lowregret.cli.summary import tell_loss, tell_metrics
from lowregret.errors import DataError
from lowregret.learner.labels import name_label, name_of
from lowregret.run import notes
from lowregret.run.confusion import Confusion
from lowregret.run.judge import Judged, judge, loss_json, no_rows
from lowregret.run.metrics import Metrics
from lowregret.run.outcome import Learnt
from lowregret.run.served import Served
from lowregret.run.session import load_served
from lowregret.stream.batch import Batch, raise_faults
from lowregret.stream.names import Met
from lowregret.stream.read import positive_name, read_alike, stream_of
from lowregret.types import Vector
from lowregret.words import counted, in_lines, one_line


def predict(args: Namespace) -> int:
    """Write a score or class for each row, in order; figures on the rows that have a label."""
    session = load_served(args.model)
    session.unwritten = ""  # of training
    scorer = Scorer(session, no_rows(session.run))
    form = read_alike(session.form, args.data, args.format)
    how = args.threads, args.on_error
    follow = follow_of(args)
    stream = stream_of(args.data, form, *how, labelled=False, whole=False, follow=follow)
    place = args.predictions or ("-" if not args.json else None)
    with Interruption(follow) if follow else nullcontext(), score_file(place, args.link, session) as scores:
        for batch in raise_faults(stream.batches(), SKIPPING):
            if len(batch):
                made = scorer.scores(batch)
                scores.see(batch, Learnt(len(batch), batch.labels, made, made))
                scores.flush()
            for fault in batch.faults:
                print(f"lowregret: skipped {fault}", file=sys.stderr)
    if scorer.rows == 0:
        raise DataError(f"there are no rows to score in {' '.join(args.data)}")
    told = [*scorer.notes(args.model)]
    for note in told:
        print(f"lowregret: {one_line(note)}", file=sys.stderr)
    found = scorer.judged
    if args.json:
        figures: dict[str, Any] = {"loss": loss_json(session.run, found.total, found.mean_loss), "error": found.error}
        figures |= {"metrics": session.judged(found), "notes": told}
        print_json({"model": args.model, "rows": scorer.rows, **figures})
    elif not args.quiet:
        print(in_lines([f"{counted(scorer.rows, 'row')} scored", *_figures(session, found)]), file=sys.stderr)
    return 0


def _figures(session: Served, found: Judged) -> list[str]:
    """How the rows with a label were predicted, as `train` tells it."""
    if not found.rows:
        return []
    if found.mean_loss is None:
        return tell_metrics(session, found)
    of = "among" if isinstance(found, Confusion) and found.unknown else "of"
    loss = f"loss       {tell_loss(session, found, found.mean_loss)}, {of} {counted(found.rows, 'row')} with a label"
    return [loss, *tell_metrics(session, found)]


@dataclass
class Scorer:
    """Scores rows with a model, and counts those that have a label."""

    session: Served
    found: Judged
    rows: int = 0
    met: Met = field(default_factory=Met)
    labelled: int = 0
    strange: int = 0  # rows whose label cannot be judged by, or is of a class that is not known
    example: Any = None  # the label of the first of them
    bits: int = 0  # rows labelled 0 where −1 is meant, if no label is strange and none is −1
    signs: set[float] = field(default_factory=set)  # which of ±1 were met

    def scores(self, batch: Batch) -> Vector:
        """The model's scores of the rows of a batch."""
        run: Any = self.session.run
        self.rows += len(batch)
        self.met.join(batch.met)
        self._take_bits(batch)
        made = judge(run, batch, batch.weights, self.found)
        if isinstance(self.found, Metrics):
            accepted = np.array([run.learner.loss.accepts(y) for y in batch.labels.tolist()])
        else:
            accepted = run.classes.encode(batch.labels, np.zeros(len(batch), bool), batch.names) >= 0
        labelled = ~np.isnan(batch.labels)
        strange = labelled & ~accepted
        self.labelled += int(labelled.sum())
        if self.strange == 0 and strange.any():
            label = name_label(batch.labels[int(np.argmax(strange))], batch.names)
            self.example = label if isinstance(self.found, Metrics) else name_of(label)
        self.strange += int(strange.sum())
        return made

    def _take_bits(self, batch: Batch) -> None:
        """Make −1 of labels 0, for a model of −1 and +1."""
        if isinstance(self.found, Metrics) and self.found.loss.classifies:
            self.signs |= {-1.0, 1.0}.intersection(batch.labels.tolist())
            zeros = batch.labels == 0.0
            self.bits += int(zeros.sum())
            batch.labels[zeros] = -1.0

    @property
    def judged(self) -> Judged:
        """The figures; none where labels are not what the model knows, for they would be false."""
        if isinstance(self.found, Metrics):
            positive = positive_name(self.session.form)
            others = notes.other_labels(self.session.met, self.met) if positive else []
            known = not (others or self.strange or self._unsure)
        else:
            known = self.strange < self.labelled
        return self.found if known else no_rows(self.session.run)

    @property
    def _unsure(self) -> bool:
        """Whether some labels are 0 without 1 being the only other."""
        return self.bits > 0 and self.signs != {1.0}

    def notes(self, model: str) -> Iterator[str]:
        """How the rows differ from those that the model was trained on."""
        if isinstance(self.found, Metrics):
            if self.strange or self._unsure:
                example = self.example if self.strange else 0.0
                yield notes.unjudged(self.strange + self.bits, example, self.found.loss.labels)
            elif self.bits:
                yield notes.taken_for_negative(self.bits)
        elif self.strange:
            known = self.strange < self.labelled
            yield notes.unknown_classes(self.strange, self.example) if known else notes.no_known_class(self.example)
        yield from notes.unweighted(self.session.form.parameters.get("weight", ""), self.met)
        yield from notes.unlike(model, positive_name(self.session.form), self.session.met, self.met)
