"""Arguments of `lowregret experts`; its work is in `cli/work/experts.py`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _ArgumentGroup
from typing import TYPE_CHECKING

from lowregret.cli.arguments import add_telling, count, names, not_negative, picture, positive, rate, share, shares
from lowregret.cli.commands import Command

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = """examples:
  lowregret experts load.csv.gz --target load --loss mape --plot weights.png
  lowregret experts rain.csv --target rained --experts model,radar,frog --loss brier --report rain.html
  lowregret experts football.csv --target result --classes H,D,A --odds --loss log --json
  lowregret experts cv.csv --series unique_id --time ds --cutoff cutoff --target y -o model.lr
  lowregret experts today.csv --resume model.lr -o model.lr --predictions today.forecasts.csv
  lowregret experts load.csv --target load --coverage 0.9 --levels 0.1,0.5,0.9 --predictions p.tsv
  lowregret experts cv.csv --target y --intervals
  lowregret experts prices.csv --loss portfolio --prices --cost 0.001"""

# Which of --eta, --share, --beta and --delta each takes, and whether it learns from linearised losses.
AGGREGATORS: dict[str, tuple[str, bool]] = {
    "auto": ("", True),
    "wm": ("eta", False),
    "hedge": ("eta", False),
    "adahedge": ("", True),
    "ml-poly": ("", True),
    "squint": ("", True),
    "boa": ("", True),
    "calibrated": ("", True),
    "fixed-share": ("eta share", False),
    "bayes": ("", False),
    "ogd": ("eta", True),
    "eg": ("eta", True),
    "newton": ("beta delta", True),
    "universal": ("", True),
}


def _run(args: Namespace) -> int:
    from lowregret.cli.work.experts import experts

    return experts(args)


def _sample(folder: Path) -> list[object]:
    table = folder / "forecasts.csv"
    table.write_text("y,a,b\n" + "1,0.5,2\n0,1,0.25\n" * 20)
    return [table, "--target", "y", "--quiet"]


def _arguments(command: ArgumentParser) -> None:
    command.add_argument("table", metavar="TABLE", help="CSV, TSV, Parquet or Arrow, compressed or not, or - ")
    reading = command.add_argument_group("reading")
    reading.add_argument("--target", metavar="COL", help="the column with what came")
    reading.add_argument(
        "--experts", type=names, default=(), metavar="A,B,…", help="the columns with forecasts (others of numbers)"
    )
    reading.add_argument("--drop", type=names, default=(), metavar="COLS", help="columns to leave out, with commas")
    reading.add_argument(
        "--classes", type=names, default=(), metavar="A,B,…",
        help="what can come, for log and brier: each expert has a column NAMEA, NAMEB, … of probabilities",
    )  # fmt: skip
    reading.add_argument("--odds", action="store_true", help="these columns are decimal odds: 1/odds, made to sum to 1")
    reading.add_argument("--no-header", action="store_true", help="columns have no names: call them 1, 2, …")
    reading.add_argument("--delimiter", metavar="C", help=", ; | or a tab, if not found from the first line")
    add_long(command.add_argument_group("long tables"))
    mixing = command.add_argument_group("mixing")
    mixing.add_argument(
        "--loss", default="square", metavar="NAME[:X]",
        help="mae, mse, rmse, mape, smape, mase:SEASON, pinball:0.9, huber:1, log, brier, portfolio; square, absolute "
        "and quantile:0.9 are mse, mae and pinball (square)",
    )  # fmt: skip
    mixing.add_argument(
        "--algorithm", choices=AGGREGATORS, default="auto", metavar="NAME",
        help=f"{', '.join(AGGREGATORS)}; auto needs no tuning (auto)",
    )  # fmt: skip
    mixing.add_argument(
        "--eta", type=rate, metavar="X|theory",
        help="learning rate of wm, hedge, eg, ogd and fixed-share; theory: as the theorem tunes it, with its promise",
    )  # fmt: skip
    mixing.add_argument("--share", type=positive, help="how often the best expert changes, of fixed-share")
    mixing.add_argument("--prior", metavar="FILE", help="trust at the beginning: lines of a name and a weight")
    _add_uncertainty(command)
    _add_portfolios(command)
    add_keeping(command)


def add_keeping(command: ArgumentParser) -> None:
    """Add options on what is kept and shown."""
    keeping = command.add_argument_group("keeping")
    keeping.add_argument("-o", "--model", metavar="MODEL", help="write the mixture")
    keeping.add_argument(
        "--resume", metavar="MODEL", help="go on with a mixture: loss, algorithm and weights are those it has"
    )
    showing = command.add_argument_group("showing")
    showing.add_argument(
        "--predictions", metavar="FILE",
        help="write the mixed forecasts, one line a row; of long tables with series, time and cutoff",
    )  # fmt: skip
    showing.add_argument(
        "--weights-over-time", metavar="FILE.csv", help="write the weights that were used, a line for each moment"
    )
    showing.add_argument("--plot", type=picture, metavar="FILE", help="draw weights, losses and regret over time")
    showing.add_argument("--report", metavar="FILE.html", help="write a page with figures, proof, picture and experts")
    add_telling(showing, "no summary")


def add_long(group: _ArgumentGroup) -> None:
    """Add options on tables that have several series, origins or horizons."""
    group.add_argument("--series", metavar="COL", help="the column that says which series a row is of")
    group.add_argument("--time", metavar="COL", help="the column with the time that is forecast")
    group.add_argument("--cutoff", metavar="COL", help="the column with the origin: what was known when it was")
    group.add_argument("--horizon", metavar="COL", help="the column with the number of steps ahead")
    group.add_argument(
        "--weights", dest="weighing", choices=("pooled", "series", "horizon", "shrunk"), metavar="WHOSE",
        help="one set of weights for all (pooled), for each series or horizon, or for each series shrunk to the "
        "pooled ones (shrunk)",
    )  # fmt: skip
    group.add_argument(
        "--delay", type=count, metavar="N", help="of plain tables: the outcome of a row is known N rows later"
    )


def _add_uncertainty(command: ArgumentParser) -> None:
    group = command.add_argument_group("uncertainty")
    group.add_argument(
        "--coverage", type=share, metavar="X",
        help="intervals around the mixture that X of the outcomes lie inside, in the long run, whatever comes",
    )  # fmt: skip
    group.add_argument("--levels", type=shares, metavar="A,B,…", help="quantiles of these levels, mixed of all experts")
    group.add_argument(
        "--intervals", type=positive, nargs="?", const=0.0, metavar="PERCENT",
        help="quantiles mixed of columns NAME-lo-80, NAME-hi-80; NAME_lower and NAME_upper are ends of PERCENT",
    )  # fmt: skip


def _add_portfolios(command: ArgumentParser) -> None:
    group = command.add_argument_group("portfolios")
    group.add_argument("--prices", action="store_true", help="columns are prices, empty while an asset is not listed")
    group.add_argument("--cost", type=not_negative, metavar="X", help="share lost of what is bought or sold (0)")
    group.add_argument("--periods", type=positive, metavar="N", help="rows of a year, for the ratio of Sharpe (252)")
    group.add_argument("--beta", type=positive, help="of newton: δ(1 + 1/β) is its pull (0.5)")
    group.add_argument("--delta", type=positive, help="of newton (1)")


COMMAND = Command(
    "mix the forecasts of many, with proof",
    EXAMPLES,
    _arguments,
    _run,
    reads=("table", "prior", "resume"),
    speaks=lambda args: not args.quiet,
    sample=_sample,
)
