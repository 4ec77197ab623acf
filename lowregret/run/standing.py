"""What can be proved about a run of `auto`: against its own experts, and against every fixed linear predictor."""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lowregret.auto.kept import (
    DONE,
    KEPT_NAMES,
    NOW,
    OFTEN,
    OWN,
    VOTES,
    Frozen,
    blend,
    close_round,
    copy_measures,
    hedge_weights,
    kept_priors,
    kept_stacks,
    met,
    trust_in,
)
from lowregret.auto.kept import GAP as KEPT_GAP
from lowregret.auto.kept import MIXED as KEPT_MIXED
from lowregret.auto.learner import EXPERTS, GAP, MIXED, NAMES, TRUST, WEIGHTS, expert_losses
from lowregret.auto.stack import EVEN, fresh_stack
from lowregret.auto.view import COLUMNS
from lowregret.certificate import Certificate, Premise
from lowregret.certificate.trace import Trace, linear_regrets
from lowregret.compile.memory import zeros
from lowregret.compile.simd import LANES
from lowregret.domain import Domain
from lowregret.learner.growth import joined
from lowregret.rows import Rows, longest
from lowregret.run.base import Ledger
from lowregret.run.eras import KEPT, LOST, ROUND, WIDTH, Eras, next_end, sums, thinned
from lowregret.state import LINEAR, ROUNDS, SUMS, TOTAL, State
from lowregret.store.file import Arrays
from lowregret.types import Vector

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


