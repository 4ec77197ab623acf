"""Loss bounds of passive-aggressive steps and of AROW against a given u, on the rows that were learnt.

Of passive-aggressive steps that start elsewhere than at 0, ‖u‖ is ‖u − w₁‖: that is what ‖w_t − u‖ begins with.

f_t(u) = ℓ(⟨u,x_t⟩, y_t), a loss ≥ 0 with slopes ±1 or 0 (hinge, ε-insensitive), so that ‖z_t‖ = ‖x_t‖ where ℓ_t > 0.
Crammer et al. 2006 and Crammer, Kulesza and Dredze 2009; forms with + use what was observed.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from lowregret.certificate.certificate import Certificate, Premise
from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import EPSILON, norm, squared
from lowregret.domain import Point, Reals
from lowregret.learner.linear import Linear
from lowregret.loss import EpsilonInsensitive, Hinge, Loss
from lowregret.rows import Rows
from lowregret.rule import AROW, ProjectedGradient
from lowregret.rule.adagrad import PULL, SQUARES
from lowregret.rule.arow import JUDGED, PULLED_NEXT, UNSUREST
from lowregret.rule.projected_gradient import LOST, WON
from lowregret.state import LARGEST, LONGEST, MISTAKES, State
from lowregret.step import PassiveAggressive
from lowregret.types import Vector

EXTRA = 16  # operations that a term itself takes, as in rounding.py

Row = tuple[str, str, str, float, float, tuple[Premise, ...]]  # id, what is measured, bound's formula, both numbers


def speaks_of(learner: Linear) -> bool:
    """Whether the bounds here speak of this learner."""
    match learner:
        case Linear(
            Hinge() | EpsilonInsensitive(), ProjectedGradient(Reals(), PassiveAggressive()) | AROW(), ridge=0.0
        ):
            return True
    return False


class Rivalry(NamedTuple):
    """The sums Σf_t(u), Σf_t(u)² and Σf_t(u)²/‖x_t‖² of a comparator u."""

    losses: float
    squares: float
    shares: float


def aggressive_certificates(learner: Linear, state: State, x: Rows, y: Vector, u: Vector) -> list[Certificate]:
    """All of them against u, tightest first."""
    found = np.zeros(6)
    losses_of(learner.loss, learner.bias, np.ascontiguousarray(u, float), x, y, found)
    told, worst = Rivalry(*found[:3].tolist()), Rivalry(*(found[:3] + found[3:]).tolist())
    bounds = partial(_arow if isinstance(learner.rule, AROW) else _passive, learner, state, u)
    length = norm(u)
    with np.errstate(over="ignore", invalid="ignore"):
        rows, others = bounds(told, 0.0), bounds(worst, EPSILON * (state.rounds + u.size + EXTRA))
    certificates = [
        Certificate(
            id=name,
            statement=f"{what} ≤ {formula}",
            comparator={"set": Point.name, "radius": length},
            linear_regret=None,
            bound=math.inf if math.isnan(bound) else bound,  # of terms too large for numbers
            premises=premises,
            measure=what,
            regret=measured,
            details={"F": told.losses},
            rounding=max(most - bound, 0.0) + EPSILON * (state.rounds + EXTRA) * measured if bound < math.inf else 0.0,
        )
        for (name, what, formula, measured, bound, premises), (*_, most, _) in zip(rows, others, strict=True)
    ]
    return sorted(certificates, key=lambda c: (not c.premises_hold, c.bound))


@kernel
def losses_of(loss: Loss, bias: float, w: Vector, x: Rows, y: Vector, found: Vector) -> None:
    """Σf_t(w), Σf_t(w)² and Σf_t(w)²/‖x_t‖², and how far these three may be off for rounding: O(nnz)."""
    for i in range(y.size):
        score, square = bias * w[w.size - 1] if bias > 0.0 else 0.0, bias * bias
        size = abs(score) + 1.0
        for k in range(x.begin(i), x.end(i)):
            score += x.value(i, k) * w[x.column(i, k)]
            size += abs(x.value(i, k) * w[x.column(i, k)])
            square += x.value(i, k) * x.value(i, k)
        value, _ = loss.at(score, y[i])
        off = EPSILON * (w.size + EXTRA) * (size + abs(y[i]) + value)
        off_square = off * (2.0 * value + off)
        found[0] += value
        found[1] += value * value
        found[3] += off + EPSILON * y.size * value
        found[4] += off_square + EPSILON * y.size * value * value
        if square > 0.0:
            found[2] += value * value / square
            found[5] += (off_square + EPSILON * (y.size + w.size + EXTRA) * value * value) / square


def _passive(learner: Linear, state: State, u: Vector, told: Rivalry, share: float) -> list[Row]:
    """The bounds of passive-aggressive steps; with a share > 0, made worse by as much as rounding may have helped."""
    step, first, largest = learner.rule.schedule(), learner.rule.first(u.size), float(state.sums[LARGEST])
    assert isinstance(step, PassiveAggressive)
    won, lost, c = float(state.sums[WON]), float(state.sums[LOST]), step.C
    size = squared(norm(u - first)) + share * _strayed(state, norm(u) + norm(first))  # ‖u‖², from w₁ = 0
    largest *= 1 + share
    f, squares, shares = told
    if step.squared:
        right = size + 2 * c * squares
        return [
            ("PA-II+", "Σℓ_t²/(‖x_t‖² + 1/(2C))", "‖u‖² + 2CΣf_t(u)²", won, right, ()),
            (
                "PA-II",
                "Σℓ_t²",
                "(R² + 1/(2C))(‖u‖² + 2CΣf_t(u)²)",
                lost,
                (largest + 0.5 / c) * right,
                (),
            ),
        ]
    if c < math.inf:
        right, wrong = size + 2 * c * f, float(state.counts[MISTAKES])
        rows: list[Row] = [("PA-I+", "Ση_t(2ℓ_t − η_t‖x_t‖²)", "‖u‖² + 2CΣf_t(u)", won, right, ())]
        if isinstance(learner.loss, Hinge):
            most = max(largest, 1 / c) * right
            rows.append(("PA-I", "mistakes", "max(R², 1/C)(‖u‖² + 2CΣf_t(u))", wrong, most, (_unit(learner.loss),)))
        return rows
    right = squared(math.sqrt(shares) + math.sqrt(shares + size))
    perfect = Premise("f_t(u) = 0 for all t", f == 0.0, f)
    return [
        ("PA+", "Σℓ_t²/‖x_t‖²", "(√B + √(B + ‖u‖²))², B = Σf_t(u)²/‖x_t‖²", won, right, ()),
        ("PA", "Σℓ_t²", "R²‖u‖²", lost, largest * (right if share > 0 else size), (perfect,)),
    ]


def _strayed(state: State, rival: float) -> float:
    """The size of what rounding keeps ‖w_t − u‖² from falling by; `rival` is ‖u‖ + ‖w₁‖.

    Where w_{t+1} is off by e_t and ℓ_t by δ_t, that is Σ2‖w_t − u‖‖e_t‖ + 2η_tδ_t, and Ση_t‖x_t‖ ≤ √(T·WON).
    """
    longest, won = math.sqrt(state.sums[LONGEST]), float(state.sums[WON])
    moved, far = longest + math.sqrt(state.rounds) * math.sqrt(won), longest + rival
    return won + 8 * far * (moved + far)


def _unit(loss: Hinge) -> Premise:
    """The premise that mistakes cost 1 at least."""
    return Premise("the margin is at least 1", loss.margin >= 1.0, loss.margin)


def _arow(learner: Linear, state: State, u: Vector, told: Rivalry, share: float) -> list[Row]:
    """The bounds of AROW; with a share > 0, made worse by as much as rounding may have helped."""
    assert isinstance(learner.rule, AROW)
    table, r = state.table.reshape(state.dimension, -1), learner.rule.r
    parts = [u @ u, (table[:, int(SQUARES)] / r) @ (u * u), -2 * table[:, int(PULL)] @ u]
    pulled, judged = float(state.sums[PULLED_NEXT]), float(state.sums[JUDGED])
    size = float(np.sum(np.abs(parts[:2]))) + 2 * float(np.abs(table[:, int(PULL)]) @ np.abs(u))
    right = float(np.sum(parts)) + pulled + told.squares / r + 4 * share * (size + pulled + judged)
    rows: list[Row] = [
        (
            "AROW+",
            "Σℓ_t²/(v_t + r)",
            "‖u‖² + Σ_t‖u − w_{t+1}‖²_{A_t − A_{t−1}} + (1/r)Σf_t(u)²",
            judged,
            right,
            (),
        )
    ]
    if isinstance(learner.loss, Hinge):
        wrong, most = float(state.counts[MISTAKES]), float(state.sums[UNSUREST]) + r
        unit = (_unit(learner.loss),)
        rows.append(("AROW", "mistakes", "(max v_t + r)·(the bound of AROW+)", wrong, most * right, unit))
    return rows
