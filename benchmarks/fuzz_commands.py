"""The command line under attack: random commands with random options, sensible and not, on small files, whole and odd.

    python -m benchmarks.fuzz_commands --runs 5000

Whatever is said, a command is done (exit code 0) or refuses in words (2), and raises nothing; `--json` is one object
without NaN or infinities, whose figures are those of the summary; what is read stays as it was, what is written can be
read, and no temporary file is left. The first falsehood ends it, with the seed and the words that lead to it again.
Runs are interpreted, for compiling would take most of the time; but every 30th is plain use of a longer table, compiled
(`plain_commands.py`), and of some the figures are computed anew: of four in 30 that train (`train_figures.py`), and of
five that mix forecasts (`experts_figures.py`, `experts_kinds.py`, `experts_days.py`) or read logs (`bandit_figures`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.bandit_figures import bandit_judged
from benchmarks.command_runs import Told, run, strict
from benchmarks.experts_days import days_judged
from benchmarks.experts_figures import mixture_judged
from benchmarks.experts_kinds import classes_judged, portfolio_judged
from benchmarks.plain_commands import plain
from benchmarks.train_figures import judged
from lowregret.cli.work import train as training
from lowregret.compile.part import Part
from lowregret.run.begin import begin
from lowregret.run.session import load_served
from lowregret.words import percent

LIMITS = ("0", "-1", "1", "1e308", "nan", "inf", str(10**20), "", " ", "-", "x", "é", "a,b", "last:0", "last:100%")
TRAIN: dict[str, tuple[str, ...]] = {
    "--format": ("csv", "svm", "vw", "jsonl"), "--target": ("y",), "--positive": ("1", "u"), "--weight": ("w",),
    "--delay-column": ("w",), "--time-column": ("d",), "--drop": ("c", "a,c"), "--categorical": ("a",),
    "--text": ("c",), "--ngrams": ("2",), "--date": ("d",), "--interactions": ("a:c",), "--delimiter": (",", ";"),
    "--decimal": (".", ","), "--no-header": (), "--bits": ("4", "12"), "--threads": ("1", "3"), "--on-error": ("skip",),
    "--cache": (), "--zero-based": (), "--loss": ("hinge", "logistic", "square", "softmax", "quantile:0.9", "oaa"),
    "--algorithm": ("ogd", "ogd-lazy", "adagrad", "perceptron", "eg", "ftrl-proximal", "kt", "pa", "mc-perceptron"),
    "--bias": (), "--output": ("average", "random", "weighted"), "--classes": ("u,v", "1,-1"), "--unit": (),
    "--partitions": (), "--dimension": ("9", "5000"), "--seed": ("7",), "--certify": ("exact", "off"),
    "--eta": ("0.1", "theory"), "--rounds": ("40",), "--lipschitz": ("3",), "--radius": ("2",), "--p": ("3",),
    "--lam": ("0.1",), "--l1": ("0.1",), "--l2": ("0",), "--beta": ("1",), "--clip": ("1",), "--C": ("1",),
    "--passes": ("2",), "--holdout": ("3", "last:5", "last:20%"), "--delay": ("0", "2"), "--skip": ("3", "1000"),
    "-o": ("m.lr", "new.lr", "nowhere/m.lr"), "--resume": ("m.lr", "rows"), "--checkpoint": ("1e-9",),
    "--predict-only": (), "--weights": ("w.txt",), "--predictions": ("p.txt", "rows"),
    "--link": ("raw", "prob", "label"), "--quiet": (),
}  # fmt: skip
PREDICT = {name: TRAIN[name] for name in ("--format", "--threads", "--on-error", "--predictions", "--link", "--quiet")}
CONVERT = {name: TRAIN[name] for name in list(TRAIN)[:18] if name not in ("--positive",)}
EXPERTS: dict[str, tuple[str, ...]] = {
    "--target": ("y",), "--experts": ("a,w", "a"), "--loss": ("square", "absolute", "quantile:0.9", "log", "portfolio"),
    "--algorithm": ("hedge", "adahedge", "wm", "ogd"), "--eta": ("0.1", "theory"), "-o": ("e.lr",),
    "--resume": ("e.lr",), "--predictions": ("p.txt",), "--quiet": (), "--no-header": (), "--delimiter": (";",),
}  # fmt: skip
BANDIT: dict[str, tuple[str, ...]] = {
    "--action": ("c",), "--reward": ("b",), "--cost": ("b", "a"), "--propensity": ("b",), "--algorithm": ("exp3",),
    "--eta": ("0.1", "theory"), "--seed": ("3",), "--delay": ("2",), "--low": ("0",), "--high": ("5",),
}  # fmt: skip
COMMANDS = {"train": TRAIN, "predict": PREDICT, "convert": CONVERT, "experts": EXPERTS, "bandit": BANDIT}
PLAIN, JUDGED, MIXED = 30, 6, 2  # commands, of which the last is plain, or judged by its figures, or one in JUDGED
MIXTURES = (*[mixture_judged] * 3, classes_judged, portfolio_judged, days_judged, bandit_judged)
USUAL: dict[str, list[str]] = {"experts": ["--target", "y"], "bandit": ["--action", "c", "--reward", "b"]}


# ---- files ----------------------------------------------------------------------------------------------------------


def table(r: random.Random) -> str:
    """A table with numbers, names, dates and weights; now and then with a field that is odd."""
    labels = r.choice((("1", "-1"), ("u", "v"), ("0.5", "2", "-3"), ("1",), ("0", "1"), ("a", "b", "c")))
    odd = r.choice(("", "inf", "1e308", "NaN", '"', "x\0y", "1e-320", "9" * 400)) if r.random() < 0.3 else None
    rows = []
    for k in range(r.choice((0, 1, 2, 30, 60))):
        day = f"2024-01-{k % 28 + 1:02d}"
        fields = [r.choice(labels), f"{r.gauss(0, 1):.3f}", r.choice("01"), r.choice("xyz"), day, "2"]
        if odd is not None and r.random() < 0.1:
            fields[r.randrange(len(fields))] = odd
        rows.append(",".join(fields))
    return "\n".join(["y,a,b,c,d,w", *rows])


def sparse(r: random.Random) -> str:
    """LIBSVM text; now and then with an entry that is odd."""
    labels = r.choice((("+1", "-1"), ("1", "2", "3"), ("0.5", "-2"), ("1",)))
    odd = r.choice(("1:1e308", "4294967296:1", "-1:1", "3:nan", "x:1", "2:")) if r.random() < 0.3 else None
    rows = []
    for _ in range(r.choice((0, 1, 2, 30, 60))):
        entries = [f"{j}:{r.gauss(0, 1):.3f}" for j in sorted(r.sample(range(1, 9), 3))]
        rows.append(" ".join([r.choice(labels), *entries, *([odd] if odd and r.random() < 0.1 else [])]))
    return "\n".join(rows)


def objects(r: random.Random) -> str:
    """JSON lines."""
    rows = [{"y": r.choice((1, -1)), "a": r.gauss(0, 1), "b": r.randint(0, 1), "c": r.choice("xyz")} for _ in range(30)]
    return "\n".join(map(json.dumps, rows[: r.choice((0, 1, 30))]))


def rows_in(folder: Path, r: random.Random) -> str:
    """Write a file of rows; returns its name, whose ending may mislead."""
    ending, make = r.choice((("csv", table), ("svm", sparse), ("jsonl", objects), ("csv", table)))
    text = make(r).replace("\n", r.choice(("\n", "\n", "\n", "\r\n"))) + r.choice(("\n", "\n", "", "\n\n\n", "\n \n"))
    name = f"rows.{ending if r.random() < 0.9 else r.choice(('txt', 'svm', 'lrc', 'parquet'))}"
    (folder / name).write_bytes(text.encode())
    return name


# ---- words ----------------------------------------------------------------------------------------------------------


def words(r: random.Random, rows: str) -> list[str]:
    """A command line: a few options, most of them with values that make sense."""
    name = r.choice(("train", "train", "train", *COMMANDS))
    known = COMMANDS[name]
    said = [name, *(["m.lr"] if name == "predict" else []), rows, *(["-o", "c.lrc"] if name == "convert" else [])]
    if name == "train" and r.random() < 0.8:
        said += ["--algorithm", r.choice(TRAIN["--algorithm"])]
    if rows.endswith(("csv", "jsonl")) and name in ("train", "convert"):
        said += ["--target", "y"]
    said += USUAL.get(name, [])
    for option in r.sample(sorted(known), min(r.choice((0, 1, 2, 3, 5)), len(known))):
        values = known[option]
        value = r.choice(LIMITS if r.random() < 0.15 else values) if values else None
        said += [option] if value is None else [option, rows if value == "rows" else value]
    return said


# ---- running and judging --------------------------------------------------------------------------------------------


def faults(said: list[str], told: Told, before: dict[str, bytes]) -> Iterator[str]:
    """What is wrong with what a command did."""
    if told.code not in (0, 2):
        yield f"exit code {told.code}"
        return
    if told.code == 2 and not told.err.strip().rpartition("\n")[2].startswith("lowregret"):
        yield f"a refusal without words: {told.err!r}"
    if told.code == 0 and "--json" in said and "-" not in said:
        try:
            strict(told.out)
        except ValueError as error:
            yield f"--json: {error}: {told.out[:200]!r}"
    after = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    yield from (f"{name} was left behind" for name in after if name.endswith(".tmp"))
    if after.get(said[-1 if said[0] == "zoo" else 1]) != before.get(said[1]) and said[1].startswith("rows"):
        yield f"{said[1]} was changed"
    for name in ("m.lr", "new.lr"):
        if name in after and after[name] != before.get(name):
            load_served(name)


def disagreements(said: list[str]) -> Iterator[str]:
    """Figures that a summary tells otherwise than the JSON of the same command."""
    silent = [word for word in said if word != "--quiet"]
    shown, told = run(silent), run([*silent, "--json"])
    if shown.code != told.code:
        yield f"exit code {shown.code} with a summary, {told.code} with --json: {shown.err} {told.err}"
    if told.code != 0 or said[0] != "train" or "-" in said:
        return
    found = strict(told.out)
    figures = [f"loss       {found['loss']['mean']:.4g} "]
    if found["error"] is not None:
        figures.append(f"error      {percent(found['error'])} ")
    yield from (f"the summary lacks {figure!r}: {shown.out}" for figure in figures if figure not in shown.out)


def tried(seed: int, number: int) -> tuple[Any, list[str]]:
    """One command in a folder of its own; its exit code, and what is wrong."""
    r = random.Random(f"{seed} {number}")
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            if number % PLAIN == PLAIN - 1:
                return plain(r)
            if number % JUDGED == JUDGED - 1:
                return judged(r)
            if number % JUDGED == MIXED:
                with mock.patch.object(Part, "compilable", False):
                    return r.choice(MIXTURES)(r)
            with mock.patch.object(training, "begin", partial(begin, compiled=False)):
                return odd(r, Path(folder))
        finally:
            os.chdir(here)


def odd(r: random.Random, folder: Path) -> tuple[Any, list[str]]:
    """One command with random options on a random file; its exit code, and what is wrong."""
    Path("base.svm").write_text("+1 1:1 2:-1\n-1 1:-2\n" * 20)
    run(["train", "base.svm", "--algorithm", "ogd", "--loss", "logistic", "-o", "m.lr", "--quiet"])
    said = words(r, rows_in(folder, r)) + (["--json"] if r.random() < 0.5 else [])
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    told = run(said)
    wrong = list(faults(said, told, before))
    again = {"--resume", "-o", "--cache", "--predictions"}.isdisjoint(said) and r.random() < 0.3
    if not wrong and told.code == 0 and again:
        wrong += disagreements([word for word in said if word != "--json"])
    head = {path.name: path.read_bytes()[:300] for path in Path().iterdir() if path.name.startswith("rows")}
    return told.code, [f"{what}\nwords: {said}\nfiles: {head}" for what in wrong]


def fuzzed(runs: int, seed: int, at: int = 0) -> tuple[dict[Any, int], list[str]]:
    """How often which exit code was met, up to the first falsehood, and that."""
    codes: dict[Any, int] = {}
    for number in range(at, runs):
        code, wrong = tried(seed, number)
        codes[code] = codes.get(code, 0) + 1
        if number % 50 == 0:
            print(f"{number:,} commands, exit codes {codes}", file=sys.stderr, flush=True)
        if wrong:
            return codes, [f"--seed {seed} --at {number}: {what}" for what in wrong]
    return codes, []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000, help="commands")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at", type=int, default=0, help="the number of the first command")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    codes, wrong = fuzzed(options.at + options.runs if options.at else options.runs, options.seed, options.at)
    print(f"{sum(codes.values()):,} commands, exit codes {codes}")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
