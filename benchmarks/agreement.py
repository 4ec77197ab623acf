"""Values in hindsight against independent solvers on the first 2,000 rows: python -m benchmarks.agreement

| loss     | up to 600 coordinates  | more                                                       |
|----------|------------------------|------------------------------------------------------------|
| hinge    | cvxpy, in the ball     | LIBLINEAR; a linear programme where the ball does not bind |
| logistic | cvxpy, in the ball     | scikit-learn's Newton method                               |
| square   | an eigendecomposition, the multiplier by Brent's method                             |

scikit-learn's have a penalty λ/2‖w‖² instead of a ball; their least value P(λ) is compared as P(λ) − λB²/2, which is at
most the least value in the ball of radius B, for any λ, and equal to it for the ball's multiplier: where it is largest,
which is looked for without knowing ours.
Prints the largest relative difference of the 36 values.
"""

from __future__ import annotations

import argparse
import importlib
import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.hindsight import LOSSES, RADII, SETS, Watched, read
from lowregret import L2Ball, Loss
from lowregret.hindsight.best import solve
from lowregret.rows import as_rows
from lowregret.types import Vector

ROWS = 2000
NARROW = 600
TOLERANCE = 1e-7  # of ours
UNBOUND = 1e-6  # multiplier times radius, relative to the value, below which the ball does not bind
FITS = 20  # of the penalised problem, at most
SLACK = 2e-7  # of the value, that the error of λ may cost


def prefix(data: Path, name: str, rows: int = ROWS) -> tuple[Any, Vector]:
    """The first rows and labels."""
    x, y = read(data, name, rows)
    return sp.csr_matrix(x), y


def ours(loss: Loss, x: Any, y: Vector, radius: float) -> tuple[float, float, float]:
    """Value, gap relative to 1 + value, and the ball's multiplier."""
    o = Watched(loss, as_rows(x), y, np.ones(y.size), L2Ball(radius))
    found = solve(o, TOLERANCE)
    return found.value, found.gap / (1 + found.value), o.multiplier


def peer(name: str, x: Any, y: Vector, radius: float, value: float, multiplier: float) -> float:
    """The least loss in the ball as others find it; ours only tells them whether the ball binds."""
    if name == "square":
        return by_eigenvectors(x, y, radius)
    if x.shape[1] <= NARROW:
        return by_cones(name, x, y, radius)
    if name == "hinge" and multiplier * radius <= UNBOUND * value:
        return by_linear_programme(x, y)
    return by_penalty(name, x, y, radius)


def by_eigenvectors(x: Any, y: Vector, radius: float) -> float:
    """‖Xw − y‖² on the side of XXᵀ or XᵀX that is smaller, the multiplier by Brent's method."""
    from scipy.optimize import brentq

    tall = x.shape[0] > x.shape[1]
    values, vectors = np.linalg.eigh((x.T @ x if tall else x @ x.T).toarray())
    kept = values > 1e-12 * values[-1]
    values, parts = values[kept], vectors[:, kept].T @ (x.T @ y if tall else y)
    parts = parts / np.sqrt(values) if tall else parts  # of y along the left singular vectors

    def length(mu: float) -> float:
        return float(np.linalg.norm(np.sqrt(values) * parts / (values + mu)))

    mu = 0.0
    if length(0.0) > radius:
        mu = math.exp(brentq(lambda m: length(math.exp(m)) - radius, -60.0, 60.0, xtol=1e-14))
    return float(y @ y - parts @ parts + np.sum((mu * parts / (values + mu)) ** 2))


def by_cones(name: str, x: Any, y: Vector, radius: float) -> float:
    """A cone programme."""
    cp: Any = importlib.import_module("cvxpy")  # its names are not typed
    w = cp.Variable(x.shape[1])
    margins = cp.multiply(y, x @ w)
    losses = cp.pos(1 - margins) if name == "hinge" else cp.logistic(-margins)
    problem = cp.Problem(cp.Minimize(cp.sum(losses)), [cp.norm2(w) <= radius])
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
    return float(problem.value)


