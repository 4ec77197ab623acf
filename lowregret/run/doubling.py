"""Restarting in blocks of 1, 2, 4, … rounds: tuned learners without a horizon, on rows.

    run = doubling(zoo.ogd_eager(Hinge(), eta=1.0), features=50).learn(X, y)

`certificate/doubling.py` says why their certificates add up.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, NoReturn, Self

import numpy as np

from lowregret.certificate import Certificate, Evidence, certificates, support
from lowregret.certificate.doubling import Bounds, bounds_of, sum_blocks
from lowregret.certificate.rounding import of_bound
from lowregret.certificate.trace import Trace
from lowregret.compile.spec import from_json, to_json
from lowregret.domain import Domain
from lowregret.errors import PartError, StoreError
from lowregret.hindsight.fixed_comparator import GivenAgain
from lowregret.learner.doubling import Doubling
from lowregret.learner.growth import resize
from lowregret.learner.linear import Linear
from lowregret.output import Last
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.rows import Features
from lowregret.run.begin import begin
from lowregret.run.linear import LinearRun
from lowregret.run.schema import DoublingSchema
from lowregret.state import DIMENSION, MISTAKES, ROUNDS, TOTAL, State
from lowregret.store.file import Arrays
from lowregret.types import Vector


def doubling(
    base: Linear | Doubling,
    features: int | None = None,
    comparator: Domain | None = None,
    *,
    compiled: bool = True,
) -> DoublingRun:
    """A run before its first row that restarts with rounds 1, 2, 4, 8, … (ALG-DOUBLING).

    `base`: a learner whose step Constant(c) is the best for one round, see `Doubling`. `features` None: as many as
    there turn out to be.
    """
    player = base if isinstance(base, Doubling) else Doubling(base)
    player.require(isinstance(player.base, Linear), f"rows need a learner such as zoo.ogd_eager, got {player.base!r}")
    first = begin(player.block(1), features, comparator=comparator, compiled=compiled)
    run = DoublingRun(first.learner, first.state, first.comparator, seen=first.seen, compiled=compiled)
    run.player = player
    return run


class DoublingRun(LinearRun):
    """A `LinearRun` that restarts: `state`, `weights` and `point` are of the present block, results of all blocks.

    The history has one mark per block.
    """

    kind = "doubling-run"
    schema = DoublingSchema(Linear)
    knows_outputs = False  # they restart with each block

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.player: Doubling
        self.finished: list[Bounds] = []
        self._curves: list[tuple[float, float, float, float]] = []  # at the ends of blocks
        self._past = State(np.zeros(0), np.zeros(0), np.zeros_like(self.state.sums), np.zeros_like(self.state.counts))
        self._theta: Vector = np.zeros(self.state.dimension)  # Σ over the finished blocks

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def whole(self) -> State:
        """The sums and counts of all blocks together, as a state without a table."""
        past, now = self._past, self.state
        counts = past.counts + now.counts
        counts[DIMENSION] = now.dimension
        return State(now.table[:0], now.lag[:0], past.sums + now.sums, counts)

    @property
    def rounds(self) -> int:
        return int(self.whole.counts[ROUNDS])

    @property
    def loss(self) -> float:
        """Σ ℓ_t(w_t) over all blocks."""
        return float(self.whole.sums[TOTAL])

    @property
    def mistakes(self) -> int | None:
        """Number of rows predicted wrongly before they were learnt; None for regression."""
        return int(self.whole.counts[MISTAKES]) if self.learner.loss.classifies else None

    @property
    def certificates(self) -> list[Certificate]:
        """The sums of the blocks' certificates, and DOUBLING, tightest first."""
        found = certificates(self.learner, self.state, self.comparator, self.met)
        blocks = [*self.finished, bounds_of(found)] if self.state.rounds or not self.finished else self.finished
        linear = None if found[0].linear_regret is None else self.linear_regret()
        whole, summed = self._evidence(self.comparator), sum_blocks(found, blocks, self.rounds)
        off = len(blocks)  # times that of the latest, whose terms are the largest, as rates fall
        return [replace(c, linear_regret=linear, rounding=of_bound(whole, c.bound) + off * c.rounding) for c in summed]

    def linear_regret(self, comparator: Domain | None = None) -> float:
        """Σ⟨w_t,z_t⟩ + max_u⟨u,−Σz_t⟩ over all blocks, against one u: O(d)."""
        found = self._evidence(comparator or self.comparator).linear_regret
        assert found is not None
        return found

    def _evidence(self, u: Domain) -> Evidence:
        """All blocks as evidence: their sums together, none of which is less than that of one block."""
        ledger, bias = self.whole, self.learner.bias > 0
        u.fits(self.state.dimension)
        theta = resize(self._theta, self.state.dimension - bias, bias) + self.state.theta
        height = support(self.learner, theta, float(ledger.rounds), u)
        return Evidence(self.learner, u, ledger.sums, ledger.counts, height)

    def risks(self, delta: float = 0.05) -> list[RiskCertificate]:
        """Bounds on the error of a model drawn from all blocks; none on outputs, which restart with each block."""
        return super().risks(delta) if isinstance(self.learner.output, Last) else []

    def promised_risks(self, u: Any, features: Features, labels: Any, delta: float = 0.05) -> NoReturn:
        """Raise a `PartError`: what is promised beforehand is promised of learners that do not restart."""
        raise PartError("these bounds hold for learners that do not restart: use train, or see risks")

    def mistake_certificates(self, u: Any, features: Features, labels: Any) -> list[Certificate]:
        """Raise a `PartError`: no mistake bound speaks of restarts."""
        raise PartError("the mistake bounds hold for learners that do not restart: use train, or the certificates")

    @property
    def trace(self) -> Trace:
        """Loss, linearised regret and bound at the ends of the blocks, and now."""
        best = self.certificate
        now = (float(self.rounds), self.loss, best.linear_regret, best.promised if best.premises_hold else np.nan)
        rows = np.array(self._curves if self._curves and not self.state.rounds else [*self._curves, now], float)
        return Trace(rows[:, 0].astype(np.int64), rows[:, 1], rows[:, 2], rows[:, 3], best.id)

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super().contents()
        past = {"past.sums": self._past.sums, "past.counts": self._past.counts, "past.theta": self._theta}
        curves = {"curves": np.array(self._curves).reshape(-1, 4)}
        more = {"player": to_json(self.player), "finished": self.finished}
        return description | more, arrays | past | curves

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        run, player = super().of(path, description, arrays), from_json(description["player"])
        if not isinstance(player, Doubling):
            raise StoreError(f"{path} holds a {type(player).__name__}, not a Doubling")
        run.player, run.finished, run._theta = player, description["finished"], arrays["past.theta"]
        run._past = run._past._replace(sums=arrays["past.sums"], counts=arrays["past.counts"])
        run._curves = [tuple(row) for row in arrays["curves"].tolist()]
        return run

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _next_mark(self) -> int:
        """The length of the present block."""
        return 1 << len(self.finished)

    def _at_mark(self) -> None:
        """Add the present block, which is full, to the finished ones, and start the next with as much room."""
        best, bias = self.certificate, self.learner.bias > 0
        bound = best.promised if best.premises_hold else np.nan
        linear = np.nan if best.linear_regret is None else best.linear_regret
        curve = float(self.rounds), self.loss, float(linear), float(bound)
        found = bounds_of(certificates(self.learner, self.state, self.comparator, self.met))
        room = self.state.dimension - bias
        theta, past = resize(self._theta, room, bias) + self.state.theta, self.whole
        learner = self.player.block(2 * self._next_mark())
        state = learner.start(room)  # from here on nothing can fail
        self._curves.append(curve)
        self.finished.append(found)
        self._theta, self._past, self.learner, self.state = theta, past, learner, state

    def _given_again(self, features: Features, labels: Any, weights: Any = None) -> GivenAgain:
        return replace(super()._given_again(features, labels, weights), state=self.whole)
