"""Integrals of polynomials over the simplex by products of Gauss rules, and by how much rounded ones fall short."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.numerics import EPSILON
from lowregret.types import Vector

Matrix = NDArray[np.float64]
CELLS = 2_000_000  # nodes × assets up to which the universal portfolio is integrated, not sampled
SIDE = 5_002  # nodes of one rule, which take O(SIDE²) to find
BLOCK = 1 << 20  # terms that are added up at once


def nodes_a_side(degree: int) -> int:
    """The nodes of a rule that is exact for polynomials of this degree, and one more."""
    return degree // 2 + 2


def is_integrable(n: int, count: int) -> bool:
    """Whether a rule on the simplex of n parts with `count` nodes a side is small enough."""
    return n == 1 or (count <= SIDE and (n - 1) * math.log(count) + math.log(n) <= math.log(CELLS))


def simplex_rule(n: int, count: int) -> tuple[Matrix, Vector]:
    """Nodes and weights of a rule on the simplex of n parts, exact for polynomials of degree 2·count − 1, weights of 1.

    u_1 = s_1, u_2 = (1 − s_1)s_2, …: the uniform density is that of independent s_i with density ∝ (1 − s_i)^{n−1−i},
    each with its Gauss–Jacobi rule.
    """
    nodes, weights, left = np.ones((1, 0)), np.ones(1), np.ones(1)
    for i in range(1, n):
        s, shares = _side(count, n - 1 - i)
        taken = (left[:, None] * s).ravel()
        nodes = np.hstack([np.repeat(nodes, count, 0), taken[:, None]])
        left = (left[:, None] * (1 - s)).ravel()
        weights = (weights[:, None] * shares).ravel()
    return np.hstack([nodes, left[:, None]]), weights / weights.sum()


def _side(count: int, power: int) -> tuple[Vector, Vector]:
    """Nodes in [0, 1] and weights of 1 of the rule for the density ∝ (1 − s)^power."""
    from scipy.special import roots_jacobi

    points, shares = roots_jacobi(count, power, 0)
    return (1 + points) / 2, shares / shares.sum()


@lru_cache(64)
def shortfall(n: int, count: int, degree: int) -> float:
    """The most by which ln of ∫Π_t⟨u, x_t⟩du over the simplex is above that of its rule, for `degree` rows x_t ≥ 0.

    Products of rows are sums of monomials with coefficients from 0 on, so the worst monomial bounds them all; that is a
    product of s^a(1 − s)^b over the sides, a + b ≤ T, and as 1 = s + (1 − s) those with a + b = T bound the rest. Each
    is compared with its integral, a quotient of Gamma functions, and what that comparison rounds is added: O(nT·count).
    """
    short = 0.0
    for i in range(1, n):
        s, shares = _side(count, n - 1 - i)
        short += max(_side_shortfall(s, shares, n - 1 - i, degree), 0.0)
        short += 32 * EPSILON * (degree + n + 16) * math.log(degree + n + 2)
    return short


def _side_shortfall(s: Vector, shares: Vector, power: int, degree: int) -> float:
    """The largest ln of (p + 1)∫s^a(1 − s)^{b+p}ds over its rule's value, a + b = T."""
    from scipy.special import gammaln

    with np.errstate(divide="ignore"):
        weight, one, other = np.log(shares), np.log(s), np.log(1 - s)
    worst, rows = -math.inf, max(BLOCK // s.size, 1)
    for first in range(0, degree + 1, rows):
        a = np.arange(first, min(first + rows, degree + 1))
        terms = weight + a[:, None] * one + (degree - a)[:, None] * other
        highest = terms.max(1)
        found = highest + np.log(np.exp(terms - highest[:, None]).sum(1))
        exact = gammaln(a + 1) + gammaln(degree - a + power + 1) - gammaln(degree + power + 2) + math.log(power + 1)
        worst = max(worst, float(np.max(exact - found)))
    return worst
