"""What can be proved about a run of `auto`: against its own experts, and against every fixed linear predictor."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lowregret.auto.learner import EXPERTS, GAP, MIXED, NAMES, TRUST, WEIGHTS, expert_losses
from lowregret.certificate import Certificate, Premise
from lowregret.domain import Domain
from lowregret.eras import KEPT, LOST, ROUND, WIDTH, Eras, next_end, sums, thinned
from lowregret.growth import joined, split
from lowregret.ledger import Ledger
from lowregret.state import LINEAR, ROUNDS, SUMS, TOTAL, State, Vector
from lowregret.store import Arrays
from lowregret.trace import Trace, linearised

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDING = 1e-12  # of sums of many losses, relative


@dataclass(frozen=True)
class Contest:
    """The experts of a run: what each lost, and how far it is trusted."""

    total: float  # the mixture's own loss
    rounds: int
    trust: Vector
    classifies: bool

    @property
    def losses(self) -> Vector:
        return expert_losses(self.trust)

    @property
    def weights(self) -> Vector:
        return self.trust[WEIGHTS : WEIGHTS + EXPERTS]

    @property
    def best(self) -> int:
        return int(self.losses.argmin())

    @property
    def regret(self) -> float:
        """My loss minus the best expert's, exactly."""
        return self.total - float(self.losses[self.best])

    @property
    def linear_regret(self) -> float:
        """Σ⟨w_t, losses_t⟩ minus the best expert's; the log loss is a mix loss already."""
        return max(self.regret, -math.inf if self.classifies else float(self.trust[MIXED] - self.losses[self.best]))

    @property
    def bound(self) -> float:
        """ln N + ln T (+ what weights above 1 cost), or 2Δ; and what rounding may do to sums of this size."""
        gap, rounding = float(self.trust[GAP]), ROUNDING * abs(self.total)
        logs = math.log(EXPERTS) + math.log(max(self.rounds, 1))
        return (logs + gap if self.classifies else 2 * gap) + rounding

    def certificate(self) -> Certificate:
        """MIX-SHARE or MIX-ADAHEDGE: the mixture against the best of its experts."""
        name, statement = (
            ("MIX-SHARE", "ln N + ln T + Σ[loss − mix loss]₊")
            if self.classifies
            else ("MIX-ADAHEDGE", "2Δ, Δ = Σ(⟨w,losses⟩ − mix loss)")
        )
        comparator = {"set": "experts", "count": EXPERTS, "best": NAMES[self.best]}
        finite = Premise("all losses are finite", math.isfinite(self.total + float(self.losses.sum())))
        return Certificate(
            name, statement, comparator, self.linear_regret, self.bound, premises=(finite,), regret=self.regret
        )

    def to_json(self) -> dict[str, object]:
        """The public form: as of `lowregret experts`."""
        return {
            "experts": {"names": list(NAMES), "losses": self.losses.tolist(), "weights": self.weights.tolist()},
            "best": {"name": NAMES[self.best], "loss": float(self.losses[self.best])},
        }


def against_fixed(state: State, comparator: Domain) -> Certificate:
    """LINEARISED: Σ g_t s_t + max_u⟨u, −Σ g_t x_t⟩ ≥ regret, for losses are convex in the score, whoever made it: O(d).

    g_t is the loss's slope at the mixture's own score s_t. No theorem limits it.
    """
    comparator.fits(state.dimension)
    regret = float(state.sums[LINEAR]) + comparator.support(state.theta.copy())
    statement = "Σ g_t s_t + max_u ⟨u, −Σ g_t x_t⟩, g_t the slope at the score s_t"
    return Certificate("LINEARISED", statement, comparator.describe(), regret, math.inf)


