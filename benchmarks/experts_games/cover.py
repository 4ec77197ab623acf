"""Intervals and quantiles: coverage, pinball losses and their certificates, against fractions and a slow loop."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.exact import exact, near
from benchmarks.experts_games.mixtures import demand, saved
from benchmarks.experts_games.tables import Dice, numbers
from lowregret.experts import ConformalIntervals, Quantiles
from lowregret.experts.tracking import WINDOW

Ends = tuple[float, float]


def pinball(level: Any, score: Fraction, radius: Fraction) -> Fraction:
    """τ[s − q]₊ + (1 − τ)[q − s]₊"""
    return exact(level) * (score - radius) if score > radius else (1 - exact(level)) * (radius - score)


# ---- intervals ------------------------------------------------------------------------------------------------------


def interval_game(dice: Dice, folder: str) -> None:
    """Intervals around any forecasts, learnt or asked and told in any order."""
    rounds = dice.choice([1, 5, 60, 200])
    x, y = numbers(dice, rounds, 1)
    p = x[:, 0]
    if dice.often(0.3):
        (p if dice.often(0.5) else y)[dice.arrays.random(rounds) < 0.2] = math.nan
    coverage, budget = dice.choice([0.5, 0.9, 1e-9, 0.999999]), dice.choice([1, 1.5, 20])

    def make() -> ConformalIntervals:
        return ConformalIntervals(coverage, budget=budget, compiled=False)

    intervals, given, order, ends = _cover(dice, make(), p, y, folder, late=dice.often(0.5))
    _check_coverage(intervals, p, y, order, ends)
    _check_radii(intervals, p, y, order, given)
    whole, parts = make().learn(p, y), make()
    lower = []
    for t in range(rounds):
        parts = saved(parts, folder) if dice.often(0.05) else parts
        lower.append(parts.learn(p[t : t + 1], y[t : t + 1]).lower[0])
    demand(np.array_equal(lower, whole.lower, equal_nan=True), "intervals one by one are not those of the whole")
    demand(parts.coverage == whole.coverage or not whole.rounds, "coverage one by one", parts.coverage, whole.coverage)


def _cover(
    dice: Dice, intervals: ConformalIntervals, p: Any, y: Any, folder: str, late: bool
) -> tuple[ConformalIntervals, dict[int, Any], list[int], dict[int, Ends]]:
    """Radii, the order of the outcomes that are counted, and ends as they were given."""
    ends: dict[int, Ends] = {}
    order, waiting, t = list[int](), dict[int, int](), 0
    while t < len(p) or waiting:
        call = dice.random()
        if call < 0.1 and t < len(p):
            end = dice.randint(t + 1, len(p))
            intervals.learn(p[t:end], y[t:end])
            for s in range(t, end):
                ends[s] = float(intervals.lower[s - t]), float(intervals.upper[s - t])
                order += [] if math.isnan(y[s] + p[s]) else [s]
            t = end
        elif call < (0.7 if late else 1.0) and t < len(p) and (late or not waiting):
            if not math.isnan(p[t]):
                number, ends[t] = intervals.ask(float(p[t]))
                waiting |= {} if math.isnan(y[t]) else {number: t}
            t += 1
        elif waiting:
            number = dice.choice(list(waiting))
            intervals.tell(number, float(y[waiting[number]]))
            order.append(waiting.pop(number))
        if dice.often(0.02):
            intervals = saved(intervals, folder)
    return intervals, {t: exact(ends[t][1]) - exact(p[t]) for t in order if math.isfinite(ends[t][1])}, order, ends


def _check_coverage(found: ConformalIntervals, p: Any, y: Any, order: list[int], ends: dict[int, Ends]) -> None:
    """Misses as a loop counts them, where they were bound to lie."""
    missed = [not ends[t][0] <= y[t] <= ends[t][1] for t in order if math.isfinite(ends[t][1])]
    told, n = found.coverage, len(missed)
    demand(told.rounds == n, "intervals counted", told.rounds, n)
    if not n:
        return
    demand(abs(told.realised - (1 - sum(missed) / n)) < 1e-12, "coverage", told.realised, 1 - sum(missed) / n)
    demand(told.holds, "coverage is not where it was bound to lie", told)
    windows = [sum(missed[t : t + WINDOW]) for t in range(n - WINDOW + 1)]
    worst = 1 - max(windows) / WINDOW if windows else None
    demand(told.worst == worst, "worst window", told.worst, worst)


def _check_radii(found: ConformalIntervals, p: Any, y: Any, order: list[int], given: dict[int, Any]) -> None:
    """The certificate of pinball losses against every score as a fixed radius.

    The ends that were given are rounded, and so are the radii made of them; so is a score.
    """
    rounds = [t for t in order if t in given]
    scores = {t: abs(exact(y[t]) - exact(p[t])) for t in rounds}
    ulp = 8 * exact(2.0**-52)
    blur = sum((ulp * (abs(exact(p[t])) + abs(exact(y[t])) + given[t]) for t in rounds), Fraction(0)) + exact(
        1e-99
    ) * len(rounds)
    own = sum((pinball(found.wanted, scores[t], given[t]) for t in rounds), Fraction(0))
    demand(abs(exact(found.loss) - own) <= blur * (len(rounds) + 16), "pinball loss", found.loss, float(own))
    certificate = found.certificate
    if not certificate.premises_hold or not rounds:
        return
    demand(certificate.holds, "CONFORMAL does not hold", certificate.linear_regret, certificate.bound)
    for u in {Fraction(0), *list(scores.values())[:20], *list(scores.values())[-5:]}:
        regret = own - sum((pinball(found.wanted, scores[t], u) for t in rounds), Fraction(0))
        said = min(v for v in (certificate.linear_regret, certificate.bound) if v is not None)
        fine = regret <= exact(said) + exact(certificate.rounding) + blur
        demand(fine, "CONFORMAL: regret", float(regret), "above", said, "rounding", certificate.rounding)


# ---- quantiles ------------------------------------------------------------------------------------------------------


def quantile_game(dice: Dice, folder: str) -> None:
    """Quantiles of several levels, which must not cross."""
    rounds, experts = dice.choice([1, 3, 20]), dice.choice([1, 2, 3])
    levels = sorted(dice.sample([1e-9, 0.1, 0.25, 0.5, 0.9, 0.999999], dice.randint(1, 3)))
    x, y = numbers(dice, rounds, experts)
    if dice.often(0.6):
        x = x[:, :, None] + dice.arrays.normal(size=(rounds, experts, len(levels))) * np.nanstd(x)
    if dice.often(0.3):
        x[dice.arrays.random(x.shape[:2]) < 0.3] = math.nan
    whole, parts = (Quantiles(experts, levels, compiled=False) for _ in range(2))
    whole.learn(x, y)
    said = []
    for t in range(rounds):
        parts = saved(parts, folder) if dice.often(0.2) else parts
        said.append(parts.learn(x[t : t + 1], y[t : t + 1]).forecasts[0])
    p = whole.forecasts
    demand(np.array_equal(said, p, equal_nan=True), "quantiles one by one are not those of the whole")
    known = [t for t in range(rounds) if not np.isnan(p[t]).any()]
    demand(whole.rounds == len(known) and parts.loss == whole.loss, "rounds or losses of quantiles")
    demand(bool(np.all(np.diff(p[known]) >= 0)), "quantiles cross")
    _check_scores(whole, x, y, known)


def _check_scores(found: Quantiles, x: Any, y: Any, known: list[int]) -> None:
    """The CRPS, and the regret to each expert over the rounds in which it was awake."""
    levels, p = found.levels.tolist(), found.forecasts
    ends = [Fraction(0), *((exact(a) + exact(b)) / 2 for a, b in itertools.pairwise(levels)), Fraction(1)]
    cells = [b - a for a, b in itertools.pairwise(ends)]

    def score(t: int, q: Any) -> Fraction:
        return 2 * sum(
            (c * pinball(tau, exact(y[t]), exact(a)) for c, tau, a in zip(cells, levels, q, strict=True)), Fraction(0)
        )

    own = {t: score(t, p[t]) for t in known}
    total = sum(own.values(), Fraction(0))
    demand(near(found.loss, total, total, len(known)), "CRPS", found.loss, float(total))
    certificate = found.certificate
    if not certificate.premises_hold or not known:
        return
    demand(
        certificate.holds, "QUANTILES does not hold", certificate.regret, certificate.linear_regret, certificate.bound
    )
    wide = np.repeat(x[:, :, None], len(levels), 2) if x.ndim == 2 else x
    for i in range(wide.shape[1]):
        if not np.isnan(wide[known, i]).any():
            regret = sum((own[t] - score(t, wide[t, i]) for t in known), Fraction(0))
            for said in (certificate.linear_regret, certificate.bound):
                if said is not None and math.isfinite(said):
                    fine = regret <= exact(said) + exact(certificate.rounding)
                    demand(fine, "QUANTILES: regret", float(regret), "above", said, certificate.rounding)
