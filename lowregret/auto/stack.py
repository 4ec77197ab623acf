"""Stacks: full-matrix filters that learn how to weigh the lanes' scores, beside a constant and the labels before.

The state of a stack is its mean m and covariance P. On inputs u it predicts ⟨m,u⟩; after the label

    m ← m + c·Pu        P ← P − s·(Pu)(Pu)ᵀ + walk·I, the diagonal kept below the prior

with c the implicit slope and s = h/(1 + h⟨u,Pu⟩) for a loss of curvature h: recursive least squares, or an extended
Kalman filter for the logistic loss (the online Newton step on exp-concave losses; Hazan, Agarwal & Kale, 2007).
A walk > 0 lets the weights drift. Costs O(inputs²) a row. Rows of P are PADDED long, so that they are whole vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.compile.memory import zeros
from lowregret.compile.simd import LANES, load, spread, store, total
from lowregret.types import Cells, Vector

INPUTS = LANES + 3  # the lanes, 1, the last label, and a running mean of labels
ONE, LAST_LABEL, RECENT_LABELS = LANES, LANES + 1, LANES + 2
STACKS = 3
WALKS = (0.0, 1e-6, 1e-4)
STACK_NAMES = ("stack-still", "stack-slow", "stack-quick")
PADDED = 2 * LANES
SIZE = (1 + INPUTS) * PADDED  # mean, then covariance
FADE = 0.9  # of the running mean

_FIRST, _HALF = np.uint64(0), np.uint64(LANES)


def variances(*priors: float) -> Any:
    """Variances of the weights before the first row, by stack: the one that stands still looks at the lanes alone."""
    return np.array([[0.0 if k == 0 and i >= LANES else v for i in range(INPUTS)] for k, v in enumerate(priors)])


SURE, OPEN = variances(0.1, 0.1, 0.1), variances(0.1, 0.3, 0.3)  # for numbers, for signs and classes
BOLD = (0.0, 1 / 3, 1 / 3, 0.0, 0.0, 1 / 3, 0.0, 0.0)  # the lanes that learn fastest: a mean of all is too cautious
EVEN = (1 / LANES,) * LANES
_WALKS = np.array(WALKS)


def fresh_stack(start: tuple[float, ...], priors: Any) -> Vector:
    """One stack that stands still, and looks at the lanes and the constant."""
    stack = zeros(SIZE, np.float64)
    parts = stack.reshape(1 + INPUTS, PADDED)
    parts[0, :LANES], parts[1:, :INPUTS] = start, np.diag(priors[0])
    return stack


def fresh_stacks(start: tuple[float, ...], priors: Any) -> Vector:
    """Stacks that begin with these weights of the lanes, and variances."""
    stacks = zeros(STACKS * SIZE, np.float64)
    for k, stack in enumerate(stacks.reshape(STACKS, 1 + INPUTS, PADDED)):
        stack[0, :LANES] = start
        stack[1:, :INPUTS] = np.diag(priors[k])
    return stacks


def stack_guess(stacks: Cells, k: int, u: Cells) -> float:
    """⟨m, u⟩"""
    at = np.uint64(k * SIZE)
    return total(load(stacks, at) * load(u, _FIRST) + load(stacks, at + _HALF) * load(u, _HALF))


def stack_project(stacks: Cells, k: int, u: Cells, along: Cells) -> float:
    """Write Pu into row k of `along`, and return ⟨u, Pu⟩."""
    low = high = spread(0.0)
    for i in range(INPUTS):
        row, much = np.uint64(k * SIZE + (1 + i) * PADDED), u[np.uint64(i)]
        low = low + load(stacks, row) * much
        high = high + load(stacks, row + _HALF) * much
    store(along, np.uint64(k * PADDED), low)
    store(along, np.uint64(k * PADDED) + _HALF, high)
    return total(low * load(u, _FIRST) + high * load(u, _HALF))


def stack_learn(stacks: Cells, k: int, along: Cells, slope: float, shrink: float, priors: Any) -> None:
    """m += slope·Pu, P −= shrink·(Pu)(Pu)ᵀ, and walk."""
    at, to = np.uint64(k * SIZE), np.uint64(k * PADDED)
    low, high = load(along, to), load(along, to + _HALF)
    store(stacks, at, load(stacks, at) + low * slope)
    store(stacks, at + _HALF, load(stacks, at + _HALF) + high * slope)
    for i in range(INPUTS):
        row, cut = at + np.uint64((1 + i) * PADDED), along[to + np.uint64(i)] * shrink
        store(stacks, row, load(stacks, row) - low * cut)
        store(stacks, row + _HALF, load(stacks, row + _HALF) - high * cut)
        spot = row + np.uint64(i)
        stacks[spot] = min(max(stacks[spot], 0.0) + _WALKS[k], priors[k, i])
