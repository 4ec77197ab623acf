"""The lanes: eight linear learners side by side, each with a weight and a sum per feature, in one line of memory.

Lane k predicts p = ⟨w, z⟩ on its view z of the row and takes an implicit step, w ← argmin ℓ(⟨w,z⟩) + ½‖w − w_t‖²_H:
the slope is that of the loss *after* the step, so no step overshoots, however long. Lanes differ in H, diagonal:

    AdaGrad    H_j = √(Σ g² z_j²) / (rate·σ)      σ² = the mean of 1/‖z‖²: units of features and lengths of rows cancel
    Kalman     H_j = 1/prior + Σ ℓ'' z_j²         the posterior precision, features taken as independent; sums are
                                                  multiplied by `memory` at each visit, so that old rows fade

(Duchi, Hazan & Singer, JMLR 2011; Kulis & Bartlett, ICML 2010; Crammer, Kulesza & Dredze, NIPS 2009.)
"""

from __future__ import annotations

import math

import numpy as np

from lowregret.auto.view import PLAIN_SQUARE, ROWS, SHAPED_SQUARE, Sheet
from lowregret.compile.memory import prefetch
from lowregret.compile.simd import LANES, Eight, half_roots, load, spread, store, where
from lowregret.rows import Rows
from lowregret.types import Cells, Index

ADAGRAD = 4  # the first four lanes; the others are Kalman filters
RATES = (0.5, 4.0, 20.0, 4.0)
PRIORS = (1.0, 10.0, 1.0, 3.0)
MEMORY = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.99, 0.9)  # of the sums, at each visit
SHAPED = (True, True, True, False, True, True, False, False)  # which view: shaped or plain
LANE_NAMES = tuple(
    [f"adagrad-{rate:g}{'' if shaped else '-plain'}" for rate, shaped in zip(RATES, SHAPED[:ADAGRAD], strict=True)]
    + [
        f"kalman-{prior:g}" + ("" if shaped else "-plain") + (f"-fading-{memory:g}" if memory < 1 else "")
        for prior, memory, shaped in zip(PRIORS, MEMORY[ADAGRAD:], SHAPED[ADAGRAD:], strict=True)
    ]
)
WIDTH = 2 * LANES  # weights, then sums: 64 bytes a feature

_ROW = np.uint64(LANES)  # from weights to sums
_FIRST = np.uint64(0)
_ROOTED = np.array([1.0] * ADAGRAD + [0.0] * (LANES - ADAGRAD), np.float32)  # lanes that take roots of their sums
_RATES = np.array(RATES + (1.0,) * (LANES - ADAGRAD), np.float32)
_MEMORY = np.array(MEMORY, np.float32)
_START = np.array([1e-30] * ADAGRAD + [1 / prior for prior in PRIORS], np.float32)  # beside the sums: 0/0 is 0
_SHAPED = np.array(SHAPED, np.float32)


def rank(j: Index, lots: int, lot: int) -> Index:
    """The number of lanes' lines before that of feature j and this lot, with `lots` per feature (one a class)."""
    return np.uint64(j) * np.uint64(lots) + np.uint64(lot)


def place(j: Index, lots: int, lot: int) -> Index:
    """Where the lanes of feature j begin in the bank."""
    return rank(j, lots, lot) * np.uint64(WIDTH)


def lane_view(sheet: Sheet, v: Index) -> Eight:
    """An entry as each lane sees it."""
    return each(sheet.shaped[v], sheet.plain[v])


def each(shaped: np.float32, plain: np.float32) -> Eight:
    """The number for each lane's view."""
    return where(load(_SHAPED, _FIRST) > np.float32(0), spread(shaped), spread(plain))


def adagrad(v: Eight, others: Eight) -> Eight:
    """v of the AdaGrad lanes, else those others."""
    return where(load(_ROOTED, _FIRST) > np.float32(0), v, others)


def lane_rates(pace: Cells, reach: float) -> Eight:
    """The factor of H⁻¹ in each lane's step: rate·σ·reach for AdaGrad lanes."""
    rows = pace[ROWS] - 1.0
    shaped, plain = reach * math.sqrt(rows / pace[SHAPED_SQUARE]), reach * math.sqrt(rows / pace[PLAIN_SQUARE])
    return load(_RATES, _FIRST) * adagrad(each(np.float32(shaped), np.float32(plain)), spread(np.float32(1)))


