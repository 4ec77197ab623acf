"""A learner against an environment: `contest("ftl-breaker", "ogd")`, books, certificate, verdict, picture."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lowregret.certificate import Certificate
from lowregret.certificate.theorems import LINEARISED
from lowregret.compile.numerics import at_most
from lowregret.errors import PartError
from lowregret.game.algorithms import ALGORITHMS, Algorithm, Setting, fitting
from lowregret.game.catalogue import game
from lowregret.game.environment import Environment, require_rounds
from lowregret.game.own import Adversary, seated
from lowregret.game.tables import Row
from lowregret.words import counted, rounded_down, rounded_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Contest:
    """The result of a game: how an algorithm did in it, and the bound that was proved."""

    game: str
    algorithm: str
    rounds: int
    seed: int
    tuning: str
    rows: tuple[Row, ...]
    certificate: Certificate
    spec: dict[str, Any] | None
    games: int = 1  # whose mean the rows show: those of different coins, where theorems speak of chance

    @property
    def holds(self) -> bool:
        """Whether the premises held, and no measured number ever exceeded its bound."""
        above = any(row.bound is not None and not at_most(row.regret, row.bound) for row in self.rows)
        return self.certificate.holds and not above

    @property
    def empty(self) -> bool:
        """Whether the bound per round has hardly fallen while the rounds grew sixteenfold, and so promises nothing."""
        last, past = self.rows[-1], next(row for row in self.rows if 16 * row.round >= self.rounds)
        if last.bound is None or past.bound is None or past is last:
            return False
        return last.bound / last.round >= 0.8 * past.bound / past.round

    @property
    def verdict(self) -> str:
        """One sentence."""
        c, last = self.certificate, self.rows[-1]
        played, each = counted(self.rounds, "round"), last.regret / self.rounds
        mean = "" if self.games == 1 else f", the mean of {counted(self.games, 'game')}"
        said = f"{c.measure} {last.regret:.4g} after {played}, {each:.3g} a round{mean}"
        if c.id == "NONE":
            return f"{said}; no theorem speaks of {self.algorithm} against any costs whatever."
        if c.id == LINEARISED.id and c.premises_hold:
            return f"{said}: at most {rounded_up(c.promised, 4)}, linearised, which no theorem promised in advance."
        failed = next((p.name for p in c.premises if not p.holds), None)
        if failed is not None:
            return f"{said}; {c.id} promises nothing here, for its premise fails: {failed}."
        if not self.holds:
            return f"{said}: {c.id} promised at most {rounded_down(c.promised, 4)} and is VIOLATED."
        share = f"{last.regret / c.promised:.0%} of" if last.regret > 0 and c.promised > 0 else "under"
        empty = ", but that grows with the rounds and promises nothing" if self.empty else ""
        return f"{said}: {share} what {c.id} allows, {rounded_up(c.promised, 4)}{empty}."

    def to_json(self) -> dict[str, Any]:
        """The public form."""
        return {
            "game": self.game,
            "algorithm": self.algorithm,
            "rounds": self.rounds,
            "seed": self.seed,
            "games": self.games,
            "tuning": self.tuning or None,
            "spec": self.spec,
            "rows": [row.to_json() for row in self.rows],
            "certificate": self.certificate.to_json(),
            "holds": self.holds,
            "verdict": self.verdict,
        }

    def __str__(self) -> str:
        linearised = any(row.linear_regret is not None for row in self.rows)
        head = ["round", "loss", self.certificate.measure, f"bound ({self.certificate.id})", "ratio"]
        cells = [
            [f"{r.round:,}", _format(r.loss), _format(r.regret), _at_most(r.bound), _format(_ratio(r))]
            for r in self.rows
        ]
        if linearised:
            head.insert(3, "linearised")
            for line, row in zip(cells, self.rows, strict=True):
                line.insert(3, _format(row.linear_regret))
        widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
        table = ["  ".join(f"{cell:>{w}}" for cell, w in zip(line, widths, strict=True)) for line in (head, *cells)]
        return "\n".join([*table, self.verdict])

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Regret, linearised regret where there is one, and bound; written to `path` if given."""
        from lowregret.game.plot import plot_contest

        return plot_contest(self, path)


def _ratio(row: Row) -> float | None:
    return round(row.regret / row.bound, 3) if row.bound else None


def _format(value: float | None) -> str:
    """Five digits, and nothing of rounding errors around 0."""
    return "–" if value is None else f"{round(value, 9) + 0.0:.5g}"


def _at_most(value: float | None) -> str:
    """Five digits that the value is not above."""
    return "–" if value is None else rounded_up(value, 5)


def contest(
    against: str | Environment | Callable[[int, Any], Any],
    algorithm: Any,
    rounds: int | None = None,
    *,
    seed: int = 0,
    eta: float | None = None,
    name: str = "",
    dimension: int | None = None,
) -> Contest:
    """Play a game of the catalogue, or an environment of your own, and look at the books after 1, 2, 4, … rounds.

    `against` may be any callable: it is told (t, w_t) and answers with costs or a convex function of `dimension`
    coordinates. `algorithm`: a name, or a player: a rule, a follower, any object with `point()` and `learn(z)`, or the
    class of such, which is called with those of dimension, rounds, domain, lipschitz and seed that it asks for.

    Without `eta` the textbook's rate for these rounds is used. Everything random comes from the seed. `name` is what
    the game is called.
    """
    e = _environment(against, dimension)
    called = name or (against if isinstance(against, str) else getattr(against, "__name__", type(e).__name__))
    played = require_rounds(e, rounds)
    if not isinstance(algorithm, str):
        if eta is not None:
            raise PartError("a player of your own has a rate of its own: leave eta out")
        own = seated(algorithm, e, called, played, seed)
        rows, player = tuple(own.play(played)), type(own.game.player).__name__
        return Contest(called, player, played, seed, "", rows, own.certificate, own.spec)
    chosen = find(e, called, algorithm)
    if eta is not None and not chosen.tuning:
        raise PartError(f"{algorithm} has no learning rate in {called}: leave eta out")
    table = chosen.sit(Setting(e, played, seed, eta))
    rows = tuple(table.play(played))
    tuning = chosen.tuning if eta is None else f"η = {eta:g}, as given"
    return Contest(called, algorithm, played, seed, tuning, rows, table.certificate, table.spec, table.games)


def _environment(against: Any, dimension: int | None) -> Environment:
    """The game that was named, given, or is made of a callable."""
    if isinstance(against, str):
        against = game(against)
    if isinstance(against, Environment):
        if dimension not in (None, against.dimension):
            raise PartError(f"{type(against).__name__} has {against.dimension} coordinates: leave dimension out")
        return against
    if isinstance(against, type) or not callable(against):
        raise PartError(
            "the opponent must be a game's name, an Environment such as AdaptiveGame, or a function of (t, w_t) that "
            f"answers with costs, got {against!r}"
        )
    return Adversary(against, dimension or 1)


def find(e: Environment, name: str, algorithm: str) -> Algorithm:
    """The algorithm of this name, if it can play the game; else an error that names those which can."""
    could = {a.name: a for a in fitting(e)}
    if algorithm not in could:
        known = any(a.name == algorithm for a in ALGORITHMS)
        why = f"{algorithm} cannot play {name}" if known else f"there is no algorithm {algorithm!r}"
        raise PartError(f"{why}; {name} can be played by {', '.join(could) or 'nobody'}")
    return could[algorithm]
