"""Plain use: `auto` learns an ordinary table, of up to 1,500 rows, with a few options, and its model is gone on with.

Runs are compiled, for the forests of `auto` join after 256 rows, which would take minutes interpreted. Whatever the
options, what is learnt is kept: the model predicts, for prediction alone as well, and a run that was broken off and
resumed is the unbroken one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.command_runs import Told, run, strict

SIZES = (1, 2, 50, 300, 700, 1500)
OPTIONS: tuple[tuple[str, ...], ...] = (
    ("--passes", "2"), ("--passes", "3"), ("--holdout", "10"), ("--holdout", "last:20"), ("--holdout", "last:10%"),
    ("--delay", "3"), ("--checkpoint", "1e-9"), ("--features", "raw"), ("--certify", "exact"), ("--certify", "off"),
    ("--weight", "w"), ("--date", "d"), ("--categorical", "w"), ("--importance",), ("--threads", "3"), ("--skip", "1"),
)  # fmt: skip
WHOLE = {"--passes", "--skip", "exact", "last:20", "last:10%"}  # words that a run broken off may not say
ROUNDED = 2e-3  # of 1 + a score, with --predict-only: large models are rounded
BY_CHANCE = {"seconds", "model", "notes", "importance"}  # of the JSON: may differ between runs of the same rows


def table(r: random.Random) -> list[str]:
    """The lines of a table whose labels hang on two columns; some fields are missing, some rows come twice."""
    labels = r.choice((("1", "-1"), ("yes", "no"), ("a", "b", "c"), ()))
    size, missing, rows = r.choice(SIZES), r.choice((0.0, 0.1)), list[str]()
    for k in range(size):
        a, b = r.gauss(0, 1), r.gauss(0, 1)
        score = a * b + 0.3 * a
        place = min(int(abs(score) * 2), len(labels) - 1) if len(labels) > 2 else int(score > 0)
        fields = [f"{a:.3f}", f"{b:.3f}", r.choice("xyz"), f"2024-01-{k % 28 + 1:02d}", r.choice("12")]
        shown = [field if j > 2 or r.random() >= missing else "" for j, field in enumerate(fields)]
        rows.append(",".join([labels[place] if labels else f"{score:.3f}", *shown]))
    if r.random() < 0.4:
        rows = (rows[: size // 2 + 1] * 2)[:size]
    return ["y,a,b,c,d,w", *rows]


def plain(r: random.Random) -> tuple[Any, list[str]]:
    """Learn a table in the present folder; returns the exit code, and what is wrong."""
    lines, options = table(r), r.sample(OPTIONS, r.choice((0, 1, 2, 3)))
    said = [word for option in options for word in option]
    if lines[-1].startswith(("yes", "no")):
        said += ["--positive", "yes"]
    Path("rows.csv").write_text("\n".join(lines) + "\n")
    words = ["train", "rows.csv", "--target", "y", *said]
    told = run([*words, "-o", "m.lr", "--json", "--predictions", "p.txt"])
    wrong = list(_faults(words, said, lines, told, r))
    return told.code, [f"{what}\nwords: {words}\nrows: {len(lines) - 1}: {lines[:3]}" for what in wrong]


def _faults(words: list[str], said: list[str], lines: list[str], told: Told, r: random.Random) -> Iterator[str]:
    if told.code not in (0, 2) or "could not be read again" in told.err or (told.code == 2 and Path("m.lr").exists()):
        yield f"exit code {told.code}: {told.err}"
    if told.code != 0:
        return
    found, scores = strict(told.out), run(["predict", "m.lr", "rows.csv", "--quiet"])
    if scores.code != 0 or len(scores.out.splitlines()) != len(lines) - 1:
        yield f"predict: exit code {scores.code}, {len(scores.out.splitlines())} scores: {scores.err}"
    run([*words, "-o", "small.lr", "--predict-only", "--quiet"])
    small = run(["predict", "small.lr", "rows.csv", "--quiet"])
    if not _alike(small.out, scores.out):
        yield f"--predict-only predicts otherwise: {small.err}"
    if len(lines) > 3 and WHOLE.isdisjoint(said):
        yield from _differences(words, said, lines, r.randrange(1, len(lines) - 1), (found, scores.out))
    elif (again := run(["train", "rows.csv", "--resume", "m.lr", "-o", "m.lr", "--quiet"])).code not in (0, 2):
        yield f"resumed: exit code {again.code}: {again.err}"


def _differences(
    words: list[str], said: list[str], lines: list[str], cut: int, whole: tuple[Any, str]
) -> Iterator[str]:
    """What differs from the unbroken run once it is broken off after some rows, and resumed."""
    Path("head.csv").write_text("\n".join(lines[: cut + 1]) + "\n")
    first = run(["train", "head.csv", *words[2:], "-o", "head.lr", "--quiet", "--predictions", "p1.txt"])
    if first.code != 0:  # labels that were not met yet, or are still on their way
        return
    held = ["--holdout", "10"] if "--holdout" in said else []
    more = ["--resume", "head.lr", "--skip", str(cut), "-o", "head.lr", "--json", "--predictions", "p2.txt", *held]
    then = run(["train", "rows.csv", *more])
    if then.code != 0:
        yield f"resumed after {cut} rows: exit code {then.code}: {then.err}"
        return
    now = strict(then.out)
    told = {key for key in whole[0].keys() - BY_CHANCE if _plain(now.get(key)) != _plain(whole[0][key])}
    if told:
        yield f"resumed after {cut} rows, the JSON differs: {sorted(told)}"
    if Path("p1.txt").read_text() + Path("p2.txt").read_text() != Path("p.txt").read_text():
        yield f"resumed after {cut} rows, --predictions differ"
    if run(["predict", "head.lr", "rows.csv", "--quiet"]).out != whole[1]:
        yield f"resumed after {cut} rows, the model predicts otherwise"


def _plain(told: Any) -> Any:
    """What JSON tells, without the names of features, which are kept for `--importance` alone."""
    return {k: v for k, v in told.items() if k not in ("names", "collisions")} if isinstance(told, dict) else told


def _alike(some: str, others: str) -> bool:
    """Whether scores are the same, up to the rounding of large models."""
    pairs = list(zip(some.split(), others.split(), strict=False))
    same = len(some.split()) == len(others.split())
    return same and all(a == b or abs(float(a) - float(b)) <= ROUNDED * (1 + abs(float(b))) for a, b in pairs)
