"""The weights of a session by the names of their features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lowregret.run.base import RowRun
from lowregret.run.multiclass import MulticlassRun
from lowregret.run.session import Session
from lowregret.types import Vector


def weights_by_name(session: Session) -> Iterator[tuple[str, float]]:
    """Names and weights, largest first; names that share a slot are joined, a slot without a name is a number."""
    run = session.run
    columns, weights = met_weights(run)
    lanes = run.classes.names if isinstance(run, MulticlassRun) else [""]
    for place in np.argsort(-np.abs(weights), axis=None, kind="stable").tolist():
        slot, lane = int(columns[place // len(lanes)]), place % len(lanes)
        weight = float(weights.flat[place])
        if weight != 0:
            name = "(bias)" if slot == run.features and run.learner.bias > 0 else _name(session, slot)
            yield f"{name}\t{lanes[lane]}" if isinstance(run, MulticlassRun) else name, weight


def _name(session: Session, slot: int) -> str:
    """The names that share a slot, or that of a column which was added."""
    added = session.run.expansion
    if added is not None and slot >= added.offset:
        return added.name(slot - added.offset)
    known = session.dictionary.names(slot) if session.dictionary is not None else []
    return " + ".join(known) or str(slot)


def met_weights(run: RowRun) -> tuple[Any, Vector]:
    """The columns that have weights, in order, and those weights; column `features` stands for the bias: O(d)."""
    w, bias = run.placed_weights, run.learner.bias > 0
    columns = np.arange(run.features) if run.places is None else run.places.columns.astype(np.int64)
    order = np.argsort(columns)
    kept = np.concatenate([order, np.arange(len(w) - bias, len(w))])
    return np.append(columns[order], [run.features] * bias), w[kept]
