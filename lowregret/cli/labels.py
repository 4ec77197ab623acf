"""Guessing from the first rows what the labels are, if nobody says so."""

from __future__ import annotations

import sys
from argparse import Namespace

import numpy as np

from lowregret.cli.form import form_of, open_rows
from lowregret.cli.make import algorithm, wants_signs
from lowregret.compile.part import Part
from lowregret.errors import DataError
from lowregret.run.auto import are_bits, first_labels
from lowregret.stream.ahead import Ahead
from lowregret.stream.batch import Batch, Stream
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.names import number_name
from lowregret.stream.source import expand, is_pipe
from lowregret.types import Vector
from lowregret.words import one_line

MOST_CLASSES = 100  # whole numbers that may be names of classes
MANY_TEXTS = 2000  # that are no classes if most rows have one of their own


def settle_labels(args: Namespace, form: Part, stream: Stream, dictionary: Dictionary | None) -> tuple[Part, Stream]:
    """Take labels 0 and 1 for two classes, for losses of ±1 and `auto`; without a loss, a target of texts for many.

    The finding is written into `args`, as if it had been said. A pipe cannot be begun again, nor a file that is
    followed be waited for, so there it must be said.
    """
    free = args.loss is None and algorithm(args) == "auto"
    if args.positive is not None or not isinstance(stream, Ahead) or not (free or wants_signs(args)):
        return form, stream
    first = None if args.follow or any(map(is_pipe, expand(args.data))) else stream.first()
    if first is None:
        return form, stream
    labels = first_labels(stream)
    if are_bits(labels):
        args.positive, args.loss = "1", "logistic" if free else args.loss
        numbers = "; if they are numbers, say --loss square" if free else ""
        _say(args, f"the labels are 0 and 1: two classes (--positive 1){numbers}")
    elif free and (first.fault or first.faults) and getattr(form, "target", "") and not _has_labels(first):
        args.loss = "softmax"
        again = open_rows(args, form_of(args), None).first()
        if again is None or not _has_labels(again):  # another fault: the first one is told
            args.loss = None
            return form, stream
        _require_classes(again, getattr(form, "target", ""))
        _say(args, f"{getattr(form, 'target', '')} holds texts: classes (--loss softmax)")
    else:
        if free:
            _say_numbers(args, labels)
        return form, stream
    form = form_of(args)
    return form, open_rows(args, form, dictionary)


def _has_labels(batch: Batch) -> bool:
    """Whether any row of a batch has a label."""
    return not bool(np.all(np.isnan(batch.labels)))


def _require_classes(first: Batch, target: str) -> None:
    """Refuse to guess that texts name classes if most of many rows have one of their own: O(rows²) for nothing."""
    labels = first.labels[~np.isnan(first.labels)]
    distinct = np.unique(labels).size
    if distinct > MANY_TEXTS and 2 * distinct > labels.size:
        raise DataError(
            f"{target} holds {distinct:,} texts in the first {labels.size:,} rows, probably ids, of which nothing can "
            "be learnt: name another target, or learn them as classes with --loss softmax all the same; it takes long"
        )


def _say_numbers(args: Namespace, labels: Vector) -> None:
    """Numbers may be names: whole ones other than ±1, a few of them, each often."""
    if np.all(np.abs(labels) == 1):
        return
    distinct = np.unique(labels)
    if not 2 <= distinct.size <= min(MOST_CLASSES, labels.size // 10) or np.any(distinct != np.round(distinct)):
        return
    if distinct.size > 2:
        _say(args, "the labels are a few whole numbers, learnt as numbers: for classes say --loss softmax")
    else:
        low, high = (number_name(float(label)) for label in distinct)
        _say(args, f"the labels are {low} and {high}, learnt as numbers: for two classes say --positive {high}")


def _say(args: Namespace, what: str) -> None:
    if not args.quiet:
        print(f"lowregret: {one_line(what)}", file=sys.stderr)
