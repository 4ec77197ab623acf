"""The arguments of all commands."""

from __future__ import annotations

import os
from argparse import Action, ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter, _ArgumentGroup
from collections.abc import Callable
from typing import Any, NoReturn

from lowregret.cli import examples
from lowregret.cli.holdout import Holdout, holdout

ALGORITHMS = (
    "auto",
    "ogd",
    "ogd-lazy",
    "ogd-eager",
    "ogd-sqrt",
    "ogd-sc",
    "ogd-scw",
    "svm-online",
    "eg",
    "ueg",
    "pnorm",
    "perceptron",
    "mc-perceptron",
    "winnow",
    "adagrad",
    "ftrl-proximal",
    "kt",
    "freegrad",
    "cocob",
    "nag",
    "newton",
    "newton-diagonal",
    "pa",
    "pa-ii",
    "arow",
)
LOSSES = (
    "hinge",
    "squared-hinge",
    "logistic",
    "square",
    "absolute",
    "quantile",
    "huber",
    "epsilon-insensitive",
    "poisson",
)
CLASS_LOSSES = ("softmax", "multi-hinge", "oaa")
AGGREGATORS = (
    "auto",
    "wm",
    "hedge",
    "adahedge",
    "ml-poly",
    "squint",
    "fixed-share",
    "bayes",
    "ogd",
    "eg",
    "newton",
)
BANDITS = ("exp3", "exp3-ix", "tsallis-inf", "ucb1", "thompson")
FORMATS = ("svm", "vw", "csv", "tsv", "jsonl", "parquet", "arrow")
COMPILED = ("arrays", "experts", "bandit", "dimension")  # what else `warm` knows


def parser() -> ArgumentParser:
    """The whole command line."""
    whole = _Parser("lowregret", description="Online learning with proof: every run carries a regret certificate.")
    whole.add_argument("--version", action=_Version, nargs=0, help="say which version this is")
    commands = whole.add_subparsers(metavar="COMMAND", required=True)
    _train(_command(commands, "train", "learn from files or a stream, in one pass", examples.TRAIN))
    _predict(_command(commands, "predict", "score rows with a model", examples.PREDICT))
    _experts(_command(commands, "experts", "mix the forecasts of many, with proof", examples.EXPERTS))
    _bandit(
        _command(commands, "bandit", "what other choices would have brought, from a log of choices", examples.BANDIT)
    )
    _dimension(
        _command(
            commands,
            "dimension",
            "how many mistakes a finite class costs: Littlestone and VC dimension",
            examples.DIMENSION,
        )
    )
    _play(
        _command(
            commands,
            "play",
            "a game of the textbook: regret under its bound, or what must fail, failing",
            examples.PLAY,
        )
    )
    zoo = _command(commands, "zoo", "the algorithms, what each is for, and its certificate", examples.ZOO)
    zoo.add_argument("name", nargs="?", choices=ALGORITHMS, metavar="ALGORITHM", help="tell all about one")
    zoo.add_argument("--json", action="store_true", help="print one JSON object")
    _warm(_command(commands, "warm", "compile ahead of time, for images and continuous integration", examples.WARM))
    return whole


