"""Figures of `lowregret experts` against the definitions: recomputed from the table and the forecasts that it wrote.

Of what `--json` tells of a mixture, its loss, those of the experts, of their mean, of the best weights and of the best
sequences, the regret, intervals and quantiles must be what follows from `--predictions` and the outcomes; exponential
weights must forecast what plain Python does, knowing the outcomes that were known; summaries must tell the same, and a
mixture that was broken off and resumed must be the unbroken one.
"""

from __future__ import annotations

import csv
import math
import random
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.command_runs import run, strict
from benchmarks.experts_resumed import resumed
from benchmarks.experts_tables import (
    PLACES,
    Case,
    Forecast,
    Row,
    Trust,
    long_case,
    loss_at,
    mean_of,
    naive_scales,
    near,
    plain_case,
    write,
)

SHOWN = 2e-5  # relative; of figures with six places
Learnt = tuple[Forecast, float, float]  # forecasts, the mixed one and the outcome of a row


def mixture_judged(r: random.Random) -> tuple[Any, list[str]]:
    """One command on a table in the present folder; its exit code, and what is wrong."""
    case = r.choice((plain_case, plain_case, long_case))(r)
    table = write(Path(f"rows.{case.ending}"), case.rows)
    before = Path(table).read_bytes()
    said = ["experts", table, *case.words, "-o", "e.lr", "--predictions", "p.txt"]
    said = [word for word in said if word not in ("-o", "e.lr")] if case.loss.startswith("mase") else said
    told = run([*said, "--weights-over-time", "w.csv", "--json"])
    wrong = list(_faults(case, said, strict(told.out), r)) if told.code == 0 else []
    if told.code not in (0, 2) or (told.code == 2 and not told.err.startswith("lowregret")):
        wrong = [f"exit code {told.code}: {told.err}"]
    wrong += [f"{table} was changed"] if Path(table).read_bytes() != before else []
    return told.code, [f"{what}\nwords: {said}\nrows: {len(case.rows)}" for what in wrong]


def _faults(case: Case, said: list[str], told: dict[str, Any], r: random.Random) -> Iterator[str]:
    """What a command told that is not so."""
    late = "layout" in told
    if told["experts"]["names"] != case.experts:
        yield f"experts {told['experts']['names']}, left out {told['left_out']}"
        return
    given = list(_forecasts(case, bool(told.get("layout", {}).get("time"))))
    if len(given) != len(case.rows):
        yield f"{len(given)} lines for {len(case.rows)} rows"
        return
    p = [line[0] for line in given]
    scales = naive_scales(case.y, int(case.loss[5:])) if case.loss.startswith("mase") else [1.0] * len(p)
    came = [y if c is not None else None for y, c in zip(case.y, scales, strict=True)]
    learnt = [
        ([None if v is None else v / c for v in x], own / c, y / c)
        for x, own, y, c in zip(case.x, p, case.y, scales, strict=True)
        if own is not None and y is not None and c is not None
    ]
    if told["warnings"] and len(learnt) > 5:
        yield f"warnings {told['warnings']}"
    yield from _sums(case, told, learnt)
    yield from _shares(case, told, p)
    yield from _proofs(told, late)
    if not late:
        yield from _hindsight(case, told, learnt, r)
    yield from _followed(case, p, late)
    yield from _around(case, told, given, came)
    yield from _words(case, said, told)
    whole = {"--coverage", "--levels"} & case.options.keys() or case.options.get("--eta") == "theory"
    if not case.loss.startswith("mase") and not whole:
        yield from resumed(case, told, r)


def _forecasts(case: Case, keyed: bool) -> Iterator[list[float | None]]:
    """The numbers of each line of `--predictions`, None for nan."""
    text = Path("p.txt").read_text()
    lines = text.splitlines()
    if not keyed and "--delay" not in case.options:
        yield from ([_number(word) for word in line.split("\t")] for line in lines)
        return
    names = ("forecast", "lower", "upper")
    for row, line in zip(case.rows, csv.DictReader(lines), strict=True):
        keys = [name for name in ("unique_id", "ds", "cutoff", "h") if name in line]
        if any(line[name] != str(row[name]) for name in keys):
            yield [math.inf]
        yield [_number(line[name]) for name in names if name in line]


