"""The best fixed choice in hindsight, exactly or between two numbers that can be checked by hand.

min_{u∈U} Σ c_t ℓ(⟨u,x_t⟩, y_t) + (κ/2)‖u‖² lies between `lower` and `upper`. `upper` is the value at a feasible u.
`lower` comes from lines below the losses, c_t ℓ(p, y_t) ≥ a_t p + b_t: their sum has its minimum over U in closed form.
A solver only proposes u and the a_t, so its errors make the interval wider, never wrong.
"""

from __future__ import annotations

import importlib
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from lowregret.domain import Box, Domain, L1Ball, L2Ball, LqBall, Point, Reals, Simplex
from lowregret.loss import Absolute, Cost, Hinge, Logistic, Loss, Square
from tests.laws.sequences import Matrix, Vector


class Hindsight(NamedTuple):
    """lower ≤ the best loss in hindsight ≤ upper, attained by u."""

    lower: float
    upper: float
    u: Vector


class Lines(NamedTuple):
    """a_t p + b_t"""

    slope: Vector
    offset: Vector


def hindsight(loss: Loss, x: Matrix, y: Vector, c: Vector, comparators: Domain, kappa: float = 0.0) -> Hindsight:
    """The interval for these rows, labels, importance weights and comparators; κ is the sum of the ridges."""
    lines: Lines | None
    if isinstance(loss, Cost):
        u, lines = minimiser((c * y) @ x, comparators, kappa), Lines(c * y, np.zeros_like(y))
    elif isinstance(loss, Hinge | Absolute) and isinstance(comparators, Box | Simplex | L1Ball) and kappa == 0:
        u, lines = _by_linear_program(loss, x, y, c, comparators)
    else:
        u, lines = _by_cone_program(loss, x, y, c, comparators, kappa)
    u = _feasible(u, comparators)
    p = x @ u
    upper = float(np.sum(c * values(loss, p, y))) + kappa / 2 * float(u @ u)
    if lines is None:  # a smooth loss: its tangents at u
        slope = c * slopes(loss, p, y)
        lines = Lines(slope, c * values(loss, p, y) - slope * p)
    lower = float(np.sum(lines.offset)) + least(lines.slope @ x, comparators, kappa)
    return Hindsight(lower, upper, u)


# ---- linear functions ------------------------------------------------------------------------------------------------


def least(v: Vector, comparators: Domain, kappa: float = 0.0) -> float:
    """min_{u∈U} ⟨u,v⟩ + (κ/2)‖u‖²."""
    norm = float(np.linalg.norm(v))
    if kappa > 0 and not isinstance(comparators, Point):
        assert isinstance(comparators, Reals | L2Ball)
        length = norm / kappa if isinstance(comparators, Reals) else min(norm / kappa, comparators.radius)
        return kappa / 2 * length**2 - length * norm
    match comparators:
        case L2Ball(radius):
            return -radius * norm
        case L1Ball(radius):
            return -radius * float(np.max(np.abs(v)))
        case LqBall(radius, q):
            return -radius * float(np.linalg.norm(v, q / (q - 1)))
        case Simplex(total):
            return total * float(np.min(v))
        case Box(low, high):
            return float(np.sum(np.minimum(low * v, high * v)))
        case Point(u):
            return float(u @ v) + kappa / 2 * float(u @ u)
    return 0.0 if norm == 0 else -math.inf


def minimiser(v: Vector, comparators: Domain, kappa: float = 0.0) -> Vector:
    """Where `least` is attained."""
    norm = float(np.linalg.norm(v))
    if norm == 0 and not isinstance(comparators, Point):
        return _feasible(v, comparators)
    if kappa > 0 and not isinstance(comparators, Point):
        return -v / kappa * min(1.0, comparators.reach(2, v.size) * kappa / norm)
    match comparators:
        case L2Ball(radius):
            return -radius * v / norm
        case L1Ball(radius):
            i = int(np.argmax(np.abs(v)))
            return -radius * np.sign(v[i]) * np.eye(v.size)[i]
        case LqBall(radius, q):
            p = q / (q - 1)
            return -radius * np.sign(v) * (np.abs(v) / np.linalg.norm(v, p)) ** (p - 1)
        case Simplex(total):
            return total * np.eye(v.size)[int(np.argmin(v))]
        case Box(low, high):
            return np.where(low * v <= high * v, low, high)
        case Point(u):
            return np.array(u)
    raise ValueError(f"no minimum over {comparators}")


# ---- losses of a score, vectorised -----------------------------------------------------------------------------------


def values(loss: Loss, p: Vector, y: Vector) -> Vector:
    """ℓ(p, y)"""
    match loss:
        case Cost():
            return y * p
        case Hinge(margin):
            return np.maximum(margin - y * p, 0.0)
        case Absolute():
            return np.abs(p - y)
        case Square():
            return (p - y) ** 2
        case Logistic():
            return np.logaddexp(0.0, -y * p)
    raise ValueError(f"no formula for {loss}")


def slopes(loss: Loss, p: Vector, y: Vector) -> Vector:
    """A sub-gradient of ℓ in p; at a kink the one that the losses of the package use."""
    match loss:
        case Cost():
            return y
        case Hinge(margin):
            return np.where(y * p < margin, -y, 0.0)
        case Absolute():
            return np.sign(p - y)
        case Square():
            return 2 * (p - y)
        case Logistic():
            return -y * np.exp(-np.logaddexp(0.0, y * p))
    raise ValueError(f"no formula for {loss}")


