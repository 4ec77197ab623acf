"""The history of a run: its ledger at 1, 2, 3, 4, 6, 8, 12, 16, 23, 32, … rounds, two marks to a doubling.

The marks depend on the round alone, so a run that was split, resumed or fed in other batches has the same trace.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lowregret.certificate import Evidence, evaluate
from lowregret.certificate.delay import late_name
from lowregret.compile.kernel import kernel
from lowregret.domain import Box, Domain, L1Ball, L2Ball, LqBall, Reals, Simplex
from lowregret.learner.linear import Learner
from lowregret.loss.verify import MetScores
from lowregret.mirror import PNorm
from lowregret.mirror.pnorm import UNIT
from lowregret.rule import MirrorDescent, Rule
from lowregret.state import COUNT_NAMES, COUNTS, MASS, ROUNDS, SUM_NAMES, SUMS, TOTAL, State
from lowregret.types import Vector

MARKS_PER_DOUBLING = 2
L2, L1, LINF, TOP = range(4)  # norms of θ, and its largest coordinate
NAMES = (*SUM_NAMES, *COUNT_NAMES, "l2", "l1", "linf", "top")  # of what a row of the history holds
WIDTH = len(NAMES)


def next_mark(rounds: int) -> int:
    """The first mark after this many rounds."""
    k = int(MARKS_PER_DOUBLING * math.log2(rounds)) if rounds > 0 else 0
    while (mark := math.ceil(2 ** (k / MARKS_PER_DOUBLING) - 1e-9)) <= rounds:
        k += 1
    return mark


def snapshot(state: State, rule: Rule) -> Vector:
    """One row of the history: sums, counts, norms of θ (NaN if it is not kept): O(d)."""
    norms = np.full(4, math.nan)
    if rule.keeps_sum():
        measure(state.table, state.table.size // state.dimension, norms)
    return np.concatenate([state.sums, state.counts.astype(float), norms])


@kernel
def measure(table: Vector, width: int, norms: Vector) -> None:
    """‖θ‖₂, ‖θ‖₁, ‖θ‖_∞ and max θ. Three sums of each kind, because one waits for its own last addition."""
    first = second = third = 0.0, 0.0, table[0], table[0]
    count = table.size // width
    for k in range(count // 3):
        first = add_size(first, table[3 * k * width])
        second = add_size(second, table[(3 * k + 1) * width])
        third = add_size(third, table[(3 * k + 2) * width])
    for k in range(count - count % 3, count):
        first = add_size(first, table[k * width])
    norms[L2], norms[L1] = math.sqrt(first[0] + second[0] + third[0]), first[1] + second[1] + third[1]
    norms[TOP] = max(first[3], second[3], third[3])
    norms[LINF] = max(norms[TOP], -min(first[2], second[2], third[2]))


def add_size(known: tuple[float, float, float, float], x: float) -> tuple[float, float, float, float]:
    """Σx², Σ|x|, the lowest and the highest number, with another."""
    squares, sizes, low, high = known
    return squares + x * x, sizes + abs(x), min(low, x), max(high, x)


@dataclass(frozen=True)
class Trace:
    """Curves over the rounds; the linearised regret is NaN where the history does not determine it."""

    rounds: NDArray[np.int64]
    loss: Vector  # Σ ℓ_t(w_t)
    linear_regret: Vector
    bound: Vector  # with its rounding, and NaN where a premise fails
    theorem: str  # whose bound it is, at the end


def trace(
    learner: Learner, history: Vector, comparator: Domain, met: MetScores | None = None, drift: Vector | None = None
) -> Trace:
    """The curves of a history, against these comparators; `drift` is what late answers add, if answers come late."""
    rows = [replace(_evidence(learner, row, comparator), met=met) for row in history]
    late = drift is not None
    found = [evaluate(replace(e, curvature=0.0) if late else e, late)[0] for e in rows]
    away = np.zeros(len(rows)) if drift is None else drift
    return Trace(
        np.array([e.rounds for e in rows], np.int64),
        np.array([e.sums[TOTAL] for e in rows]),
        np.array([math.nan if c.linear_regret is None else c.linear_regret for c in found]) + away,
        np.array([c.promised if c.premises_hold else math.nan for c in found]) + away,
        late_name(found[-1].id) if away.any() else found[-1].id,
    )


def linear_regrets(learner: Learner, history: Vector, comparator: Domain) -> tuple[NDArray[np.int64], Vector]:
    """Rounds and linearised regret of a history, NaN where it does not determine that."""
    rows = [_evidence(learner, row, comparator) for row in history]
    found = [math.nan if e.linear_regret is None else e.linear_regret for e in rows]
    return np.array([e.rounds for e in rows], np.int64), np.array(found)


def _evidence(learner: Learner, row: Vector, comparator: Domain) -> Evidence:
    sums, counts, norms = np.split(row, [SUMS, SUMS + COUNTS])
    counts = counts.astype(np.int64)
    kappa = learner.ridge * learner.rule.schedule().total_importance(int(counts[ROUNDS]))
    height = _support(learner, sums, norms, comparator, kappa)
    return Evidence(learner, comparator, sums, counts, None if math.isnan(height) else height)


def _support(learner: Learner, sums: Vector, norms: Vector, comparator: Domain, kappa: float) -> float:
    """max_u ⟨u,θ⟩ − (κ/2)‖u‖² where a norm of θ tells it."""
    if kappa > 0:
        if not isinstance(comparator, L2Ball | Reals):
            return math.nan
        length = min(comparator.reach(2, 1), norms[L2] / kappa)
        return float(length * norms[L2] - kappa / 2 * length**2)
    match comparator:
        case L2Ball(radius):
            return float(radius * norms[L2])
        case L1Ball(radius):
            return float(radius * norms[LINF])
        case Simplex(total):
            return float(total * norms[TOP])
        case Box(low, high) if low.size == high.size == 1 and low[0] == -high[0]:
            return float(high[0] * norms[L1])
        case LqBall(radius) if isinstance(learner.rule, MirrorDescent) and isinstance(learner.rule.mirror, PNorm):
            mirror = learner.rule.mirror
            if mirror.q == comparator.q:
                return float(radius * sums[UNIT] * sums[MASS] ** (1 / mirror.p))
    return math.nan
