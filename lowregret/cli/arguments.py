"""Options that several commands share, and what their values can be."""

from __future__ import annotations

import csv
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _ArgumentGroup
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from lowregret.stream.formats import FORMATS

if TYPE_CHECKING:
    from lowregret.stream.follow import Follow

MOST = 10**15  # anything that can be counted
THREADS = 1024


def add_data(command: ArgumentParser) -> None:
    """Add the names of the files."""
    command.add_argument("data", nargs="+", metavar="DATA", help="files, patterns, or - for standard input")


def add_reading(group: ArgumentParser | _ArgumentGroup, format: str) -> None:
    """Add options on how files are read; `format` says what holds if none is named."""
    group.add_argument("--format", choices=FORMATS, help=format)
    group.add_argument("--threads", type=threads, default=0, metavar="N", help="threads that parse (one per core)")
    group.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with a bad line")


def add_columns(group: _ArgumentGroup) -> None:
    """Add options on what columns and names mean."""
    group.add_argument("--target", metavar="COL", help="the column with the label, in tables")
    group.add_argument("--weight", metavar="COL", help="a column with the importance of each row")
    group.add_argument(
        "--delay-column", metavar="COL",
        help="a column that says how late each label comes: rows; with --time-column seconds, or the date it is known",
    )  # fmt: skip
    group.add_argument("--time-column", metavar="COL", help="of --delay-column: when each row comes, date or seconds")
    group.add_argument("--drop", type=names, default=(), metavar="COLS", help="columns to leave out, with commas")
    group.add_argument("--categorical", type=names, default=(), metavar="COLS", help="columns that are never numbers")
    group.add_argument("--text", type=names, default=(), metavar="COLS", help="columns whose words are features")
    group.add_argument("--ngrams", type=count, metavar="N", help="of text: up to N words in a row (1)")
    group.add_argument(
        "--date", type=names, default=(), metavar="COLS", help="columns of dates: hour, weekday, month, age"
    )
    group.add_argument(
        "--interactions", type=names, default=(), metavar="A:B,…",
        help="products of features: of namespaces a:b or a:b:c in vw, of columns in tables",
    )  # fmt: skip
    group.add_argument("--delimiter", metavar="C", help="of csv: , ; | or a tab, if not found from the header")
    group.add_argument("--decimal", metavar="C", help="of csv: what stands before fractions, . or , (.)")
    group.add_argument("--no-header", action="store_true", help="csv columns have no names: call them 1, 2, …")
    group.add_argument("--bits", type=count, metavar="N", help="hash names into 2^N weights (18; svm: not at all)")


def add_follow(group: ArgumentParser | _ArgumentGroup) -> None:
    """Add the option for files that are still being written."""
    group.add_argument(
        "--follow", action="store_true",
        help="go on reading the last file as it grows, like tail -F, until Ctrl-C or SIGTERM end it",
    )  # fmt: skip


def follow_of(args: Namespace) -> Follow | None:
    """How the last file is followed, if it is; what becomes of it is told on standard error."""
    if not args.follow:
        return None
    from lowregret.stream.follow import Follow

    return Follow(lambda what: print(f"lowregret: {what}", file=sys.stderr))


def add_scores(group: _ArgumentGroup, which: str, *short: str) -> None:
    """Add options on where scores go, and in which form."""
    group.add_argument(*short, "--predictions", metavar="FILE", help=f"write {which}")
    group.add_argument(
        "--link",
        choices=("raw", "prob", "label"),
        help="scores (raw), probabilities or labels (of many classes: label)",
    )


def add_telling(group: ArgumentParser | _ArgumentGroup, quiet: str = "") -> None:
    """Add options for JSON and, if `quiet` says what it leaves out, for silence."""
    group.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    if quiet:
        group.add_argument("--quiet", action="store_true", help=quiet)


# ---- values ---------------------------------------------------------------------------------------------------------


def one_of(what: str, known: Callable[[], Iterable[str]]) -> Callable[[str], str]:
    """A name that must be known; which ones are is found out when one is given, since that may import much."""

    def name(text: str) -> str:
        names = list(known())
        if text not in names:
            raise ArgumentTypeError(f"there is no {what} {text!r}; there are {', '.join(names)}")
        return text

    return name


def algorithms() -> Iterable[str]:
    """The algorithms of the zoo that a loss and options suffice to make."""
    from lowregret.zoo import ALGORITHMS

    return ALGORITHMS


def picture(name: str) -> str:
    """The name of a picture, which is a PNG if it does not say."""
    from lowregret.store.replacing import with_ending

    return with_ending(name, ".png")


def positive(text: str) -> float:
    """A number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"expected a positive number, got {text!r}")
    return value


THEORY = "theory"  # the rate that a theorem tunes


def rate(text: str) -> float | str:
    """A learning rate, or the word for the theorem's."""
    if text == THEORY:
        return text
    try:
        return positive(text)
    except ArgumentTypeError:
        raise ArgumentTypeError(f"expected a positive number, or {THEORY}, got {text!r}") from None


def not_negative(text: str) -> float:
    """A number that is 0 or more."""
    return 0.0 if text.strip() in ("0", "0.0") else positive(text)


def share(text: str) -> float:
    """A number strictly between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise ArgumentTypeError(f"expected a share strictly between 0 and 1, such as 0.9, got {text!r}")
    return value


def shares(text: str) -> tuple[float, ...]:
    """Different numbers strictly between 0 and 1, with commas, in ascending order."""
    return tuple(sorted({share(part) for part in text.split(",") if part.strip()}))


def count(text: str) -> int:
    """A whole number, at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise ArgumentTypeError(f"expected a whole number from 1 on, got {text[:80]!r}")
    if value > MOST:
        raise ArgumentTypeError(f"expected a whole number up to {MOST:,}, got {text[:80]!r}")
    return value


def threads(text: str) -> int:
    """A number of threads."""
    if count(text) > THREADS:
        raise ArgumentTypeError(f"expected at most {THREADS} threads, got {text[:80]!r}")
    return count(text)


def block_size(text: str) -> int | str:
    """A number of rows from 1 on, or `free`."""
    return text if text == "free" else count(text)


def count_from_zero(text: str) -> int:
    """A whole number, at least 0."""
    return 0 if text.strip() == "0" else count(text)


def names(text: str) -> tuple[str, ...]:
    """Names separated by commas; one that has a comma stands between double quotes, as in tables."""
    return tuple(name.strip() for row in csv.reader([text], skipinitialspace=True) for name in row if name.strip())
