"""THM-14.6: gradient descent on vectors that need not be sub-gradients."""

from __future__ import annotations

import numpy as np

from lowregret.certificate.certificate import Certificate, Premise
from lowregret.compile.numerics import EPSILON, TOLERANCE
from lowregret.domain import Point
from lowregret.types import Vector


def surrogate_certificate(
    points: Vector, vectors: Vector, losses: Vector, surrogates: Vector, u: Vector, eta: float
) -> Certificate:
    """Σℓ_t(w_t) ≤ Σℓ̃_t(u) + ‖w_1 − u‖²/(2η) + (η/2)Σ‖g_t‖², for w_{t+1} = Π_S(w_t − ηg_t) and u ∈ S.

    `points` are w_1 … w_T (T × d), `vectors` g_t, `losses` ℓ_t(w_t), `surrogates` ℓ̃_t(u). Premise, for each t:
    ⟨g_t, u − w_t⟩ ≤ ℓ̃_t(u) − ℓ_t(w_t). The Perceptron is g_t = −y_t x_t on mistakes (else 0), ℓ_t = 1[mistake],
    ℓ̃_t = [1 − y_t⟨u,x_t⟩]₊. What premises let pass, a share of 10⁻⁹, is part of the rounding.
    """
    tilts = vectors * (u - points)
    excess = np.sum(tilts, axis=1) - (surrogates - losses)
    sizes = np.sum(np.abs(tilts), axis=1) + np.abs(surrogates) + np.abs(losses)
    after, stepped = np.linalg.norm(points[1:] - u, axis=1), np.linalg.norm((points - eta * vectors)[:-1] - u, axis=1)
    away = float(np.max(after - stepped, initial=0.0))
    bound = (
        float(np.sum(surrogates))
        + float(np.sum((points[0] - u) ** 2)) / (2 * eta)
        + eta / 2 * float(np.sum(vectors**2))
    )
    farthest = stepped * (1 + TOLERANCE)
    let_pass = TOLERANCE * float(np.sum(sizes)) + TOLERANCE * (1 + TOLERANCE) / eta * float(stepped @ stepped)
    worst = float(np.max(excess, initial=0.0))
    return Certificate(
        id="THM-14.6",
        statement="Σℓ_t(w_t) ≤ Σℓ̃_t(u) + ‖w₁ − u‖²/(2η) + (η/2)Σ‖g_t‖²",
        comparator=Point(u).describe(),
        linear_regret=None,
        bound=bound,
        premises=(
            Premise("⟨g_t, u − w_t⟩ ≤ ℓ̃_t(u) − ℓ_t(w_t)", bool(np.all(excess <= TOLERANCE * sizes)), worst),
            Premise("each step ends no farther from u than w_t − ηg_t", bool(np.all(after <= farthest)), away),
        ),
        measure="loss",
        regret=float(np.sum(losses)),
        rounding=let_pass + EPSILON * (points.size + 16) * bound,
    )