def lane_scores(bank: Cells, x: Rows, i: int, sheet: Sheet, at: tuple[int, int, Index], width: Index) -> Eight:
    """⟨w, z⟩ of each lane, whose weights are the first of `width` cells: O(nnz)."""
    lots, lot, bias = at
    p, first = load(bank, rank(bias, lots, lot) * width), x.begin(i)
    for k in range(first, x.end(i)):
        p = p + load(bank, rank(x.column(i, k), lots, lot) * width) * lane_view(sheet, k - first)
    return p


def lane_gains(
    bank: Cells, x: Rows, i: int, ahead: int, sheet: Sheet, gains: Cells, squares: Eight, at: tuple[int, int, Index]
) -> Eight:
    """Write H⁻¹z of each entry into `gains`, the bias last, and return ⟨z, H⁻¹z⟩, both without `rate·σ`: O(nnz).

    Meanwhile the lanes of the row `ahead` are asked for.
    """
    lots, lot, bias = at
    first, coming, last, one = x.begin(i), x.begin(ahead), x.end(ahead), np.uint64(1)
    end, q, v = x.end(i) - first, spread(np.float32(0)), np.uint64(0)
    while v + one < end:
        if coming + v + one < last:
            prefetch(bank, place(x.column(ahead, coming + v), lots, lot))
            prefetch(bank, place(x.column(ahead, coming + v + one), lots, lot))
        h = stiffness(bank, place(x.column(i, first + v), lots, lot), lane_view(sheet, v), squares)
        r = stiffness(bank, place(x.column(i, first + v + one), lots, lot), lane_view(sheet, v + one), squares)
        h, r = half_roots(h, r)
        q = q + gain(gains, v, lane_view(sheet, v), h)
        q = q + gain(gains, v + one, lane_view(sheet, v + one), r)
        v += np.uint64(2)
    unit = spread(np.float32(1))
    r = stiffness(bank, place(bias, lots, lot), unit, squares)
    if v < end:
        h = stiffness(bank, place(x.column(i, first + v), lots, lot), lane_view(sheet, v), squares)
        h, r = half_roots(h, r)
        return q + gain(gains, v, lane_view(sheet, v), h) + gain(gains, end, unit, r)
    r, _ = half_roots(r, r)
    return q + gain(gains, end, unit, r)


def stiffness(bank: Cells, w: Index, z: Eight, squares: Eight) -> Eight:
    """H with this entry, its square for AdaGrad lanes; `squares` are g² of those, 0 of others."""
    return load(bank, w + _ROW) + load(_START, _FIRST) + squares * (z * z)


def gain(gains: Cells, v: Index, z: Eight, h: Eight) -> Eight:
    """Write H⁻¹z of entry v, and return ⟨z, H⁻¹z⟩."""
    along = z / h
    store(gains, v * _ROW, along)
    return along * z


def lane_steps(
    bank: Cells, x: Rows, i: int, sheet: Sheet, gains: Cells, moves: tuple[Eight, Eight], at: tuple[int, int, Index]
) -> None:
    """w += H⁻¹z·move and sums = memory·sums + weight·z², moves being (move, weight) of each lane: O(nnz)."""
    lots, lot, bias = at
    first = x.begin(i)
    for k in range(first, x.end(i)):
        v = k - first
        if sheet.plain[v] != 0.0:  # nothing fades of a feature that is absent
            step(bank, place(x.column(i, k), lots, lot), load(gains, v * _ROW), lane_view(sheet, v), moves)
    step(bank, place(bias, lots, lot), load(gains, (x.end(i) - first) * _ROW), spread(np.float32(1)), moves)


def step(bank: Cells, w: Index, along: Eight, z: Eight, moves: tuple[Eight, Eight]) -> None:
    """Move the weights of one entry."""
    move, weight = moves
    store(bank, w, load(bank, w) + along * move)
    store(bank, w + _ROW, load(bank, w + _ROW) * load(_MEMORY, _FIRST) + weight * (z * z))
