"""Games: what learners are put to the test against, and contests between the two.

from lowregret.game import contest
print(contest("ftl-breaker", "ftl"))
"""

from __future__ import annotations

from lowregret.game.algorithms import ALGORITHMS, Algorithm, fitting
from lowregret.game.catalogue import CATALOGUE, game
from lowregret.game.contest import Contest, contest, find
from lowregret.game.environment import (
    AdaptiveGame,
    BanditFeedback,
    CostGame,
    Environment,
    ExpertGame,
    LateAnswers,
    ObliviousGame,
)
from lowregret.game.own import Adversary
from lowregret.game.row_games import Replay, RowGame
from lowregret.game.tables import Row

__all__ = [
    "ALGORITHMS",
    "CATALOGUE",
    "AdaptiveGame",
    "Adversary",
    "Algorithm",
    "BanditFeedback",
    "Contest",
    "CostGame",
    "Environment",
    "ExpertGame",
    "LateAnswers",
    "ObliviousGame",
    "Replay",
    "Row",
    "RowGame",
    "contest",
    "find",
    "fitting",
    "game",
]
