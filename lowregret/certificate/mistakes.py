"""Mistake bounds of the Perceptron and Winnow, against a given u, on the rows that were learnt.

M are the rounds with a mistake, F(u) = Σ_{t∈M} ℓ(⟨u,x_t⟩, y_t) with ℓ the hinge behind `OnMistakes`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from sys import float_info
from typing import Any, NamedTuple

import numpy as np

from lowregret.certificate.certificate import Certificate, Premise
from lowregret.certificate.passive_aggressive import aggressive_certificates, speaks_of
from lowregret.certificate.rounding import EXTRA
from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import EPSILON
from lowregret.domain import Point, Reals
from lowregret.errors import DataError, PartError
from lowregret.learner.linear import Linear, loss_of, score_rows
from lowregret.loss import Affine, Hinge, Loss, OnMistakes
from lowregret.mirror import Euclidean, UnnormalisedEntropy
from lowregret.mirror.entropy import LOCAL, LOWEST
from lowregret.rows import EVERY, Rows, Sparse
from lowregret.rule import MirrorDescent
from lowregret.state import ENERGY, LARGEST, LONGEST, MISTAKES, TOTAL, State
from lowregret.step import Constant
from lowregret.types import Vector


def mistake_certificates(
    learner: Linear, state: State, x: Rows, y: Vector, scores: Vector, u: Vector
) -> list[Certificate]:
    """The mistake bounds that speak of this learner against u, tightest first; `scores` are the run's own."""
    if learner.centred():
        raise PartError("mistake bounds speak of learners that count weights from 0: leave the centre out")
    match learner:
        case Linear(OnMistakes(Hinge(1.0) as hinge), MirrorDescent(Euclidean(Reals()), Constant())):
            marks = mistake_rounds(learner.loss, state, y, scores)
            f, margin = _losses(replace(learner, loss=hinge), x, y, marks, u)
            norm, made = Point(u).reach(2, u.size), int(state.counts[MISTAKES])
            energy, largest = float(state.sums[ENERGY]), math.sqrt(state.sums[LARGEST])
            found = perceptron_bounds(Told(made, f, norm, energy, largest, margin, norm), y.size, u.size)
            return best_first([*found, *_disjunction(learner, made, x, y, u)])
        case Linear(
            OnMistakes(Affine(Hinge(1.0), 2.0, -1.0) as hinge), MirrorDescent(UnnormalisedEntropy(start), Constant(eta))
        ):
            marks = mistake_rounds(learner.loss, state, y, scores)
            f, _ = _losses(replace(learner, loss=hinge), x, y, marks, u)
            return _winnow(state, Point(u), f, eta, start, _within_unit(x, learner.bias))
    if speaks_of(learner):
        return aggressive_certificates(learner, state, x, y, u)
    raise PartError(
        f"mistake bounds speak of the Perceptron and Winnow, passive-aggressive steps and AROW, not of {learner}: "
        "use `certificates` for others"
    )


def best_first(found: list[Certificate]) -> list[Certificate]:
    """The tightest first, those whose premises fail last."""
    return sorted(found, key=lambda c: (not c.premises_hold, c.bound))


def mistake_rounds(loss: Loss, state: State, y: Vector, scores: Vector, compiled: bool = True) -> Vector:
    """1 in the rounds with a mistake, 0 in the others, from the run's own scores."""
    marks = np.empty(y.size)
    call(_mark, compiled, loss, y, scores, marks)
    made = int(state.counts[MISTAKES])
    if marks.sum() != made:
        raise DataError(
            f"these are not the labels that were learnt: with them {marks.sum():g} scores would be mistakes, not {made}"
        )
    return marks


@kernel
def _mark(loss: Loss, y: Vector, scores: Vector, marks: Vector) -> None:
    for i in range(y.size):
        marks[i] = loss.wrong(scores[i], y[i])


