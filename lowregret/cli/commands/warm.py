"""Arguments of `lowregret warm`; its work is in `cli/work/warm.py`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from lowregret.cli.arguments import add_telling
from lowregret.cli.commands import Command

EXAMPLES = """examples:
  lowregret warm                         auto, on all formats and on arrays in memory
  lowregret warm ogd:logistic adagrad:softmax csv vw
  lowregret warm --all --json"""


def _run(args: Namespace) -> int:
    from lowregret.cli.work.warm import warm

    return warm(args)


def _arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "names", nargs="*", metavar="NAME",
        help="an algorithm, with or without :LOSS, a format, a command that compiles, or arrays",
    )  # fmt: skip
    command.add_argument("--all", action="store_true", help="every algorithm with its usual loss, and all else")
    command.add_argument("--learners", action="store_true", help="also the loops of train --learners, if it has any")
    add_telling(command, "say nothing")


COMMAND = Command(
    "compile ahead of time, for images and continuous integration",
    EXAMPLES,
    _arguments,
    _run,
)