class _Parser(ArgumentParser):
    """Says in one line what is wrong, and what was perhaps meant."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            from difflib import get_close_matches

            said = rest[0].partition("=")[0]
            near = get_close_matches(said, self._option_string_actions, 1, 0.75) if said.startswith("-") else []
            hint = f"did you mean {near[0]}?" if near else f"see {self.prog} --help"
            self.exit(2, f"{self.prog}: there is no place for {rest[0]}; {hint}\n")
        return found, rest

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


class _Version(Action):
    """Says the version, which it looks up only then."""

    def __call__(self, parser: ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"lowregret {version('lowregret')}")
        parser.exit()


def _command(commands: object, name: str, purpose: str, examples: str) -> ArgumentParser:
    add: Callable[..., ArgumentParser] = getattr(commands, "add_parser")  # noqa: B009  its type is private
    command = add(
        name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".", epilog=examples,
        formatter_class=RawDescriptionHelpFormatter,
    )  # fmt: skip
    command.set_defaults(command=name)
    return command


def _train(command: ArgumentParser) -> None:
    command.add_argument("data", nargs="+", metavar="DATA", help="files, patterns, or - for standard input")
    _reading(command.add_argument_group("reading"))
    learning = command.add_argument_group("learning")
    _learning(learning)
    _going_over(learning)
    keeping = command.add_argument_group("keeping")
    keeping.add_argument("-o", "--model", metavar="MODEL", help="write the model, at the end and on the way")
    keeping.add_argument("--resume", metavar="MODEL", help="go on with a model; no option need be said again")
    keeping.add_argument(
        "--checkpoint", type=positive, default=60.0, metavar="SECONDS", help="how often to write the model (60)"
    )
    keeping.add_argument("--weights", metavar="FILE", help="write weights by name, and report names that share one")
    showing = _showing(command, "progressive scores, each made before its row was learnt")
    showing.add_argument(
        "--plot", type=picture, metavar="FILE", help="draw loss and regret over the rows, and of auto its experts"
    )
    showing.add_argument("--report", metavar="FILE.html", help="write a page with figures, proof, picture and weights")


def _learning(learning: _ArgumentGroup) -> None:
    learning.add_argument(
        "--loss",
        metavar="NAME[:X]",
        help=f"{', '.join(LOSSES)}; quantile:0.9, huber:1, epsilon-insensitive:0.1 (auto: as the labels are; "
        "others: hinge); "
        f"for more than two classes {', '.join(CLASS_LOSSES)}; oaa:hinge is one hinge learner a class",
    )
    learning.add_argument("--algorithm", choices=ALGORITHMS, metavar="NAME", help="see `lowregret zoo` (auto)")
    learning.add_argument("--eta", type=positive, help="learning rate; ogd does without")
    learning.add_argument("--radius", type=positive, help="size of the weights' ball or simplex, or of comparators (1)")
    learning.add_argument("--p", type=positive, help="the norm of pnorm, at least 2")
    learning.add_argument("--lam", type=positive, help="L2 regularisation of ogd-sc and ogd-scw")
    learning.add_argument("--l1", type=not_negative, help="L1 penalty of ftrl-proximal (1)")
    learning.add_argument("--l2", type=not_negative, help="L2 penalty of ftrl-proximal (1)")
    learning.add_argument("--beta", type=not_negative, help="β of ftrl-proximal's rates η/(β + √Σz²) (1)")
    learning.add_argument("--clip", type=positive, help="size of sub-gradients, beyond which kt clips them (1)")
    learning.add_argument("--C", type=positive, help="largest step of pa (none), softness of pa-ii (1)")
    learning.add_argument("--bias", action="store_true", help="add a constant feature")
    learning.add_argument(
        "--output", choices=("last", "average", "weighted", "random"),
        help="which iterate the model keeps (last); auto keeps its own, so with this ogd learns if no other is named",
    )  # fmt: skip
    learning.add_argument(
        "--classes", type=names, default=(), metavar="A,B,…", help="all classes, if they are known beforehand"
    )
    learning.add_argument("--unit", action="store_true", help="scale every row to length 1 (losses of many classes)")
    learning.add_argument("--dimension", type=count, metavar="N", help="number of features, for eg, ueg and winnow")
    learning.add_argument("--seed", type=int, metavar="N", help="settles what --output random draws (0)")
    learning.add_argument(
        "--certify", choices=("stream", "exact", "off"), default="stream",
        help="stream: regret at most …, in one pass; exact: also the best fixed choice in hindsight; off",
    )  # fmt: skip


def _going_over(learning: _ArgumentGroup) -> None:
    learning.add_argument(
        "--passes", type=count, default=1, metavar="N",
        help="go over the data up to N times; with --holdout, until that goes worse, and the best pass is kept",
    )  # fmt: skip
    learning.add_argument(
        "--holdout", type=holdout, default=Holdout(), metavar="N|last:N|last:P%",
        help="rows for judging only: every N-th, the last N, or the last P%% (which counts the rows of files first)",
    )  # fmt: skip
    learning.add_argument("--skip", type=count, default=0, metavar="N", help="leave out the first N rows")


def _predict(command: ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="written by `lowregret train -o`")
    command.add_argument("data", nargs="+", metavar="DATA", help="files, patterns, or - for standard input")
    command.add_argument("--format", choices=FORMATS, help="found from the name or the content, or as in training")
    command.add_argument("--threads", type=count, default=0, metavar="N", help="threads that parse (one per core)")
    command.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with a bad line")
    _showing(command, "scores (standard output)", "-o")


def _experts(command: ArgumentParser) -> None:
    command.add_argument("table", metavar="TABLE", help="CSV, TSV, Parquet or Arrow, compressed or not, or - ")
    reading = command.add_argument_group("reading")
    reading.add_argument("--target", metavar="COL", help="the column with what came")
    reading.add_argument(
        "--experts", type=names, default=(), metavar="A,B,…", help="the columns with forecasts (all others of numbers)"
    )
    reading.add_argument("--drop", type=names, default=(), metavar="COLS", help="columns to leave out, with commas")
    reading.add_argument(
        "--classes", type=names, default=(), metavar="A,B,…",
        help="what can come, for log and brier: each expert has a column NAMEA, NAMEB, … of probabilities",
    )  # fmt: skip
    reading.add_argument("--odds", action="store_true", help="these columns are decimal odds: 1/odds, made to sum to 1")
    reading.add_argument("--no-header", action="store_true", help="columns have no names: call them 1, 2, …")
    reading.add_argument("--delimiter", metavar="C", help=", ; | or a tab, if not found from the first line")
    mixing = command.add_argument_group("mixing")
    mixing.add_argument(
        "--loss", default="square", metavar="NAME[:X]",
        help="square, absolute, quantile:0.9, mape, log, brier, portfolio (square)",
    )  # fmt: skip
    mixing.add_argument(
        "--algorithm", choices=AGGREGATORS, default="auto", metavar="NAME",
        help=f"{', '.join(AGGREGATORS)}; auto needs no tuning (auto)",
    )  # fmt: skip
    mixing.add_argument("--eta", type=positive, help="learning rate of wm, hedge, eg, ogd and fixed-share")
    mixing.add_argument("--share", type=positive, help="how often the best expert changes, of fixed-share")
    mixing.add_argument("--prior", metavar="FILE", help="trust at the beginning: lines of a name and a weight")
    showing = command.add_argument_group("showing")
    showing.add_argument("--predictions", metavar="FILE", help="write the mixed forecasts, one line a row")
    showing.add_argument("--plot", type=picture, metavar="FILE", help="draw weights and regret over the rounds")
    showing.add_argument("--report", metavar="FILE.html", help="write a page with figures, proof, picture and experts")
    showing.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    showing.add_argument("--quiet", action="store_true", help="no summary")


def _bandit(command: ArgumentParser) -> None:
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
        "--algorithm", choices=BANDITS, default="exp3", metavar="NAME", help=f"{', '.join(BANDITS)} (exp3)"
    )
    command.add_argument("--eta", type=positive, help="learning rate of exp3 and exp3-ix, if not tuned to the log")
    command.add_argument("--seed", type=int, default=0, help="of the learner's coins (0)")
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.add_argument("--report", metavar="FILE.html", help="write a page with figures, proof and picture")
    command.add_argument("--plot", type=picture, metavar="FILE", help="draw the values with their intervals")


def _dimension(command: ArgumentParser) -> None:
    command.add_argument(
        "source", metavar="MATRIX.csv|GENERATOR",
        help="rows of 0 and 1 without header, one a hypothesis, one column a point; or a class by name, see below",
    )  # fmt: skip
    command.add_argument(
        "--time", type=positive, metavar="SECONDS", help="stop then, with lower and upper bounds (go on until exact)"
    )
    command.add_argument("--plot", type=picture, metavar="FILE", help="draw the shattered tree")
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.add_argument("--quiet", action="store_true", help="no progress, no drawing: one line for each dimension")


def _play(command: ArgumentParser) -> None:
    command.add_argument("game", nargs="?", metavar="GAME", help="its name; without one, all games are listed")
    command.add_argument("algorithm", nargs="?", metavar="ALGORITHM", help="without one, those that fit are listed")
    command.add_argument("--rounds", type=count, metavar="N", help="how many (1024; of replay: all rows)")
    command.add_argument("--seed", type=count_from_zero, default=0, metavar="S", help="settles everything random (0)")
    command.add_argument("--eta", type=positive, metavar="X", help="learning rate, if not the textbook's for N rounds")
    command.add_argument("--radius", type=positive, metavar="X", help="of the ball that is played and compared with")
    command.add_argument("--data", metavar="FILE", help="the rows of the game replay, in any format that train reads")
    command.add_argument("--target", metavar="COL", help="of replay: the column with the label, in tables")
    command.add_argument("--positive", metavar="LABEL", help="of replay: the label that counts as +1")
    command.add_argument("--plot", type=picture, metavar="FILE", help="draw the regret under its bound")
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.add_argument("--quiet", action="store_true", help="the verdict only")


def _reading(group: _ArgumentGroup) -> None:
    group.add_argument("--format", choices=FORMATS, help="found from the name or the content if not given")
    group.add_argument("--target", metavar="COL", help="the column with the label, in tables")
    group.add_argument("--positive", metavar="LABEL", help="the label that counts as +1; all others count as −1")
    group.add_argument("--weight", metavar="COL", help="a column with the importance of each row")
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
    group.add_argument("--zero-based", action="store_true", help="svm indices begin with 0, for --dimension")
    group.add_argument("--bits", type=count, metavar="N", help="hash names into 2^N weights (18; svm: not at all)")
    group.add_argument("--threads", type=count, default=0, metavar="N", help="threads that parse (one per core)")
    group.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with a bad line")


def _showing(command: ArgumentParser, scores: str, short: str | None = None) -> _ArgumentGroup:
    group = command.add_argument_group("showing")
    group.add_argument(*([short] if short else []), "--predictions", metavar="FILE", help=f"write {scores}")
    group.add_argument(
        "--link",
        choices=("raw", "prob", "label"),
        help="scores (raw), probabilities or labels (of many classes: label)",
    )
    group.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    group.add_argument("--quiet", action="store_true", help="no progress, no summary")
    return group


def _warm(command: ArgumentParser) -> None:
    command.add_argument(
        "names", nargs="*", metavar="NAME",
        help=f"an algorithm, with or without :LOSS, a format, or one of {', '.join(COMPILED)}",
    )  # fmt: skip
    command.add_argument("--all", action="store_true", help="every algorithm with its usual loss, and all else")
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    command.add_argument("--quiet", action="store_true", help="say nothing")


def picture(name: str) -> str:
    """The name of a picture, which is a PNG if it does not say; a folder's name stays, to be refused."""
    if not name or os.path.isdir(name) or os.path.splitext(name)[1][1:]:
        return name
    return name.rstrip(".") + ".png"


def positive(text: str) -> float:
    """A number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"expected a positive number, got {text!r}")
    return value


def not_negative(text: str) -> float:
    """A number that is 0 or more."""
    return 0.0 if text.strip() in ("0", "0.0") else positive(text)


def count(text: str) -> int:
    """A whole number, at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return value


def count_from_zero(text: str) -> int:
    """A whole number, at least 0."""
    return 0 if text.strip() == "0" else count(text)


def names(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())
