"""Aggregators as their papers write them, in plain NumPy, round by round: slow, and independent of the package."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lowregret.types import Vector

RATES = 0.5 ** np.arange(1, 31)
Weigh = Callable[[Vector, Vector, Vector, "list[Vector]"], Vector]  # π, R, awake and all r so far → weights


def hedge(eta: float) -> Weigh:
    """π e^{ηR}"""
    return lambda prior, total, awake, past: prior * np.exp(eta * (total - total[awake].max()))


def fixed_share(eta: float, share: float) -> Weigh:
    """The whole recursion each time."""

    def weigh(prior: Vector, total: Vector, awake: Vector, past: list[Vector]) -> Vector:
        w = prior
        for r in past:
            w = w * np.exp(eta * r)
            w = (1 - share) * w / w.sum() + share * prior
        return w

    return weigh


def adahedge() -> Weigh:
    """Δ from all gaps, each at the η of its round."""

    def potential(prior: Vector, total: Vector, eta: float) -> float:
        if math.isinf(eta):
            return float(total.max())
        top = float(total.max())
        return top + math.log(float(prior @ np.exp(eta * (total - top)))) / eta

    def weigh(prior: Vector, total: Vector, awake: Vector, past: list[Vector]) -> Vector:
        gaps, before = 0.0, np.zeros(prior.size)
        for r in past:
            eta = math.log(prior.size) / gaps if gaps else math.inf
            gaps += max(potential(prior, before + r, eta) - potential(prior, before, eta), 0.0)
            before = before + r
        behind = total - total[awake].max()
        if gaps == 0:
            return prior * (behind == 0)
        return prior * np.exp(np.minimum(math.log(prior.size) / gaps * behind, 700.0))

    return weigh


def ml_poly(memory: float = 1.0) -> Weigh:
    """η[i] = 1/(Σr² + max r²), forgetting if asked to."""

    def weigh(prior: Vector, total: Vector, awake: Vector, past: list[Vector]) -> Vector:
        regret, square, largest = np.zeros(prior.size), np.zeros(prior.size), 0.0
        for r in past:
            largest, before = max(largest, float(np.abs(r).max())), largest
            regret = memory * regret + r
            square = memory * square + r**2 + (largest**2 - before**2)
        rate = np.divide(1.0, square, out=np.zeros(prior.size), where=square > 0)
        return prior * rate * np.maximum(regret, 0.0)

    return weigh


def squint() -> Weigh:
    """Σ_j η_j e^{η_jR − η_j²V}"""

    def weigh(prior: Vector, total: Vector, awake: Vector, past: list[Vector]) -> Vector:
        if not past or not np.any(past):
            return prior
        etas = RATES / np.abs(past).max()
        terms = np.outer(total, etas) - np.outer((np.array(past) ** 2).sum(0), etas**2)
        return prior * (np.exp(terms - terms.max()) * etas).sum(1)

    return weigh


def boa() -> Weigh:
    """πηe^{ηS}, rates and what each round adds to S from all rounds before it."""

    def weigh(prior: Vector, total: Vector, awake: Vector, past: list[Vector]) -> Vector:
        largest, moved, square = 0.0, np.zeros(prior.size), np.zeros(prior.size)
        price, rate = np.maximum(-np.log(prior), 1.0), np.ones(prior.size)
        for r in past:
            before, largest = largest, max(largest, float(np.abs(r).max()))
            if largest:
                small = r * before / largest
                moved, square = moved + small - rate * small**2, square + small**2
                rate = np.sqrt(price / (square + 4 * price * largest**2))
        logs = np.log(prior * rate) + rate * moved if largest else np.log(prior)
        return np.exp(logs - logs[awake].max())

    return weigh


def scaled_hedge(rate: float) -> Weigh:
    """πe^{ηR}, η the rate over the largest |r|; all trust to the best where that is 0."""

    def weigh(prior: Vector, total: Vector, awake: Vector, past: list[Vector]) -> Vector:
        largest = float(np.abs(past).max()) if past else 0.0
        behind = total - total[awake].max()
        return prior * np.exp(np.minimum(rate / largest * behind, 700.0)) if largest else prior * (behind == 0)

    return weigh


def descent(eta: float) -> Weigh:
    """The projection of π + ηR by sorting."""

    def weigh(prior: Vector, total: Vector, awake: Vector, past: list[Vector]) -> Vector:
        v = prior + eta * total
        u = np.sort(v)[::-1]
        above = (np.cumsum(u) - 1) / np.arange(1, u.size + 1)
        return np.maximum(v - above[np.flatnonzero(u > above)[-1]], 0.0)

    return weigh


def mix(
    weigh: Weigh, loss: Any, x: Vector, y: Vector, prior: Vector, linearised: bool
) -> tuple[Vector, Vector, Vector]:
    """Forecasts, weights of every round, and R."""
    total, past = np.zeros(prior.size), list[Vector]()
    forecasts, weights = [], []
    for row, outcome in zip(x, y, strict=True):
        awake = ~np.isnan(row)
        if not awake.any():
            forecasts.append(math.nan)
            weights.append(np.zeros(prior.size))
            continue
        w = np.where(awake, weigh(prior, total, awake, past), 0.0)
        w = w / w.sum() if w.sum() > 0 else np.where(awake, prior, 0.0) / prior[awake].sum()
        p = float(w[awake] @ row[awake])
        value, slope = loss.at(p, outcome)
        losses = np.array([loss.at(v, outcome)[0] if not math.isnan(v) else 0.0 for v in row])
        r = np.where(awake, slope * (p - np.nan_to_num(row)) if linearised else value - losses, 0.0)
        total = total + r
        past.append(r)
        forecasts.append(p)
        weights.append(w)
    return np.array(forecasts), np.array(weights), total


def layered(lanes: list[Weigh], chief: Weigh, loss: Any, x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """Forecasts of lanes under a chief, and the weights that they had; a sleeper says what the mixture says.

    That is p with p = f(p), f(p) = Σ_l c_l Σ_i w_l[i]x̃[i] where sleepers say p: a line, so two of its points tell it.
    """
    n, m = x.shape[1], len(lanes)
    prior, even = np.full(n, 1 / n), np.full(m, 1 / m)
    totals, pasts = np.zeros((m, n)), [list[Vector]() for _ in lanes]
    above, history = np.zeros(m), list[Vector]()
    forecasts, weights = [], []
    for row, outcome in zip(x, y, strict=True):
        everybody = np.ones(n, bool)
        w = np.array([_even(weigh(prior, *state)) for weigh, state in _states(lanes, totals, everybody, pasts)])
        c = _even(chief(even, above, np.ones(m, bool), history))
        awake = ~np.isnan(row)
        low, high = (float(c @ w @ np.where(awake, row, p)) for p in (0.0, 1.0))
        p = low / (1 - (high - low)) if high - low < 1 - 1e-9 else float(np.mean(row[awake]))
        filled = np.where(awake, row, p)
        said = w @ filled
        for at in range(m):
            r = loss.at(said[at], outcome)[1] * (said[at] - filled)
            totals[at] += r
            pasts[at].append(r)
        r = loss.at(p, outcome)[1] * (p - said)
        above = above + r
        history.append(r)
        forecasts.append(p)
        weights.append(np.where(awake, c @ w if (c @ w)[awake].sum() > 0 else prior, 0.0))
        weights[-1] /= weights[-1].sum()
    return np.array(forecasts), np.array(weights)


def _states(lanes: list[Weigh], totals: Vector, awake: Vector, pasts: list[list[Vector]]) -> Any:
    return [(weigh, (total, awake, past)) for weigh, total, past in zip(lanes, totals, pasts, strict=True)]


def _even(w: Vector) -> Vector:
    """Weights that sum to 1: all alike if nobody has earned any."""
    return w / w.sum() if w.sum() > 0 else np.full(w.size, 1 / w.size)