def _disjunction(learner: Linear, made: int, x: Rows, y: Vector, u: Vector) -> list[Certificate]:
    """PERC-OR: k-disjunctions of 0/1 features by the Perceptron on [x, b], |M| ≤ 4(d + b²)(k + 1/(4b²)).

    u = [w, −1/(2b)] has margin ½, ‖u‖² = k + 1/(4b²), and ‖[x, b]‖² ≤ d + b²; b = ½ gives (4d + 1)(k + 1). It speaks
    where u without its bias is the 0/1 vector w of a disjunction.
    """
    b, w = learner.bias, u[:-1]
    if not (b * b > 0 and w.size and np.isin(w, (0.0, 1.0)).all() and np.any(w)):
        return []
    d, k, of_w = w.size, float(np.sum(w)), np.empty(y.size)
    score_rows(learner.scorer, np.append(w, 0.0), x, EVERY, of_w)
    data = x.data if isinstance(x, Sparse) else x.parameters["data"]
    premises = (
        Premise("x_t ∈ {0,1}^d", bool(np.isin(data, (0.0, 1.0)).all())),
        Premise("y_t = +1 just where x_t has one of the k variables", bool(np.all((of_w > 0.5) == (y > 0)))),
    )
    bound = 4 * (d + b * b) * (k + 1 / (4 * b * b))
    told = {"set": Point.name, "radius": math.sqrt(k)}
    off = 8 * share_of(y.size, d) * math.sqrt(made + 1) * bound  # as in `Told.worst`
    return [mistake_certificate("PERC-OR", "4(d + b²)(k + 1/(4b²))", bound, premises, told, float(made), 0.0, off)]


def _losses(learner: Linear, x: Rows, y: Vector, marks: Vector, u: Vector) -> tuple[float, float]:
    """F(u), and the smallest margin y⟨u,x⟩ over all rows."""
    fixed, of_u = np.ascontiguousarray(u, float), np.empty(y.size)
    score_rows(learner.scorer, fixed, x, EVERY, of_u)
    return loss_of(learner.judge, fixed, x, y, marks), float(np.min(y * of_u, initial=math.inf))


def _within_unit(x: Rows, bias: float) -> Premise:
    data = x.data if isinstance(x, Sparse) else x.parameters["data"]
    low, high = float(data.min(initial=0.0)), float(data.max(initial=bias))
    return Premise("x_t ∈ [0,1]^d", low >= 0 and high <= 1, (low, high))


class Told(NamedTuple):
    """The numbers that bounds of the Perceptron against u are made of, each of them rounded."""

    made: int  # |M|
    f: float  # F(u)
    norm: float  # ‖u‖
    energy: float  # Σ_M‖x_t‖²
    largest: float  # R = max_M‖x_t‖
    margin: float  # the smallest y_t⟨u,x_t⟩ of all
    size: float  # of the terms of ⟨u,x⟩: Σ|u_j x_j| ≤ size·‖x‖

    def worst(self, rounds: int, d: int) -> Told:
        """These numbers, each made worse by as much as rounding may have made it better.

        In a mistake y_t⟨w_t,x_t⟩ ≤ 0 but for the rounding of w_t and of the product, so that ‖Σ_M y_t x_t‖² exceeds
        Σ_M‖x_t‖² by that in all rounds, at most (T + d)ε·2√|M|·Σ_M‖x_t‖²; and squares may vanish.
        """
        share, tiny = share_of(rounds, d), 4 * d * float_info.min
        longer = 1 + 4 * share * math.sqrt(self.made + 1)
        return Told(
            self.made,
            self.f + share * (self.f + self.made + self.size * math.sqrt(self.made) * math.sqrt(self.energy)),
            math.hypot(self.norm, math.sqrt(share) * self.size),
            self.energy * longer + self.made * tiny,
            math.hypot(self.largest * math.sqrt(longer), math.sqrt(tiny)),
            self.margin - share * self.size * self.largest,
            self.size,
        )

    def bounds(self) -> list[float]:
        """The right-hand sides of `PERCEPTRON`, in their order."""
        f, norm, energy, margin, b = self.f, self.norm, self.energy, self.margin, self.largest * self.norm
        return [
            f + norm * math.sqrt(energy),
            f + b * b / 2 + b * math.sqrt(f + b * b / 4),
            f + b * math.sqrt(f) + b * b,
            2 * f + b * b,
            f + norm * norm / 2 + energy / 2,
            (b / margin) * (b / margin) if margin > 0 else math.inf,
        ]


PERCEPTRON = {
    "PERC-OBS": "F(u) + ‖u‖√(Σ_M‖x_t‖²)",
    "PERC-ROOT": "F + b²/2 + b√(F + b²/4)",
    "THM-3.9": "F + b√F + b²",
    "PERC-2F": "2F + b²",
    "THM-14.6": "F + ‖u‖²/(2η) + (η/2)Σ_M‖x_t‖², η = 1",
    "PERC-MARGIN": "(R‖u‖/γ)²",
}  # b = R‖u‖


def share_of(rounds: int, d: int) -> float:
    """The share of the size of its terms by which a sum over rounds of products of d numbers may be off."""
    return EPSILON * (rounds + d + EXTRA)


