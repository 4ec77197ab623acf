"""Where games begin: a player against functions that are given, or against an adversary."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from lowregret.convex.functions import as_function
from lowregret.domain import Domain
from lowregret.errors import PartError
from lowregret.play.game import Functions, Game


def play(
    player: Any,
    functions: Functions,
    rounds: int | None = None,
    *,
    dimension: int | None = None,
    comparator: Domain | None = None,
    compiled: bool = True,
) -> Game:
    """Play a game, or go on with one.

    `player`: a rule (`MirrorDescent`, `ProjectedGradient`), a follower, any object with the methods `point()` and
    `learn(z)` (see `own_player.py`), or a `Game` to go on with. `functions`: convex functions or cost vectors, one per
    round; or an adversary, any callable: called with (t, w_t), it answers with one. `rounds`: how many (all, if the
    functions end by themselves). `dimension` is needed only where the functions do not tell it.
    """
    if isinstance(player, Game):
        return player.learn(functions, rounds)
    if callable(functions) and dimension is None:
        raise PartError("an adversary does not tell how many coordinates it takes: give dimension")
    if not callable(functions):
        if not isinstance(functions, Iterable):
            raise PartError(f"expected convex functions or vectors of costs, one a round, got {functions!r}")
        functions = iter(functions)
        if dimension is None:
            first = next(functions, None)
            if first is None:
                raise PartError("there are no functions to play against")
            f = as_function(first)
            if f.dimension is None:
                raise PartError(f"{type(f).__name__} does not tell how many coordinates it takes: give dimension")
            dimension, functions = f.dimension, chain([f], functions)
    assert dimension is not None
    return Game(player, dimension, comparator, compiled=compiled).learn(functions, rounds)
