"""Arguments of `lowregret play`; its work is in `cli/work/play.py`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from lowregret.cli.arguments import add_telling, count, count_from_zero, picture, positive, rate
from lowregret.cli.commands import Command

EXAMPLES = """examples:
  lowregret play                                  all games, and who can play them
  lowregret play ftl-breaker ftl                  loses every round
  lowregret play ftl-breaker ogd --plot ogd.png   stays under √T
  lowregret play late:turn ogd-eager              answers come 10 rounds late
  lowregret play replay ogd --data clicks.svm
  lowregret play uphill mine.py:Player            a player of your own: a class with point() and learn(z)"""


def _run(args: Namespace) -> int:
    from lowregret.cli.work.play import play

    return play(args)


def _arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "game", nargs="?", metavar="GAME", help="its name, or FILE.py:NAME; without one, all are listed"
    )
    command.add_argument(
        "algorithm",
        nargs="?",
        metavar="ALGORITHM",
        help="its name, or FILE.py:NAME; without one, those that fit are listed",
    )
    command.add_argument("--rounds", type=count, metavar="N", help="how many (1024; of replay: all rows)")
    command.add_argument("--seed", type=count_from_zero, default=0, metavar="S", help="settles everything random (0)")
    command.add_argument("--eta", type=rate, metavar="X", help="learning rate (theory: the textbook's for N rounds)")
    command.add_argument("--radius", type=positive, metavar="X", help="of the ball that is played and compared with")
    command.add_argument(
        "--dimension", type=count, metavar="N", help="of an adversary of your own: its coordinates (1)"
    )
    command.add_argument("--data", metavar="FILE", help="the rows of the game replay, in any format that train reads")
    command.add_argument("--target", metavar="COL", help="of replay: the column with the label, in tables")
    command.add_argument("--positive", metavar="LABEL", help="of replay: the label that counts as +1")
    command.add_argument("--plot", type=picture, metavar="FILE", help="draw the regret under its bound")
    add_telling(command, "the verdict only")


COMMAND = Command(
    "a game of the textbook: regret under its bound, or what must fail, failing",
    EXAMPLES,
    _arguments,
    _run,
    reads=("data",),
)