def _number(word: str) -> float | None:
    return None if word == "nan" else float(word)


# ---- sums -----------------------------------------------------------------------------------------------------------


def total(loss: str, pairs: Sequence[tuple[float, float]]) -> float:
    """The sum of losses of (forecast, outcome)."""
    return math.fsum(loss_at(loss, p, y)[0] for p, y in pairs)


def _sums(case: Case, told: dict[str, Any], learnt: list[Learnt]) -> Iterator[str]:
    """Losses of the mixture, of each expert, of their mean; the regret."""
    own, count = total(case.loss, [(p, y) for _, p, y in learnt]), len(case.experts)
    each = [total(case.loss, [(v, y) for x, _, y in learnt if (v := x[i]) is not None]) for i in range(count)]
    rows = [sum(x[i] is not None for x, _, _ in learnt) for i in range(count)]
    awake = [total(case.loss, [(p, y) for x, p, y in learnt if x[i] is not None]) for i in range(count)]
    even = total(case.loss, [(m, y) for x, _, y in learnt if (m := mean_of(x, [1.0] * count)) is not None])
    mean = own / len(learnt) if learnt else None
    mean = math.sqrt(mean) if mean and case.loss == "rmse" else mean
    room = PLACES * (own + max(each, default=0.0) + even)
    behind = [a - b for a, b in zip(awake, each, strict=True)]
    known = (
        ("rounds", told["rounds"], len(learnt)),
        ("loss", told["loss"]["total"], own),
        ("mean loss", told["loss"]["mean"], mean),
        ("uniform", told["uniform"]["loss"], even),
        ("regret", told["best"]["regret"], max(behind)),
        *((f"loss of {name}", a, b) for name, a, b in zip(case.experts, told["experts"]["losses"], each, strict=True)),
        *((f"rows of {name}", a, b) for name, a, b in zip(case.experts, told["experts"]["rows"], rows, strict=True)),
    )
    yield from (f"{name}: told {a}, recomputed {b}" for name, a, b in known if not near(a, b, room))
    k = case.experts.index(told["best"]["name"])
    if behind[k] < max(behind) - room or not near(told["best"]["loss"], each[k], room):
        yield f"best {told['best']}, recomputed {behind} {each}"


def _shares(case: Case, told: dict[str, Any], p: list[float | None]) -> Iterator[str]:
    """Weights that are no shares, and those over time that did not make the forecasts."""
    kinds = [("final", told["experts"]["weights"])]
    if told.get("combination"):
        kinds.append(("in hindsight", told["combination"]["weights"]))
    lines = list(csv.DictReader(Path("w.csv").read_text().splitlines()))
    for line in lines:
        weights = [float(line[name]) for name in case.experts]
        rows = [t for t, row in enumerate(case.rows) if _used(case, row, t, line)]
        made = [(p[t], mean_of(case.x[t], weights)) for t in rows if p[t] is not None]
        size = max((abs(v) for t in rows for v in case.x[t] if v is not None), default=0.0)
        if not made:
            continue
        if case.loss != "brier" and not any(near(a, b, 1e-9 * size) for a, b in made):
            yield f"weights over time {line}, forecasts {made}"
            return
        kinds.append(("over time", weights))
    if "round" in lines[0] and len(lines) != len(p):
        yield f"{len(lines)} lines of weights, {len(p)} rows"
    for which, weights in kinds:
        if min(weights) < 0 or abs(math.fsum(weights) - 1) > 1e-9:
            yield f"weights {which} {weights}, of sum {math.fsum(weights)}"
            return


def _used(case: Case, row: Row, t: int, line: dict[str, str]) -> bool:
    """Whether a line of weights is of this row's origin and group."""
    if "round" in line:
        return t == int(line["round"])
    if "cutoff" not in row:
        return t == int(line["cutoff"]) + int(case.options["--delay"]) + 1
    whose = line.get("series", row["unique_id"]), line.get("horizon", str(_steps(case, row)))
    return str(row["cutoff"]) == line["cutoff"] and whose == (row["unique_id"], str(_steps(case, row)))