@dataclass(frozen=True)
class Keeping:
    """The experts of the kept model: what each lost while it was frozen, and how far it is trusted.

    Where a sample of the rows was judged, losses are those of all rows, as the sample tells them.
    """

    votes: Vector

    names = KEPT_NAMES

    @property
    def losses(self) -> Vector:
        return self.votes[DONE:NOW] + self.votes[NOW:KEPT_GAP]

    @property
    def weights(self) -> Vector:
        return hedge_weights(self.votes)

    @property
    def best(self) -> int:
        return int(self.losses.argmin())

    @property
    def certificate(self) -> Certificate:
        """KEPT-ADAHEDGE: the kept mixture against the best of its experts, all of them frozen when they are judged."""
        settled, least = close_round(self.votes), float(self.losses[self.best])
        regret, linear = float(self.votes[OWN]) - least, float(settled[KEPT_MIXED]) - least
        bound = 2 * float(settled[KEPT_GAP]) + ROUNDING * abs(float(settled[KEPT_MIXED]))
        comparator = {"set": "kept experts", "count": EXPERTS, "best": KEPT_NAMES[self.best]}
        finite = Premise("all losses are finite", math.isfinite(linear + bound))
        return Certificate(
            "KEPT-ADAHEDGE", "2Δ, Δ = Σ(⟨v,losses⟩ − mix loss) over freezes", comparator, max(regret, linear), bound,
            premises=(finite,), regret=regret,
        )  # fmt: skip

    def to_json(self) -> dict[str, object]:
        """The public form."""
        return {
            "names": list(KEPT_NAMES),
            "losses": self.losses.tolist(),
            "weights": self.weights.tolist(),
            "best": KEPT_NAMES[self.best],
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
    learner: Any
    linear: Any  # the learner of fixed linear predictors

    def __init__(
        self,
        *ledger: Any,
        mind: Any,
        contests: Any = (),
        eras: Any = (),
        average: Any = None,
        votes: Any = None,
        means: Any = None,
        folded: tuple[int, int] = (0, 0),
        glance: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(*ledger, **options)
        self.mind = mind  # has `trust`
        self._contests, self._eras = list(contests), list(eras)
        self.average = np.empty(0, np.float32) if average is None else average  # of the lanes' weights
        self.votes = np.zeros(VOTES) if votes is None else votes  # on the kept experts
        self.priors = kept_priors(self.learner.spread)
        self.means = fresh_stack(EVEN, self.priors) if means is None else means  # the stack of the lanes' averages
        self.folded, self.glance = folded, glance  # rounds and entries when lanes were averaged; when that may be next
        self._desks: dict[bool, tuple[int, int, Any]] = {}  # entries and classes that there is room for, and the desk

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
        return linear_regrets(self.linear, np.array([*self._history, self._snapshot()]), self.comparator)

    # ---- the model that is kept ------------------------------------------------------------------------------------

    @property
    def keeper(self) -> Keeping:
        """The experts of the kept model: what each lost while frozen, and how far it is trusted."""
        return Keeping(self.votes)

    @property
    @abstractmethod
    def _measures(self) -> Vector:
        """Of the features, see `auto/view.py`."""

    @abstractmethod
    def _new_desk(self, entries: int) -> Any:
        """Memory for one row of up to this many entries."""

    def _desk(self, x: Rows, learnt: bool) -> Any:
        """Memory for one row of x, which is learnt or judged; the same from batch to batch while it has room."""
        entries, (most, lots, desk) = longest(x), self._desks.get(learnt, (-1, 0, None))
        if entries > most or lots != self._lots:
            desk = self._new_desk(entries)
            self._desks[learnt] = entries, self._lots, desk
        return desk

    @property
    def _lots(self) -> int:
        """Classes that there is room for."""
        return 1

    @property
    def _model(self) -> Frozen:
        """The model as it would be kept now."""
        trust, stacks = trust_in(hedge_weights(self.votes)), kept_stacks(self.mind.stacks, self.means)
        return Frozen(self._measures, self.average, self.mind._replace(trust=trust, stacks=stacks))

    def _next_pause(self) -> int:
        return next_end(self.rounds)

    def _pause(self) -> None:
        """At the end of an era: keep its sums, take the lanes into their means, and freeze the model in time."""
        if self.certify:
            self._eras = [*thinned(self._eras, self.rounds), sums(self.rounds, self.loss, self.mind.trust)]
        if self.rounds >= self.glance:
            features, entries = met(self._measures)
            lacking = OFTEN * features - (entries - self.folded[1])
            if lacking <= 0:
                self._fold()
                self.folded = self.rounds, entries
            self.glance = self.rounds + math.ceil(max(lacking, 0) * self.rounds / max(entries, 1))
        super()._pause()

    def _fold(self) -> None:
        """Take the lanes' weights into their means, by the rounds since that was done: O(d)."""
        if not self.average.size:
            self.average = zeros(self._measures.size // COLUMNS * self._lots * LANES, np.float32)
        share = (self.rounds - self.folded[0]) / self.rounds
        self._call(blend, self._measures, self.mind.bank, self.average, self._lots, share)

    def _freeze(self) -> None:
        """Copy what `predict` uses, which then stays as it is: O(d)."""
        self.votes = close_round(self.votes)
        now, lots = self._model, self._lots
        if self.frozen is None:
            self.frozen = Frozen.fresh(now.measures, now.mind, lots)
        model = self.frozen
        if now.average.size != model.average.size:
            model = self.frozen = model._replace(average=zeros(now.average.size, np.float32))
        self._call(copy_measures, now.measures, model.measures)
        self._call(blend, now.measures, now.mind.bank, model.mind.bank, lots, 1.0)
        if now.average.size:
            self._call(blend, now.measures, now.average, model.average, lots, 1.0)
        for name in ("pace", "stacks", "trust", "past"):
            getattr(model.mind, name)[...] = getattr(now.mind, name)

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super().contents()
        described = {"folded": self.folded, "glance": self.glance}
        kept = {
            "contests": np.array(self._contests).reshape(-1, TRUST),
            "eras": np.array(self._eras).reshape(-1, WIDTH),
            "votes": self.votes,
            "means": self.means,
        }
        kept |= self._split("average", self.average) | self._mind_arrays("mind", self.mind)
        return description | described, arrays | kept

    def _frozen_arrays(self) -> Arrays:
        if self.frozen is None:
            return {}
        model = self.frozen
        arrays = self._split("frozen.average", model.average) | self._mind_arrays("frozen.mind", model.mind)
        shared = "measures" in model.mind.by_feature()
        return arrays if shared else arrays | self._split("frozen.measures", model.measures)

    def _mind_arrays(self, prefix: str, mind: Any) -> Arrays:
        arrays = {f"{prefix}.{name}": array for name, array in mind._asdict().items()}
        for name in mind.by_feature():
            arrays |= self._split(f"{prefix}.{name}", getattr(mind, name))
        return arrays

    @classmethod
    def _given(cls, learner: Any, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        kept: dict[str, Any] = {name: arrays[name] for name in ("contests", "eras", "votes", "means")}
        kept |= {"folded": tuple(description["folded"]), "glance": description["glance"]}
        room, frozen = description["room"], None
        if "frozen.average" in arrays:
            mind = _gathered(cls.minds, "frozen.mind", arrays, room)
            shared = "measures" in mind.by_feature()
            measures = mind.measures if shared else joined("frozen.measures", arrays, room)
            frozen = Frozen(measures, joined("frozen.average", arrays, room), mind)
        kept |= {"mind": _gathered(cls.minds, "mind", arrays, room), "average": joined("average", arrays, room)}
        return super()._given(learner, description, arrays) | kept | {"frozen": frozen}

    def eras(self, count: int | None = None) -> Eras:
        """The run in eras, all that are kept (up to 64) or so many: who was best in each, and what the mixture lost."""
        rows = list(self._eras)
        if self.rounds and (not rows or rows[-1][0] != self.rounds):
            rows.append(sums(self.rounds, self.loss, self.mind.trust))
        return Eras.of(rows, count, bool(self.learner.loss.classifies))

    def plot(self, path: str | os.PathLike[str] | None = None, theirs: Vector | None = None) -> Figure:
        """As of every run; below, mean losses in eras and how far each expert was trusted."""
        from lowregret.show.plot import plot_auto

        return plot_auto(self, path, theirs)

    def _of(self) -> str:
        return ""

    def _proved(self) -> Iterator[str]:
        yield f"regret {self.contest.linear_regret:.4g} to the best expert"

    def _at_mark(self) -> None:
        super()._at_mark()
        self._contests.append(self.mind.trust.copy())


def _gathered(kind: Any, prefix: str, arrays: Arrays, room: int) -> Any:
    """A mind with room for so many features."""
    mind = kind(*(arrays[f"{prefix}.{name}"] for name in kind._fields))
    return mind._replace(**{name: joined(f"{prefix}.{name}", arrays, room) for name in mind.by_feature()})
