"""The best choices, known only afterwards: a convex combination of experts, a sequence with few switches.

The combination minimises Σ_t ℓ(⟨u, x_t⟩, y_t) over the simplex; it comes with a gap that bounds its distance from the
minimum. For convex F the minimum is at least F(u) − (⟨∇F(u), u⟩ − min_i ∇F(u)[i]), whatever found u.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import EPSILON
from lowregret.convex.minimise import Solution
from lowregret.experts.forecast import BinaryLogScore, LogScore, Percentage
from lowregret.loss import Absolute, LogWealth, Loss, Quantile, Square
from lowregret.types import Vector

Matrix = NDArray[np.float64]
STEPS = 200  # of Newton's method, each exact on the simplex
PROGRAMME = 500_000  # cells up to which a linear programme is solved
TINY = 1e-300  # a likelihood whose logarithm is a number
NEAR = 1e-10  # gap, relative to the loss, that is near enough
STEEP = 1e8  # slopes over curvatures, beyond which steps of a quadratic programme lead far outside the simplex


@dataclass(frozen=True)
class BestExpert:
    """The expert with the smallest loss, over the rounds in which it was awake."""

    index: int
    name: str
    loss: float


class Path(NamedTuple):
    """The best sequence of experts with at most `switches` switches, and its loss."""

    switches: int
    loss: float


def best_combination(loss: Loss, x: Matrix, y: Matrix) -> Solution | None:
    """The best fixed weights on x[t, k, i] for outcomes y[t, k], all known; None where there is no solver.

    Square and log losses: Newton's method. A step costs O(TKN²), or with more experts than outcomes O(TKN) for each
    change of the support, and O(S³) for a change of one of S. Absolute ones: a linear programme, if not large.
    """
    classes = y.shape[1]
    match loss:
        case Square():
            return least_squares((x - y[:, :, None]).reshape(len(x) * classes, -1))
        case LogScore() | LogWealth() | BinaryLogScore():
            return best_mixture(_likelihoods(loss, x, y))
        case Absolute() | Quantile() | Percentage() if classes == 1 and x.size <= PROGRAMME:
            return least_deviations(loss, x[:, 0] - y, y[:, 0])
    return None


def _likelihoods(loss: Loss, x: Any, y: Matrix) -> Matrix:
    """The probability, or the factor of wealth, that each expert gave to each outcome."""
    if isinstance(loss, LogWealth):
        return np.asarray(x[:, 0])
    if isinstance(loss, BinaryLogScore):
        return np.where(y == 1, x[:, 0], 1 - x[:, 0])
    return np.asarray(np.take_along_axis(x, np.argmax(y, 1)[:, None, None], 1)[:, 0])


def least_deviations(loss: Loss, errors: Matrix, y: Vector) -> Solution:
    """min Σ c_t(τ[−e_t]₊ + (1−τ)[e_t]₊), e = Du: a linear programme. Any prices λ_t between −c_tτ and c_t(1−τ) prove

    Σ_t loss(e_t) ≥ Σ_t λ_te_t = ⟨Dᵀλ, u⟩ ≥ min_i (Dᵀλ)[i]; the programme's own are the best.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    rounds, n = errors.shape
    tau = loss.tau if isinstance(loss, Quantile) else 0.5
    scale = 1.0 if isinstance(loss, Quantile) else 2.0
    c = scale * (100.0 / np.abs(y) if isinstance(loss, Percentage) else np.ones(rounds))
    unit = max(float(np.abs(errors).max()), 1e-300)
    one, none = eye_array(rounds), csr_array((1, 2 * rounds))
    equal = hstack([csr_array(np.vstack([errors / unit, np.ones(n)])), _stacked(hstack([one, -one]), none)]).tocsr()
    cost = np.concatenate([np.zeros(n), c * tau, c * (1 - tau)])
    found = linprog(cost, A_eq=equal, b_eq=np.append(np.zeros(rounds), 1.0), method="highs-ipm")
    if found.x is None:
        return Solution(np.full(n, 1 / n), math.inf, math.inf)
    u = np.maximum(found.x[:n], 0.0)
    u /= u.sum()
    e = errors @ u
    value = float(np.sum(c * np.where(e > 0, (1 - tau) * e, -tau * e)))
    prices = np.clip(-found.eqlin.marginals[:rounds], -c * tau, c * (1 - tau))
    terms = float((np.abs(errors).T @ (c * scale)).max())
    off = _off(errors, terms)
    return Solution(u, value, max(value - float((errors.T @ prices).min()), 0.0) + off, off)


def _stacked(above: Any, below: Any) -> Any:
    from scipy.sparse import vstack

    return vstack([above, below])


def least_squares(errors: Matrix) -> Solution:
    """min ‖Du‖² over the simplex for D[t, i], the error of expert i."""
    a, lengths = _gram(errors), np.linalg.norm(errors, axis=0)
    u = quadratic_on_simplex(a, np.zeros(lengths.size), _corner(lengths))
    slope = 2 * (a @ u)
    sizes = np.abs(errors) @ u
    terms = float(sizes @ sizes) + float(np.max(lengths)) * float(np.linalg.norm(sizes))
    gap, off = max(float(slope @ u - slope.min()), 0.0), _off(errors, terms)
    return Solution(u, float(np.sum((errors @ u) ** 2)), gap + off, off)


def _corner(values: Vector) -> Vector:
    """The corner of the simplex at the least value: from there, few experts are ever used at once."""
    return np.asarray(np.arange(values.size) == np.argmin(values), float)


