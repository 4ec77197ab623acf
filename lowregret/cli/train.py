"""`lowregret train`: learn from files or a stream, keep a model, show the proof."""

from __future__ import annotations

from argparse import Namespace

from lowregret.cli.clock import Clock
from lowregret.cli.form import form_of, opened
from lowregret.errors import PartError
from lowregret.stream.source import expand, is_pipe


def train(args: Namespace) -> int:
    """Begin to read, and learn; what learning needs is imported while the first rows are being read."""
    once = any(is_pipe(path) for path in expand(args.data))
    if args.certify == "exact" and (args.resume or once):
        raise PartError("--certify exact reads all rows again: it takes files from the beginning, no --resume and no -")
    if args.passes > 1 and once:
        raise PartError("--passes reads the rows again, which a pipe gives only once: put them into a file")
    with Clock() as clock:
        form = None if args.resume else form_of(args)
        stream = None
        if form is not None and not (args.weights or args.report):
            stream = opened(args, form, None)
        from lowregret.cli.learning import learn

        return learn(args, form, stream, clock)
