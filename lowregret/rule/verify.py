"""Rules of a user's own, put to the test: do they keep the ledger that certificates read, and play in their set?"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.compile.altered import is_own
from lowregret.compile.numerics import at_most, norm
from lowregret.rule.base import Rule
from lowregret.rule.mirror_descent import RATE, MirrorDescent
from lowregret.state import ENERGY, FIRST_RATE, GIVEN, LARGEST, LAST_RATE, LINEAR, LOSS, ROUNDS, SLOPE, STEPPED, State
from lowregret.step import Step
from lowregret.types import Vector

PREMISE = "the rule keeps Σz_t, Σ⟨w_t,z_t⟩ and ‖w_t‖, and its iterates lie in its set"
RATES = "rates of the step never grow, and stay as they are if it says so"
TRIED = 24  # rounds
SHARES = (1.0, 0.1, 1e-3, 0.0)  # of the energy of a round: sub-gradients, and losses, that rates are tried with
FEW = 3  # coordinates, where the rule is made for any number


def counterexample(rule: Rule, d: int, sums: Vector) -> str | None:
    """Where a rule of the user's own is not what it says, in words; None if that was not found.

    It plays some rounds against sub-gradients as large as the largest that the ledger `sums` of a run tells.
    """
    return _played(rule, _tried_dimension(rule, d), float(np.sqrt(sums[LARGEST])) or 1.0) if is_own(rule) else None


def _tried_dimension(rule: Rule, d: int) -> int:
    try:
        rule.fits(FEW)
        rule.begin(State.zeros(FEW, rule.columns(FEW), False))
    except Exception:  # whatever a part that is written for d coordinates raises with others
        return d
    return FEW


def _played(rule: Rule, d: int, size: float) -> str | None:
    rng, s = np.random.default_rng(0), State.zeros(d, rule.columns(d), False)
    rule.begin(s)
    theta, linear, terms = np.zeros(d), 0.0, 0.0
    with np.errstate(all="ignore"):
        for t in range(TRIED):
            g = rng.uniform(-1, 1, d) * (rng.random(d) < max(0.5, FEW / d)) * size * (1.0, 0.1, 1e-3)[t % 3]
            w = np.zeros(d)
            rule.point(s, w)
            if np.all(np.isfinite(w)) and not rule.domain.contains(w):
                return f"after {t} rounds it plays {w[:3]}, outside the {rule.domain.name}"
            if norm(w) < np.inf and not at_most(norm(w), np.sqrt(rule.square_length(s))):
                return f"after {t} rounds it takes {rule.square_length(s):.6g} for ‖w‖² of {w[:3]}"
            if isinstance(rule, MirrorDescent) and not _is_linked(rule, s, w):
                return f"after {t} rounds it plays {w[:3]}, and not the link of {theta[:3]} at rate {s.sums[RATE]:g}"
            importance = rule.importance(s) if rule.weighted() else 1.0
            theta, linear = theta - importance * g, linear + importance * float(w @ g)
            terms += importance * norm(w) * norm(g)
            _round(rule, s, w, g)
    if not (np.isfinite(linear) and np.all(np.isfinite(s.table))):
        return None
    if abs(float(s.sums[LINEAR]) - linear) > 1e-6 * terms:
        return f"it takes {float(s.sums[LINEAR]):.6g} for a sum Σ⟨w_t,z_t⟩ that is {linear:.6g}"
    if rule.keeps_sum() and not at_most(norm(s.theta - theta), 0.0, norm(theta), TRIED * size):
        return f"it takes {s.theta[:3]} for a sum −Σz_t that is {theta[:3]}"
    return None


def _is_linked(rule: MirrorDescent, s: State, w: Vector) -> bool:
    """Whether w is the mirror map's link of the sum that the state keeps, where both are numbers."""
    linked = rule.mirror.link(float(s.sums[RATE]) * s.theta)
    return not np.all(np.isfinite([w, linked])) or at_most(norm(w - linked), 0.0, norm(w), norm(linked))


def _round(rule: Rule, s: State, w: Vector, g: Vector) -> None:
    """One round with the sub-gradient g at the iterate w, as learners of rows play it."""
    inner, scale = float(w @ g), rule.scale(s)
    touched = np.flatnonzero(g)
    if not touched.size:
        rule.idle(s)
        return
    s.sums[LOSS], s.sums[SLOPE] = norm(g), 1.0
    if rule.needs_weight():
        s.sums[GIVEN] = 1.0
    weigh: Any = [rule.metric(s, np.uint64(j), float(g[j])) if rule.weighs() else 1.0 for j in touched]
    square = float(np.sum(weigh * g[touched] ** 2))
    round_sums = rule.open(s, inner, inner / scale if scale else 0.0, square, 0.0)
    for j in touched:
        round_sums = rule.push(s, np.uint64(j), float(g[j]), round_sums)
    rule.settle(s, inner, touched.size, round_sums)


def growth(step: Step, sums: Vector, rounds: int) -> str | None:
    """Where rates of a user's own step grow, or change, though it says otherwise; None if that was not found.

    If they never grow, their mean in the ledger of a run lies between the first and the last. Others are tried.
    """
    if not (is_own(step) and (step.falling or step.constant)):
        return None
    energy = float(sums[ENERGY])
    if energy > 0:
        first, mean, last = float(sums[FIRST_RATE]), float(sums[STEPPED]) / energy, float(sums[LAST_RATE])
        if not (at_most(last, mean) and at_most(mean, first)):
            return f"the first rate was {first:.6g}, the last {last:.6g}, and {mean:.6g} on average"
    after = np.unique(np.concatenate([np.arange(16), np.geomspace(16, max(2 * rounds, 17), 64).astype(int)])).tolist()
    s, each, before = State.zeros(1, 1, False), energy / max(rounds, 1) or 1.0, np.inf
    for k, t in enumerate(after):
        s.counts[ROUNDS], s.sums[ENERGY], s.sums[LOSS] = t, t * each, SHARES[k % 3]
        rate = step.rate(s, SHARES[k % 4] * each)
        if not (rate > 0 and at_most(rate, before)) or (step.constant and t and rate != before):
            return f"the rate is {rate:.6g} after {t} rounds, and {before:.6g} before"
        before = rate
    return None
