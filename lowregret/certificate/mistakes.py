"""Mistake bounds of the Perceptron and Winnow, against a given u, on the rows that were learnt.

M are the rounds with a mistake, F(u) = Σ_{t∈M} ℓ(⟨u,x_t⟩, y_t) with ℓ the hinge behind `OnMistakes`.
"""

from __future__ import annotations

import math

import numpy as np

from lowregret.certificate.certificate import Certificate, Premise
from lowregret.domain import Point, Reals
from lowregret.error import PartError
from lowregret.kernel import kernel
from lowregret.learner import Linear, score_rows
from lowregret.loss import Affine, Hinge, OnMistakes
from lowregret.mirror import Euclidean, UnnormalisedEntropy
from lowregret.rows import Rows, Sparse
from lowregret.rule import Lazy
from lowregret.state import ENERGY, LARGEST, LOCAL, LOWEST, MISTAKES, TOTAL, State, Vector
from lowregret.step import Constant


def mistake_certificates(
    learner: Linear, state: State, x: Rows, y: Vector, scores: Vector, u: Vector
) -> list[Certificate]:
    """The mistake bounds that speak of this learner against u, tightest first; `scores` are the run's own."""
    match learner:
        case Linear(OnMistakes(Hinge(1.0)), Lazy(Euclidean(Reals()), Constant())):
            return _sorted(_perceptron(state, Point(u), *_losses(learner, x, y, scores, u)))
        case Linear(OnMistakes(Affine(Hinge(1.0), 2.0, -1.0)), Lazy(UnnormalisedEntropy(), Constant(eta))):
            f, _ = _losses(learner, x, y, scores, u)
            return _sorted(_winnow(state, Point(u), f, eta, _within_unit(x)))
    raise PartError(
        f"mistake bounds speak of the Perceptron and Winnow, not of {learner}: use `certificates` for others"
    )


def _sorted(found: list[Certificate]) -> list[Certificate]:
    return sorted(found, key=lambda c: (not c.premises_hold, c.bound))


def _losses(learner: Linear, x: Rows, y: Vector, scores: Vector, u: Vector) -> tuple[float, float]:
    """F(u), and the smallest margin y⟨u,x⟩ over all rows."""
    of_u = np.empty(y.size)
    score_rows(learner, np.ascontiguousarray(u, float), x, of_u)
    assert isinstance(learner.loss, OnMistakes)
    return _sum_on_mistakes(learner.loss, of_u, y, scores), float(np.min(y * of_u, initial=math.inf))


@kernel
def _sum_on_mistakes(loss: OnMistakes, of_u: Vector, y: Vector, scores: Vector) -> float:
    total = 0.0
    for i in range(y.size):
        if loss.wrong(scores[i], y[i]):
            value, _ = loss.loss.at(of_u[i], y[i])
            total += value
    return total


def _within_unit(x: Rows) -> Premise:
    data = x.data if isinstance(x, Sparse) else x.parameters["data"]
    low, high = float(data.min(initial=0.0)), float(data.max(initial=0.0))
    return Premise("x_t ∈ [0,1]^d", low >= 0 and high <= 1, (low, high))


def _perceptron(state: State, u: Point, f: float, margin: float) -> list[Certificate]:
    """PERC-OBS, PERC-ROOT, THM-3.9, PERC-2F and PERC-MARGIN; R = max_{t∈M}‖x_t‖, b = R‖u‖."""
    norm, largest = u.reach(2, 0), math.sqrt(state.sums[LARGEST])
    b = largest * norm
    separated = Premise("y_t⟨u,x_t⟩ ≥ γ > 0 for all t", margin > 0, margin)
    rows = [
        ("PERC-OBS", "F(u) + ‖u‖√(Σ_M‖x_t‖²)", f + norm * math.sqrt(state.sums[ENERGY]), ()),
        ("PERC-ROOT", "F + b²/2 + b√(F + b²/4)", f + b * b / 2 + b * math.sqrt(f + b * b / 4), ()),
        ("THM-3.9", "F + b√F + b²", f + b * math.sqrt(f) + b * b, ()),
        ("PERC-2F", "2F + b²", 2 * f + b * b, ()),
        ("PERC-MARGIN", "(R‖u‖/γ)²", (b / margin) ** 2 if margin > 0 else math.inf, (separated,)),
    ]
    made = float(state.counts[MISTAKES])
    return [_certificate(name, formula, bound, premises, u, made, f) for name, formula, bound, premises in rows]


def _winnow(state: State, u: Point, f: float, eta: float, unit: Premise) -> list[Certificate]:
    """THM-3.10 and WIN-OBS, both on Σf_t(w_t) ≥ |M|."""
    d, k = u.u.size, float(np.sum(u.u))
    binary = Premise("u ∈ {0,1}^d, u ≠ 0", bool(np.isin(u.u, (0.0, 1.0)).all()) and k >= 1, k)
    small = Premise("η < ½", eta < 0.5, eta)
    positive = Premise("u ≥ 0", bool(np.all(u.u >= 0)), float(np.min(u.u)))
    bounded = Premise("η·z_t[i] ≥ −1", bool(state.sums[LOWEST] >= -1), float(state.sums[LOWEST]))
    seen = u.u[u.u > 0]
    observed = f + (1 + float(np.sum(seen * np.log(d * seen / math.e)))) / eta + eta * float(state.sums[LOCAL])
    textbook = (f + k * math.log(d) / eta) / (1 - 2 * eta) if eta < 0.5 else math.inf
    suffered = float(state.sums[TOTAL])
    return [
        _certificate(
            "WIN-OBS", "F + [1 + Σu ln(du/e)]/η + 4ηΣ_MΣ_i w_t x_t²", observed, (positive, bounded), u, suffered, f
        ),
        _certificate("THM-3.10", "(F + k ln d/η)/(1 − 2η)", textbook, (binary, small, unit), u, suffered, f),
    ]


def _certificate(
    name: str, formula: str, bound: float, premises: tuple[Premise, ...], u: Point, measured: float, f: float
) -> Certificate:
    return Certificate(
        id=name,
        statement=f"mistakes ≤ {formula}",
        comparator=u.describe(),
        linear_regret=None,
        bound=bound,
        premises=premises,
        measure="mistakes",
        regret=measured,
        details={"F": f},
    )