class Standing(Ledger):
    """A run of `auto`: what its mixture's trust in the experts says, now and at the marks of its history."""

    minds: ClassVar[Any]  # what its mind is
    mind: Any  # has `trust`
    linear: Any  # the learner of fixed linear predictors
    _contests: list[Vector]
    _eras: list[Vector]

    @property
    def contest(self) -> Contest:
        """The experts: their losses, and how far each is trusted."""
        return Contest(self.loss, self.rounds, self.mind.trust, bool(self.learner.loss.classifies))

    @property
    def certificates(self) -> list[Certificate]:
        """Against the best expert, and against fixed linear predictors."""
        return [self.certificate, self.fixed_certificate]

    @property
    def certificate(self) -> Certificate:
        """Against the best expert."""
        return self.contest.certificate()

    @property
    def fixed_certificate(self) -> Certificate:
        return against_fixed(self.books, self.comparator)

    def linear_regret(self, comparator: Domain | None = None) -> float:
        """Σ g_t s_t + max_u⟨u, −Σ g_t x_t⟩ against any set of fixed predictors, without a second pass: O(d)."""
        return float(against_fixed(self.books, comparator or self.comparator).linear_regret or 0.0)

    @property
    def trace(self) -> Trace:
        """Loss, regret against the best expert so far and its bound, over the rounds."""
        kept = {int(row[SUMS + ROUNDS]): (row[TOTAL], t) for row, t in zip(self._history, self._contests, strict=True)}
        kept |= {int(row[ROUND]): (row[LOST], row[KEPT:]) for row in self._eras}
        kept[self.rounds] = self.loss, self.mind.trust
        found = [replace(self.contest, rounds=t, total=float(kept[t][0]), trust=kept[t][1]) for t in sorted(kept)]
        return Trace(
            np.array([c.rounds for c in found], np.int64),
            np.array([c.total for c in found]),
            np.array([c.linear_regret for c in found]),
            np.array([c.bound for c in found]),
            self.certificate.id,
        )

    @property
    def fixed_trace(self) -> tuple[Any, Vector]:
        """Rounds, and the linearised regret against fixed linear predictors after each of them."""
        return linearised(self.linear, np.array([*self._history, self._snapshot()]), self.comparator)

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super().contents()
        mind = {f"mind.{name}": array for name, array in self.mind._asdict().items()}
        for name in self.mind.by_feature():
            mind |= split(f"mind.{name}", getattr(self.mind, name), self._places, self._met, True)
        kept = {
            "contests": np.array(self._contests).reshape(-1, TRUST),
            "eras": np.array(self._eras).reshape(-1, WIDTH),
        }
        return description, arrays | mind | kept

    @classmethod
    def _given(cls, learner: Any, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        mind = cls.minds(*(arrays[f"mind.{name}"] for name in cls.minds._fields))
        room = {name: joined(f"mind.{name}", arrays, description["room"]) for name in mind.by_feature()}
        kept = {"mind": mind._replace(**room), "contests": arrays["contests"], "eras": arrays.get("eras")}
        return super()._given(learner, description, arrays) | kept

    def eras(self, count: int | None = None) -> Eras:
        """The run in eras, all that are kept (up to 64) or so many: who was best in each, and what the mixture lost."""
        rows = list(self._eras)
        if self.rounds and (not rows or rows[-1][0] != self.rounds):
            rows.append(sums(self.rounds, self.loss, self.mind.trust))
        return Eras.of(rows, count, bool(self.learner.loss.classifies))

    def plot(self, path: str | os.PathLike[str] | None = None, theirs: Vector | None = None) -> Figure:
        """As of every run; below, mean losses in eras and how far each expert was trusted."""
        from lowregret.plot import plot_auto

        return plot_auto(self, path, theirs)

    def _in_eras(self, learn: Callable[[int, int], int], i: int, mark: int) -> int:
        """Learn rows from i on until `mark` rounds are done, by `learn(row, rounds)`, and note the ends of eras."""
        while True:
            end = min(mark, next_end(self.rounds)) if self.certify else mark
            i = learn(i, end)
            if self.rounds == end == next_end(end - 1):
                self._eras = [*thinned(self._eras, end), sums(end, self.loss, self.mind.trust)]
            if self.rounds < end or end == mark:
                return i

    def _of(self) -> str:
        return ""

    def _proved(self) -> Iterator[str]:
        yield f"regret {self.contest.linear_regret:.4g} to the best expert"

    def _at_mark(self) -> None:
        super()._at_mark()
        self._contests.append(self.mind.trust.copy())
