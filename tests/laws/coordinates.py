"""Right-hand sides of adaptive and parameter-free rules against one u, from whole iterates and sub-gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from lowregret.rule import AdaGrad, FTRLProximal
from tests.laws.sequences import Matrix, Vector


def of_coordinates(theorem: str, rule: Any, w: Matrix, z: Matrix, u: Vector) -> float:
    """The bound of a theorem against u; w holds one iterate more than z has rows."""
    match theorem:
        case "DIAGONAL" | "FTRL-PROXIMAL":
            return sum(_parabola(rule, w[:, j], z[:, j], u[j]) for j in range(u.size))
        case "ADAGRAD":
            seen = np.max(np.abs(w[:-1][z != 0]), initial=0.0) + np.max(np.abs(u))
            sides = rule.domain.bounds(u.size)
            distance = min(seen, float(np.max(np.asarray(sides[1]) - np.asarray(sides[0]))))
            roots = np.sqrt(np.sum(z**2, axis=0))
            eta, beta = rule.eta, rule.beta
            return distance**2 / (2 * eta) * float(np.sum(beta + roots)) + eta * float(np.sum(roots))
        case "KT" | "KT+":
            return sum(_betting(theorem, rule, z[:, j], abs(u[j])) for j in range(u.size))
        case "FREEGRAD":
            return sum(_free(rule, w[:-1, j], z[:, j], abs(u[j])) for j in range(u.size))
        case "NEWTON" | "NEWTON-ANY":
            return _newton(theorem, rule, w, z, u)
    raise ValueError(f"no transcription of {theorem}")


def _parabola(rule: Any, w: Vector, z: Vector, u: float) -> float:
    def precision(squares: float) -> float:
        if isinstance(rule, FTRLProximal):
            return (rule.beta + math.sqrt(squares)) / rule.alpha
        if isinstance(rule, AdaGrad):
            return (rule.beta + math.sqrt(squares)) / rule.eta
        return float(rule.gamma * (rule.epsilon + squares))

    l1, l2 = (rule.l1, rule.l2) if isinstance(rule, FTRLProximal) else (0.0, 0.0)
    total, seen = precision(0.0) / 2 * (w[0] - u) ** 2 + l2 / 2 * u**2 + l1 * abs(u), 0.0
    for t in range(z.size):
        if z[t] != 0:
            before, after = precision(seen), precision(seen + z[t] ** 2)
            total += (after - before) / 2 * (w[t] - u) ** 2 + z[t] ** 2 / (2 * (after + l2))
            seen += z[t] ** 2
    return float(total)


def highest(gain: Callable[[float], float], end: float) -> float:
    """The maximum of a concave function over [0, end]."""
    if end == 0:
        return gain(0.0)
    found = minimize_scalar(lambda x: -gain(x), bounds=(0.0, end), method="bounded", options={"xatol": 1e-10 * end})
    return max(-float(found.fun), gain(0.0), gain(end))


def _betting(theorem: str, rule: Any, z: Vector, u: float) -> float:
    n, epsilon = int(np.count_nonzero(z)), rule.wealth
    if theorem == "KT":
        rest = epsilon * (1 - 1 / (math.e * math.sqrt(math.pi * n))) if n else 0.0
        return rule.clip * (u * math.sqrt(n * math.log(1 + 24 * n**2 * u**2 / epsilon**2)) + rest)

    def potential(x: float) -> float:
        return (
            epsilon * 2**n * math.gamma((n + 1 + x) / 2) * math.gamma((n + 1 - x) / 2) / (math.pi * math.factorial(n))
        )

    return rule.clip * (epsilon + highest(lambda x: u * x - potential(x), float(n)))


def _free(rule: Any, w: Vector, z: Vector, u: float) -> float:
    used = np.flatnonzero(z)
    if used.size == 0:
        return 0.0
    first = h = abs(float(z[used[0]]))
    v, excess = first**2, 0.0
    for t in used:
        cut = float(np.clip(z[t], -h, h))
        excess += w[t] * (z[t] - cut)
        v += cut**2
        h = max(h, abs(float(z[t])))

    def potential(x: float) -> float:
        return rule.wealth * first**2 / math.sqrt(v) * math.exp(min(x**2 / (2 * v + 2 * h * x), 600.0))

    far = 40 * (math.sqrt(v) + h)  # where e^{10} or more outweighs every u here
    return rule.wealth * first + highest(lambda x: u * x - potential(x), far) + u * (h - first) + excess


def _newton(theorem: str, rule: Any, w: Matrix, z: Matrix, u: Vector) -> float:
    total = rule.gamma * rule.epsilon / 2 * float(u @ u)
    a = rule.epsilon * np.eye(u.size)
    for t in range(len(z)):
        a = a + np.outer(z[t], z[t])
        total += float(z[t] @ np.linalg.solve(a, z[t])) / (2 * rule.gamma)
        if theorem == "NEWTON-ANY":
            total += rule.gamma / 2 * float(z[t] @ (w[t] - u)) ** 2
    return total
