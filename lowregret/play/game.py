"""The textbook's game, round by round: play w_t, see a convex f_t, pay f_t(w_t). Any player, any functions.

Costs microseconds to milliseconds a round and keeps the whole record; for long streams of rows use `train`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from tqdm import tqdm

from lowregret.certificate import Certificate, Premise, natural_comparator, tightest
from lowregret.certificate.following import Following, following_certificates
from lowregret.certificate.linearised import linearised
from lowregret.certificate.theorems import LINEARISED
from lowregret.certificate.trace import Trace, next_mark
from lowregret.compile.numerics import summed
from lowregret.compile.spec import from_json, to_json
from lowregret.compile.turns import in_turn
from lowregret.convex.functions import Convex, LinearFunction, as_function, sum_on
from lowregret.convex.leader import FollowTheLeader
from lowregret.convex.minimise import Solution
from lowregret.convex.verify import PREMISE, counterexample, is_doubtful, tried_points, unaveraged
from lowregret.domain import Domain, L2Ball
from lowregret.domain.described import missed
from lowregret.errors import DataError, PartError, StoreError
from lowregret.learner.validate import finite_numbers
from lowregret.output import Average, Last, Output, WeightedAverage
from lowregret.play.own_player import OwnSeat, require_adversary
from lowregret.play.player import FollowerSeat, Look, RuleSeat, Seat, checked_value
from lowregret.play.schema import GameSchema
from lowregret.play.wrapped_player import take_seat
from lowregret.risk.drawn import game_risks, independence
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.store.file import Arrays, Saved
from lowregret.types import Vector
from lowregret.words import counted, rounded_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Functions = Iterable[Any] | Callable[[int, Vector], Any]


@dataclass(frozen=True)
class GameTrace(Trace):
    """Curves over the marked rounds; `regret` is against the best of the comparators for the rounds so far."""

    regret: Vector


class Game(Saved):
    """A player, the record of its game, and the proof of how well it has done.

    `losses` (T), `points` and `gradients` (T × d) and `functions` are the record.
    """

    kind = "game"
    schema = GameSchema()

    def __init__(
        self,
        player: Any,
        dimension: int,
        comparator: Domain | None = None,
        *,
        compiled: bool = True,
        functions: list[Convex] | None = None,
        record: dict[str, Any] | None = None,
        seat: dict[str, Any] | None = None,
    ) -> None:
        self.player, self.dimension, self.compiled = player, dimension, compiled
        self.functions = functions or []
        self.seat: Seat = take_seat(player, dimension, self.functions, compiled, seat)
        self.comparator = comparator or self._natural_comparator()
        self.comparator.fits(dimension)
        record = record or {}
        self._losses: list[float] = record["losses"].tolist() if record else []
        self._points: list[Vector] = list(record["points"]) if record else []
        self._gradients: list[Vector] = list(record["gradients"]) if record else []
        self._ledger: list[Vector] = list(record.get("ledger", []))

    def _natural_comparator(self) -> Domain:
        if isinstance(self.seat, RuleSeat):
            return natural_comparator(self.seat.learner, self.dimension)
        bounded = np.isfinite(self.seat.domain.reach(2, self.dimension))
        return self.seat.domain if bounded else L2Ball(1.0)

    # ---- playing -------------------------------------------------------------------------------------------------

    def learn(self, functions: Functions, rounds: int | None = None) -> Self:
        """Play more rounds. Splitting a game changes nothing, not even the last bit."""
        if callable(functions):
            require_adversary(functions, rounds)
        answers = self._answers(functions) if callable(functions) else iter(functions)
        before = self.rounds
        for thing in tqdm(islice(answers, rounds), total=rounds, unit="round", delay=1, disable=None, leave=False):
            self._round(self._function(thing))
        if rounds is not None and self.rounds - before < rounds:
            raise PartError(f"the functions ended after {self.rounds - before} of {rounds} rounds")
        return self

    def _answers(self, adversary: Callable[[int, Vector], Any]) -> Iterator[Any]:
        while True:
            yield adversary(self.rounds + 1, self.seat.point().copy())

    def _function(self, thing: Any) -> Convex:
        try:
            return as_function(thing)
        except (DataError, PartError) as error:
            raise type(error)(f"round {self.rounds + 1}: {error}") from None

    @in_turn
    def _round(self, f: Convex) -> None:
        w = self.seat.point()
        value, z = checked_value(f, w, self.rounds + 1)
        self.seat.see(f, z)
        self.functions.append(f)
        self._losses.append(value)
        self._points.append(w)
        self._gradients.append(z)
        if isinstance(self.seat, RuleSeat) and self.rounds == next_mark(self.rounds - 1):
            self._ledger.append(self.seat.ledger())
        self.__dict__.pop("certificates", None)

    # ---- the record ----------------------------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        """Rounds played so far."""
        return len(self._losses)

    @property
    def losses(self) -> Vector:
        """f_t(w_t)"""
        return np.array(self._losses)

    @property
    def points(self) -> Vector:
        """w_t, one a row"""
        return np.array(self._points).reshape(-1, self.dimension)

    @property
    def gradients(self) -> Vector:
        """z_t ∈ ∂f_t(w_t), one a row"""
        return np.array(self._gradients).reshape(-1, self.dimension)

    @property
    def loss(self) -> float:
        """Σ f_t(w_t)"""
        return float(np.sum(self.losses))

    # ---- results -------------------------------------------------------------------------------------------------

    def best(self, comparator: Domain | None = None) -> Solution:
        """The best fixed point of a set in hindsight: w, Σ f_t(w), and a bound on how much better any could be."""
        return self._best(self.rounds, comparator or self.comparator)

    def _best(self, rounds: int, comparator: Domain) -> Solution:
        functions = self.functions[:rounds]
        total = sum_on(comparator, self.dimension, functions)
        found = FollowTheLeader(comparator).follow(total, comparator.projection(np.zeros(self.dimension)))
        value = summed([f.value(found.w.copy()) for f in functions])  # of what is folded, all digits may be lost
        found = found._replace(value=value)
        return found if self.refuted(rounds, comparator, found.w) is None else found._replace(gap=np.inf)

    def refuted(self, rounds: int, comparator: Domain, *more: Vector) -> str | None:
        """Where a function of the user's own is seen not to be convex."""
        if not any(map(is_doubtful, self.functions[:rounds])):
            return None
        record = self.points[:rounds], self.gradients[:rounds]
        tried = [*more, *tried_points(*record, comparator)]
        return counterexample(self.functions[:rounds], *record, self.losses[:rounds], tried)

    def _doubted(self, found: list[Certificate], rounds: int) -> list[Certificate]:
        """The certificates with the premise that functions of the user's own are convex, if there are any."""
        if not any(map(is_doubtful, self.functions[:rounds])):
            return found
        try:
            best = [self._best(rounds, self.comparator).w]
        except PartError:  # nobody knows how to look for it
            best = []
        why = self.refuted(rounds, self.comparator, *best)
        premise = Premise(PREMISE, why is None, why or "no counterexample where it was tried")
        known = [c if why is None else replace(c, linear_regret=None) for c in found]
        return [replace(c, premises=(*c.premises, premise)) for c in known]

    @property
    def regret(self) -> float:
        """Σ f_t(w_t) − Σ f_t(u) at the best u of the comparators, rounded up by the solver's gap."""
        best = self.best()
        return self._behind(best.w, self.rounds) + best.gap

    def regret_to(self, u: Any) -> float:
        """Σ f_t(w_t) − Σ f_t(u) at one fixed u."""
        return self._behind(finite_numbers(u, "the comparator", self.dimension), self.rounds)

    def _behind(self, u: Vector, rounds: int) -> float:
        return summed([*self._losses[:rounds], *(-f.value(u.copy()) for f in self.functions[:rounds])])

    def linear_regret(self, comparator: Domain | None = None) -> float:
        """max_u Σ c_t[⟨w_t − u, z_t⟩ − (σ_t/2)‖w_t − u‖²], σ_t the strong convexity of f_t: at least the regret.

        Where the step schedule weighs the rounds, c_t sums to 1; else it is 1.
        """
        return self._linear_regret(self.rounds, comparator or self.comparator)

    def _linear_regret(self, rounds: int, comparator: Domain) -> float:
        w, z = self.points[:rounds], self.gradients[:rounds]
        c = self._importance(rounds)
        curvature = c * np.array([f.curvature for f in self.functions[:rounds]])
        inner, kappa = float(np.sum(c * np.sum(w * z, axis=1))), float(np.sum(curvature))
        if kappa == 0:
            return inner + comparator.support(-(c @ z))
        with np.errstate(all="ignore"):  # squares of weights that overflow say nothing
            inner -= float(np.sum(curvature * np.sum(w * w, axis=1)) / 2)
            pull = curvature @ w - c @ z
            u = comparator.projection(pull / kappa)
            found = inner + float(pull @ u) - kappa / 2 * float(u @ u) + missed(comparator, pull, kappa, u)
        return math.inf if math.isnan(found) else found

    def _importance(self, rounds: int) -> Vector:
        if isinstance(self.seat, RuleSeat):
            step = self.seat.learner.rule.schedule()
            if step.weighted():
                return np.diff([step.total_importance(t) for t in range(rounds + 1)]) / step.total_importance(rounds)
        return np.ones(rounds)

    @cached_property
    def certificates(self) -> list[Certificate]:
        """All certificates that speak of this player, tightest first."""
        if isinstance(self.seat, RuleSeat):
            return self._evaluate(self.seat, self.seat.ledger(), self.seat.theta(), self.rounds)
        return self._observed(self.rounds)

    @property
    def certificate(self) -> Certificate:
        """The tightest certificate whose premises hold."""
        return tightest(self.certificates)

    def _evaluate(self, seat: RuleSeat, ledger: Vector, theta: Vector | None, rounds: int) -> list[Certificate]:
        curvature = min((f.curvature for f in self.functions[:rounds]), default=0.0)
        found = seat.certificates(ledger, theta, Look(rounds, self.comparator, curvature))
        linear = self._linear_regret(rounds, self.comparator)
        known = [replace(c, linear_regret=linear) for c in found]
        return self._doubted([replace(c, bound=linear) if c.id == LINEARISED.id else c for c in known], rounds)

    def _observed(self, rounds: int, regret: float | None = None) -> list[Certificate]:
        """Of players that keep no ledger: what theorems say of followers, else the linearised regret."""
        found: list[Certificate] = []
        if isinstance(self.seat, FollowerSeat):
            exact = self.regret if regret is None else regret
            found = following_certificates(self._following(self.seat, rounds, exact))
        if not found:
            points, linear = self.points[:rounds], self._linear_regret(rounds, self.comparator)
            premises = self.seat.premises(points) if isinstance(self.seat, OwnSeat) else ()
            found = [linearised(points, self.gradients[:rounds], linear, self.comparator, premises)]
        return self._doubted(found, rounds)

    def _following(self, seat: FollowerSeat, rounds: int, regret: float) -> Following:
        return Following(
            seat.player,
            self.functions[:rounds],
            self.points[:rounds],
            self.gradients[:rounds],
            self.losses[:rounds],
            np.array(seat.drops[:rounds]),
            np.array(seat.steps[:rounds]),
            np.array(seat.gaps[: rounds + 1]),
            self.comparator,
            regret,
        )

    def model(self, output: Output = Average()) -> Vector:
        """The point that an output hands out: an average of w_1 … w_T, one of them drawn, or the next: O(Td)."""
        if isinstance(output, Last) or not self.rounds:
            return self.seat.point().copy()
        with np.errstate(over="ignore"):  # of hashes
            c = np.array([output.weight(t) for t in range(1, self.rounds + 1)])
        return self._points[int(np.flatnonzero(c)[-1])].copy() if output.replaces() else c @ self.points / c.sum()

    def risks(
        self,
        delta: float = 0.05,
        *,
        output: Output = Average(),
        ceiling: float | None = None,
        independent: bool = False,
    ) -> list[RiskCertificate]:
        """Bounds on E f(model) if all f_t are independent, your word; with 0 ≤ f ≤ `ceiling` with probability 1 − δ."""
        why = self.refuted(self.rounds, self.comparator)
        if why is None and not output.replaces() and not isinstance(output, Last):
            shares = np.array([output.weight(t) for t in range(1, self.rounds + 1)])
            why = unaveraged(self.functions, self.points, shares, self.model(output))
        known = independence(independent), Premise(PREMISE, why is None, why)
        return game_risks(self.losses, output, delta, ceiling, self._mean_regret(output), known)

    def _mean_regret(self, output: Output) -> float | None:
        """The linearised regret per round, weighed as the output weighs; None if the schedule weighs otherwise."""
        weighs = isinstance(self.seat, RuleSeat) and self.seat.learner.rule.schedule().weighted()
        if weighs != isinstance(output, WeightedAverage):
            return None
        return self.linear_regret() / (1 if weighs else max(self.rounds, 1))

    @property
    def trace(self) -> GameTrace:
        """Loss, regret, linearised regret and bound at marked rounds and now: O(Td) for each, or a solver's work."""
        marks, t = [], 0
        while t < self.rounds:
            marks.append(t := min(next_mark(t), self.rounds))
        loss = np.cumsum(self.losses)
        best = [self._best(t, self.comparator) for t in marks]
        regret = np.array([self._behind(b.w, t) + b.gap for t, b in zip(marks, best, strict=True)])
        found = [tightest(self._at(k, t, r)) for k, (t, r) in enumerate(zip(marks, regret.tolist(), strict=True))]
        return GameTrace(
            np.array(marks, np.int64),
            loss[np.array(marks, int) - 1],
            np.array([self._linear_regret(t, self.comparator) for t in marks]),
            np.array([c.promised if c.premises_hold else np.nan for c in found]),
            found[-1].id if found else "",
            regret,
        )

    def _at(self, mark: int, rounds: int, regret: float) -> list[Certificate]:
        """The certificates as they stood after these many rounds."""
        if isinstance(self.seat, RuleSeat):
            ledger = self._ledger[mark] if mark < len(self._ledger) else self.seat.ledger()
            return self._evaluate(self.seat, ledger, None, rounds)
        return self._observed(rounds, regret)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Regret, linearised regret and bound over the rounds; written to `path` if given."""
        from lowregret.show.plot import plot_game

        return plot_game(self, path)

    def __str__(self) -> str:
        from lowregret.show.text import describe

        head = f"{counted(self.rounds, 'round')} of {type(self.player).__name__}, loss {self.loss:.6g}"
        return "\n".join([head, *describe(self.certificate, max(self.rounds, 1))])

    def _of(self) -> str:
        return type(self.player).__name__

    def _facts(self) -> Iterator[str]:
        yield from super()._facts()
        yield f"loss {self.loss / max(self.rounds, 1):.4g} a round"
        if "certificates" in self.__dict__:  # else they cost O(Td), or a solver's work
            found = self.certificate
            known = found.measured if found.regret is None else found.regret
            yield f"{found.measure} ≤ {rounded_up(found.promised if known is None else known, 4)}"

    # ---- files ---------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        """The description and arrays that `save` writes: the record, and the player's memory."""
        if isinstance(self.seat, OwnSeat):
            raise StoreError(
                f"a game of {self._of()} can be played but not saved, for what it remembers is its own: keep the "
                "record (functions, points, gradients, losses) instead, and let it learn the gradients once more"
            )
        linear = all(type(f) is LinearFunction for f in self.functions)
        description = {
            "player": to_json(self.player),
            "comparator": to_json(self.comparator),
            "dimension": self.dimension,
            "compiled": self.compiled,
            "functions": None if linear else [to_json(f) for f in self.functions],
        }
        record = {"losses": self.losses, "points": self.points, "gradients": self.gradients}
        if isinstance(self.seat, RuleSeat):
            record["ledger"] = np.array(self._ledger).reshape(-1, self.seat.ledger().size)
        seat = {f"seat.{name}": array for name, array in self.seat.arrays().items()}
        return description, record | seat

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        """The game in a file."""
        specs = description["functions"]
        functions = [LinearFunction(z) for z in arrays["gradients"]] if specs is None else map(from_json, specs)
        return cls(
            from_json(description["player"]),
            description["dimension"],
            from_json(description["comparator"]),  # type: ignore[arg-type]
            compiled=description["compiled"],
            functions=list(functions),  # type: ignore[arg-type]
            record=arrays,
            seat={name[5:]: array for name, array in arrays.items() if name.startswith("seat.")},
        )
