"""`lowregret predict`: score rows with a fixed model."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from lowregret.cli.arguments import data, reading, scores, telling
from lowregret.cli.commands import Command

EXAMPLES = """example:
  lowregret predict clicks.lr new.svm -o scores.txt --link prob"""


def _run(args: Namespace) -> int:
    from lowregret.cli.scoring import predict

    return predict(args)


def _arguments(command: ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="written by `lowregret train -o`")
    data(command)
    reading(command, "found from the name or the content, or as in training")
    showing = command.add_argument_group("showing")
    scores(showing, "scores (standard output)", "-o")
    telling(showing, "no progress, no summary")


COMMAND = Command(
    "score rows with a model",
    EXAMPLES,
    _arguments,
    _run,
    reads=("model", "data"),
    speaks=lambda args: args.predictions is None,
)
