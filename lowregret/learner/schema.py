"""The arrays of a learner's state in files: how large they are, and what must be true of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lowregret.learner.linear import Learner
from lowregret.state import COUNT_NAMES, COUNTS, DIMENSION, LINEAR, MISTAKES, ROUNDS, SUM_NAMES, SUMS, TOTAL, WEIGHTED
from lowregret.store.schema import Array, Arrays, extended, floats, wholes

# Sums that may be negative; all others begin with 0 and grow, or are sizes.
_SIGNED = {
    *("total", "weighted", "linear", "averaged", "divisor", "loss", "slope"),
    *("offset", "lowest", "factor", "won", "excess"),
}
UNSIGNED = [place for place, name in enumerate(SUM_NAMES) if name not in _SIGNED]

SLACK = 1e-6  # of sums that are rounded
Demands = Iterator[tuple[Any, str]]


def ledger_slots(prefix: str = "") -> dict[str, tuple[str, ...]]:
    """Names of what `sums` and `counts` hold."""
    return {f"{prefix}sums": SUM_NAMES, f"{prefix}counts": COUNT_NAMES}


def ledger_arrays(prefix: str = "") -> dict[str, Array]:
    """`sums` and `counts`."""
    return {f"{prefix}sums": extended(SUMS), f"{prefix}counts": wholes(COUNTS)}


def ledger_demands(arrays: Arrays, dimension: int, prefix: str = "") -> Demands:
    """Demands on the sums and counts of a state with this many weights."""
    sums, counts = arrays[f"{prefix}sums"], arrays[f"{prefix}counts"]
    yield np.all(sums[UNSIGNED] >= 0), f"{prefix}sums ≥ 0 where they are sizes"
    yield counts[MISTAKES] <= counts[ROUNDS], f"{prefix}counts: mistakes ≤ rounds"
    yield counts[DIMENSION] == dimension, f"{prefix}counts: dimension = {dimension}"


def table_demands(learner: Learner, arrays: Arrays, d: int, *names: str) -> Demands:
    """Demands on tables of a state with d weights, or on rows of them."""
    for name in names:
        yield learner.rule.accepts(arrays[name].reshape(-1, learner.rule.columns(d))), f"{name}: sizes that are ≥ 0"


def state_demands(learner: Learner, arrays: Arrays, d: int, prefix: str = "") -> Demands:
    """Demands on a state with d weights, as it lies in memory."""
    yield from ledger_demands(arrays, d, prefix)
    yield from table_demands(learner, arrays, d, f"{prefix}table")


def cost_demands(learner: Learner, arrays: Arrays, d: int, prefix: str = "") -> Demands:
    """Demands on a state that learnt costs, which are their own linearisation."""
    yield from state_demands(learner, arrays, d, prefix)
    yield are_linear(learner, arrays[f"{prefix}sums"][None]), f"{prefix}sums: costs that are linear"


def are_linear(learner: Learner, sums: Any) -> bool:
    """Whether of rows of sums over costs, each has one sum of ⟨w_t, z_t⟩."""
    total = sums[:, WEIGHTED if learner.rule.schedule().weighted() else TOTAL]
    return bool(np.allclose(sums[:, LINEAR], total, rtol=SLACK, atol=0.0))


def state_arrays(learner: Learner, d: int, prefix: str = "") -> dict[str, Array]:
    """The arrays of a state with d weights, as they lie in memory."""
    learner.require_weights(d)
    cells = {"table": d * learner.rule.columns(d), "lag": 2 * d if learner.output.averages() else 0}
    return {f"{prefix}{name}": floats(size) for name, size in cells.items()} | ledger_arrays(prefix)
