"""`lowregret train`: learn from files or a stream, keep a model, show the proof."""

from __future__ import annotations

import time
from argparse import Namespace

from lowregret.cli.arguments import CLASS_LOSSES
from lowregret.error import PartError
from lowregret.part import Part
from lowregret.stream.ahead import Ahead
from lowregret.stream.read import detect, format_part, stream_of
from lowregret.stream.source import STDIN


def train(args: Namespace) -> int:
    """Begin to read, and learn; what learning needs is imported while the first rows are being read."""
    if args.certify == "exact" and (args.resume or STDIN in args.data):
        raise PartError("--certify exact reads all rows again: it takes files from the beginning, no --resume and no -")
    begin = time.perf_counter()
    form = None if args.resume else _form(args)
    stream = None
    if form is not None and not (args.weights or args.report):
        stream = Ahead(stream_of(args.data, form, threads=args.threads, on_error=args.on_error))
    from lowregret.cli.learning import learn

    return learn(args, form, stream, begin)


def _form(args: Namespace) -> Part:
    return format_part(
        args.format or detect(args.data),
        target=args.target,
        weight=args.weight,
        drop=args.drop,
        categorical=args.categorical,
        positive=args.positive,
        bits=args.bits,
        one_based=args.dimension is not None and not args.zero_based,
        interactions=[words.split(":") for words in args.interactions],
        delimiter=args.delimiter,
        header=not args.no_header,
        classes=args.algorithm == "mc-perceptron" or (args.loss or "").partition(":")[0] in CLASS_LOSSES,
    )
