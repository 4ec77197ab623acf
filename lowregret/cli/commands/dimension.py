"""`lowregret dimension`: a class of hypotheses, its Littlestone and VC dimension, and the witnesses."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, TextIO

from lowregret.cli.arguments import add_telling, picture, positive
from lowregret.cli.commands import Command
from lowregret.cli.streams import FRESH
from lowregret.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from lowregret.finite.dimension import Dimensions
    from lowregret.finite.hypotheses import Hypotheses
    from lowregret.finite.search import Bracket

EXAMPLES = """classes by name:
  thresholds:N              1[x < a], N of them on N − 1 points
  singletons:N              1[x = j] on N points
  intervals:N               1[a ≤ x < b] on N points
  cube:K                    all functions on K points
  disjunctions:D[:k=K][:r=R]
                            OR of at most K of D variables, on the points of {0,1}^D with at most R ones
  conjunctions:D[:k=K]      AND of at most K of D variables, on {0,1}^D
  parities:D                sums modulo 2 of some of D variables, on {0,1}^D
  halfspaces:N              half-planes on the N × N grid
  lists:D[:k=K]             decision lists of at most K tests of one of D variables, on {0,1}^D
  random:NxM[:seed=S][:density=P]   N hypotheses on M points, 1 with probability P (0.5)

examples:
  lowregret dimension class.csv --plot tree.png
  lowregret dimension thresholds:4096
  lowregret dimension random:500x100:seed=1 --time 10 --json"""
OFTEN, SELDOM = 0.2, 10.0  # seconds between lines, on a terminal and elsewhere
RESERVE = 0.03  # of the time, for checking and showing
INTERRUPTED = 130


def _run(args: Namespace) -> int:
    """Read or make the class, search, tell. The time limit counts from here, imports included; compiling is free."""
    begin = time.monotonic()
    from lowregret.finite.dimension import dimensions, get_ready

    if args.plot is not None:
        from lowregret.show.plot import require_picture
        from lowregret.store.replacing import require_place

        require_place(args.plot)
        require_picture(args.plot)
    with Watch(wanted=not args.quiet) as watch:
        hypotheses = _class_of(args.source)
        begin += get_ready()
        left = args.time and begin + (1 - RESERVE) * args.time - time.monotonic()
        found = dimensions(hypotheses, left, watch.update)
    if args.plot:
        found.plot(args.plot)
    from lowregret.cli.json_output import print_json

    if args.json:
        print_json(found.to_json())
    else:
        print(_summary(found, short=args.quiet))
    return INTERRUPTED if found.interrupted else 0


def _class_of(source: str) -> Hypotheses:
    from lowregret.finite.generate import GENERATORS, make_hypotheses
    from lowregret.finite.hypotheses import Hypotheses

    if source == "-" or os.path.exists(source):
        return Hypotheses.read(source)
    if source.split(":")[0] in GENERATORS:
        return make_hypotheses(source)
    raise DataError(
        f"{source!r} is neither a file nor a class by name: there are {', '.join(GENERATORS)}; "
        "`lowregret dimension --help` shows how to use them"
    )


def _summary(found: Dimensions, short: bool) -> str:
    h = found.hypotheses
    repeated = f" (repeated rows left out: {h.given - len(h):,})" if h.given > len(h) else ""
    verified = "verified" if found.verified else "NOT VERIFIED: please report this"
    lines = [
        f"class        {len(h):,} hypotheses on {h.points:,} points{repeated}",
        f"Littlestone  {_interval(found.littlestone)}: {_mistakes(found.littlestone)}",
        f"VC           {_interval(found.vc)}" + (f": shattered {_points(found)}" if found.shattered else ""),
        f"witnesses    {verified}, by another way than they were found",
    ]
    if found.interrupted:
        lines.append("interrupted: these are bounds")
    elif not found.exact:
        lines.append("time is up: these are bounds; more --time may bring them together")
    if not short:
        lines += ["", "a shattered tree: whatever the learner says, the other label is possible", found.draw()]
    return "\n".join(lines)


def _interval(bounds: tuple[int, int]) -> str:
    low, high = bounds
    return str(low) if low == high else f"between {low} and {high}"


def _mistakes(bounds: tuple[int, int]) -> str:
    low, high = bounds
    if low == high:
        return f"the best learner can be forced to {low} mistake{'s' * (low != 1)}, and makes no more"
    return f"the best learner can be forced to {low} mistake{'s' * (low != 1)}, and makes {high} at most"


def _points(found: Dimensions) -> str:
    return "{" + ", ".join(f"x{found.hypotheses.names[x]}" for x in found.shattered) + "}"


class Watch:
    """How the searches are going, on standard error: one line that changes on a terminal, plain lines elsewhere."""

    def __init__(self, wanted: bool, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.wanted, self.live = wanted, wanted and self.stream.isatty()
        self.start = self.shown = time.monotonic()

    def say(self, line: str) -> None:
        """Show a line that the next one replaces; only on a terminal."""
        if self.live:
            self.stream.write(f"{FRESH}{line}")
            self.stream.flush()

    def update(self, trees: Bracket, sets: Bracket) -> None:
        """Show the bounds, if it is time to."""
        now = time.monotonic()
        if not self.wanted or now - self.shown < (OFTEN if self.live else SELDOM):
            return
        self.shown = now
        line = (
            f"Littlestone {_interval((trees.low, trees.high))}, VC {_interval((sets.low, sets.high))}; "
            f"{trees.looked_at:,} version spaces, {sets.looked_at:,} sets of points, {now - self.start:.0f} s"
        )
        if self.live:
            self.say(line)
        else:
            print(line, file=self.stream, flush=True)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *problem: object) -> None:
        self.say("")


def _arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "source", metavar="MATRIX.csv|GENERATOR",
        help="rows of 0 and 1 without header, one a hypothesis, one column a point; or a class by name, see below",
    )  # fmt: skip
    command.add_argument(
        "--time", type=positive, metavar="SECONDS", help="stop then, with lower and upper bounds (go on until exact)"
    )
    command.add_argument("--plot", type=picture, metavar="FILE", help="draw the shattered tree")
    add_telling(command, "no progress, no drawing: one line for each dimension")


def _sample(folder: Path) -> list[object]:
    return ["thresholds:4", "--quiet"]


COMMAND = Command(
    "how many mistakes a finite class costs: Littlestone and VC dimension",
    EXAMPLES,
    _arguments,
    _run,
    reads=("source",),
    sample=_sample,
)
