"""Figures of `lowregret experts` on probabilities of classes, odds and portfolios, recomputed from the definitions."""

from __future__ import annotations

import csv
import math
import random
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.command_runs import run, strict
from benchmarks.experts_tables import ENDINGS, FREE, PLACES, SIZES, Row, near, write

CLASSES = ("H", "D", "A")
Said = list[list[float] | None]  # of each expert: a probability for each class


def told_of(words: list[str], r: random.Random) -> tuple[Any, dict[str, Any], list[str]]:
    """Run a command, with a summary as well; the exit code, its JSON, and what is wrong so far."""
    told = run([*words, "--predictions", "p.txt", "--weights-over-time", "w.csv", "--json"])
    if told.code != 0:
        fine = told.code == 2 and told.err.startswith("lowregret")
        return told.code, {}, [] if fine else [f"exit code {told.code}: {told.err}"]
    shown = run([*words, "--report", "r.html"] if r.random() < 0.02 else words)
    odd = shown.code or re.search(r"\b(nan|inf|None)\b", shown.out)
    return 0, strict(told.out), [f"with a summary: {shown}"] if odd else []


# ---- classes --------------------------------------------------------------------------------------------------------


class Classes(NamedTuple):
    """A table of probabilities, or of odds."""

    rows: list[Row]
    said: list[Said]
    came: list[int | None]
    words: list[str]
    loss: str
    algorithm: str


def classes_drawn(r: random.Random) -> Classes:
    """A table with a column for each expert and class."""
    experts, odds = ["B", "C", "X"][: r.choice((1, 2, 3))], r.random() < 0.5
    unknown, asleep, rows, said = r.choice((0, 0.1)), r.choice((0, 0, 0.2)), list[Row](), list[Said]()
    came = list[int | None]()
    for _ in range(r.choice(SIZES)):
        truth = [r.expovariate(1) + 0.1 for _ in CLASSES]
        k = r.choices(range(3), truth)[0] if r.random() >= unknown else None
        row: Row = {"result": None if k is None else CLASSES[k]}
        line: Said = []
        for name in experts:
            raw = [w * math.exp(r.gauss(0, 0.3)) for w in truth]
            p = [w / math.fsum(raw) for w in raw]
            cells: list[float | None] = [round(max(0.95 / v, 1.01), 2) if odds else v for v in p]
            there = r.random() >= asleep
            if not there:
                cells[r.randrange(3)] = None
            row |= {name + c: cell for c, cell in zip(CLASSES, cells, strict=True)}
            back = [1 / v if odds else v for v in cells if v is not None]
            line.append([v / math.fsum(back) for v in back] if there else None)
        rows.append(row)
        said.append(line)
        came.append(k)
    loss, name = r.choice(("log", "brier")), r.choice(("auto", "auto", "bayes", "hedge", "wm", *FREE))
    words = ["--target", "result", "--classes", ",".join(CLASSES), "--loss", loss, *(["--odds"] if odds else [])]
    words += ["--algorithm", name, *(["--eta", "0.2"] if name in ("hedge", "wm") else [])]
    return Classes(rows, said, came, words, loss, name)


def loss_of(loss: str, p: Sequence[float], k: int) -> float:
    """The loss of probabilities."""
    if loss == "log":
        return -math.log(p[k])
    return math.fsum((v - (j == k)) ** 2 for j, v in enumerate(p))


def mean_of(line: Sequence[list[float] | None], weights: Sequence[float]) -> list[float]:
    """The mean of those awake."""
    awake = [(w, v) for w, v in zip(weights, line, strict=True) if v is not None]
    whole = math.fsum(w for w, _ in awake)
    return [math.fsum(w * v[j] for w, v in awake) / whole for j in range(len(CLASSES))]


