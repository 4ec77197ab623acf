"""A spread run taken apart, for servers and a register to hold, and put together again: `gather` and `scatter`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lowregret.domain import Domain
from lowregret.errors import PartError
from lowregret.learner.growth import FIRST, double_room
from lowregret.learner.linear import Linear
from lowregret.learner.places import Places
from lowregret.risk.kept_trial import Trial
from lowregret.run.block_learners import why_not
from lowregret.run.record import RunRecord
from lowregret.run.spread import SpreadRun
from lowregret.spread.figures import Counted
from lowregret.spread.server import BIAS, routes
from lowregret.state import DIMENSION, MASS, PEAK, State
from lowregret.types import Vector


class Ledger(NamedTuple):
    """The sums and counts that a register keeps of all batches."""

    sums: Vector
    counts: Any
    spread: Vector  # see `certificate/spread.py`
    lags: Any


def require_spreadable(learner: Any) -> None:
    """Refuse a learner whose weights cannot be moved by several workers at once."""
    reason = why_not(learner)
    if reason is None and learner.centred():
        reason = "weights are counted from a centre, which workers do not have"
    if reason is not None:
        raise PartError(f"{reason}: use ogd, adagrad or ftrl-proximal and keep the last iterate, or staleness 0")


def gather(
    learner: Linear, ledger: Ledger, contents: Sequence[tuple[Any, Vector]], figures: Counted, history: Any = (),
    comparator: Domain | None = None,
) -> SpreadRun:  # fmt: skip
    """The run of which servers hold these features and rows of the table: O(d)."""
    columns, table = (np.concatenate(arrays) for arrays in zip(*contents, strict=True))
    bias, last = learner.bias > 0, columns == BIAS
    columns, cells, width = columns[~last], table[~last], table.shape[1]
    room = double_room(FIRST, columns.size + 1)
    whole = np.zeros((room + bias, width))
    whole[: columns.size] = cells
    whole[room:] = table[last] if last.any() else 0.0
    state = State(whole.reshape(-1), np.empty(0), ledger.sums.copy(), ledger.counts.copy())
    state.counts[DIMENSION] = room + bias
    state.sums[MASS] = state.sums[PEAK] = float(whole[:, 0] @ whole[:, 0])
    return SpreadRun(
        learner, state, comparator, record=RunRecord(history), seen=int(columns.max(initial=0)) + 1,
        places=Places(columns), uniform=figures.uniform, tally=figures.tally, met=figures.met,
        trial=Trial(ended=0), spread=ledger.spread.copy(), lags=ledger.lags.copy(),
    )  # fmt: skip


def scatter(run: SpreadRun, servers: int) -> list[tuple[Any, Vector]]:
    """The features and rows of the table that each of the servers holds of a run: O(d)."""
    assert run.places is not None
    columns, cells = run.places.columns, run.state.table.reshape(run.state.dimension, -1)
    table = cells[: columns.size]
    if run.learner.bias > 0:
        columns, table = np.append(columns, np.uint64(BIAS)), np.concatenate([table, cells[-1:]])
    return [(columns[own], table[own]) for own in routes(columns, servers)]


def ledger_of(run: SpreadRun) -> Ledger:
    """The ledger from which a register goes on."""
    return Ledger(run.state.sums, run.state.counts, run.spread, run.lags)
