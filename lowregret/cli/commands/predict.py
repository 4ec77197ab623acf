"""Arguments of `lowregret predict`; its work is in `cli/work/predict.py`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from lowregret.cli.arguments import add_data, add_follow, add_reading, add_scores, add_telling
from lowregret.cli.commands import Command

EXAMPLES = """example:
  lowregret predict clicks.lr new.svm -o scores.txt --link prob"""


def _run(args: Namespace) -> int:
    from lowregret.cli.work.predict import predict

    return predict(args)


def _arguments(command: ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="written by `lowregret train -o`")
    add_data(command)
    add_reading(command, "found from the name or the content, or as in training")
    add_follow(command)
    showing = command.add_argument_group("showing")
    add_scores(showing, "scores (standard output)", "-o")
    add_telling(showing, "no progress, no summary")


COMMAND = Command(
    "score rows with a model",
    EXAMPLES,
    _arguments,
    _run,
    reads=("model", "data"),
    speaks=lambda args: args.predictions is None,
)
