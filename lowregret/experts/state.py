"""The state of an aggregator, carried from round to round: a few numbers per expert, and a handful of sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.numerics import sum_error, summed
from lowregret.errors import DataError
from lowregret.learner.validate import real_numbers
from lowregret.types import Vector

# ---- sums[...] ------------------------------------------------------------------------------------------------------
BOOK_SUM_NAMES = (
    "own", "gaps", "before", "energy", "largest", "spread", "blur", "under", "tallest", "second", "varied",
)  # fmt: skip
OWN = 0  # Σ ℓ(p_t, y_t), p_t the forecast that was given
GAPS = 1  # Σ of mixability gaps (AdaHedge)
BEFORE = 2  # Σ of mixability gaps without the latest round
ENERGY = 3  # Σ_t Σ_i η_t[i] r_t[i]² (polynomial weights), or by how much else a potential can have grown
LARGEST = 4  # max |r_t[i]|
SPREAD = 5  # Σ_t (max_i r_t[i] − min_i r_t[i])² (exponential weights)
BLUR = 6  # Σ_t |ℓ'(p_t)|·Σ_i w_t[i]|x_t[i]|: what a relative error of the mixed forecasts costs
UNDER = 7  # max [−ℓ(x_t[i], y_t)]₊: 0 while no loss of an expert is below 0
TALLEST = 8  # max [ℓ(x_t[i], y_t)]₊
SECOND = 9  # Σ_t Σ_i w_t[i] ℓ(x_t[i], y_t)²
VARIED = 10  # Σ_t (ℓ(q_t, y_t) − m_t)², m_t the mean of ℓ(p_s, y_s) over the rounds before
BOOK_SUMS = len(BOOK_SUM_NAMES)

# ---- counts[...] ----------------------------------------------------------------------------------------------------
BOOK_COUNT_NAMES = ("rounds", "naps")
ROUNDS = 0  # rounds learnt
NAPS = 1  # rounds in which somebody slept
BOOK_COUNTS = len(BOOK_COUNT_NAMES)


class Book(NamedTuple):
    """One entry per expert; r_t[i] is by how much the expert did better than the mixture (0 while it sleeps)."""

    regret: Vector  # what weights are made of: Σ r_t[i], perhaps discounted, or a log-weight
    square: Vector  # Σ r_t[i]², likewise
    rate: Vector  # η[i]
    prior: Vector
    mass: Vector  # the weights of the round, summing to 1 over the experts awake
    present: Vector  # 1 for the experts awake in the round, 0 for the others
    instant: Vector  # r_t[i] of the round
    paid: Vector  # ℓ(x_t[i], y_t) of the round
    losses: Vector  # Σ ℓ(x_t[i], y_t) while awake
    owed: Vector  # Σ ℓ(p_t, y_t) over the same rounds, p_t the forecast that was given
    crumbs: Vector  # what rounding took from the second of these less the first
    linear: Vector  # Σ ⟨ℓ'(q_t), q_t − x_t[i]⟩ over the same rounds, q_t the forecast that the outcome found
    added: Vector  # Σ of the absolute values of what was added to the three
    awake: Vector  # how many rounds they are
    trust: Vector  # Σ w_t[i] over all rounds
    sums: Vector
    counts: NDArray[np.int64]

    @classmethod
    def fresh(cls, prior: Vector) -> Book:
        """Nothing learnt yet."""
        blank = {name: np.zeros(prior.size) for name in cls._fields[:-2]}
        blank |= {"prior": prior.copy(), "mass": prior.copy(), "sums": np.zeros(BOOK_SUMS)}
        return cls(**blank, counts=np.zeros(BOOK_COUNTS, np.int64))


def owe(s: Book, i: int, given: float, paid: float) -> None:
    """Book that the mixture lost `given` and expert i `paid`, and what rounding took from either sum."""
    lost, owed = s.losses[i], s.owed[i]
    s.losses[i] += paid
    s.owed[i] += given
    s.crumbs[i] += sum_error(owed, given, s.owed[i]) - sum_error(lost, paid, s.losses[i])


def behind(s: Book, i: int) -> float:
    """Σ ℓ(p_t, y_t) − ℓ(x_t[i], y_t) while i was awake, however large the two sums are beside their difference."""
    return s.owed[i] - s.losses[i] + s.crumbs[i]


def behind_each(s: Any) -> Vector:
    """`behind` of all experts, of a book or of the accounts of groups."""
    return np.asarray(s.owed - s.losses + s.crumbs)


def behind_all(s: Any) -> Vector:
    """`behind` of all experts in all groups together, however large it is in single groups."""
    terms = np.concatenate([s.owed, -s.losses, s.crumbs])
    return np.array([summed(terms[:, k]) for k in range(terms.shape[1])])


def as_prior(prior: Any, n: int) -> Vector:
    """A distribution over n experts from any weights, uniform if there are none; or an error."""
    if prior is None:
        return np.full(n, 1 / n)
    found = real_numbers(prior, "weights of the prior")
    if found.shape != (n,) or not np.all(np.isfinite(found)) or np.any(found < 0) or not np.any(found):
        raise DataError(f"the prior must be {n} numbers from 0 on, not all 0")
    with np.errstate(over="ignore"):
        total = found.sum()
    found, total = (found, total) if total < np.inf else (found / found.size, (found / found.size).sum())
    return found / total
