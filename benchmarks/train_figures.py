"""Figures of `lowregret train` against the definitions: recomputed from the table and the scores that it wrote.

Drawn are tables of numbers, of two labels and of many, with weights, rows without label, fields that are missing, in
several formats and files, and options that change which rows are learnt, judged or held out. Of what `--json` tells,
loss, error, confusion, area under the curve, mean errors, the rows held out and what is read of them by `predict` must
be what follows from `--predictions` and the labels; of proofs, that their figures fit each other.
"""

from __future__ import annotations

import gzip
import json
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.command_runs import run, strict

SIZES = (1, 2, 7, 60, 300, 600)
ENDINGS = ("csv", "csv", "jsonl", "vw", "svm", "tsv", "csv.gz", "parquet")
PLACES = 2e-9  # relative; sums of floats in another order


class Row(NamedTuple):
    """A row of a table: its label (None: unknown), its weight and its features."""

    label: Any
    weight: float
    features: dict[str, float | str]


class Drawn(NamedTuple):
    """A table, the files that hold it, and the words that train on it."""

    rows: list[Row]
    files: list[str]
    words: list[str]
    loss: str
    options: dict[str, str]


def two(score: float, r: random.Random) -> Any:
    """One of two labels."""
    return 1 if score + r.gauss(0, 0.5) > 0 else -1


def number(score: float, r: random.Random) -> Any:
    """A label that is a number."""
    return round(3 * score + r.gauss(0, 1), 3)


def many(score: float, _: random.Random) -> Any:
    """One of up to four classes."""
    return min(int(abs(score) * 2), 3) + 1


TASKS: dict[Any, tuple[tuple[str, tuple[str, ...]], ...]] = {
    two: (
        ("logistic", ("auto", "ogd", "adagrad", "freegrad", "kt", "arow", "nag", "ftrl-proximal")),
        ("hinge", ("ogd", "pa", "cocob", "kt")),
        ("squared-hinge", ("ogd", "adagrad")),
        ("perceptron", ("perceptron",)),
    ),
    number: (
        ("square", ("auto", "adagrad", "freegrad")),
        ("absolute", ("auto", "ogd", "freegrad")),
        ("quantile:0.8", ("auto", "adagrad")),
        ("huber:1.5", ("ogd",)),
        ("epsilon-insensitive:0.2", ("ogd", "pa")),
    ),
    many: (("softmax", ("auto", "adagrad")), ("multi-hinge", ("ogd", "pa")), ("oaa", ("ogd",))),
}  # losses, and the algorithms that take them


# ---- drawing --------------------------------------------------------------------------------------------------------


def drawn(r: random.Random) -> Drawn:
    """A table, written into files, and a command."""
    task = r.choice(list(TASKS))
    loss, algorithms = r.choice(TASKS[task])
    ending, unlabelled = r.choice(ENDINGS), r.choice((0.0, 0.0, 0.1))
    weights = r.choice(((1.0,), (1.0,), (0.5, 1.0, 3.0), (0.0, 1.0, 2.0), (1e-9, 1e9)))
    if ending == "svm":
        weights, unlabelled = (1.0,), 0.0
    rows = []
    for _ in range(r.choice(SIZES)):
        a, b = round(r.gauss(0, 1), 3), round(r.gauss(0, 1), 3)
        features: dict[str, float | str] = {"1": a, "2": b}
        if ending not in ("svm", "vw"):
            features["3"] = r.choice("xyz")
        label = task(a * b + 0.3 * a, r)
        rows.append(Row(None if r.random() < unlabelled else label, r.choice(weights), features))
    files = list(written(rows, ending, r.choice((1, 1, 2, 3))))
    options, algorithm = extras(r, len(weights) > 1 and ending != "vw"), r.choice(algorithms)
    words = ["train", *files, "--algorithm", algorithm]
    words += [] if loss == "perceptron" else ["--loss", loss]
    words += [] if ending in ("svm", "vw") else ["--target", "y"]
    words += [word for name, value in options.items() for word in (name, value) if word]
    return Drawn(rows, files, words, loss, options)


def extras(r: random.Random, weighted: bool) -> dict[str, str]:
    """Options, by name, that change which rows are learnt, judged or held out."""
    kinds = (
        ("--passes", ("2", "3")), ("--holdout", ("5", "last:3", "last:20", "last:25%")), ("--delay", ("1", "7")),
        ("--skip", ("1", "4")), ("--bias", ("",)), ("--certify", ("exact", "off")), ("--threads", ("1", "3")),
        ("--radius", ("2.5",)),
    )  # fmt: skip
    said = {name: r.choice(values) for name, values in r.sample(kinds, r.choice((0, 1, 1, 2, 3)))}
    return said | ({"--weight": "w"} if weighted else {})