def _proofs(told: dict[str, Any], late: bool) -> Iterator[str]:
    """Figures of certificates that contradict each other."""
    quantiles = [told["quantiles"]["certificate"]] if "quantiles" in told else []
    for proof in (told["certificate"], *told["certificates"], *quantiles):
        room = proof["rounding"] + PLACES * (1e-6 + abs(proof["linear_regret"] or 0))
        bound, linear, regret = proof["bound"], proof["linear_regret"], proof["regret"]
        if proof["holds"] and bound is not None and linear is not None and linear > bound + room:
            yield f"{proof['id']} holds: linearised {linear}, bound {bound}"
        if proof["holds"] and bound is not None and regret is not None and regret > bound + room:
            yield f"{proof['id']} holds: regret {regret}, bound {bound}"
        if "promise" in told and told["best"]["regret"] > told["promise"]["bound"] * (1 + PLACES):
            yield f"regret {told['best']}, promised {told['promise']}"
        best = proof["hindsight"]
        if not late and best and not near(told["loss"]["total"] - best["loss"], regret, room):
            yield f"{proof['id']}: regret {regret} to {best}, of {told['loss']}"


# ---- hindsight ------------------------------------------------------------------------------------------------------


def _hindsight(case: Case, told: dict[str, Any], learnt: list[Learnt], r: random.Random) -> Iterator[str]:
    """The best weights, and the best sequences of experts."""
    scale = math.fsum(abs(v) for v in told["experts"]["losses"] if v is not None)
    if (best := told["combination"]) and learnt:
        own = _weighted(case, learnt, best["weights"])
        if not near(best["loss"], own, PLACES * scale):
            yield f"best weights lose {best['loss']}, recomputed {own}"
        raw = [[r.expovariate(1) ** 2 for _ in case.experts] for _ in range(5)]
        others = [[w / math.fsum(row) for w in row] for row in raw]
        others += [[float(i == k) for i in range(len(case.experts))] for k in range(len(case.experts))]
        for weights in others:
            if (other := _weighted(case, learnt, weights)) < best["loss"] - best["gap"] - PLACES * scale:
                yield f"weights {weights} lose {other}, the best ones {best['loss']} − {best['gap']}"
        if best["among_awake"] is not None:
            pairs = [(p if (m := mean_of(x, best["weights"])) is None else m, y) for x, p, y in learnt]
            if not near(best["among_awake"], total(case.loss, pairs), PLACES * scale):
                yield f"among those awake {best['among_awake']}, recomputed {total(case.loss, pairs)}"
    for path in told["switching"]:
        found = _sequence(case, learnt, path["switches"])
        wanted = None if found == math.inf else found
        if not near(path["loss"], wanted, PLACES * scale):
            yield f"{path['switches']} switches lose {path['loss']}, recomputed {found}"
        if wanted is not None and not near(path["regret"], told["loss"]["total"] - wanted, PLACES * scale):
            yield f"{path['switches']} switches: regret {path['regret']}"
        if None not in (path["bound"], path["regret"]) and path["regret"] > path["bound"] + 1e-9 * (1 + scale):
            yield f"{path['switches']} switches: regret {path['regret']} above its bound {path['bound']}"


def _weighted(case: Case, learnt: list[Learnt], weights: Sequence[float]) -> float:
    """What fixed weights lose if sleepers say what the mixture says."""
    pairs = []
    for x, p, y in learnt:
        pairs.append((math.fsum(w * (p if v is None else v) for w, v in zip(weights, x, strict=True)), y))
    return total(case.loss, pairs)


def _sequence(case: Case, learnt: list[Learnt], switches: int) -> float:
    """What the best sequence with at most so many switches loses, of experts that are awake."""
    count = len(case.experts)
    best = [[0.0] * count for _ in range(switches + 1)]
    for t, (x, _, y) in enumerate(learnt):
        now = [math.inf if v is None else loss_at(case.loss, v, y)[0] for v in x]
        before = [min(row) for row in best]
        best = [
            [min(best[m][k], before[m - 1] if m and t else math.inf) + now[k] for k in range(count)]
            for m in range(switches + 1)
        ]
    return min(map(min, best))


# ---- forecasts ------------------------------------------------------------------------------------------------------


