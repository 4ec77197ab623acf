"""Players and adversaries of your own at a contest: any object that can play, any callable that answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from lowregret.compile.part import Part
from lowregret.compile.spec import to_json
from lowregret.convex.functions import ScoreFunction
from lowregret.convex.leader import Follower
from lowregret.domain import Domain, L2Ball
from lowregret.errors import PartError
from lowregret.game.environment import Answer, CostGame, Environment
from lowregret.game.row_games import RowGame
from lowregret.game.tables import CostGameTable
from lowregret.learner.delayed import Delayed
from lowregret.learner.doubling import Doubling
from lowregret.learner.linear import Linear
from lowregret.play.own_player import require_player
from lowregret.rule import Rule

KNOWN = (Rule, Linear, Delayed, Doubling, Follower)
SHOWN = "players of your own play games of costs or rows that are shown whole and at once"
FACTS = (
    "dimension",
    "rounds",
    "domain",
    "lipschitz",
    "seed",
)  # of a game, which a class of players may ask for by name


class Adversary(CostGame):
    """whatever a function of (t, w_t) answers: costs of d coordinates, or convex functions of them

    Rates are tuned as if no sub-gradient were longer than `longest`.
    """

    answer: Callable[[int, Any], Any]
    d: int = 1
    radius: float = 1.0
    longest: float = 1.0

    def check(self) -> None:
        self.require(callable(self.answer), f"an adversary is called with (t, w_t), got {self.answer!r}")
        self.require(isinstance(self.d, int) and self.d >= 1, f"d must be a whole number from 1 on, got {self.d!r}")

    @property
    def dimension(self) -> int:
        return self.d

    @property
    def domain(self) -> Domain:
        return L2Ball(self.radius)

    def begin(self, rounds: int, seed: int) -> Answer:
        return self.answer

    def lipschitz(self, p: float, rounds: int, seed: int) -> float:
        return self.longest


class OwnTable(CostGameTable):
    """Any player, against costs or labelled rows, through `play`'s game."""

    def __init__(self, e: Any, player: Any, rounds: int, seed: int) -> None:
        super().__init__(e, player, rounds, seed, ())
        if isinstance(e, RowGame):
            self.answer = _row_functions(e, self.answer)

    @property
    def spec(self) -> dict[str, Any] | None:
        return to_json(self.game.player) if isinstance(self.game.player, Part) else None


def _row_functions(e: RowGame, answer: Answer) -> Answer:
    """The answers of a game of rows as functions of w: f_t(w) = ℓ(⟨w, x_t⟩, y_t)."""

    def respond(t: int, w: Any) -> ScoreFunction:
        x, y = answer(t, w)
        return ScoreFunction(e.loss, np.ravel(x.toarray() if hasattr(x, "toarray") else x), y)

    return respond


def seated(player: Any, e: Environment, name: str, rounds: int, seed: int) -> OwnTable:
    """The table at which a player of one's own plays an environment, or an error that says why it cannot."""
    if not (isinstance(e, RowGame) or (isinstance(e, CostGame) and not e.hidden)):
        raise PartError(f"{_called(player)} cannot play {name}: {SHOWN}")
    if not (isinstance(player, KNOWN) or _plays(player)):
        player = _made(player, e, rounds, seed)
    if not isinstance(player, KNOWN):
        require_player(player)
        if isinstance(e, CostGame) and e.delay:
            raise PartError(f"{_called(player)} cannot play {name}: {SHOWN}; a rule plays late ones too")
    return OwnTable(e, player, rounds, seed)


def _plays(player: Any) -> bool:
    return not isinstance(player, type) and hasattr(player, "point") and hasattr(player, "learn")


def _made(make: Any, e: Any, rounds: int, seed: int) -> Any:
    """A player of a class or function, which is called with the facts of the game that it names."""
    if not callable(make):
        return make
    asked = inspect.signature(make).parameters
    lacking = [n for n, p in asked.items() if n not in FACTS and p.default is p.empty and p.kind is not p.VAR_KEYWORD
               and p.kind is not p.VAR_POSITIONAL]  # fmt: skip
    if lacking:
        raise PartError(
            f"{_called(make)} asks for {', '.join(lacking)}, which a game does not tell: it tells {', '.join(FACTS)}. "
            "Give a default, or a player that is made already"
        )
    facts = {"dimension": e.dimension, "rounds": rounds, "domain": e.domain, "seed": seed}
    if "lipschitz" in asked:
        facts["lipschitz"] = _steepest(e, rounds, seed)
    return make(**{n: facts[n] for n in asked if n in facts})


def _steepest(e: Any, rounds: int, seed: int) -> float:
    """A number that no sub-gradient's length exceeds: of rows, under a loss of slope at most 1, that of the longest."""
    if isinstance(e, RowGame):
        x, _ = e.rows(rounds, seed)
        squares = x.power(2).sum(axis=1) if hasattr(x, "power") else np.sum(np.square(x), axis=1)
        return float(np.sqrt(np.max(squares)))
    return float(e.lipschitz(2.0, rounds, seed))


def _called(thing: Any) -> str:
    """The name of a class or function, or of the class of a player."""
    return str(getattr(thing, "__name__", type(thing).__name__))
