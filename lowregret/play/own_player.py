"""Players of your own: any object with two methods, where to play and what to learn.

    class Cautious:
        def __init__(self, d):
            self.w, self.t = np.zeros(d), 0

        def point(self):                      # w_t, before f_t is shown
            return self.w

        def learn(self, z):                   # z_t ∈ ∂f_t(w_t); or learn(z, f), to see the function as well
            self.t += 1
            self.w = L2Ball(1.0).projection(self.w - z / self.t)

An attribute `domain` says in which set it plays; that is then looked at. What certifies it is the linearised regret
(LEM-2.5), which holds for whatever chose the points. A round costs what the two methods cost, and O(d).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from lowregret.certificate import Premise
from lowregret.convex.functions import Convex
from lowregret.domain import Domain, Reals
from lowregret.errors import DataError, DivergedError, PartError
from lowregret.mirror import Mirror
from lowregret.play.player import Seat
from lowregret.types import Vector
from lowregret.words import counted

METHODS = {
    "point": "point(), where it plays: w_t, before f_t is shown",
    "learn": "learn(z), what it learns: z_t ∈ ∂f_t(w_t); or learn(z, f), to see f_t too",
}


def require_player(player: Any) -> None:
    """Raise a `PartError` that says what an object lacks to play."""
    name = player.__name__ if isinstance(player, type) else type(player).__name__
    if isinstance(player, Mirror):
        raise PartError(
            f"{name} is a mirror map: give the rule that plays with it, MirrorDescent({name}(…), Constant(η))"
        )
    lacking = [told for method, told in METHODS.items() if not hasattr(player, method)]
    if lacking:
        raise PartError(
            f"{name} cannot play: it lacks {' and '.join(lacking)}. A player is a rule such as "
            "MirrorDescent(Euclidean(), Constant(0.1)), a follower such as FollowTheLeader(L2Ball(1.0)), or any object "
            f"with these methods; got {player!r}"
        )
    if isinstance(player, type):
        raise PartError(f"{name} is a class: give a player made of it, such as {name}(…)")
    domain = getattr(player, "domain", None)
    if not (domain is None or isinstance(domain, Domain)):
        raise PartError(f"{name}.domain must be a Domain such as L2Ball(1.0), or absent, got {domain!r}")


def require_adversary(adversary: Callable[..., Any], rounds: int | None) -> None:
    """Raise a `PartError` if an adversary cannot be called with (t, w_t), or would never end."""
    if rounds is None:
        raise PartError("an adversary never ends by itself: give rounds")
    try:
        signature = inspect.signature(adversary)
    except (TypeError, ValueError):  # of what is not written in Python
        return
    try:
        signature.bind(1, None)
    except TypeError:
        name = getattr(adversary, "__name__", type(adversary).__name__)
        raise PartError(
            f"an adversary is called with (t, w_t), the round and what is played: not so {name}{signature}"
        ) from None


class OwnSeat(Seat):
    """An object of the user's own, asked once a round where it plays."""

    def __init__(self, player: Any, dimension: int) -> None:
        require_player(player)
        self.player, self.dimension, self.rounds = player, dimension, 0
        self.told = isinstance(getattr(player, "domain", None), Domain)
        self.domain = player.domain if self.told else Reals()
        self.domain.fits(dimension)
        self.sees = _sees_function(player)
        self.next: Vector | None = None

    def point(self) -> Vector:
        if self.next is None:
            given = self.player.point() if callable(self.player.point) else self.player.point
            self.next = self._checked(given)
        return self.next

    def _checked(self, given: Any) -> Vector:
        """A copy of the point, which is the player's own and may change under our hands."""
        name = f"round {self.rounds + 1}: {type(self.player).__name__}.point()"
        try:
            w = np.array(given, float)
        except (TypeError, ValueError):
            raise DataError(f"{name} must give numbers, got {given!r}") from None
        if w.shape != (self.dimension,):
            takes = counted(self.dimension, "coordinate")
            raise DataError(f"{name} gave shape {w.shape}, the functions take {takes}")
        bad = np.flatnonzero(~np.isfinite(w))
        if bad.size:
            raise DivergedError(f"{name} gave {w[bad[0]]} for coordinate {bad[0]}: it must be finite in every round")
        return w

    def see(self, f: Convex, z: Vector) -> None:
        self.rounds, self.next = self.rounds + 1, None
        self.player.learn(*(z.copy(), f)[: 1 + self.sees])

    def premises(self, points: Vector) -> tuple[Premise, ...]:
        """That it played in its set, if it has named one."""
        if not self.told:
            return ()
        outside = next((t for t, w in enumerate(points, 1) if not self.domain.contains(w)), None)
        where = "in every round" if outside is None else f"round {outside} is played at {points[outside - 1][:3]}"
        return (Premise(f"the points played lie in the player's {self.domain.name}", outside is None, where),)

    def arrays(self) -> dict[str, Any]:
        return {}


def _sees_function(player: Any) -> bool:
    """Whether `learn` takes the function beside its sub-gradient."""
    try:
        signature = inspect.signature(player.learn)
    except (TypeError, ValueError):  # of what is not written in Python
        return False
    for arguments in ((0, 0), (0,)):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return len(arguments) == 2
    raise PartError(f"{type(player).__name__}.learn{signature} must take (z), or (z, f)")