def classes_judged(r: random.Random) -> tuple[Any, list[str]]:
    """A mixture of probabilities; the exit code, and what is wrong."""
    case = classes_drawn(r)
    ending = r.choice(ENDINGS)
    words = ["experts", write(Path(f"rows.{ending}"), case.rows), *case.words]
    code, told, wrong = told_of(words, r)
    wrong += [*_classes(case, told), *_again(case, told, ending, r)] if told else []
    return code, [f"{what}\nwords: {words}\nrows: {len(case.rows)}" for what in wrong]


def _classes(case: Classes, told: dict[str, Any]) -> Iterator[str]:
    """Figures that are not what the forecasts make them."""
    p = [[float(word) for word in line.split("\t")] for line in Path("p.txt").read_text().splitlines()]
    if any(abs(math.fsum(line) - 1) > 1e-9 for line in p if not math.isnan(line[0])) or len(p) != len(case.rows):
        yield f"forecasts that are no probabilities: {p}"
    learnt = [
        (line, own, k)
        for line, own, k in zip(case.said, p, case.came, strict=True)
        if k is not None and any(v is not None for v in line)
    ]
    count = len(case.said[0])
    own = math.fsum(loss_of(case.loss, mixed, k) for _, mixed, k in learnt)
    each = [math.fsum(loss_of(case.loss, v, k) for line, _, k in learnt if (v := line[i])) for i in range(count)]
    awake = [math.fsum(loss_of(case.loss, mixed, k) for line, mixed, k in learnt if line[i]) for i in range(count)]
    even = math.fsum(loss_of(case.loss, mean_of(line, [1.0] * count), k) for line, _, k in learnt)
    known = [("rounds", told["rounds"], len(learnt)), ("loss", told["loss"]["total"], own)]
    known += [("uniform", told["uniform"]["loss"], even), ("expert", math.fsum(told["experts"]["losses"]), sum(each))]
    known += [("regret", told["best"]["regret"], max(a - b for a, b in zip(awake, each, strict=True)))]
    if best := told["combination"]:
        filled = [([mixed if v is None else v for v in line], k) for line, mixed, k in learnt]
        lost = [
            math.fsum(loss_of(case.loss, mean_of(line, u), k) for line, k in filled)
            for u in (best["weights"], *([float(i == j) for j in range(count)] for i in range(count)))
        ]
        known += [("best weights", best["loss"], lost[0])]
        known += [("least", min(best["loss"] - best["gap"], min(lost) + PLACES), best["loss"] - best["gap"])]
    yield from (f"{name}: told {a}, recomputed {b}" for name, a, b in known if not near(a, b, PLACES * (1 + own)))
    if case.loss == "log" and case.algorithm in ("auto", "bayes"):
        yield from _bayes(case, p)
    bound = told["certificate"]["bound"]
    claimed = told["certificate"]["holds"] and None not in (bound, told["best"]["regret"])
    if claimed and told["best"]["regret"] > bound + told["certificate"]["rounding"] + 1e-9:
        yield f"regret {told['best']['regret']} above {bound}"


def _bayes(case: Classes, p: list[list[float]]) -> Iterator[str]:
    """Forecasts that are not those of Bayes' rule."""
    logs = [0.0] * len(case.said[0])
    for t, (line, k) in enumerate(zip(case.said, case.came, strict=True)):
        if not any(line):
            continue
        top = max(logs)
        mixed = mean_of(line, [math.exp(v - top) for v in logs])
        if any(abs(a - b) > 1e-7 for a, b in zip(mixed, p[t], strict=True)):
            yield f"row {t}: {p[t]}, by Bayes' rule {mixed}"
            return
        if k is not None:
            logs = [a + math.log((v or mixed)[k]) for a, v in zip(logs, line, strict=True)]


