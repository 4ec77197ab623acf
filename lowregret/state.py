"""The state of a learner, carried from round to round: a row of numbers per coordinate, and a handful of running sums.

All of it is float64 and int64 arrays, so saving it saves the learner, and a resumed run is the unbroken run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowregret.types import Cells, Vector

# ---- sums[...]: a slot for each name. A name has one meaning, told where it is declared with `slot`: below if all
# rules share it, else in the file of the rule or mirror map that keeps it. Files store sums by name, in any order.
SUM_NAMES = (
    *("total", "weighted", "linear", "energy", "stepped", "largest", "first_rate", "last_rate", "longest", "ridge"),
    *("averaged", "divisor", "loss", "slope", "given", "mass", "peak", "blur", "blurriest"),
    *("rate", "offset", "local", "spread", "lowest", "unit"),  # mirror descent, entropies, p-norms
    *("factor", "won", "lost"),  # projected gradient
    *("curved", "pulled", "widest", "grown"),  # AdaGrad and its kin
    *("judged", "pulled_next", "unsurest"),  # AROW
    *("turns", "content"),  # NAG
    *("steepest", "excess", "largest_bet"),  # betting
    *("determined", "squared", "steepest_loss", "farthest", "broadest"),  # Newton
)
SUMS = len(SUM_NAMES)


def slot(name: str) -> int:
    """Where in `sums` this name lies."""
    return SUM_NAMES.index(name)


# What the certificates are computed from; c_t is the round's importance in the regret (1, or t+1).
TOTAL = slot("total")  # Σ ℓ_t(w_t)
WEIGHTED = slot("weighted")  # Σ c_t ℓ_t(w_t), kept only where c_t is not 1
LINEAR = slot("linear")  # Σ c_t ⟨w_t, z_t⟩
ENERGY = slot("energy")  # Σ ‖z_t‖_*² in the geometry's dual norm
STEPPED = slot("stepped")  # Σ η_t ‖z_t‖_*²
LARGEST = slot("largest")  # max ‖z_t‖_*²
FIRST_RATE = slot("first_rate")  # η_1
LAST_RATE = slot("last_rate")  # η of the latest round with a non-zero sub-gradient
LONGEST = slot("longest")  # max ‖w_t‖₂² (eager, of entropies, and where past iterates matter)
RIDGE = slot("ridge")  # Σ c_t ‖w_t‖₂², kept only with a ridge (eager)
BLUR = slot("blur")  # Σ weight·‖x_t‖₂, of flat losses too: times nε‖w‖₂, how far scores of n operations may be off
BLURRIEST = slot("blurriest")  # max ‖x_t‖₂
# What outputs and rules need.
AVERAGED = slot("averaged")  # Σ of the output's weights times the common factor: see `output.py`
DIVISOR = slot("divisor")  # Σ of the output's weights; −r if w_r alone is kept, and AVERAGED its common factor
LOSS = slot("loss")  # the present round's loss, for rules that ask
SLOPE = slot("slope")  # its slope in the score, likewise
GIVEN = slot("given")  # the present row's importance weight, likewise
MASS = slot("mass")  # the geometry's aggregate over all coordinates: ‖θ‖², Σ|θ|^p, Σe^{ηθ}, ‖v‖²
PEAK = slot("peak")  # largest MASS since it was last computed afresh

# ---- counts[...] -----------------------------------------------------------------------------------------------------
COUNT_NAMES = ("rounds", "mistakes", "pushes", "dimension")
ROUNDS, MISTAKES, PUSHES, DIMENSION = range(4)
COUNTS = len(COUNT_NAMES)
# ROUNDS are those with positive weight, PUSHES coordinates updated since MASS was last computed afresh.

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