def _kinked_lines(loss: Loss, y: Vector, c: Vector, prices: Vector) -> Lines:
    """Lines below a piecewise linear loss from the dual prices of its epigraph: α(1 − yp), or α(p − y)."""
    if isinstance(loss, Hinge):
        alpha = np.clip(prices, 0.0, c)
        return Lines(-y * alpha, loss.margin * alpha)
    alpha = np.clip(prices[: y.size] - prices[y.size :], -c, c)
    return Lines(alpha, -y * alpha)


# ---- solvers ---------------------------------------------------------------------------------------------------------


def _by_linear_program(loss: Loss, x: Matrix, y: Vector, c: Vector, comparators: Domain) -> tuple[Vector, Lines]:
    """Variables (v, ξ) with u = Mv: the sum of ξ ≥ the losses, over a polytope."""
    rounds, d = x.shape
    m = np.hstack([np.eye(d), -np.eye(d)]) if isinstance(comparators, L1Ball) else np.eye(d)
    scores, epigraph = x @ m, -np.eye(rounds)
    if isinstance(loss, Hinge):
        a_ub, b_ub = np.hstack([-y[:, None] * scores, epigraph]), np.full(rounds, -loss.margin)
    else:
        a_ub = np.vstack([np.hstack([scores, epigraph]), np.hstack([-scores, epigraph])])
        b_ub = np.concatenate([y, -y])
    size = np.concatenate([np.ones(m.shape[1]), np.zeros(rounds)])[None, :]
    equal: dict[str, Any] = {}
    match comparators:
        case Box(low, high):
            bounds = list(zip(np.broadcast_to(low, d), np.broadcast_to(high, d), strict=True))
        case Simplex(total):
            bounds, equal = [(0.0, total)] * d, {"A_eq": size, "b_eq": [total]}
        case L1Ball(radius):
            bounds = [(0.0, radius)] * (2 * d)
            a_ub, b_ub = np.vstack([a_ub, size]), np.append(b_ub, radius)
    objective = np.concatenate([np.zeros(m.shape[1]), c])
    found = linprog(objective, a_ub, b_ub, bounds=[*bounds, *[(0.0, None)] * rounds], **equal)
    assert found.status == 0, found.message
    prices = -found.ineqlin.marginals[: rounds * (1 if isinstance(loss, Hinge) else 2)]
    return m @ found.x[: m.shape[1]], _kinked_lines(loss, y, c, prices)


def _by_cone_program(
    loss: Loss, x: Matrix, y: Vector, c: Vector, comparators: Domain, kappa: float
) -> tuple[Vector, Lines | None]:
    """With cvxpy: the ball's norm, smooth losses and the ridge are cones."""
    cp: Any = importlib.import_module("cvxpy")
    u, xi = cp.Variable(x.shape[1]), cp.Variable(y.size)
    p = x @ u
    epigraph: list[Any] = []
    match loss:
        case Hinge(margin):
            objective, epigraph = c @ xi, [xi >= margin - cp.multiply(y, p)]
        case Absolute():
            objective, epigraph = c @ xi, [xi >= p - y, xi >= y - p]
        case Square():
            objective = c @ cp.square(p - y)
        case Logistic():
            objective = c @ cp.logistic(-cp.multiply(y, p))
    inside: list[Any] = [xi >= 0]
    match comparators:
        case L2Ball(radius):
            inside.append(cp.norm2(u) <= radius)
        case LqBall(radius, q):
            inside.append(cp.pnorm(u, q) <= radius)
        case L1Ball(radius):
            inside.append(cp.norm1(u) <= radius)
        case Simplex(total):
            inside += [u >= 0, cp.sum(u) == total]
        case Box(low, high):
            inside += [u >= np.broadcast_to(low, x.shape[1]), u <= np.broadcast_to(high, x.shape[1])]
        case Point(fixed):
            inside.append(u == fixed)
        case _:
            assert isinstance(comparators, Reals)
    problem = cp.Problem(cp.Minimize(objective + kappa / 2 * cp.sum_squares(u)), epigraph + inside)
    problem.solve(solver=cp.CLARABEL)
    prices = [np.atleast_1d(constraint.dual_value) for constraint in epigraph]
    return np.asarray(u.value), _kinked_lines(loss, y, c, np.concatenate(prices)) if prices else None


def _feasible(u: Vector, comparators: Domain) -> Vector:
    """u moved into the set: a solver may leave it by its tolerance."""
    match comparators:
        case L2Ball(radius):
            return u * min(1.0, radius / max(float(np.linalg.norm(u)), 1e-300))
        case LqBall(radius, q):
            return u * min(1.0, radius / max(float(np.linalg.norm(u, q)), 1e-300))
        case L1Ball(radius):
            return u * min(1.0, radius / max(float(np.sum(np.abs(u))), 1e-300))
        case Simplex(total):
            kept = np.maximum(u, 0.0)
            return total * kept / kept.sum() if kept.sum() > 0 else np.full(u.size, total / u.size)
        case Box(low, high):
            return np.clip(u, low, high)
        case Point(fixed):
            return np.array(fixed)
    return u
