"""Opponents of a learner: environments that ignore it, adversaries that look at it, and wrappers of both.

    answer = environment.begin(rounds, seed)        a fresh game: everything random is drawn from the seed
    answer(t, w_t)                                  what is revealed in round t = 1, 2, … to whom plays w_t

An answer is a cost vector z_t (then f_t(w) = ⟨w, z_t⟩), a convex function, or a labelled row (x_t, y_t). An environment
of your own is a subclass with `costs` if it ignores the player, or `answer` if it does not: see docs/games.md.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.part import Part
from lowregret.convex.functions import Convex, LinearFunction
from lowregret.domain import Domain, L2Ball, Simplex
from lowregret.errors import DataError, PartError
from lowregret.game.hard_sequences import Matrix
from lowregret.learner.validate import is_whole, real_numbers
from lowregret.types import Vector
from lowregret.words import counted

Answer = Callable[[int, Any], Any]


class Environment(Part):
    """A game: its docstring says what it shows, of which theorem, and what must happen."""

    compilable: ClassVar[bool] = False

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many coordinates are played."""

    @abstractmethod
    def begin(self, rounds: int, seed: int) -> Answer:
        """A fresh game of this many rounds."""

    @property
    def domain(self) -> Domain:
        """The fixed choices with which the player is compared, and where it may play."""
        return L2Ball(1.0)

    @property
    def usual(self) -> int:
        """How many rounds to play if nobody says."""
        return 1024

    @property
    def length(self) -> int | None:
        """How many rounds there are at most; None if it never ends."""
        return None

    @property
    def about(self) -> str:
        """The first line of the docstring."""
        return (type(self).__doc__ or type(self).__name__).split("\n")[0]


class CostGame(Environment):
    """Cost vectors, or functions made of one vector a round."""

    @property
    def curvature(self) -> float:
        """σ such that every f_t is σ-strongly convex."""
        return 0.0

    @property
    def hidden(self) -> bool:
        """Whether only the cost of what was played is revealed."""
        return False

    @property
    def delay(self) -> int:
        """How many rounds an answer is late."""
        return 0

    @property
    def unit(self) -> bool:
        """Whether these are costs of experts: on the simplex, each between 0 and 1."""
        return False

    def function(self, z: Vector) -> Convex:
        """f_t of the vector z_t."""
        return LinearFunction(z)

    @abstractmethod
    def lipschitz(self, p: float, rounds: int, seed: int) -> float:
        """A number that no ‖z_t‖_p exceeds, z_t a sub-gradient in the domain: what rates are tuned to."""


class SizedGame(CostGame):
    """Costs of d coordinates."""

    d: int = 1

    @property
    def dimension(self) -> int:
        return self.d


class ObliviousGame(SizedGame):
    """Costs that were fixed before the game."""

    @abstractmethod
    def costs(self, rounds: int, rng: np.random.Generator) -> Matrix:
        """One vector a round."""

    def table(self, rounds: int, seed: int) -> Matrix:
        """The vectors of one game, of which `costs` may give more than there are rounds."""
        what = f"{type(self).__name__}.costs"
        found = real_numbers(self.costs(rounds, np.random.default_rng(seed)), what)
        if found.ndim != 2 or len(found) < rounds or found.shape[1] != self.dimension:
            raise DataError(f"{what} must give {rounds} rounds of {self.dimension} costs, got shape {found.shape}")
        bad = np.argwhere(~np.isfinite(found))
        if bad.size:
            t, j = bad[0].tolist()
            raise DataError(f"{what}: round {t + 1}, cost {j} is {found[t, j]}: all must be finite numbers")
        return found[:rounds]

    def begin(self, rounds: int, seed: int) -> Answer:
        table = self.table(rounds, seed)
        return lambda t, w: self.function(table[t - 1])

    def lipschitz(self, p: float, rounds: int, seed: int) -> float:
        return float(np.max(np.linalg.norm(self.table(rounds, seed), p, axis=1)))


class AdaptiveGame(SizedGame):
    """Costs that depend on what is played: the adversary sees w_t first."""

    @abstractmethod
    def answer(self, done: float, w: Vector) -> Vector:
        """The cost vector for w_t, when this share of the rounds is done."""

    def begin(self, rounds: int, seed: int) -> Answer:
        return lambda t, w: self.function(self.answer((t - 1) / rounds, w))

    def lipschitz(self, p: float, rounds: int, seed: int) -> float:
        """‖z‖_p ≤ ‖z‖₂ ≤ 1 for p ≥ 2; override for longer costs."""
        return 1.0


class WrappedGame(CostGame):
    """A game of costs whose answers are those of another, told otherwise."""

    inner: Any

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    @property
    def domain(self) -> Domain:
        return self.inner.domain

    def begin(self, rounds: int, seed: int) -> Answer:
        return self.inner.begin(rounds, seed)

    def lipschitz(self, p: float, rounds: int, seed: int) -> float:
        return self.inner.lipschitz(p, rounds, seed)


class LateAnswers(WrappedGame):
    """A game with answers that come late: that of round s after round s + τ was played.

    Shows DELAY: the regret grows by a factor of about √(1 + 2τ), not τ. With τ = 0 it is the game itself.
    """

    tau: int = 10

    def check(self) -> None:
        self.require(
            isinstance(self.inner, CostGame) and not self.inner.hidden and not self.inner.delay,
            f"takes a game of costs that is shown at once and whole, got {self.inner!r}",
        )
        self.require(isinstance(self.tau, int) and self.tau >= 0, f"tau must be a whole number ≥ 0, got {self.tau!r}")

    @property
    def delay(self) -> int:
        return self.tau

    @property
    def about(self) -> str:
        return f"answers come {counted(self.tau, 'round')} late: {self.inner.about}"

    def function(self, z: Vector) -> Convex:
        return self.inner.function(z)


class BanditFeedback(WrappedGame):
    """A game with bandit feedback: only the cost of what was played is revealed.

    Shows COR-4.2 (arms) and COR-4.5 (points of a ball): the regret grows by √d, or to T^{3/4}, in expectation, and only
    against costs that ignore the player's coins; so the game inside must be an oblivious one.
    """

    def check(self) -> None:
        self.require(
            isinstance(self.inner, ObliviousGame) and not self.inner.hidden and self.inner.curvature == 0,
            "takes a game of linear costs fixed beforehand: against one that looks at the player the theorems say "
            f"nothing (E25); got {self.inner!r}",
        )

    @property
    def hidden(self) -> bool:
        return True

    @property
    def unit(self) -> bool:
        return self.inner.unit

    @property
    def about(self) -> str:
        return f"only the cost of what was played is shown: {self.inner.about}"

    def table(self, rounds: int, seed: int) -> Matrix:
        """The costs of one game, of which the player sees a part."""
        return self.inner.table(rounds, seed)


class ExpertGame(ObliviousGame):
    """Costs of experts, in [0, 1]; the regret is against the best single one."""

    @property
    def domain(self) -> Domain:
        return Simplex(1.0)

    @property
    def unit(self) -> bool:
        return True


def require_rounds(environment: Environment, rounds: int | None) -> int:
    """How many rounds to play: as wanted, as many as there are, or the usual number."""
    most = environment.length
    if rounds is None:
        return environment.usual if most is None else most
    if not is_whole(rounds, 1):
        raise PartError(f"a game has at least one round, a whole number of them, got {rounds!r}")
    return rounds if most is None else min(rounds, most)
