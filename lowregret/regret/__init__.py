"""Regret of every kind: what happened, held against what could have been done instead.

The linearised regret, which every certificate begins with, is in `certificate/evidence.py`.

    regret(game, [0.5, 0.5])               one fixed point
    regret(game, Best(L2Ball(2.0)))        the best fixed point of a set
    regret(game, Moving(points))             a moving comparator, with its path length and the bound DYN
    regret(game, Switching(3))             the best sequence with at most three switches
    regret(game, Windows(100))             the worst window of a hundred rounds
    regret(ExpertRecord(costs, weights), Swap())  the best replacement of each expert by another

`trace` is a game, or a record: `ExpertRecord` for experts, `RowRecord` for rows.
"""

from __future__ import annotations

from typing import Any

from lowregret.domain import Domain
from lowregret.errors import PartError
from lowregret.play.game import Game
from lowregret.regret.comparator import Best, Comparator, Fixed, Moving, Realised, Swap, Weighted
from lowregret.regret.played import ExpertRecord, GameRecord, Record, RowRecord
from lowregret.regret.result import Regret
from lowregret.regret.switching import Switching, Windows

__all__ = [
    "Best",
    "Comparator",
    "ExpertRecord",
    "Fixed",
    "GameRecord",
    "Moving",
    "Realised",
    "Record",
    "Regret",
    "RowRecord",
    "Swap",
    "Switching",
    "Weighted",
    "Windows",
    "regret",
]


def regret(trace: Game | Record, comparator: Any = None) -> Regret:
    """The regret against a comparator: a `Comparator`, a point, a set (its best point), or the trace's own set."""
    record = GameRecord(trace) if isinstance(trace, Game) else trace
    if not isinstance(record, Record):
        raise PartError(
            "the trace must be a Game, an ExpertRecord(costs, weights) or a RowRecord(run, X, y), "
            f"got {type(trace).__name__}"
        )
    if record.losses.size == 0:
        raise PartError("nothing has happened yet: there is no regret")
    if comparator is None or isinstance(comparator, Domain):
        comparator = Best(comparator)
    if isinstance(comparator, str | type):
        known = "Fixed, Best, Moving, Switching, Windows, Weighted, Realised or Swap"
        raise PartError(f"the comparator must be a point, a set, or one of {known} such as Swap(), got {comparator!r}")
    if not isinstance(comparator, Comparator):
        comparator = Fixed(comparator)
    return comparator.against(record)
