"""Opening whatever lowregret wrote."""

from __future__ import annotations

import os

from lowregret import store
from lowregret.play import Game
from lowregret.run import Run


def load(path: str | os.PathLike[str]) -> Run | Game:
    """The run or game in a file, ready to go on where it stopped."""
    return Game.load(path) if store.kind_of(path) == "game" else Run.load(path)
