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

from lowregret.auto.lanes import LANES, Eight, half_root, inverse, load, plus, store, times
from lowregret.auto.view import PLAIN_SQUARE, ROWS, SHAPED_SQUARE, Sheet
from lowregret.rows import Rows
from lowregret.state import Cells, Index

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

_ONE = np.float32(1)
_MEMORY = tuple(np.float32(m) for m in MEMORY)
_START = (np.float32(0),) * ADAGRAD + tuple(np.float32(1 / p) for p in PRIORS)  # of H, beside the sums


def place(j: Index, lots: int, lot: int) -> Index:
    """Where the lanes of feature j begin, in a bank of so many lots (one a class)."""
    return (np.uint64(j) * np.uint64(lots) + np.uint64(lot)) * np.uint64(WIDTH)


def seen(shaped: np.float32, plain: np.float32) -> Eight:
    """What each lane sees of an entry."""
    return (shaped, shaped, shaped, plain, shaped, shaped, plain, plain)


def lane_rates(pace: Cells, reach: float) -> Eight:
    """What H⁻¹ is to be multiplied with: rate·σ·reach for AdaGrad lanes."""
    rows = pace[ROWS] - 1.0
    shaped, plain = reach * math.sqrt(rows / pace[SHAPED_SQUARE]), reach * math.sqrt(rows / pace[PLAIN_SQUARE])
    a, b, c, d = (
        np.float32(RATES[0] * shaped),
        np.float32(RATES[1] * shaped),
        np.float32(RATES[2] * shaped),
        np.float32(RATES[3] * plain),
    )
    return (a, b, c, d, _ONE, _ONE, _ONE, _ONE)


def lane_scores(bank: Cells, x: Rows, i: int, sheet: Sheet, at: tuple[int, int, Index]) -> Eight:
    """⟨w, z⟩ of each lane: O(nnz)."""
    lots, lot, bias = at
    p = load(bank, place(bias, lots, lot))
    first = x.begin(i)
    for k in range(first, x.end(i)):
        z = seen(sheet.shaped[k - first], sheet.plain[k - first])
        p = plus(p, times(load(bank, place(x.column(i, k), lots, lot)), z))
    return p


def lane_gains(
    bank: Cells, x: Rows, i: int, sheet: Sheet, gains: Cells, slopes: Eight, at: tuple[int, int, Index]
) -> Eight:
    """Write H⁻¹z of each entry into `gains`, and return ⟨z, H⁻¹z⟩, both without `rate·σ`; slopes are g² or 0."""
    lots, lot, bias = at
    first, eight = x.begin(i), np.uint64(LANES)
    sums = load(bank, place(bias, lots, lot) + eight)
    q = inverse(half_root(plus(plus(sums, _START), slopes)))
    store(gains, (x.end(i) - first) * eight, q)
    for k in range(first, x.end(i)):
        v = k - first
        z = seen(sheet.shaped[v], sheet.plain[v])
        sums = load(bank, place(x.column(i, k), lots, lot) + eight)
        gain = times(inverse(half_root(plus(plus(sums, _START), times(slopes, times(z, z))))), z)
        store(gains, v * eight, gain)
        q = plus(q, times(gain, z))
    return q


def lane_steps(
    bank: Cells, x: Rows, i: int, sheet: Sheet, gains: Cells, moves: tuple[Eight, Eight], at: tuple[int, int, Index]
) -> None:
    """w += H⁻¹z·move and sums = memory·sums + weight·z², moves being (move, weight) of each lane: O(nnz)."""
    lots, lot, bias = at
    move, weight = moves
    first, eight = x.begin(i), np.uint64(LANES)
    for k in range(first, x.end(i)):
        v = k - first
        if sheet.plain[v] != 0.0:  # nothing fades of a feature that is absent
            z = seen(sheet.shaped[v], sheet.plain[v])
            w = place(x.column(i, k), lots, lot)
            store(bank, w, plus(load(bank, w), times(load(gains, v * eight), move)))
            store(bank, w + eight, plus(times(load(bank, w + eight), _MEMORY), times(weight, times(z, z))))
    w = place(bias, lots, lot)
    store(bank, w, plus(load(bank, w), times(load(gains, (x.end(i) - first) * eight), move)))
    store(bank, w + eight, plus(times(load(bank, w + eight), _MEMORY), weight))