def by_linear_programme(x: Any, y: Vector) -> float:
    """The least hinge loss of all w: min Σξ with y_i⟨w, x_i⟩ + ξ_i ≥ 1, ξ ≥ 0, by its dual."""
    from scipy.optimize import linprog

    signed: Any = sp.csr_matrix(sp.diags(y) @ x)
    kept = np.unique(signed.T.tocsr().indices)  # rows of zeros lose 1 each
    found: Any = linprog(
        -np.ones(kept.size), A_eq=signed[kept].T, b_eq=np.zeros(x.shape[1]), bounds=(0, 1), method="highs"
    )
    return float(-found.fun) + y.size - kept.size


def by_penalty(name: str, x: Any, y: Vector, radius: float) -> float:
    """max_λ P(λ) − λB²/2: concave, with slope (‖w(λ)‖² − B²)/2, so the secant method for ‖w(λ)‖ = B in logarithms."""
    rows = own_span(x) if name == "logistic" else x
    fit = penalised(name, rows, y)
    logs: list[tuple[float, float]] = []
    log_lam = math.log(float(np.linalg.norm(rows.T @ y)) / radius)
    value = -math.inf
    for _ in range(FITS):
        lam = math.exp(log_lam)
        w, loss = fit(lam)
        size = float(np.linalg.norm(w))
        value = max(value, loss + lam / 2 * (size**2 - radius**2))
        if lam / 2 * abs(size**2 - radius**2) <= SLACK * value:
            break
        logs.append((log_lam, math.log(size / radius)))
        rate = -0.5 if len(logs) == 1 else (logs[-1][1] - logs[-2][1]) / (logs[-1][0] - logs[-2][0])
        log_lam -= logs[-1][1] / min(rate, -1e-3)
    return value


def penalised(name: str, x: Any, y: Vector) -> Callable[[float], tuple[Vector, float]]:
    """λ ↦ scikit-learn's minimiser of Σℓ + λ/2‖w‖², and its Σℓ."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import LinearSVC

    few = x.shape[1] <= ROWS
    newton = "newton-cholesky" if few else "newton-cg"
    models: dict[str, Any] = {
        "hinge": LinearSVC(loss="hinge", tol=1e-7, max_iter=20_000, random_state=0, fit_intercept=False),
        "logistic": LogisticRegression(solver=newton, tol=1e-12, max_iter=1000, fit_intercept=False, warm_start=True),
        "square": Ridge(solver="lsqr", tol=1e-12, fit_intercept=False),
    }

    def fit(lam: float) -> tuple[Vector, float]:
        model = models[name].set_params(**({"alpha": lam / 2} if name == "square" else {"C": 1 / lam}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w = model.fit(x, y).coef_.ravel()
        return w, sum(LOSSES[name].at(p, label)[0] for p, label in zip((x @ w).tolist(), y.tolist(), strict=True))

    return fit


def own_span(x: Any) -> Vector:
    """The rows in coordinates of their own span."""
    values, vectors = np.linalg.eigh((x @ x.T).toarray())
    kept = values > 1e-12 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def main() -> None:
    """All sets, losses and radii."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of real sets")
    arguments.add_argument("--sets", nargs="*", default=list(SETS), choices=SETS)
    args = arguments.parse_args()
    largest = 0.0
    for name in args.sets:
        x, y = prefix(args.data, name)
        for title, loss in LOSSES.items():
            for radius in RADII:
                begin = time.perf_counter()
                value, gap, multiplier = ours(loss, x, y, radius)
                middle = time.perf_counter()
                theirs = peer(title, x, y, radius, value, multiplier)
                difference = abs(value - theirs) / abs(theirs)
                largest = max(largest, difference)
                took = f"{middle - begin:7.2f} s and {time.perf_counter() - middle:7.2f} s"
                key = f"{name} {title} {radius:g}"
                print(
                    f"{key:<26}{value:16.9g}{theirs:16.9g} differ by {difference:8.1e}, gap {gap:8.1e}, {took}",
                    flush=True,
                )
    print(f"largest relative difference: {largest:.1e}")


if __name__ == "__main__":
    main()
