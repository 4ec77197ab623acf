"""`lowregret train`: learn from files or a stream, keep a model, show the proof."""

from __future__ import annotations

from argparse import Namespace

from lowregret.cli.clock import Clock
from lowregret.cli.form import form_of, opened
from lowregret.error import PartError
from lowregret.stream.source import STDIN


def train(args: Namespace) -> int:
    """Begin to read, and learn; what learning needs is imported while the first rows are being read."""
    if args.certify == "exact" and (args.resume or STDIN in args.data):
        raise PartError("--certify exact reads all rows again: it takes files from the beginning, no --resume and no -")
    with Clock() as clock:
        form = None if args.resume else form_of(args)
        stream = None
        if form is not None and not (args.weights or args.report):
            stream = opened(args, form, None)
        from lowregret.cli.learning import learn

        return learn(args, form, stream, clock)