def _again(case: Classes, told: dict[str, Any], ending: str, r: random.Random) -> Iterator[str]:
    """What differs once the mixture is broken off and resumed."""
    cut, whole = r.randrange(len(case.rows) + 1), Path("p.txt").read_text()
    if not 0 < cut < len(case.rows):
        return
    head, tail = write(Path(f"a.{ending}"), case.rows[:cut]), write(Path(f"b.{ending}"), case.rows[cut:])
    if run(["experts", head, *case.words, "-o", "h.lr", "--quiet", "--predictions", "p1.txt"]).code != 0:
        return
    said = [word for word in case.words[: case.words.index("--algorithm")] if word not in ("--loss", case.loss)]
    then = run(["experts", tail, *said, "--resume", "h.lr", "-o", "h.lr", "--json", "--predictions", "p2.txt"])
    if then.code != 0:
        yield f"resumed after {cut} rows: {then.code}: {then.err}"
        return
    now = strict(then.out)
    if Path("p1.txt").read_text() + Path("p2.txt").read_text() != whole:
        yield f"resumed after {cut} rows, --predictions differ"
    if now["loss"] != told["loss"] or now["experts"]["weights"] != told["experts"]["weights"]:
        yield f"resumed after {cut} rows: {now['loss']}, unbroken {told['loss']}"


# ---- portfolios -----------------------------------------------------------------------------------------------------

Relatives = list[list[float | None]]


def portfolio_judged(r: random.Random) -> tuple[Any, list[str]]:
    """A portfolio; the exit code, and what is wrong."""
    assets, prices = ["gold", "oil", "tin"][: r.choice((1, 2, 3))], r.random() < 0.5
    rows, x = traded(r, assets, prices)
    cost = r.choice((0.0, 0.0, 0.001, 0.05))
    name = r.choice(("auto", "eg", "newton", "universal", "bayes", "hedge", "ogd", *FREE[:-1]))
    words = ["experts", write(Path(f"rows.{r.choice(ENDINGS)}"), rows), "--loss", "portfolio", "--algorithm", name]
    words += ["--prices"] * prices + (["--cost", str(cost)] if cost else [])
    words += ["--eta", "0.1"] * (name in ("hedge", "ogd"))
    code, told, wrong = told_of(words, r)
    wrong += list(_wealth(told, x, cost, assets)) if told else []
    return code, [f"{what}\nwords: {words}\nrows: {rows[:3]}, {len(rows)}" for what in wrong]