class Gram:
    """MᵀM for a matrix M of few rows and many columns: what is asked for is computed, as all would not fit anywhere."""

    def __init__(self, m: Matrix) -> None:
        self.m = m

    def __getitem__(self, at: tuple[Any, ...]) -> Matrix:
        rows, columns = (np.ravel(places) for places in at)
        return np.asarray(self.m[:, rows].T @ self.m[:, columns])

    def __matmul__(self, u: Vector) -> Vector:
        return np.asarray(self.m.T @ (self.m @ u))


def _gram(m: Matrix) -> Matrix | Gram:
    """MᵀM, as a matrix if it is no larger than M."""
    return np.asarray(m.T @ m) if len(m) >= m.shape[1] else Gram(m)


def _off(errors: Matrix, terms: float) -> float:
    """By how much sums over rounds and experts may be off, given the sum of their absolute terms."""
    return 8 * EPSILON * sum(errors.shape) * terms


def best_mixture(likely: Matrix) -> Solution:
    """min −Σ_t ln⟨u, q_t⟩ over the simplex (for price relatives, the best constantly rebalanced portfolio).

    Damped Newton steps, each minimising the quadratic model on the simplex; the function is self-concordant, so a step
    of 1/(1 + λ), λ the length of the Newton step, always descends.
    """
    u = np.full(likely.shape[1], 1 / likely.shape[1])
    gap, target = math.inf, _corner(-np.log(np.maximum(likely, TINY)).sum(0))
    for _ in range(STEPS):
        p = likely @ u
        if not np.all(p > 0):
            return Solution(u, math.inf, math.inf)
        ratio = likely / p[:, None]
        rise = ratio.sum(0)  # −∇F
        gap = max(float(rise.max() - rise @ u), 0.0)
        if gap <= NEAR * len(likely):
            break
        target = quadratic_on_simplex(_gram(ratio), 2 * rise, target)
        length = float(np.linalg.norm(ratio @ (target - u)))
        u = u + (target - u) / (1 + (length if length > 0.25 else 0.0))
    logs = np.log(likely @ u)
    off = _off(likely, float(np.abs(logs).sum() + rise.max()))
    return Solution(u, float(-logs.sum()), gap + off, off)


def quadratic_on_simplex(a: Matrix | Gram, b: Vector, start: Vector) -> Vector:
    """argmin ½uᵀAu − ⟨b, u⟩ over the simplex, from a point of it: active sets, O(S³) for a change of S used."""
    u, used = start.copy(), start > 0
    for _ in range(10 * u.size + 100):
        kept = np.flatnonzero(used)
        if not kept.size:  # by rounding, of numbers out of all proportion
            return start.copy()
        inner = a[np.ix_(kept, kept)]
        wanted = _stationary(inner, b[kept])
        down = wanted < 0
        if np.any(down):
            far = u[kept][down] / (u[kept][down] - wanted[down])
            u[kept] += min(float(far.min()), 1.0) * (wanted - u[kept])
            blocking = kept[down][far <= far.min()]
            u[blocking], used[blocking] = 0.0, False
            continue
        u[kept] = wanted
        slope = a @ u - b
        i = int(np.argmin(np.where(used, math.inf, slope)))
        level = float(slope @ u)
        off = 1e-13 * (abs(level) + float(np.abs(slope).max())) + 8 * EPSILON * float(np.abs(inner).max())
        if used[i] or slope[i] >= level - off:
            break
        used[i] = True
    u = np.maximum(u, 0.0)
    return u / u.sum()


def _stationary(a: Matrix, b: Vector) -> Vector:
    """argmin ½vᵀAv − ⟨b, v⟩ with Σv = 1, of any sign."""
    n, unit = len(a), max(float(np.abs(a).max()), 1e-300)
    system = np.ones((n + 1, n + 1))
    system[:n, :n], system[n, n] = a / unit, 0.0
    if float(np.abs(b).max()) > STEEP * unit:
        b = b - b.mean()  # a constant changes nothing, as Σv = 1, which would be rounded away
    right = np.append(b / unit, 1.0)
    try:
        found = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        found = np.linalg.lstsq(system, right, rcond=None)[0]
    return np.asarray(found[:n])


# ---- sequences -----------------------------------------------------------------------------------------------------


def best_switching(losses: Matrix, switches: int, compiled: bool = True) -> list[Path]:
    """The best sequences of experts with at most 0, 1, … switches, for losses[t, i] (inf where i slept): O(kTN)."""
    best = np.zeros((switches + 1, losses.shape[1]))
    found = np.empty(switches + 1)
    call(switch_rows, compiled, np.ascontiguousarray(losses), best, found)
    return [Path(k, float(loss)) for k, loss in enumerate(found)]


@kernel
def switch_rows(losses: Any, best: Any, found: Any) -> None:
    """best[k, i]: the smallest loss so far of a path that is with expert i now and has switched at most k times."""
    for t in range(losses.shape[0]):
        for k in range(best.shape[0] - 1, -1, -1):
            low = math.inf
            if k > 0 and t > 0:
                for i in range(best.shape[1]):
                    low = min(low, best[k - 1, i])
            for i in range(best.shape[1]):
                best[k, i] = min(best[k, i], low) + losses[t, i]
    for k in range(best.shape[0]):
        found[k] = math.inf
        for i in range(best.shape[1]):
            found[k] = min(found[k], best[k, i])
