"""Games by name. `late:NAME` is the game with answers 10 rounds late, `bandit:NAME` with only the played cost shown."""

from __future__ import annotations

from typing import Any

import lowregret.game.cost_games as costs
import lowregret.game.finite_games as finite
import lowregret.game.row_games as rows
from lowregret.errors import PartError
from lowregret.game.environment import BanditFeedback, Environment, LateAnswers

CATALOGUE: dict[str, type[Any]] = {
    "iid": costs.RandomCosts,
    "drift": costs.Circling,
    "ftl-breaker": costs.FtlBreaker,
    "orthogonal": costs.Orthogonal,
    "uphill": costs.Uphill,
    "last-stand": costs.LastStand,
    "constant": costs.SameCost,
    "turn": costs.PlusThenMinus,
    "wobble": costs.Wobble,
    "quadratic": costs.QuadraticCosts,
    "coin-flips": costs.CoinFlips,
    "free-expert": costs.FreeExpert,
    "takeover": costs.Takeover,
    "heaviest-pays": costs.HeaviestPays,
    "bandit-gap": costs.SmallGap,
    "halfspace": rows.Halfspace,
    "orthonormal": rows.Orthonormal,
    "disjunction": rows.Disjunction,
    "contrary": rows.Contrary,
    "replay": rows.Replay,
    "cover": finite.Cover,
    "tree": finite.TreeAdversary,
    "needle": finite.Needle,
    "bisection": finite.Bisection,
    "noisy-labels": finite.NoisyLabels,
}
HIDDEN = ("bandit-gap",)  # bandit games without a prefix
WRAPPERS: dict[str, Any] = {"late": LateAnswers, "bandit": BanditFeedback}


def game(name: str, **parameters: Any) -> Environment:
    """The environment of this name, with other parameters than its own if given."""
    wrapper, colon, inner = name.rpartition(":")
    if inner not in CATALOGUE or (colon and wrapper not in WRAPPERS):
        raise PartError(
            f"there is no game {name!r}; there are {', '.join(CATALOGUE)}, and late:NAME and bandit:NAME of some"
        )
    kind = CATALOGUE[inner]
    unknown = parameters.keys() - kind.__dataclass_fields__.keys()
    if unknown:
        raise PartError(f"the game {name} takes no {', '.join(sorted(unknown))}: leave it out")
    made = kind(**parameters)
    if colon:
        return WRAPPERS[wrapper](made)
    return BanditFeedback(made) if inner in HIDDEN else made
