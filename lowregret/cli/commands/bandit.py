"""Arguments of `lowregret bandit`; its work is in `cli/work/bandit.py`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lowregret.cli.arguments import add_telling, count_from_zero, one_of, picture, rate
from lowregret.cli.commands import Command

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = """example:
  lowregret bandit clicks.csv.gz --action banner --reward click --propensity p --report clicks.html"""


def _algorithms() -> Iterable[str]:
    from lowregret.bandit.rejection import NAMES

    return NAMES


def _run(args: Namespace) -> int:
    from lowregret.cli.work.bandit import bandit

    return bandit(args)


def _sample(folder: Path) -> list[object]:
    log = folder / "log.csv"
    log.write_text("arm,reward\n" + "a,1\nb,0\n" * 20)
    return [log, "--action", "arm", "--reward", "reward"]


def _arguments(command: ArgumentParser) -> None:
    command.add_argument("log", metavar="LOG", help="a CSV, TSV or Parquet file, compressed or not, or -")
    command.add_argument("--action", required=True, metavar="COL", help="the column with what was chosen")
    outcome = command.add_mutually_exclusive_group(required=True)
    outcome.add_argument("--reward", metavar="COL", help="the column with what it brought: more is better")
    outcome.add_argument("--cost", metavar="COL", help="the column with what it cost: less is better")
    command.add_argument(
        "--propensity", metavar="COL", help="the column with the choice's probability (uniform logging is assumed)"
    )
    command.add_argument("--low", type=float, default=0.0, help="the least possible reward or cost (0)")
    command.add_argument("--high", type=float, default=1.0, help="the largest possible reward or cost (1)")
    command.add_argument(
        "--algorithm",
        type=one_of("bandit algorithm", _algorithms),
        default="exp3",
        metavar="NAME",
        help="such as exp3-ix, tsallis-inf, ucb1, thompson (exp3)",
    )
    command.add_argument("--eta", type=rate, help="learning rate of exp3 and exp3-ix, if not tuned to the log (theory)")
    command.add_argument(
        "--delay", type=count_from_zero, metavar="N",
        help="the replay hears what a choice brought after N more choices (0)",
    )  # fmt: skip
    command.add_argument("--seed", type=int, default=0, help="of the learner's coins (0)")
    add_telling(command)
    command.add_argument("--report", metavar="FILE.html", help="write a page with figures, proof and picture")
    command.add_argument("--plot", type=picture, metavar="FILE", help="draw the values with their intervals")


COMMAND = Command(
    "what other choices would have brought, from a log of choices",
    EXAMPLES,
    _arguments,
    _run,
    reads=("log",),
    sample=_sample,
)