def _rate(case: Case) -> tuple[float, bool] | None:
    """The rate of exponential weights and whether losses are linearised; None for other algorithms."""
    name = case.options.get("--algorithm", "auto")
    if case.options.get("--eta") == "theory":
        return None
    if name in ("auto", "bayes"):
        return (1.0, False) if case.loss == "log" and "--delay" not in case.options else None
    plain = name in ("hedge", "wm") and case.loss != "brier"
    return (float(case.options["--eta"]), name == "eg") if plain or name == "eg" else None


def _followed(case: Case, p: list[float | None], late: bool) -> Iterator[str]:
    """Forecasts of exponential weights that are not those of plain Python."""
    rate = _rate(case)
    if rate is None or case.loss.startswith("mase") or (case.loss == "smape" and rate[1]):
        return
    prior = [1.0] * len(case.experts)
    if "--prior" in case.options:
        prior = [float(line.split()[1]) for line in Path("prior.txt").read_text().splitlines()]
    whose = case.options.get("--weights", "pooled")
    if whose == "shrunk" or (late and case.loss in ("log",)):
        return
    trusts: dict[Any, Trust] = {}
    for learns, t in _events(case):
        row = case.rows[t]
        group = {"series": row.get("unique_id"), "horizon": _steps(case, row)}.get(whose)
        trust = trusts.setdefault(group, Trust([w / math.fsum(prior) for w in prior], rate[0], case.loss, rate[1]))
        y = row["y"]
        if learns and y is not None:
            trust.learn(case.x[t], y)
        elif not learns:
            wanted = trust.mix(case.x[t])
            size = max((abs(v) for v in case.x[t] if v is not None), default=0.0)
            if not near(p[t], wanted, 1e-7 * size):
                yield f"row {t}: forecast {p[t]}, recomputed {wanted}"
                return


def _steps(case: Case, row: Row) -> int:
    """How many steps ahead a row of a long table is."""
    if "cutoff" not in row or "h" in row:
        return int(row.get("h", 0))
    key = row["unique_id"], row["cutoff"]
    return sorted(o["ds"] for o in case.rows if (o["unique_id"], o["cutoff"]) == key).index(row["ds"]) + 1


def _events(case: Case) -> Iterator[tuple[bool, int]]:
    """Rows that are learnt, and rows that are forecast, in the order in which that happens."""
    rows = case.rows
    if "cutoff" not in rows[0]:
        delay = int(case.options.get("--delay", 0))
        for t in range(len(rows)):
            if t > delay:
                yield True, t - delay - 1
            yield False, t
        return
    order = sorted(range(len(rows)), key=lambda t: (rows[t]["ds"], rows[t]["cutoff"], rows[t]["unique_id"]))
    before = -math.inf
    for origin in sorted({row["cutoff"] for row in rows}):
        yield from ((True, t) for t in order if before < rows[t]["ds"] <= origin)
        yield from ((False, t) for t in order if rows[t]["cutoff"] == origin)
        before = origin


# ---- intervals and quantiles ----------------------------------------------------------------------------------------


def _around(case: Case, told: dict[str, Any], given: list[list[float | None]], came: Forecast) -> Iterator[str]:
    """Figures of coverage and quantiles that the columns beside the forecasts do not have."""
    at = 1
    if "--coverage" in case.options:
        inside, wide = list[bool](), list[float]()
        for (_, low, high, *_), y in zip(given, came, strict=True):
            if None not in (low, high, y) and math.isfinite(low) and math.isfinite(high):  # type: ignore[arg-type]
                inside.append(low <= y <= high)  # type: ignore[operator]
                wide.append(high - low)  # type: ignore[operator]
        found, share = told["coverage"], sum(inside) / len(inside) if inside else None
        width = math.fsum(wide) / len(wide) if wide else None
        for name, wanted in (("rounds", len(inside)), ("realised", share), ("width", width)):
            if inside and not near(found[name], wanted, 1e-9):
                yield f"coverage: {name} {found[name]}, recomputed {wanted}"
        if inside and found.get("holds", True) and not found["low"] - 1e-9 <= found["realised"] <= found["high"] + 1e-9:
            yield f"coverage {found}"
        at += 2
    if "--levels" in case.options:
        yield from _levels(case, told["quantiles"], list(zip((line[at:] for line in given), came, strict=True)))


