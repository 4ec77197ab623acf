"""What labels are, if nobody says so: as the first rows show."""

from __future__ import annotations

import sys
from argparse import Namespace

import numpy as np

from lowregret.auto_run import are_bits, first_labels
from lowregret.cli.form import form_of, opened
from lowregret.part import Part
from lowregret.state import Vector
from lowregret.stream.ahead import Ahead
from lowregret.stream.batch import Stream
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.source import STDIN

FEW = 100  # whole numbers that may be names of classes


def settled(args: Namespace, form: Part, stream: Stream, dictionary: Dictionary | None) -> tuple[Part, Stream]:
    """For `auto` without a loss: labels 0 and 1 are two classes, a target of texts is one of many.

    What was found is written into `args`, as if it had been said. Standard input cannot be begun again, so there it
    must be said.
    """
    if STDIN in args.data or args.positive is not None or not isinstance(stream, Ahead):
        return form, stream
    first = stream.first()
    if first is None:
        return form, stream
    labels = first_labels(stream)
    if are_bits(labels):
        args.positive, args.loss = "1", "logistic"
        _say(args, "the labels are 0 and 1: two classes (--positive 1); if they are numbers, say --loss square")
    elif len(first) == 0 and first.fault and args.target is not None:
        args.loss = "softmax"
        again = opened(args, form_of(args), None).first()
        if again is None or len(again) == 0:  # another fault: the first one is told
            args.loss = None
            return form, stream
        _say(args, f"{args.target} holds texts: classes (--loss softmax)")
    else:
        if _like_classes(labels):
            _say(args, "the labels are a few whole numbers, learnt as numbers: for classes say --loss softmax")
        return form, stream
    form = form_of(args)
    return form, opened(args, form, dictionary)


def _like_classes(labels: Vector) -> bool:
    """Whether numbers may be names: whole, at least three, each of them often."""
    distinct = np.unique(labels)
    return 3 <= distinct.size <= min(FEW, labels.size // 10) and bool(np.all(distinct == np.round(distinct)))


def _say(args: Namespace, what: str) -> None:
    if not args.quiet:
        print(f"lowregret: {what}", file=sys.stderr)