def shortfall(bound: float, worst: float) -> float:
    """By how much a bound may be too small, if at worst it is that."""
    return max(worst - bound, 0.0) if bound < math.inf else 0.0


def perceptron_bounds(told: Told, rounds: int, d: int) -> list[Certificate]:
    """The bounds of `PERCEPTRON` (THM-14.6 with g_t = −y_t x_t on mistakes), tightest first."""
    separated = Premise("y_t⟨u,x_t⟩ ≥ γ > 0 for all t", told.margin > 0, told.margin)
    u = {"set": Point.name, "radius": told.norm}
    found = [
        mistake_certificate(
            *(name, formula, bound, (separated,) if name == "PERC-MARGIN" else (), u, float(told.made), told.f),
            shortfall(bound, worst),
        )
        for (name, formula), bound, worst in zip(
            PERCEPTRON.items(), told.bounds(), told.worst(rounds, d).bounds(), strict=True
        )
    ]
    return best_first(found)


def _winnow(state: State, u: Point, f: float, eta: float, start: float, unit: Premise) -> list[Certificate]:
    """THM-3.10 and WIN-OBS, both on the surrogate loss Σf_t(w_t) ≥ |M|; λ is the start value, 1/d in the textbook."""
    d, k = u.u.size, float(np.sum(u.u))
    binary = Premise("u ∈ {0,1}^d, u ≠ 0", bool(np.isin(u.u, (0.0, 1.0)).all()) and k >= 1, k)
    small = Premise("η < ½", eta < 0.5, eta)
    even = Premise("w₁ = 1/d", math.isclose(start * d, 1.0), start)
    positive = Premise("u ≥ 0", bool(np.all(u.u >= 0)), float(np.min(u.u)))
    bounded = Premise("η·z_t[i] ≥ −1", bool(state.sums[LOWEST] >= -1), float(state.sums[LOWEST]))
    seen = u.u[u.u > 0]
    entropy = start * d + float(np.sum(seen * np.log(seen / (math.e * start))))
    observed = f + entropy / eta + eta * float(state.sums[LOCAL])
    textbook = (f + k * math.log(d) / eta) / (1 - 2 * eta) if eta < 0.5 else math.inf
    off = _winnow_rounding(state, u, f, eta, start)
    rows: list[tuple[str, str, float, tuple[Premise, ...]]] = [
        ("WIN-OBS", "F + [dλ + Σu ln(u/(eλ))]/η + 4ηΣ_MΣ_i w_t x_t²", observed, (positive, bounded)),
        ("THM-3.10", "(F + k ln d/η)/(1 − 2η)", textbook, (binary, small, even, unit)),
    ]
    share = [off, off / (1 - 2 * eta) if eta < 0.5 else 0.0]
    total = float(state.sums[TOTAL])
    found = best_first(
        [mistake_certificate(*row, u.describe(), total, f, part) for row, part in zip(rows, share, strict=True)]
    )
    return [replace(c, measure="surrogate loss", statement=c.statement.replace("≤", "≤ Σf_t(w_t) ≤", 1)) for c in found]


def _winnow_rounding(state: State, u: Point, f: float, eta: float, start: float) -> float:
    """How far sums of losses, of entropies and of Σw_t z_t² may be off: Σ_M|⟨u,z_t⟩| ≤ ‖u‖₁√(|M|Σ‖z_t‖_∞²)."""
    sums, seen = state.sums, u.u[u.u > 0]
    slopes = math.sqrt(state.counts[MISTAKES]) * math.sqrt(sums[ENERGY])
    terms = (math.sqrt(sums[LONGEST]) + u.reach(1, u.u.size)) * slopes if slopes > 0 else 0.0
    entropy = start * u.u.size + float(np.sum(seen * np.abs(np.log(seen / (math.e * start)))))
    terms += f + float(sums[TOTAL]) + entropy / eta + eta * float(sums[LOCAL]) + 2 * int(state.counts[MISTAKES])
    return share_of(state.rounds, u.u.size) * terms


def mistake_certificate(
    name: str, formula: str, bound: float, premises: tuple[Premise, ...], u: dict[str, Any], measured: float, f: float,
    rounding: float,
) -> Certificate:  # fmt: skip
    """`measured` mistakes are at most `bound`, against u; `f` is F(u)."""
    return Certificate(
        id=name,
        statement=f"mistakes ≤ {formula}",
        comparator=u,
        linear_regret=None,
        bound=bound,
        premises=premises,
        measure="mistakes",
        regret=measured,
        details={"F": f},
        rounding=rounding,
    )