def traded(r: random.Random, assets: list[str], prices: bool) -> tuple[list[Row], Relatives]:
    """A table of prices or relatives, and the relatives; some assets are listed later."""
    size, some = r.choice(SIZES), range(len(assets))
    begin = [r.choice((0, 0, 0, size // 2)) if i else 0 for i in some]
    x = [[math.exp(r.gauss(0.001, 0.03)) for _ in some] for _ in range(size)]
    kept = x
    if prices:
        kept = [[100.0 for _ in some]]
        for row in x:
            kept.append([before * now for before, now in zip(kept[-1], row, strict=True)])
        x = [[after / before for after, before in zip(b, a, strict=True)] for a, b in pairwise(kept)]
    days = [f"2024-{t // 28 % 12 + 1:02d}-{t % 28 + 1:02d}" for t in range(len(kept))]
    rows = [
        {"ds": day, **{name: row[i] if t >= begin[i] else None for i, name in enumerate(assets)}}
        for t, (day, row) in enumerate(zip(days, kept, strict=True))
    ]
    return rows, [[v if t >= begin[i] else None for i, v in enumerate(row)] for t, row in enumerate(x)]


def _wealth(told: dict[str, Any], x: Relatives, cost: float, assets: list[str]) -> Iterator[str]:
    """Figures of a portfolio that its weights do not have."""
    lines = list(csv.DictReader(Path("w.csv").read_text().splitlines()))
    weights = [[float(line[name]) for name in assets] for line in lines]
    said = [float(line) for line in Path("p.txt").read_text().splitlines()]
    if len(weights) != len(x) or len(said) != len(x):
        yield f"{len(weights)} lines of weights and {len(said)} of growth in {len(x)} rows"
        return
    if any(abs(math.fsum(row) - 1) > 1e-9 or min(row) < 0 for row in weights):
        yield f"weights {weights}"
    own, paid = settled(weights, x, cost)
    growth = [f * m for f, m in zip(own, paid, strict=True)]
    evenly = [[1.0] * len(assets)] * len(x)
    each = [-summed_logs([row[i] or 1.0 for row in x]) for i in range(len(assets))]
    found, loss = told["portfolio"], -summed_logs(growth)
    known: list[tuple[str, float | None, float | None]] = [("wealth", found["wealth"], math.exp(-loss))]
    known += [("loss", told["loss"]["total"], loss)]
    known += [("paid", found["costs_paid"], -summed_logs(paid)), ("drawdown", found["drawdown"], fall(growth))]
    known += [("growth", math.fsum(said), math.fsum(own)), ("sharpe", found["sharpe"], sharpe(growth))]
    known += [("uniform", told["uniform"]["loss"], -summed_logs(settled(evenly, x, 0.0)[0]))]
    even = math.exp(math.fsum(map(summed_logs, settled(evenly, x, cost))))
    known += [("evenly spread", found["others"]["evenly spread"], even)]
    known += [(f"loss of {n}", a, b) for n, a, b in zip(assets, told["experts"]["losses"], each, strict=True)]
    yield from (f"{name}: told {a}, recomputed {b}" for name, a, b in known if not near(a, b, 1e-9))
    yield from _bests(told, x, own, loss)


def _bests(told: dict[str, Any], x: Relatives, own: list[float], loss: float) -> Iterator[str]:
    """The best fixed weights, and the regret to them."""
    best, proof, count = told["combination"], told["certificate"], len(x[0])
    if not best:
        return
    filled: Relatives = [[p if v is None else v for v in row] for row, p in zip(x, own, strict=True)]
    units = [[float(i == j) for j in range(count)] for i in range(count)]
    lost = [-summed_logs(settled([u] * len(x), filled, 0.0)[0]) for u in (best["weights"], [1.0] * count, *units)]
    if not near(lost[0], best["loss"], 1e-9) or min(lost) < best["loss"] - best["gap"] - 1e-9:
        yield f"best weights {best}, recomputed {lost}"
    if proof["holds"] and proof["bound"] is not None and loss - lost[0] > proof["bound"] + proof["rounding"] + 1e-9:
        yield f"regret {loss - lost[0]} above {proof}"


def summed_logs(factors: list[float]) -> float:
    """Σ ln of factors."""
    return math.fsum(map(math.log, factors))


def fall(growth: list[float]) -> float:
    """The largest fall from a highest wealth, as a share of it."""
    peak = now = 1.0
    found = 0.0
    for factor in growth:
        now *= factor
        peak = max(peak, now)
        found = max(found, 1 - now / peak)
    return found


def sharpe(growth: list[float]) -> float | None:
    """The mean return over its standard deviation, times √252; None where that is 0."""
    mean = math.fsum(growth) / len(growth) - 1
    spread = math.sqrt(math.fsum((g - 1 - mean) ** 2 for g in growth) / max(len(growth) - 1, 1))
    return mean / spread * math.sqrt(252) if spread > 0 else None


def settled(weights: list[list[float]], x: Relatives, cost: float) -> tuple[list[float], list[float]]:
    """Growth of each round, and what costs left of wealth before it."""
    held, factors, left = [0.0] * len(x[0]), list[float](), list[float]()
    for row, line in zip(weights, x, strict=True):
        whole = math.fsum(w for w, v in zip(row, line, strict=True) if v is not None)
        used = [0.0 if v is None else w / whole for w, v in zip(row, line, strict=True)]
        low, high = 0.0, 1.0
        for _ in range(100):
            middle = (low + high) / 2
            over = middle + cost * math.fsum(abs(middle * w - h) for w, h in zip(used, held, strict=True)) > 1
            low, high = (low, middle) if over else (middle, high)
        left.append(high if cost else 1.0)
        earned = [w * (v or 0.0) for w, v in zip(used, line, strict=True)]
        factors.append(math.fsum(earned))
        held = [v / factors[-1] for v in earned]
    return factors, left
