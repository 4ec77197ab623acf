"""Hypothesis strategies for vectors and sizes, and sampled points of sets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lowregret.domain import Domain, LqBall
from lowregret.types import Vector

DIMENSIONS = st.integers(1, 6)
SIZES = st.floats(1e-3, 1e3)  # radii, totals, rates


def numbers(bound: float = 10.0) -> st.SearchStrategy[float]:
    """Numbers in [−bound, bound], zeros and ties among them, but none so small that its square is lost."""
    return st.floats(-bound, bound).map(lambda x: 0.0 if abs(x) < 1e-9 * bound else x)


def vectors(d: int | None = None, bound: float = 10.0) -> st.SearchStrategy[Vector]:
    """Vectors of d coordinates, of any dimension if none is given."""
    if d is None:
        return DIMENSIONS.flatmap(lambda n: vectors(n, bound))
    return hnp.arrays(np.float64, d, elements=numbers(bound))


@st.composite
def several(draw: st.DrawFn, count: int, bound: float = 10.0, d: int | None = None) -> tuple[Vector, ...]:
    """`count` vectors of one dimension."""
    d = draw(DIMENSIONS) if d is None else d
    return tuple(draw(vectors(d, bound)) for _ in range(count))


@st.composite
def wild(draw: st.DrawFn, exponent: float = 300.0, d: int | None = None) -> Vector:
    """Vectors whose entries spread over magnitudes 10^−exponent … 10^exponent."""
    d = draw(DIMENSIONS) if d is None else d
    signs = draw(hnp.arrays(np.float64, d, elements=st.sampled_from([-1.0, 0.0, 1.0])))
    return signs * 10 ** draw(hnp.arrays(np.float64, d, elements=st.floats(-exponent, exponent)))


def points(domain: Domain, d: int, count: int = 30, seed: int = 0) -> Any:
    """Points of the set, inside and on its boundary: a (count, d) matrix."""
    rng = np.random.default_rng(seed)
    reach = domain.reach(2, d)
    spread = reach if math.isfinite(reach) else 1.0
    around = rng.normal(size=(count, d)) * spread * rng.choice([0.1, 1.0, 10.0], size=(count, 1))
    if isinstance(domain, LqBall):  # scaled to the boundary, or half-way to it
        lengths = np.linalg.norm(around, domain.q, axis=1, keepdims=True)
        return domain.radius * around / lengths * rng.choice([0.5, 1.0], size=(count, 1))
    return np.array([domain.projection(v) for v in around])
