"""What can be done in two ways gives the same bits: python -m benchmarks.fuzz_orders --runs 500

A random table is learnt by a random command. Then the same is done in other ways: the table in another format, in
several files, compressed, as a cache, with other numbers of threads, in parts that go on with a saved model, by Python,
with features of other names. Model, figures and predictions must be the same to the last bit. Runs are interpreted, but
for `auto` and long tables.
"""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.command_runs import run as run_command
from benchmarks.fuzz_commands import CONVERT
from benchmarks.fuzzing import main, require
from benchmarks.nasty import Draw
from benchmarks.orders_of_experts import fuzz_forecasts
from benchmarks.orders_of_text import fuzz_sparse
from benchmarks.outcomes import Outcome, learn, require_same
from benchmarks.same_rows import FORMATS, Table, some_table, write
from lowregret.run.session import Session

SIGNS = ["ogd", "adagrad", "auto", "perceptron", "pa", "arow", "kt", "freegrad", "cocob", "nag", "ftrl-proximal"]
NUMBERS = ["ogd", "adagrad", "auto", "kt", "freegrad", "nag", "ftrl-proximal", "newton-diagonal"]
CLASSES = ["ogd", "adagrad", "auto", "mc-perceptron"]
NOTHING = "nothing", "no rows", "no label", "on their way"  # why a part of a table cannot be learnt alone


class Case(NamedTuple):
    """A table and the words that learn it."""

    table: Table
    words: list[str]
    compiled: bool
    whole: bool  # rows are held out or learnt several times, which parts do otherwise


# ---- drawing --------------------------------------------------------------------------------------------------------


def some_case(r: Draw, heavy: bool) -> Case:
    """A table and how it is to be learnt, `heavy` ones with many rows and by few learners, which compile."""
    kind = r.choice(["signs", "named", "numbers", "classes"])
    sorts: dict[str, list[Any]] = {
        "signs": [1, -1],
        "named": ["up", "d,own"],
        "classes": r.choice([[1, 2, 3], ["u", "v", "é w"]]),
    }
    labels = sorts.get(kind, [0.5, 1.0, -2.25, 3.0])
    count = r.choice([300, 700, 1500, 4500]) if heavy else r.choice([1, 2, 5, 30, 70])
    table = some_table(r, count, lambda row: r.choice(labels), r.random() < 0.5)
    words = ["--target", "y"] + ["--positive", "up"] * (kind == "named")
    words += _columns(r, table)
    algorithm = r.choice({"numbers": NUMBERS, "classes": CLASSES}.get(kind, SIGNS))
    algorithm = r.choice(["auto", "auto", "adagrad"]) if heavy else algorithm
    loss = {"numbers": ["square", "absolute", "huber:1"], "classes": ["softmax", "multi-hinge", "oaa"]}
    losses = loss.get(kind, ["logistic", "hinge"])
    words += [
        "--algorithm",
        algorithm,
        "--loss",
        losses[0] if heavy or algorithm == "auto" or r.random() < 0.5 else r.choice(losses),
    ]
    late = r.random() < 0.3
    if late:
        words += ["--delay-column", "late"] if r.random() < 0.5 else ["--delay", str(r.choice([0, 1, 3, 20]))]
    if "late" not in words and "--drop" not in words:
        words += ["--drop", "late"]
    if r.random() < 0.4:
        words += ["--weight", "w"]
    if algorithm != "auto" and not heavy and r.random() < 0.3:
        words += ["--bias"]
    if algorithm != "auto" and not heavy and r.random() < 0.2:
        words += ["--output", r.choice(["average", "random", "weighted"])]
    if algorithm != "auto" and kind != "classes" and heavy:
        words += ["--partitions"]
    if not heavy and r.random() < 0.1:
        words += ["--certify", "off"]
    whole = not late and r.random() < 0.2
    if whole:
        words += r.choice([["--holdout", "3"], ["--holdout", "last:5"], ["--holdout", "last:20%"], ["--passes", "2"]])
    return Case(table, words, heavy or algorithm == "auto", whole)


def _columns(r: Draw, table: Table) -> list[str]:
    """Words on what columns hold."""
    words = []
    for option, kind in (("--categorical", "code"), ("--date", "date"), ("--text", "words")):
        named = [name for name in table.of_kind(kind) if name != "late" and "," not in name and r.random() < 0.7]
        words += [option, ",".join(named)] if named else []
        words += ["--ngrams", "2"] if named and option == "--text" and r.random() < 0.5 else []
    plain = [name for name in table.kinds if name not in ("y", "w", "late") and "," not in name and ":" not in name]
    if len(plain) > 1 and r.random() < 0.2:
        words += ["--interactions", ":".join(r.sample(plain, 2))]
    return words


# ---- other ways -----------------------------------------------------------------------------------------------------


