"""Stacks: full-matrix filters that learn how to weigh the lanes' scores, beside a constant and the labels before.

The state of a stack is its mean m and covariance P. On inputs u it predicts ⟨m,u⟩; after the label

    m ← m + c·Pu        P ← P − s·(Pu)(Pu)ᵀ + walk·I, the diagonal kept below the prior

with c the implicit slope and s = h/(1 + h⟨u,Pu⟩) for a loss of curvature h: recursive least squares, or an extended
Kalman filter for the logistic loss (the online Newton step on exp-concave losses; Hazan, Agarwal & Kale, 2007).
A walk > 0 lets the weights drift. Costs O(inputs²) a row.
"""

from __future__ import annotations

import numpy as np

from lowregret.auto.lanes import LANES
from lowregret.state import Cells, Vector

INPUTS = LANES + 3  # the lanes, 1, the last label, and a running mean of labels
ONE, LAST_LABEL, RECENT_LABELS = LANES, LANES + 1, LANES + 2
STACKS = 3
WALKS = (0.0, 1e-6, 1e-4)
STACK_NAMES = ("stack-still", "stack-slow", "stack-quick")
SURE, OPEN = (0.1, 0.1, 0.1), (0.1, 0.3, 0.3)  # variances of their weights before the first row: of numbers, of signs
BOLD = (0.0, 1 / 3, 1 / 3, 0.0, 0.0, 1 / 3, 0.0, 0.0)  # the lanes that learn fastest: a mean of all is too cautious
EVEN = (1 / LANES,) * LANES
SIZE = INPUTS + INPUTS * INPUTS
FADE = 0.9  # of the running mean


def prior(priors: tuple[float, ...], k: int, i: int) -> float:
    """The prior variance of input i: the stack that stands still looks at the lanes alone."""
    return 0.0 if k == 0 and i >= LANES else priors[k]


def fresh_stacks(start: tuple[float, ...] = BOLD, priors: tuple[float, ...] = OPEN) -> Vector:
    """Stacks that begin with these weights of the lanes, and variances."""
    stacks = np.zeros((STACKS, SIZE))
    stacks[:, :LANES] = start
    for k in range(STACKS):
        stacks[k, INPUTS:] = np.diag([prior(priors, k, i) for i in range(INPUTS)]).ravel()
    return stacks.ravel()


def stack_guess(stacks: Cells, k: int, u: Cells) -> float:
    """⟨m, u⟩"""
    p, at = 0.0, k * SIZE
    for i in range(INPUTS):
        p += stacks[np.uint64(at + i)] * u[np.uint64(i)]
    return p


def stack_project(stacks: Cells, k: int, u: Cells, along: Cells) -> float:
    """Write Pu into row k of `along`, and return ⟨u, Pu⟩."""
    q, at, to = 0.0, k * SIZE + INPUTS, k * INPUTS
    for i in range(INPUTS):
        row = at + i * INPUTS
        a = 0.0
        for j in range(INPUTS):
            a += stacks[np.uint64(row + j)] * u[np.uint64(j)]
        along[np.uint64(to + i)] = a
        q += a * u[np.uint64(i)]
    return q


def stack_learn(stacks: Cells, k: int, along: Cells, slope: float, shrink: float, priors: tuple[float, ...]) -> None:
    """m += slope·Pu, P −= shrink·(Pu)(Pu)ᵀ, and walk."""
    at, walk, to = k * SIZE, WALKS[k], k * INPUTS
    for i in range(INPUTS):
        a = along[np.uint64(to + i)]
        stacks[np.uint64(at + i)] += a * slope
        row, cut = at + INPUTS + i * INPUTS, a * shrink
        for j in range(INPUTS):
            stacks[np.uint64(row + j)] -= cut * along[np.uint64(to + j)]
        spot = np.uint64(row + i)
        stacks[spot] = min(max(stacks[spot], 0.0) + walk, prior(priors, k, i))
