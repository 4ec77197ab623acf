"""Hard sequences as plain arrays, one row a round, and adversaries as plain functions of what was played.

An adversary is called with (share of the rounds done, w_t) and answers with a cost vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lowregret.types import Vector

Matrix = NDArray[np.float64]
Rows = tuple[Matrix, Vector]  # features and labels ±1
Rival = Callable[[float, Vector], Vector]

# ---- costs, whatever is played ---------------------------------------------------------------------------------------


def constant(rounds: int, d: int) -> Matrix:
    """z = e_1 for ever."""
    return np.tile(np.eye(d)[0], (rounds, 1))


def alternating(rounds: int, d: int) -> Matrix:
    """z = 1, −1, 1, … in every coordinate."""
    return np.outer((-1.0) ** np.arange(rounds), np.ones(d))


def ftl_fail(rounds: int, d: int) -> Matrix:
    """z = −½, 1, −1, 1, … in the first coordinate (DEMO-FTL-FAIL)."""
    sequence = (-1.0) ** (np.arange(rounds) + 1)
    sequence[:1] = -0.5
    return np.outer(sequence, np.eye(d)[0])


def orthonormal(rounds: int, d: int) -> Matrix:
    """z = e_1, e_2, …, e_d, e_1, …, negated."""
    return -np.eye(d)[np.arange(rounds) % d]


def turn(rounds: int, d: int) -> Matrix:
    """z = +1 for T₀ rounds, then −1 until e²T₀, in the first coordinate (E40)."""
    late = np.arange(rounds) >= round(rounds / math.e**2)
    return np.outer(np.where(late, -1.0, 1.0), np.eye(d)[0])


def free_expert(rounds: int, d: int) -> Matrix:
    """One expert is free, the others cost 1 each round (E13)."""
    return np.tile(1.0 - np.eye(d)[0], (rounds, 1))


def wobble(rounds: int, d: int, size: float = 0.05) -> Matrix:
    """One long step to −1, then small steps ± across it: the sharpest curvature of a p-norm (E14)."""
    z = np.outer((-1.0) ** np.arange(rounds), size * (-1.0) ** np.arange(d))
    z[:1] = -1.0
    return z


# ---- costs against what is played ------------------------------------------------------------------------------------


def uphill(done: float, w: Vector) -> Vector:
    """The unit vector along w_t: the loss grows at once."""
    norm = float(np.linalg.norm(w))
    return w / norm if norm > 0 else np.eye(w.size)[0]


def across(done: float, w: Vector) -> Vector:
    """A unit vector orthogonal to w_t: gradient sums grow as fast as √T while the learner gains nothing."""
    v = np.eye(w.size)[int(np.argmin(np.abs(w)))]
    rest = v - (w @ v) / max(float(w @ w), 1e-300) * w
    norm = float(np.linalg.norm(rest))
    return rest / norm if norm > 1e-6 else uphill(done, w)


def flip(done: float, w: Vector) -> Vector:
    """The signs of w_t."""
    return np.where(w >= 0, 1.0, -1.0)


def heaviest(done: float, w: Vector) -> Vector:
    """Only the largest weight pays."""
    return np.eye(w.size)[int(np.argmax(w))]


def last_stand(done: float, w: Vector) -> Vector:
    """The sign of w_t's first coordinate, and at last always +: the learner has just been driven to the wrong side."""
    return np.eye(w.size)[0] * (1.0 if done > 0.93 or w[0] >= 0 else -1.0)


# ---- labelled rows ---------------------------------------------------------------------------------------------------


def separable(rounds: int, u: Vector, margin: float, rng: np.random.Generator) -> Rows:
    """Rows of length at most 1 that ⟨u,·⟩, ‖u‖ = 1, separates with this margin."""
    x = rng.normal(size=(rounds, u.size))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    side = np.where(x @ u >= 0, 1.0, -1.0)
    x += np.outer(side * margin - x @ u * margin, u)  # ⟨u,x⟩ from margin to 1 on either side
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0), side


def disjunction(rounds: int, d: int, k: int, rng: np.random.Generator, noise: float = 0.0, share: float = 0.3) -> Rows:
    """0/1 rows, y = 1 iff one of the first k features is on; some labels are flipped."""
    x = (rng.random((rounds, d)) < share).astype(float)
    y = np.where(x[:, :k].any(axis=1), 1.0, -1.0) * np.where(rng.random(rounds) < noise, -1.0, 1.0)
    return x, y