def in_parts(r: Draw, case: Case, folder: Path, told: list[Any]) -> tuple[Outcome | str, str]:
    """The outcome of parts that go on with a saved model, each in a format of its own."""
    at, count, scores, outcome = 0, len(case.table.rows), "", None
    resume: list[str] = []
    cuts = sorted(r.randrange(1, count) for _ in range(r.choice([1, 1, 2, 4]))) if count > 1 else []
    for number, end in enumerate([*dict.fromkeys(cuts), count]):
        form = r.choice(FORMATS)
        if resume and r.random() < 0.3:
            rest = case.table.part(0, end)
            path, words = write(r, rest, folder, f"part{number}", form), ["--skip", str(at)]
        else:
            path, words = write(r, case.table.part(at, end), folder, f"part{number}", form), []
        outcome = learn(folder, [path, *(resume or case.words), *words, "--threads", r.choice("123")], case.compiled)
        told.append(f"rows {at} to {end} in {form} {words}")
        if isinstance(outcome, str):
            return outcome, scores
        scores, at = scores + outcome.scores, end
        saved = folder / f"saved{r.randrange(3)}.lr"
        (folder / "m.lr").rename(saved)
        if r.random() < 0.3:
            session = Session.load(saved)
            session.run = r.choice([copy.deepcopy, lambda run: pickle.loads(pickle.dumps(run))])(session.run)
            session.save(saved)
        resume = ["--resume", str(saved)]
    assert isinstance(outcome, Outcome)
    return outcome._replace(scores=scores), ""


def fuzz_tables(r: Draw, folder: Path, told: list[Any]) -> int:
    """A short table in other formats, files, parts and threads."""
    return _tried(r, some_case(r, False), folder, told)


def fuzz_long_tables(r: Draw, folder: Path, told: list[Any]) -> int:
    """A table so long that random trees grow, in other formats, files, parts and threads."""
    return _tried(r, some_case(r, True), folder, told)


def _tried(r: Draw, case: Case, folder: Path, told: list[Any]) -> int:
    told += [case.words, case.table.kinds, case.table.rows[:3]]
    first = r.choice(FORMATS)
    told.append(first)
    base = learn(folder, [write(r, case.table, folder, "whole", first), *case.words, "--threads", "1"], case.compiled)
    if isinstance(base, str):
        told.append(base)
        return _refused(r, case, folder, base)
    for form in r.sample(FORMATS, 2):
        path = write(r, case.table, folder, "other", form, packed=r.random() < 0.5)
        other = learn(folder, [path, *case.words, "--threads", r.choice("123")], case.compiled)
        require_same(base, other, f"{first} and {form}")
    count = len(case.table.rows)
    cut = r.randrange(count + 1)
    form = r.choice(FORMATS)
    pieces = [
        write(r, case.table.part(*ends), folder, f"piece{k}", form) for k, ends in enumerate([(0, cut), (cut, None)])
    ]
    data = pieces if r.random() < 0.5 else [str(folder / f"piece?.{form}")]
    require_same(
        base, learn(folder, [*data, *case.words], case.compiled), f"{first} and two files of {form}, cut at {cut}"
    )
    claims = 3
    if r.random() < 0.5:
        claims += _cached(r, case, folder, base)
    if not case.whole:
        other, _ = in_parts(r, case, folder, told)
        if isinstance(other, str) and (
            "nothing" in other or "no rows" in other or "no label" in other or "on their way" in other
        ):
            return claims
        require_same(base, other, "parts", "passes")
        claims += 1
    return claims


def _refused(r: Draw, case: Case, folder: Path, base: str) -> int:
    """What is refused in one format is in others."""
    for form in FORMATS:
        other = learn(folder, [write(r, case.table, folder, "other", form), *case.words], case.compiled)
        require(isinstance(other, str), f"refused in one format ({base}), not in {form}")
    return len(FORMATS)


def _cached(r: Draw, case: Case, folder: Path, base: Outcome) -> int:
    """The same rows by a cache; options on columns are said when it is made."""
    path, form = folder / "c.lrc", r.choice(FORMATS)
    said = list(case.words)
    made: list[str] = []
    for option in CONVERT:
        if option in said:
            k = said.index(option)
            made += said[k : k + 2]
            del said[k : k + 2]
    told = run_command(["convert", write(r, case.table, folder, "source", form), *made, "-o", str(path)])
    require(told.code == 0, f"convert: {told.err}")
    require_same(base, learn(folder, [str(path), *said], case.compiled), f"a cache of {form}")
    return 1


ATTACKS = [fuzz_tables, fuzz_sparse, fuzz_forecasts, fuzz_long_tables]

if __name__ == "__main__":
    main(__doc__, ATTACKS, 500, refuses=False)
