"""What a learner carries from round to round: a row of numbers per coordinate, and a handful of running sums.

All of it is float64 and int64 arrays, so saving it saves the learner, and a resumed run is the unbroken run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowregret.types import Cells, Vector

# ---- sums[...]: what the certificates are computed from; c_t is the round's importance in the regret (1, or t+1) ----
TOTAL = 0  # Σ ℓ_t(w_t)
WEIGHTED = 1  # Σ c_t ℓ_t(w_t), kept only where c_t is not 1
LINEAR = 2  # Σ c_t ⟨w_t, z_t⟩
ENERGY = 3  # Σ ‖z_t‖_*² in the geometry's dual norm
STEPPED = 4  # Σ η_t ‖z_t‖_*²
LARGEST = 5  # max ‖z_t‖_*²
FIRST_RATE = 6  # η_1
LAST_RATE = 7  # η of the latest round with a non-zero sub-gradient
LOCAL = 8  # Σ_t Σ_i w_t[i] z_t[i]²            (entropies)
SPREAD = 9  # Σ_t (max_i z_t[i] − min_i z_t[i])² (entropies)
LOWEST = 10  # min_{t,i} η z_t[i]               (entropies)
SLOPE = 10  # the present loss's slope in the score, for rules that ask (never entropies)
LONGEST = 11  # max ‖w_t‖₂²                      (eager, and where past iterates matter)
RIDGE = 12  # Σ c_t ‖w_t‖₂², kept only with a ridge (eager)
# ---- sums[...]: what the rules need --------------------------------------------------------------------------------
RATE = 13  # η of the coming round (lazy)
LOSS = 13  # the present round's loss, for rules that ask (never lazy)
GIVEN = 13  # or its importance weight
MASS = 14  # the geometry's aggregate over all coordinates: ‖θ‖², Σ|θ|^p, Σe^{ηθ}, ‖v‖²
PEAK = 15  # largest MASS since it was last computed afresh
FACTOR = 16  # eager: w = FACTOR · v; entropy: the common offset of the exponents; p-norm: the unit of θ
AVERAGED = 17  # Σ of the output's weights times the common factor: see `output.py`
DIVISOR = 18  # Σ of the output's weights; −r if w_r alone is kept, and AVERAGED its common factor
SUMS = 19

# ---- counts[...] -----------------------------------------------------------------------------------------------------
ROUNDS = 0  # rounds with positive weight
MISTAKES = 1
PUSHES = 2  # coordinates updated since MASS was last computed afresh
DIMENSION = 3
COUNTS = 4

REFRESH = 1 << 22  # coordinates updated before MASS is computed afresh
COLLAPSE = 1e-3  # or when it falls to this share of its peak, whose rounding would show in the ninth digit
HUGE = 1e200  # or when it nears overflow

# ---- table[cell + …]: what is known about one coordinate, side by side in memory; see `types.cell` -------------------
THETA = np.uint64(0)  # θ = −Σ c_t z_t, the certificate's vector: every rule keeps it
WEIGHT = np.uint64(1)  # the iterate up to a common factor, where it is worth storing


class State(NamedTuple):
    """The carried arrays."""

    table: Cells  # (dimension × width,) in memory, coordinate by coordinate
    lag: Cells  # for averaged iterates, see `output.py`: (2 × dimension,), or empty
    sums: Cells
    counts: Cells

    @classmethod
    def zeros(cls, dimension: int, width: int, averaging: bool) -> State:
        """A state before the first round."""
        counts = np.zeros(COUNTS, np.int64)
        counts[DIMENSION] = dimension
        return cls(np.zeros(dimension * width), np.zeros(2 * dimension if averaging else 0), np.zeros(SUMS), counts)

    @property
    def dimension(self) -> int:
        return int(self.counts[DIMENSION])

    @property
    def theta(self) -> Vector:
        """θ = −Σ c_t z_t, a view."""
        return self.table.reshape(self.dimension, -1)[:, 0]

    @property
    def rounds(self) -> int:
        return int(self.counts[ROUNDS])

    def copy(self) -> State:
        return State(*(array.copy() for array in self))


def worn(s: State) -> bool:
    """Whether rounding may have crept into MASS, or overflow is near: rarely, so refreshing costs amortised O(1)."""
    mass = s.sums[MASS]
    s.sums[PEAK] = max(s.sums[PEAK], mass)
    if s.counts[PUSHES] >= max(REFRESH, s.counts[DIMENSION]) or mass < COLLAPSE * s.sums[PEAK]:
        return True
    return not mass <= HUGE
