"""`lowregret warm`: compile ahead of time, for images and continuous integration.

Everything is compiled by using it: commands learn, predict and read a few made-up rows, so that what was put into the
cache is what later commands look for.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from lowregret.cli.clock import Clock
from lowregret.cli.commands import NAMES, command
from lowregret.cli.json_output import print_json
from lowregret.cli.losses import wants_classes
from lowregret.cli.make import wants_signs
from lowregret.cli.parser import parser
from lowregret.errors import PartError, StoreError
from lowregret.loss import Logistic, Softmax, Square
from lowregret.run.block_learners import why_not
from lowregret.store.kinds import load
from lowregret.stream.columns import HASHED_INTERPRETED, columns
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.formats import FORMATS
from lowregret.stream.read import format_part, stream_of
from lowregret.train import train
from lowregret.words import counted
from lowregret.zoo import ALGORITHMS, AUTO, auto

ROWS, FEATURES = 300, 6
_ARRAYS = "arrays"
_AUTO = tuple(f"auto:{loss.name}" for loss in AUTO)
_COMMON = (*_AUTO, *FORMATS, _ARRAYS)
_SAMPLES = {name: sample for name in NAMES if (sample := command(name).sample)}
_KNOWN = (*ALGORITHMS, *FORMATS, _ARRAYS, *_SAMPLES)
_OPTIONS = {"eta": "0.1", "lam": "0.1", "p": "4", "dimension": str(FEATURES)}  # their values do not matter


@dataclass(frozen=True)
class Warmed:
    """How long one name took to compile: 0 if all of it was in the cache."""

    name: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.name}: " + (f"compiled in {self.seconds:.1f} s" if self.seconds else "in the cache already")


def warm(args: Namespace) -> int:
    """Compile what was named, or what is common."""
    names = list(dict.fromkeys(_plain(args)))
    done: list[Warmed] = []
    with Clock() as clock, _folder() as folder:
        for name, use in [(name, _use(name, args.learners)) for name in names]:
            before = clock.read().compile
            with redirect_stdout(StringIO()):
                use(Path(folder))
            done.append(Warmed(name, clock.read().compile - before))
            if not args.quiet:
                print(done[-1], file=sys.stderr)
        seconds = clock.read()
    if args.json:
        told = [{"name": one.name, "compile": one.seconds} for one in done]
        print_json({"warm": told, "seconds": seconds.to_json()})
    elif not args.quiet:
        print(f"{counted(len(done), 'name')} ready, with {seconds.compile:.1f} s of compiling")
    return 0


def _folder() -> TemporaryDirectory[str]:
    """A folder for the few rows that are learnt to compile."""
    try:
        return TemporaryDirectory(prefix="lowregret-")
    except OSError as error:
        raise StoreError(
            f"warm writes a few temporary files: {error.strerror}; name a folder for them in TMPDIR"
        ) from None


def _plain(args: Namespace) -> Iterator[str]:
    """The names asked for, one by one; without any, those that are common and installed."""
    names = args.names or _COMMON
    if args.all:
        names = _KNOWN
    for name in names:
        if name == "auto":
            yield from _AUTO
        elif args.names or name not in FORMATS or FORMATS[name].sample or find_spec("pyarrow"):
            yield name


def _use(name: str, learners: bool) -> Callable[[Path], None]:
    """A call that compiles everything behind a name; with the loops of several `learners`, if there can be any."""
    algorithm, _, loss = name.partition(":")
    if algorithm in ALGORITHMS:
        return lambda folder: _learn(folder, algorithm, loss, learners)
    if name in FORMATS:
        return lambda folder: _read(folder, name)
    if name == _ARRAYS:
        return _learn_arrays
    if name in _SAMPLES:
        return lambda folder: _command(name, *_SAMPLES[name](folder))
    near = get_close_matches(name, _KNOWN, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(_KNOWN)}"
    raise PartError(f"there is nothing to compile by the name of {name!r}: {hint}")


def _command(*words: object) -> None:
    args = parser().parse_args([str(word) for word in words])
    if command(args.command).run(args):
        raise KeyboardInterrupt


# ---- names ----------------------------------------------------------------------------------------------------------


def _learn(folder: Path, algorithm: str, loss: str, learners: bool) -> None:
    """Train and predict, as `lowregret train --algorithm … --loss …` would; `learners`: also with several of them."""
    named = Namespace(algorithm=algorithm, loss=loss or None)
    two = not wants_classes(named) and (not loss or wants_signs(named))
    labels = ("-1", "+1") if two else ("1", "2", "3")
    data, model = folder / "rows.svm", folder / "model.lr"
    data.write_text("".join(f"{labels[i % len(labels)]} {_entries(i)}\n" for i in range(ROWS)))
    options = [f"--{option}={_OPTIONS[option]}" for option in ALGORITHMS[algorithm].needs]
    options += [f"--loss={loss}"] if loss else []
    _command("train", data, "--algorithm", algorithm, *options, "-o", model, "--quiet")
    _command("predict", model, data, "-o", folder / "scores.txt", "--quiet")
    if learners and why_not(load(model).learner) is None:
        for more in ([], ["--block", "free"]):
            _command("train", data, "--algorithm", algorithm, *options, "--learners", 2, *more, "--quiet")


def _entries(i: int) -> str:
    """Sparse features of row i: ones, which every algorithm takes."""
    return " ".join(f"{j}:1" for j in range(1, FEATURES + 1) if (i >> j) % 2 == 0)


def _read(folder: Path, form: str) -> None:
    """Read rows of this format, with their names and without; of a table, with a column of text and without, too."""
    data = folder / f"rows.{form}"
    target = "y" if "target" in FORMATS[form].options else None
    if FORMATS[form].sample:
        data.write_text(FORMATS[form].sample)
    elif FORMATS[form].brings_form:
        source = folder / "rows.svm"
        source.write_text(FORMATS["svm"].sample)
        _command("convert", source, "-o", data, "--quiet")
    else:
        _write_table(data, form)
    if target:
        columns([str(column) for column in range(HASHED_INTERPRETED + 1)], form)
    for text in ((), ("b",)) if target and FORMATS[form].sample else ((),):
        for dictionary in (None, Dictionary()):
            part = format_part(form, target=target, text=text)
            for _ in stream_of([str(data)], part, dictionary=dictionary).batches():
                pass


def _write_table(data: Path, form: str) -> None:
    from pyarrow import feather, parquet, table

    columns = table({"y": [1.0, -1.0], "a": [0.5, 1.0], "n": [1, 2], "b": ["x", "z"]})
    parquet.write_table(columns, data) if form == "parquet" else feather.write_feather(columns, data)


def _learn_arrays(_folder: Path) -> None:
    """Learn and predict rows in memory, as the estimators do, in both precisions."""
    turns, rows = np.arange(ROWS), np.arange(ROWS * FEATURES).reshape(ROWS, FEATURES) % 7 / 7
    for kind in (np.float64, np.float32):
        for loss, labels in ((Logistic(), turns % 2 * 2.0 - 1), (Square(), turns / ROWS), (Softmax(), turns % 3)):
            train(auto(loss), rows.astype(kind), labels).decision_function(rows.astype(kind))