def _levels(case: Case, told: dict[str, Any], given: list[tuple[Forecast, float | None]]) -> Iterator[str]:
    """Pinball losses, shares below and the CRPS, from the quantiles."""
    taus = sorted(float(word) for word in case.options["--levels"].split(","))
    known = [([v for v in q if v is not None], y) for q, y in given if y is not None and None not in q]
    ends = [0.0, *((a + b) / 2 for a, b in pairwise(taus)), 1.0]
    whole = 0.0
    for k, (tau, score) in enumerate(zip(taus, told["levels"], strict=True)):
        if not known:
            return
        loss = total(f"quantile:{tau}", [(q[k], y) for q, y in known]) / len(known)
        whole += 2 * (ends[k + 1] - ends[k]) * loss
        off = 1e-12 if case.loss.startswith("mase") else 0.0  # numbers were divided and multiplied
        below = sum(y <= q[k] + off * abs(y) for q, y in known) / len(known)
        if not near(score["pinball"], loss, 1e-12) or not near(score["below"], below):
            yield f"level {tau}: {score}, recomputed {loss} and {below}"
    if not near(told["crps"], whole):
        yield f"CRPS {told['crps']}, recomputed {whole}"
    if any(a > b + 1e-12 * abs(a) for q, _ in known for a, b in pairwise(q)):
        yield "quantiles cross"


# ---- words ----------------------------------------------------------------------------------------------------------


def _words(case: Case, said: list[str], told: dict[str, Any]) -> Iterator[str]:
    """Figures that the summary tells otherwise."""
    shown = run(said)
    if shown.code != 0 or not told["rounds"]:
        yield from [f"exit code {shown.code} with a summary: {shown.err}"] if shown.code else []
        return
    if re.search(r"\b(nan|inf|None)\b", shown.out):
        yield f"the summary tells what is no number: {shown.out}"
    for head, wanted in _lines(case, told):
        found = re.findall(rf"^{head}", shown.out, re.MULTILINE)
        if len(found) != 1 or abs(float(found[0]) - wanted) > SHOWN * abs(wanted) + 1e-12:
            yield f"{head}: shown {found}, told {wanted}: {shown.out}"


def _lines(case: Case, told: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Patterns of the figures in a summary, and what they must be."""
    rows, root = told.get("rows", told["rounds"]), math.sqrt if case.loss == "rmse" else float
    yield r"the mixture +(\S+) (?:a r|root)", told["loss"]["mean"]
    yield r"the plain mean +(\S+) (?:a r|root)", root(told["uniform"]["loss"] / rows)
    tail = " for all" if "layout" in told else ""
    size = math.fsum(v for v in told["experts"]["losses"])
    if abs(told["best"]["regret"]) > 1e-9 * size:
        yield rf"regret +(\S+) to the best expert{tail}", told["best"]["regret"]
    names, kinds = told["experts"]["names"], ("losses", "rows", "weights")
    for name, lost, awake, weight in zip(names, *(told["experts"][kind] for kind in kinds), strict=True):
        if not awake:
            continue
        mean, small = root(lost / awake), r"(?:the experts)? +"
        end = rf"(?: (?:a round|root mean square))?(?: {name})?, weight now"
        head = small if "layout" in told else rf"{small}{name} +"
        yield rf"{head}([-+.e\d]+){end}" if "layout" not in told else rf"{small}(\S+) {name}, weight now", mean
        yield rf"{small}.*\b{name}\b.*, weight now ([-+.e\d]*\d)", float(f"{weight:.3g}")
    if (best := told.get("combination")) and best["loss"] > 1e-9 * size:
        yield r"the best weights +(\S+) ", root(best["loss"] / rows)
        if best["among_awake"] is not None and best["among_awake"] > 1e-9 * size:
            yield r" +(\S+) .*if these weights are made to sum to 1", root(best["among_awake"] / rows)
    for path in told.get("switching", ()):
        if path["loss"] is not None and path["loss"] > 1e-9 * size:
            yield rf"{path['switches']} switch(?:es)? +(\S+) ", root(path["loss"] / rows)
