"""Arguments of `lowregret convert`; its work is in `cli/work/convert.py`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from lowregret.cli.arguments import add_columns, add_data, add_reading, add_telling
from lowregret.cli.commands import Command

EXAMPLES = """examples:
  lowregret convert clicks.svm.gz -o clicks.lrc
  lowregret convert 'flights/*.csv' --target delay --date scheduled -o flights.lrc
  lowregret train flights.lrc --loss huber:15"""


def _run(args: Namespace) -> int:
    from lowregret.cli.work.convert import convert

    return convert(args)


def _arguments(command: ArgumentParser) -> None:
    add_data(command)
    command.add_argument("-o", dest="cache", metavar="FILE.lrc", required=True, help="write the cache")
    group = command.add_argument_group("reading")
    add_columns(group)
    group.add_argument("--one-based", action="store_true", help="count svm indices from 1, for train --dimension")
    add_reading(group, "found from the name or the content if not given")
    add_telling(command, "no progress, no summary")


COMMAND = Command(
    "keep rows as they were read, so that they need not be parsed again",
    EXAMPLES,
    _arguments,
    _run,
    reads=("data",),
    speaks=lambda args: not args.quiet,
)
