"""The Perceptron and Winnow in a few lines each, their bounds, and streams that are hard for them."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import LinearConstraint, minimize

from lowregret.domain import L2Ball
from lowregret.game import hard_sequences as made
from lowregret.loss import Hinge
from tests.laws.comparators import hindsight
from tests.laws.sequences import Matrix, Stream, Vector

# ---- the textbook ----------------------------------------------------------------------------------------------------


def mistakes_of_perceptron(x: Matrix, y: Vector) -> list[int]:
    """The mistake rounds: y⟨w,x⟩ ≤ 0, then w ← w + yx."""
    w, wrong = np.zeros(x.shape[1]), []
    for t in range(len(y)):
        if y[t] * (w @ x[t]) <= 0:
            w += y[t] * x[t]
            wrong.append(t)
    return wrong


def mistakes_of_winnow(x: Matrix, y: Vector, eta: float, sign: float = 1.0) -> tuple[list[int], float, float]:
    """The mistake rounds, Σf_t(w_t) and Σ_MΣ_i w_t x_t²; the source text printed sign −1 (E23)."""
    w, wrong, suffered, local = np.full(x.shape[1], 1 / x.shape[1]), [], 0.0, 0.0
    for t in range(len(y)):
        score = y[t] * (2 * float(w @ x[t]) - 1)
        if score <= 0:
            wrong.append(t)
            suffered += 1 - score
            local += float(w @ x[t] ** 2)
            w *= np.exp(sign * 2 * eta * y[t] * x[t])
    return wrong, suffered, local


def perceptron_bounds(x: Matrix, y: Vector, wrong: list[int], u: Vector) -> dict[str, float]:
    """Every right-hand side of docs/certificates.md, Mistakes."""
    f = float(np.sum(np.maximum(1 - y[wrong] * (x[wrong] @ u), 0)))
    lengths = np.linalg.norm(x[wrong], axis=1)
    norm, b = float(np.linalg.norm(u)), float(np.linalg.norm(u) * np.max(lengths))
    gamma = float(np.min(y * (x @ u)))
    return {
        "PERC-OBS": f + norm * math.sqrt(np.sum(lengths**2)),
        "PERC-ROOT": f + b**2 / 2 + b * math.sqrt(f + b**2 / 4),
        "THM-3.9": f + b * math.sqrt(f) + b**2,
        "PERC-2F": 2 * f + b**2,
        "THM-14.6": f + norm**2 / 2 + float(np.sum(lengths**2)) / 2,
        "PERC-MARGIN": (b / gamma) ** 2 if gamma > 0 else math.inf,
    }


def best_points(x: Matrix, y: Vector) -> list[Vector]:
    """Every bound grows with F(u) and ‖u‖, so its best u is the one of least F(u) among those not longer."""
    sizes = 2.0 ** np.arange(-4, 4, 0.5)
    return [hindsight(Hinge(), x, y, np.ones(len(y)), L2Ball(size)).u for size in sizes]


def widest(x: Matrix, y: Vector) -> Vector:
    """The shortest u with y⟨u,x⟩ ≥ 1: its direction has the largest margin."""
    signed = y[:, None] * x

    def half_square(u: Vector) -> float:
        return 0.5 * float(u @ u)

    start = np.linalg.lstsq(signed, np.ones(len(y)), rcond=None)[0]
    return minimize(half_square, start, constraints=LinearConstraint(signed, 1.0)).x * (1 + 1e-6)


def winnow_loss(x: Matrix, y: Vector, u: Vector) -> float:
    """Σ[1 − y(2⟨u,x⟩ − 1)]₊"""
    return float(np.sum(np.maximum(1 - y * (2 * (x @ u) - 1), 0)))


def observed_bound(x: Matrix, y: Vector, local: float, u: Vector, eta: float) -> float:
    """WIN-OBS, x and y on the mistakes."""
    logs = float(np.sum(u * np.log(np.maximum(u, 1e-300) * u.size / math.e)))
    return winnow_loss(x, y, u) + (1 + logs) / eta + 4 * eta * local


def binary_points(d: int, most: int = 3) -> list[Vector]:
    """All u ∈ {0,1}^d with up to so many ones."""
    chosen = (c for k in range(1, most + 1) for c in itertools.combinations(range(d), k))
    return [np.isin(np.arange(d), c).astype(float) for c in chosen]


# ---- streams ---------------------------------------------------------------------------------------------------------


def always_wrong(rounds: int, d: int, seed: int) -> Stream:
    """Labels against the learner: every round is a mistake."""
    rng = np.random.default_rng(seed)
    x, y, w = rng.normal(size=(rounds, d)), np.empty(rounds), np.zeros(d)
    for t in range(rounds):
        y[t] = -1.0 if w @ x[t] > 0 else 1.0
        w += y[t] * x[t]
    return Stream("labels against the learner", x, y)


def separable(rounds: int, d: int, seed: int) -> Stream:
    """Rows with a margin."""
    rng = np.random.default_rng(seed)
    x, u = rng.normal(size=(rounds, d)), rng.normal(size=d)
    x = x[np.abs(x @ u) > 0.5]
    return Stream("separable", x, np.sign(x @ u))


def orthonormal(rounds: int, d: int) -> Stream:
    """x = e_1, …, e_d, y = 1: as many mistakes as rows."""
    return Stream("orthonormal", np.eye(d)[np.arange(rounds) % d], np.ones(rounds))


def disjunction(rounds: int, d: int, k: int, seed: int, noise: float = 0.0, share: float = 0.3) -> Stream:
    """0/1 rows, y = 1 iff one of the first k features is on; some labels are flipped."""
    x, y = made.disjunction(rounds, d, k, np.random.default_rng(seed), noise, share)
    return Stream(f"{k} of {d} features, {noise:.0%} noise", x, y)


def fractional(rounds: int, d: int, seed: int) -> Stream:
    """Rows in [0,1]^d with coin labels."""
    rng = np.random.default_rng(seed)
    return Stream("coins", rng.random((rounds, d)), rng.choice([-1.0, 1.0], rounds))
