"""Figures of `lowregret bandit` against the definitions: recomputed from the log, and the policy that it tells."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.command_runs import run, strict
from benchmarks.experts_tables import Row, near, write

SIZES = (1, 2, 3, 10, 60, 400)
ALGORITHMS = ("exp3", "exp3", "exp3-ix", "tsallis-inf", "ucb1", "thompson")


class Choice(NamedTuple):
    """A row of a log."""

    arm: str
    value: float
    chance: float


def bandit_judged(r: random.Random) -> tuple[Any, list[str]]:
    """One command on a log in the present folder; its exit code, and what is wrong."""
    arms, measure = (
        r.choice((["x", "y", "z"], ["1", "2"], ["only"], ["10", "9", "b", "c"])),
        r.choice(("reward", "cost")),
    )
    low, high = r.choice(((0.0, 1.0), (0.0, 1.0), (-2.0, 5.0), (0.0, 1000.0)))
    uneven = r.choice((None, [r.expovariate(1) + 0.05 for _ in arms]))
    chances = [w / math.fsum(uneven or [1.0] * len(arms)) for w in (uneven or [1.0] * len(arms))]
    log = list[Choice]()
    for _ in range(r.choice(SIZES)):
        k = r.choices(range(len(arms)), chances)[0]
        value = r.choice((low, high, round(r.uniform(low, high), 3)))
        log.append(Choice(arms[k], value, chances[k]))
    rows: list[Row] = [{"a": arm, measure: value, "p": chance, "who": "me"} for arm, value, chance in log]
    words = ["bandit", write(Path(f"log.{r.choice(('csv', 'tsv', 'csv.gz', 'parquet'))}"), rows), "--action", "a"]
    words += [f"--{measure}", measure, "--low", str(low), "--high", str(high), "--algorithm", r.choice(ALGORITHMS)]
    if uneven is None and r.random() < 0.5:
        seen = len({choice.arm for choice in log})
        log = [choice._replace(chance=1 / seen) for choice in log]
    else:
        words += ["--propensity", "p"]
    words += ["--seed", "3"] * (r.random() < 0.3) + ["--delay", "2"] * (r.random() < 0.2)
    told = run([*words, "--json"])
    if told.code != 0:
        fine = told.code == 2 and told.err.startswith("lowregret")
        wrong = [] if fine else [f"exit code {told.code}: {told.err}"]
    else:
        found = strict(told.out)
        wrong = [*_values(log, found, low), *_others(log, found, low, high), *_words(words, found)]
    return told.code, [f"{what}\nwords: {words}\nrows: {len(rows)}: {rows[:3]}" for what in wrong]


def judge(log: list[Choice], policy: dict[str, float], low: float) -> dict[str, float]:
    """IPS, SNIPS and what the rows are worth, of a policy."""
    w = [policy.get(choice.arm, 0.0) / choice.chance for choice in log]
    whole, gained = math.fsum(w), math.fsum(v * (choice.value - low) for v, choice in zip(w, log, strict=True))
    squares = math.fsum(v * v for v in w)
    found = {"IPS": low + gained / len(log), "rows": whole * whole / squares if squares else 0.0}
    return found | ({"SNIPS": low + gained / whole} if whole else {})


def _values(log: list[Choice], told: dict[str, Any], low: float) -> Iterator[str]:
    """Estimates that the log does not have."""
    mean = math.fsum(choice.value for choice in log) / len(log)
    if not near(told["logging"]["value"], mean):
        yield f"logging {told['logging']}, recomputed {mean}"
    arms = {choice.arm for choice in log}
    each = {arm: judge(log, {arm: 1.0}, low) for arm in arms}
    for best in told["best_arms"]:
        wanted = each[best["arm"]]
        if not near(best["value"], wanted["SNIPS"], 1e-9) or not near(best["effective_rows"], wanted["rows"]):
            yield f"arm {best}, recomputed {wanted}"
    shown = [best["value"] * (1 if told["measure"] == "cost" else -1) for best in told["best_arms"]]
    if any(b < a - 1e-9 for a, b in pairwise(shown)) or len(shown) != min(len(arms), 5):
        yield f"arms {told['best_arms']}"
    if (learnt := told["learned"]) is None:
        return
    policy, rest = learnt["policy"], log[learnt["rows"] :]
    if learnt["rows"] != len(log) // 2 or abs(math.fsum(policy.values()) - 1) > 1e-9 or min(policy.values()) < 0:
        yield f"learnt {learnt}"
    wanted = judge(rest, policy, low)
    for estimate in learnt["estimates"]:
        value = wanted.get(estimate["method"], estimate["value"])
        if not near(estimate["value"], value, 1e-9) or not near(estimate["effective_rows"], wanted["rows"]):
            yield f"{estimate}, recomputed {wanted}"


def _others(log: list[Choice], told: dict[str, Any], low: float, high: float) -> Iterator[str]:
    """Intervals without their values, counts, and proofs that contradict themselves."""
    found = [told["logging"], *told["best_arms"], *(told["learned"] or {"estimates": []})["estimates"]]
    replay = told["replay"]
    found += [replay["estimate"]] if replay and replay["estimate"] else []
    for one in found:
        if not low - 1e-9 <= one["low"] <= one["high"] <= high + 1e-9:
            yield f"an interval beyond what is possible: {one}"
        if one["method"] in ("mean", "SNIPS", "replay") and not one["low"] - 1e-9 <= one["value"] <= one["high"] + 1e-9:
            yield f"a value outside of its interval: {one}"
    if told["rows"] != len(log) or told["arms"] != len({choice.arm for choice in log}):
        yield f"{told['rows']} rows, {told['arms']} arms"
    even = len({choice.chance for choice in log}) == 1 and log[0].chance * told["arms"] <= 1 + 1e-6
    if (replay is not None) != even or (replay and not told["rounds"] <= replay["kept"] <= len(log)):
        yield f"replay {replay}, {told['rounds']} rounds"
    for proof in told["certificates"]:
        bound, linear = proof["bound"], proof["linear_regret"]
        if proof["holds"] and None not in (bound, linear) and linear > bound + proof["rounding"] + 1e-9:
            yield f"{proof['id']} holds: {linear} above {bound}"


def _words(words: list[str], told: dict[str, Any]) -> Iterator[str]:
    """Figures that the summary tells otherwise."""
    shown = run(words)
    if shown.code != 0:
        yield f"exit code {shown.code} with a summary: {shown.err}"
        return
    wanted = [("logging", told["logging"])]
    wanted += [(one["method"], one) for one in (told["learned"] or {"estimates": []})["estimates"]]
    for head, one in wanted:
        found = re.findall(rf"^ *{head} +(\S+) a choice", shown.out, re.MULTILINE)
        if found != [f"{one['value']:.4g}"]:
            yield f"{head}: shown {found}, told {one['value']}: {shown.out}"
