"""How rows are to be read, as the options say."""

from __future__ import annotations

from argparse import Namespace

from lowregret.cli.arguments import THEORY
from lowregret.cli.losses import wants_classes
from lowregret.compile.part import Part
from lowregret.errors import PartError
from lowregret.stream.again import read_once
from lowregret.stream.ahead import Ahead
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.formats import FORMATS
from lowregret.stream.formats.lrc import Cached
from lowregret.stream.notice import Notices
from lowregret.stream.read import Options, detect, form_of_caches, format_part, head_of, stream_of
from lowregret.stream.source import expand

SKIPPING = "--on-error skip"  # how to go on without lines that cannot be read


def form_of(args: Namespace) -> Part:
    """How to read the data, as the options say; a table's label must be named, and the first file must hold rows."""
    format = _format_of(args)
    numbered = "one_based" in FORMATS[format].options
    from_one = args.dimension is not None and not args.zero_based
    if args.zero_based and not (args.dimension and (numbered or FORMATS[format].brings_form)):
        raise PartError("--zero-based says how svm indices are counted for --dimension N: say that, or leave it out")
    form = format_part(format, **_options(args, numbered and from_one, wants_classes(args), args.positive))
    if isinstance(form, Cached):
        form = form_of_caches(expand(args.data), form)
        _require_base(args, form, from_one)
    _require_target(args, form)
    return form


def form_to_keep(args: Namespace) -> Part:
    """How to read data for a cache: labels as they stand, whatever they are to mean when they are learnt."""
    format = _format_of(args)
    if FORMATS[format].brings_form:
        raise PartError(f"{args.data[0]} is a cache already: name the files that it was made of")
    form = format_part(format, **_options(args, args.one_based, not FORMATS[format].numbered))
    _require_target(args, form)
    return form


def _format_of(args: Namespace) -> str:
    head_of(expand(args.data)[0])
    return args.format or detect(args.data)


def _options(args: Namespace, one_based: bool, classes: bool, positive: str | None = None) -> Options:
    """The options on what columns and names mean, and labels."""
    return {
        "one_based": one_based,
        "classes": classes,
        "positive": positive,
        "target": args.target,
        "weight": args.weight,
        "delay_column": args.delay_column,
        "time_column": args.time_column,
        "drop": args.drop,
        "categorical": args.categorical,
        "text": args.text,
        "ngrams": args.ngrams,
        "date": args.date,
        "bits": args.bits,
        "interactions": [words.split(":") for words in args.interactions],
        "delimiter": args.delimiter,
        "decimal": args.decimal,
        "header": not args.no_header,
    }


def _require_target(args: Namespace, form: Part) -> None:
    if getattr(form, "target", None) == "":
        columns = "1, 2, … from the left" if args.no_header else "as the first line, or each object, names them"
        raise PartError(f"{args.data[0]} is a table: name the label's column with --target COL ({columns})")


def _require_base(args: Namespace, form: Part, from_one: bool) -> None:
    """Refuse a cache whose svm indices are not counted as --dimension needs them."""
    inner = getattr(form, "form", form)
    if args.dimension is not None and getattr(inner, "one_based", from_one) != from_one:
        how = "with --one-based" if from_one else "without --one-based"
        raise PartError(
            f"--dimension counts indices otherwise than {args.data[0]}: make that {how}, `lowregret convert`"
        )


def open_rows(args: Namespace, form: Part, dictionary: Dictionary | None) -> Ahead:
    """Begin to read the rows, and notice what the first ones show; those for a resumed model may lack columns."""
    notices, whole = Notices(), args.resume is None
    how = args.threads, args.on_error
    more = {"whole": whole, "notices": notices, "follow": args.follow}
    stream = stream_of(args.data, form, *how, dictionary=dictionary, **more)
    looked_up = args.eta == THEORY and None in (args.rounds, args.lipschitz)
    often = args.passes > 1 or args.certify == "exact" or args.holdout.percent or looked_up
    return Ahead(read_once(stream, form, expand(args.data)) if often else stream, notices)