def written(rows: Sequence[Row], ending: str, parts: int) -> Iterator[str]:
    """Write the rows into so many files; yields their names."""
    size = -(-len(rows) // parts)
    for k, start in enumerate(range(0, len(rows), size)):
        name, part = f"rows{k}.{ending}", rows[start : start + size]
        write(Path(name), part, ending)
        yield name


def write(path: Path, rows: Sequence[Row], ending: str) -> None:
    """Write rows into a file of the format that the ending names."""
    plain = ending.removesuffix(".gz")
    if plain == "parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist([_object(row) for row in rows]), path)
        return
    text = "".join(line + "\n" for line in LINES[plain](rows))
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith(".gz") else text.encode())


def _object(row: Row) -> dict[str, Any]:
    return {"y": row.label, "w": row.weight, **row.features}


def _csv(rows: Sequence[Row], delimiter: str = ",") -> Iterator[str]:
    yield delimiter.join(("y", "w", *(rows[0].features if rows else ("1",))))
    for row in rows:
        yield delimiter.join("" if field is None else str(field) for field in _object(row).values())


def _vw(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        entries = " ".join(f"{name}:{value}" for name, value in row.features.items())
        yield f"{'' if row.label is None else f'{row.label} {row.weight} '}|f {entries}"


LINES = {
    "csv": _csv,
    "tsv": lambda rows: _csv(rows, "\t"),
    "jsonl": lambda rows: (json.dumps(_object(row)) for row in rows),
    "svm": lambda rows: (f"{row.label} 1:{row.features['1']} 2:{row.features['2']}" for row in rows),
    "vw": _vw,
}


# ---- definitions ----------------------------------------------------------------------------------------------------


def loss_at(name: str, p: float, y: float) -> float:
    """The loss of a score, by its definition."""
    kind, _, value = name.partition(":")
    at = float(value or 0)
    return {
        "logistic": lambda: max(-y * p, 0.0) + math.log1p(math.exp(-abs(y * p))),
        "hinge": lambda: max(1 - y * p, 0.0),
        "squared-hinge": lambda: max(1 - y * p, 0.0) ** 2,
        "perceptron": lambda: max(1 - y * p, 0.0) if y * p <= 0 else 0.0,
        "square": lambda: (p - y) ** 2,
        "absolute": lambda: abs(p - y),
        "quantile": lambda: at * max(y - p, 0.0) + (1 - at) * max(p - y, 0.0),
        "huber": lambda: 0.5 * (p - y) ** 2 if abs(p - y) <= at else at * (abs(p - y) - 0.5 * at),
        "epsilon-insensitive": lambda: max(abs(p - y) - at, 0.0),
    }[kind]()


def ranked(scored: Sequence[tuple[float, float, float]]) -> float | None:
    """The area under the curve of (score, label, weight), ties by half."""
    up = [(p, c) for p, y, c in scored if y > 0]
    down = [(p, c) for p, y, c in scored if y < 0]
    pairs = sum(c for _, c in up) * sum(c for _, c in down)
    wins = math.fsum(c * d * (1.0 if p > q else 0.5 if p == q else 0.0) for p, c in up for q, d in down)
    return wins / pairs if pairs else None


def figures(loss: str, scored: Sequence[tuple[Any, Any, float]]) -> dict[str, Any]:
    """What is to be told of rows (score or class, label, weight) that count."""
    weight = math.fsum(c for _, _, c in scored)
    if loss in ("softmax", "multi-hinge", "oaa"):
        return {"weight": weight, "error": math.fsum(c for p, y, c in scored if p != y) / weight}
    total = math.fsum(c * loss_at(loss, p, y) for p, y, c in scored)
    found: dict[str, Any] = {"weight": weight, "loss": total / weight, "total": total}
    if loss in ("logistic", "hinge", "squared-hinge", "perceptron"):
        wrong = [c for p, y, c in scored if y * p < 0 or (p == 0 and (y < 0 or loss == "perceptron"))]
        return found | {"error": math.fsum(wrong) / weight, "auc": ranked(scored)}
    square = math.fsum(c * (p - y) ** 2 for p, y, c in scored)
    return found | {"mae": math.fsum(c * abs(p - y) for p, y, c in scored) / weight, "rmse": math.sqrt(square / weight)}


# ---- judging --------------------------------------------------------------------------------------------------------


def judged(r: random.Random) -> tuple[Any, list[str]]:
    """One command on a table in the present folder; its exit code, and what is wrong."""
    case = drawn(r)
    classes = case.loss in ("softmax", "multi-hinge", "oaa")
    link = ["--link", "label"] if classes else []
    told = run([*case.words, *link, "-o", "m.lr", "--json", "--predictions", "p.txt"])
    if told.code not in (0, 2):
        wrong = [f"exit code {told.code}: {told.err}"]
    else:
        wrong = list(_faults(case, strict(told.out), classes)) if told.code == 0 else []
    return told.code, [f"{what}\nwords: {case.words}\nrows: {len(case.rows)}: {case.rows[:3]}" for what in wrong]


def _faults(case: Drawn, told: dict[str, Any], classes: bool) -> Iterator[str]:
    """Figures of a command that are not what the rows and the scores make them."""
    rows = case.rows[int(case.options.get("--skip", 0)) :]
    lines = Path("p.txt").read_text().splitlines()
    if len(lines) != len(rows):
        yield f"{len(lines)} predictions for {len(rows)} rows"
        return
    scores = [line if classes else float(line) for line in lines]
    held = held_out(case.options.get("--holdout", ""), len(rows), len(case.rows))
    end = len(rows) - (len(held) if case.options.get("--holdout", "").startswith("last:") else 0)
    come = range(end - int(case.options.get("--delay", 0)))  # labels of later rows are on their way
    live = [_scored(scores[k], rows[k]) for k in come if k not in held and counts(rows[k])]
    yield from differences("live", told | told["metrics"] | {"total": told["loss"]["total"]}, case.loss, live)
    if held:
        last = [_scored(scores[k], rows[k]) for k in sorted(held) if counts(rows[k])]
        yield from _held(case, told, last)
    yield from _proof(told)


def counts(row: Row) -> bool:
    """Whether a row has a label, and a weight."""
    return row.label is not None and row.weight > 0


def _scored(score: Any, row: Row) -> tuple[Any, Any, float]:
    return score, str(row.label) if isinstance(score, str) else float(row.label), row.weight


def held_out(said: str, rows: int, whole: int) -> set[int]:
    """Places of the rows that `--holdout` keeps for judging."""
    if not said.startswith("last:"):
        return {k for k in range(rows) if said and (whole - rows + k + 1) % int(said) == 0}
    some = -(-whole * int(said[5:-1]) // 100) if said.endswith("%") else int(said[5:])
    return set(range(max(rows - some, 0), rows))


def _held(case: Drawn, told: dict[str, Any], scored: list[tuple[Any, Any, float]]) -> Iterator[str]:
    found = told["metrics"].get("holdout")
    if found is None:
        if scored:
            yield f"{len(scored)} rows were held out, of which nothing is told"
        return
    if "--passes" not in case.options:  # else the scores written are of the first pass
        yield from differences("held out", found, case.loss, scored)
    if not case.options["--holdout"].startswith("last:") or not scored:
        return
    place = len(case.rows) - found["rows"]
    if all(counts(row) for row in case.rows[place:]):
        ending = case.files[0].partition(".")[2]
        write(Path(f"held.{ending}"), case.rows[place:], ending)
        again = run(["predict", "m.lr", f"held.{ending}", "--json", "-o", "h.txt"])
        if again.code != 0:
            yield f"predict of the rows held out: {again.code}: {again.err}"
            return
        kept = strict(again.out)
        for name in ("loss", "error"):
            other = kept[name]["mean"] if isinstance(kept[name], dict) else kept[name]
            if other is not None and not near(other, found[name]):  # None: labels that the model does not know
                yield f"held out {name} {found[name]}, by predict {other}"


def differences(where: str, told: dict[str, Any], loss: str, scored: list[tuple[Any, Any, float]]) -> Iterator[str]:
    """Figures that are not those of the scored rows."""
    if not scored:
        if told.get("error") is not None:
            yield f"{where}: error {told['error']} of no rows"
        return
    for name, wanted in figures(loss, scored).items():
        found = told.get(name)
        found = found["mean"] if isinstance(found, dict) and name == "loss" else found
        room = told.get("auc_resolution", 0.0) if name == "auc" else 0.0
        if name == "total" and found is None:
            continue
        if not near(found, wanted, room):
            yield f"{where}: {name} {found}, recomputed {wanted}"


def near(a: float | None, b: float | None, room: float = 0.0) -> bool:
    """Whether two figures are one, up to the order of sums."""
    if a is None or b is None:
        return a is b
    return abs(a - b) <= room + PLACES * max(abs(a), abs(b)) + 1e-12


def _proof(told: dict[str, Any]) -> Iterator[str]:
    """Figures of certificates that contradict each other."""
    for proof in (told["certificate"], told.get("mixture")):
        if not proof or not proof["holds"]:
            continue
        room = proof["rounding"] + PLACES * (1 + abs(proof["linear_regret"] or 0))
        bound, linear, regret = proof["bound"], proof["linear_regret"], proof["regret"]
        if bound is not None and linear is not None and linear > bound + room:
            yield f"{proof['id']} holds: linearised {linear}, bound {bound}"
        if regret is not None and linear is not None and regret > linear + room:
            yield f"{proof['id']} holds: regret {regret}, linearised {linear}"
        best = proof["hindsight"]
        if best and "passes" not in told and not near(told["loss"]["total"] - best["loss"], regret, room):
            yield f"regret {regret}, loss {told['loss']['total']}, best {best['loss']}"
