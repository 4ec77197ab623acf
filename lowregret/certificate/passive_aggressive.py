"""Loss bounds of passive-aggressive steps and of AROW against a given u, on the rows that were learnt.

Of passive-aggressive steps that start elsewhere than at 0, ‖u‖ is ‖u − w₁‖: that is what ‖w_t − u‖ begins with.

f_t(u) = ℓ(⟨u,x_t⟩, y_t), a loss ≥ 0 with slopes ±1 or 0 (hinge, ε-insensitive), so that ‖z_t‖ = ‖x_t‖ where ℓ_t > 0.
Crammer et al. 2006 and Crammer, Kulesza and Dredze 2009; forms with + use what was observed.
"""

from __future__ import annotations

import math

import numpy as np

from lowregret.certificate.certificate import Certificate, Premise
from lowregret.compile.kernel import kernel
from lowregret.domain import Point, Reals
from lowregret.learner.linear import Linear
from lowregret.loss import EpsilonInsensitive, Hinge, Loss
from lowregret.rows import Rows
from lowregret.rule import AROW, ProjectedGradient
from lowregret.rule.adagrad import PULL, SQUARES
from lowregret.rule.arow import JUDGED, PULLED_NEXT, UNSUREST
from lowregret.rule.projected_gradient import LOST, WON
from lowregret.state import LARGEST, MISTAKES, State
from lowregret.step import PassiveAggressive
from lowregret.types import Vector

Row = tuple[str, str, str, float, float, tuple[Premise, ...]]  # id, what is measured, bound's formula, both numbers


def speaks_of(learner: Linear) -> bool:
    """Whether the bounds here speak of this learner."""
    match learner:
        case Linear(
            Hinge() | EpsilonInsensitive(), ProjectedGradient(Reals(), PassiveAggressive()) | AROW(), ridge=0.0
        ):
            return True
    return False


def aggressive_certificates(learner: Linear, state: State, x: Rows, y: Vector, u: Vector) -> list[Certificate]:
    """All of them against u, tightest first."""
    found = np.zeros(3)
    losses_of(learner.loss, learner.bias, np.ascontiguousarray(u, float), x, y, found)
    rule = learner.rule
    rows = _arow(rule, state, u, found) if isinstance(rule, AROW) else _passive(learner, state, u, found)
    norm = float(np.linalg.norm(u))
    told = [
        Certificate(
            id=name,
            statement=f"{what} ≤ {formula}",
            comparator={"set": Point.name, "radius": norm},
            linear_regret=None,
            bound=bound,
            premises=premises,
            measure=what,
            regret=measured,
            details={"F": float(found[0])},
        )
        for name, what, formula, measured, bound, premises in rows
    ]
    return sorted(told, key=lambda c: (not c.premises_hold, c.bound))


@kernel
def losses_of(loss: Loss, bias: float, w: Vector, x: Rows, y: Vector, found: Vector) -> None:
    """Σf_t(w), Σf_t(w)² and Σf_t(w)²/‖x_t‖²: O(nnz)."""
    for i in range(y.size):
        score, square = bias * w[w.size - 1] if bias > 0.0 else 0.0, bias * bias
        for k in range(x.begin(i), x.end(i)):
            score += x.value(i, k) * w[x.column(i, k)]
            square += x.value(i, k) * x.value(i, k)
        value, _ = loss.at(score, y[i])
        found[0] += value
        found[1] += value * value
        if square > 0.0:
            found[2] += value * value / square


def _passive(learner: Linear, state: State, u: Vector, found: Vector) -> list[Row]:
    step, away, largest = learner.rule.schedule(), u - learner.rule.first(u.size), float(state.sums[LARGEST])
    size = float(away @ away)  # ‖u‖², from w₁ = 0
    assert isinstance(step, PassiveAggressive)
    won, lost, c = float(state.sums[WON]), float(state.sums[LOST]), step.C
    f, squares, shares = (float(v) for v in found)
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
            unit = Premise("the margin is at least 1", learner.loss.margin >= 1.0, learner.loss.margin)
            most = max(largest, 1 / c) * right
            rows.append(("PA-I", "mistakes", "max(R², 1/C)(‖u‖² + 2CΣf_t(u))", wrong, most, (unit,)))
        return rows
    right = (math.sqrt(shares) + math.sqrt(shares + size)) ** 2
    perfect = Premise("f_t(u) = 0 for all t", f == 0.0, f)
    return [
        ("PA+", "Σℓ_t²/‖x_t‖²", "(√B + √(B + ‖u‖²))², B = Σf_t(u)²/‖x_t‖²", won, right, ()),
        ("PA", "Σℓ_t²", "R²‖u‖²", lost, largest * size, (perfect,)),
    ]


def _arow(rule: AROW, state: State, u: Vector, found: Vector) -> list[Row]:
    table, r = state.table.reshape(state.dimension, -1), rule.r
    spread = float(u @ u + (table[:, int(SQUARES)] / r) @ (u * u) - 2 * table[:, int(PULL)] @ u)
    right = spread + float(state.sums[PULLED_NEXT]) + float(found[1]) / r
    rows: list[Row] = [
        (
            "AROW+",
            "Σℓ_t²/(v_t + r)",
            "‖u‖² + Σ_t‖u − w_{t+1}‖²_{A_t − A_{t−1}} + (1/r)Σf_t(u)²",
            float(state.sums[JUDGED]),
            right,
            (),
        )
    ]
    wrong, most = float(state.counts[MISTAKES]), float(state.sums[UNSUREST]) + r
    return [*rows, ("AROW", "mistakes", "(max v_t + r)·(the bound of AROW+)", wrong, most * right, ())]
