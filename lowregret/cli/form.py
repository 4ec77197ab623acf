"""How rows are to be read, as the options say."""

from __future__ import annotations

from argparse import Namespace

from lowregret.cli.losses import wants_classes
from lowregret.compile.part import Part
from lowregret.errors import PartError
from lowregret.stream.ahead import Ahead
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.formats import FORMATS
from lowregret.stream.notice import Notices
from lowregret.stream.read import detect, format_part, head_of, stream_of
from lowregret.stream.source import expand

SKIPPING = "--on-error skip"  # how to go on without lines that cannot be read


def form_of(args: Namespace) -> Part:
    """How to read the data, as the options say; a table's label must be named, and the first file must hold rows."""
    head_of(expand(args.data)[0])
    format = args.format or detect(args.data)
    form = format_part(
        format,
        target=args.target,
        weight=args.weight,
        drop=args.drop,
        categorical=args.categorical,
        text=args.text,
        ngrams=args.ngrams,
        date=args.date,
        positive=args.positive,
        bits=args.bits,
        one_based="one_based" in FORMATS[format].options and args.dimension is not None and not args.zero_based,
        interactions=[words.split(":") for words in args.interactions],
        delimiter=args.delimiter,
        decimal=args.decimal,
        header=not args.no_header,
        classes=wants_classes(args),
    )
    if getattr(form, "target", None) == "":
        columns = "1, 2, … from the left" if args.no_header else "as the first line, or each object, names them"
        raise PartError(f"{args.data[0]} is a table: name the label's column with --target COL ({columns})")
    return form


def open_rows(args: Namespace, form: Part, dictionary: Dictionary | None) -> Ahead:
    """Begin to read the rows, and notice what the first ones show; those for a resumed model may lack columns."""
    notices, whole = Notices(), args.resume is None
    how = args.threads, args.on_error
    return Ahead(stream_of(args.data, form, *how, dictionary=dictionary, whole=whole, notices=notices), notices)
