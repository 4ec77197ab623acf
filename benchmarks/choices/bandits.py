"""Bandits: batches, single rounds, late costs in any order, files and copies; intervals by simulation of many logs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.choices.nasty import SCALES, Generator, Vector, again, claim, exact, near, pick, same_arrays, shares
from lowregret.bandit import (
    Bandit,
    Exp3,
    Exp3IX,
    Exp4,
    Thompson,
    TsallisInf,
    Ucb1,
    bandit_log,
    doubly_robust,
    ips,
    logged_value,
    replay,
)

LOGS, DELTA, IMPOSSIBLE = 60, 0.2, 1e-9
PROMPT = ("COR-4.2+", "COR-4.2", "EXP3-IX-T", "TSALLIS", "EXP4")


def algorithm_of(rng: Generator) -> Any:
    """An algorithm with any rate that it may have."""
    eta = float(pick(rng, (1e-3, 0.05, 0.5, 3.0, 100.0)))
    centred = bool(rng.random() < 0.6)
    made = Exp3(eta, centred), Exp3IX(eta, eta / 2), TsallisInf(centred), Ucb1(), Thompson()
    return pick(rng, made)


class Ledger:
    """What a bandit was told, exactly: costs, and estimates of each arm or expert."""

    def __init__(self, names: int) -> None:
        self.costs: list[float] = []
        self.y, self.sizes = Fraction(0), Fraction(0)
        self.estimates = [Fraction(0)] * names

    def book(self, cost: float, y: float, z: list[Fraction], baseline: float) -> None:
        """A cost, the same in [0, 1], the estimates beyond the baseline, and that."""
        self.costs.append(cost)
        self.y += Fraction(y)
        self.estimates = [c + e + Fraction(baseline) for c, e in zip(self.estimates, z, strict=True)]
        self.sizes += Fraction(y) + max(map(abs, z)) + Fraction(baseline)

    def check(self, run: Any, unit: float) -> None:
        """Losses, and the regret on estimates, which no bound that holds is below."""
        n = len(self.costs)
        ends = Fraction(max(abs(run.choices.low), abs(run.choices.high)))
        near(run.loss, sum(exact(self.costs), Fraction(0)), 4 * n * ends, n, "the loss")
        overtaken = [number for number in run.pending if number != run.choices.latest]
        for c in run.certificates:
            claim(not (c.id in PROMPT and overtaken and c.premises_hold), f"{c.id} though {overtaken} wait")
            if c.id.endswith("-PATH") and c.premises_hold and math.isfinite(c.bound):
                regret = Fraction(unit) * (self.y - min(self.estimates))
                near(c.linear_regret, regret, Fraction(unit) * self.sizes, n, f"{c.id}: regret on estimates")
                claim(c.holds and regret <= Fraction(c.proved), f"{c.id}: {float(regret)} > {c.proved}")


def estimates(algorithm: Any, arms: int, arm: int, p: float, y: float, baseline: float) -> list[Fraction]:
    """z of all arms."""
    found = [Fraction(0)] * arms
    if isinstance(algorithm, Exp3IX):
        found[arm] = Fraction(y) / (Fraction(p) + Fraction(algorithm.gamma))
    elif algorithm.weighs():
        found[arm] = (Fraction(y) - Fraction(baseline)) / Fraction(max(p, 1e-300))
    return found


def told(ledger: Ledger, run: Bandit, number: int, cost: float) -> None:
    """Tell a bandit the cost of a choice, and book it exactly."""
    arm, p, baseline = run.choices.pending[number]
    y, algorithm = (cost - run.choices.low) / run.unit, run.algorithm
    ledger.book(cost, y, estimates(algorithm, run.arms, arm, p, y, baseline), baseline)
    run.reward(number, cost=cost)


def simulated(run: Bandit, costs: Vector) -> None:
    """Let a bandit play a table; its regret is exact, up to the rounding of differences."""
    played = run.learn(costs).played
    more = [[p - c for p, c in zip(exact(played.costs), exact(column), strict=True)] for column in costs.T]
    regrets = [sum(column, Fraction(0)) for column in more]
    near(played.regret or 0.0, max(regrets), max(sum(map(abs, column)) for column in more), len(costs), "the regret")


def range_of(rng: Generator) -> tuple[float, float]:
    """Where costs lie: any scale, and any place that leaves room."""
    low = float(pick(rng, (0.0, -1.0, 0.5)) * pick(rng, SCALES))
    high = low + float(pick(rng, SCALES))
    return (low, high) if 0 < high - low < math.inf else (0.0, 1.0)


def bandit(rng: Generator) -> None:
    """Rounds in a table or one by one, late or not, saved or not, are the same run; and its figures are exact."""
    arms, algorithm, seed = int(rng.integers(1, 6)), algorithm_of(rng), int(rng.integers(1 << 30))
    low, high = range_of(rng)
    mine, twin = (Bandit(arms, algorithm, seed=seed, low=low, high=high) for _ in range(2))
    costs = np.clip(low + (high - low) * shares(rng, 80, arms), low, high)
    ledger, waiting, t = Ledger(arms), list[Any](), 0
    while t < len(costs):
        mine = again(rng, mine)
        if rng.random() < 0.3:
            part = costs[t : t + int(rng.integers(1, 12))]
            simulated(mine, part)
            for row, arm in zip(part, mine.played.arms.tolist(), strict=True):
                other, chosen = twin.choose()
                claim(arm == chosen, f"a table plays {arm}, one by one {chosen}")
                told(ledger, twin, other, float(row[arm]))
            t += len(part)
        else:
            waiting.append((mine.choose(), twin.choose(), costs[t]))
            claim(waiting[-1][0][1] == waiting[-1][1][1], "twins choose alike")
            t += 1
        while waiting and rng.random() < 0.7:
            (number, arm), (other, _), row = waiting.pop(int(rng.integers(len(waiting))))
            mine.reward(number, cost=float(row[arm]))
            told(ledger, twin, other, float(row[arm]))
    same_arrays(mine, twin, "a table, files and copies, and one by one")
    ledger.check(twin, high - low)


def advised(rng: Generator) -> None:
    """EXP4, likewise."""
    experts, arms, eta = int(rng.integers(1, 5)), int(rng.integers(1, 4)), float(pick(rng, (1e-3, 0.1, 2.0, 50.0)))
    seed, centred = int(rng.integers(1 << 30)), bool(rng.random() < 0.6)
    mine, twin = (Exp4(experts, arms, eta, seed=seed, centred=centred) for _ in range(2))
    costs, ledger, waiting = shares(rng, 60, arms), Ledger(experts), list[Any]()
    for row in costs:
        advice = np.eye(arms)[rng.integers(arms, size=experts)] if rng.random() < 0.5 else None
        advice = rng.dirichlet(np.full(arms, 0.3), experts) if advice is None else advice
        mine = again(rng, mine)
        waiting.append((mine.choose(advice), twin.choose(advice), row))
        while waiting and rng.random() < 0.8:
            (number, arm), (other, _), told = waiting.pop(int(rng.integers(len(waiting))))
            _, p, baseline, column = twin.choices.pending[other]
            y = float(told[arm])
            z = [c * (Fraction(y) - Fraction(baseline)) / Fraction(p) for c in exact(column)]
            ledger.book(y, y, z, baseline)
            mine.reward(number, cost=y)
            twin.reward(other, cost=y)
    same_arrays(mine, twin, "EXP4 with files and copies")
    ledger.check(twin, 1.0)


# ---- intervals -------------------------------------------------------------------------------------------------------


def chance_of(misses: int, logs: int, delta: float) -> float:
    """P(that many or more of so many independent intervals miss), each with probability δ."""
    return sum(math.comb(logs, k) * delta**k * (1 - delta) ** (logs - k) for k in range(misses, logs + 1))


def logging(rng: Generator, rows: int, arms: int) -> Vector:
    """Probabilities of arms in all rows: uniform, drifting, or with weights that are seldom seen and very large."""
    match int(rng.integers(3)):
        case 0:
            return np.full((rows, arms), 1 / arms)
        case 1:
            return rng.dirichlet(np.ones(arms), rows) * 0.9 + 0.1 / arms
    rare = 10.0 ** rng.uniform(-5, -1)
    return np.tile(np.r_[rare, np.full(arms - 1, (1 - rare) / (arms - 1))], (rows, 1))


def coverage(rng: Generator) -> None:
    """Intervals at 1 − δ miss what they are for in a share δ of many logs, or fewer: as coins would have it."""
    arms, rows = int(rng.integers(2, 5)), int(rng.integers(2, 120))
    p, means = logging(rng, rows, arms), shares(rng, rows, arms)
    policy = rng.dirichlet(np.full(arms, 0.5)) if rng.random() < 0.5 else np.eye(arms)[0]
    value, own = float(np.mean(means @ policy)), float(np.mean(np.sum(p * means, axis=1)))
    scale, misses = float(pick(rng, SCALES)), {"ips": 0, "dr": 0, "logged": 0, "replay": 0}
    for _ in range(LOGS):
        chosen = (p.cumsum(axis=1) < rng.random((rows, 1)) * p.sum(axis=1, keepdims=True)).sum(axis=1)
        at = np.arange(rows), np.minimum(chosen, arms - 1)
        got = (rng.random(rows) < means[at]) if rng.random() < 0.5 else means[at]
        log = bandit_log(
            [*at[1], *range(arms)],
            reward=[*(got * scale), *[0.0] * arms],
            propensity=[*p[at], *[1.0] * arms],
            high=scale,
        )[:rows]  # the last rows name all arms
        found = {"ips": ips(log, policy, DELTA), "dr": doubly_robust(log, policy, DELTA)}
        found["logged"] = logged_value(log, DELTA)
        for name, e in found.items():
            goal = scale * (own if name == "logged" else value)
            misses[name] += not e.low - 1e-9 * scale <= goal <= e.high + 1e-9 * scale
        if log.uniform:
            played = replay(log, Thompson(), seed=int(rng.integers(1 << 30)), delta=DELTA)
            if played.estimate is not None:
                arms_played = at[1][played.kept]
                goal = scale * float(np.mean(means[played.kept, arms_played]))
                misses["replay"] += (
                    not played.estimate.low - 1e-9 * scale <= goal <= played.estimate.high + 1e-9 * scale
                )
    for name, missed in misses.items():
        claim(chance_of(missed, LOGS, DELTA) > IMPOSSIBLE, f"{name}: {missed} of {LOGS} intervals at 80 % miss")
