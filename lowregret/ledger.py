"""What runs on rows share: a learner, its state and history, and the proof that follows from them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from lowregret.certificate import Certificate, certificates, evidence, natural_comparator, tightest
from lowregret.check import call, compilable
from lowregret.domain import Domain
from lowregret.error import PartError
from lowregret.learner import Learner
from lowregret.risk import Foresight
from lowregret.state import State, Vector
from lowregret.tally import Tally
from lowregret.trace import WIDTH, Trace, next_mark, snapshot, trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EARLY = 8  # the history begins when a look at all coordinates costs no more than this many per round so far
NEVER = 2**62  # more rounds than there will be


class Proof:
    """What follows from a learner, its state and its history."""

    learner: Learner
    state: State
    comparator: Domain
    certify: bool  # whether a history is kept
    compiled: bool
    _history: list[Any]

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def books(self) -> State:
        """The state as proofs read it: a row of the table for each weight that comparators have."""
        return self.state

    @property
    def certificates(self) -> list[Certificate]:
        """All certificates that speak of this learner, tightest first."""
        return certificates(self.learner, self.books, self.comparator)

    @property
    def certificate(self) -> Certificate:
        """The tightest certificate whose premises hold."""
        return tightest(self.certificates)

    @property
    def fixed_certificate(self) -> Certificate:
        """The certificate against fixed predictors."""
        return self.certificate

    def linear_regret(self, comparator: Domain | None = None) -> float:
        """Σ⟨w_t,z_t⟩ + max_u⟨u,−Σz_t⟩ against any set of comparators, at any time, without a second pass: O(d)."""
        found = evidence(self.learner, self.books, comparator or self.comparator).linear_regret
        if found is None:
            raise PartError("Forgotten: the sum of sub-gradients was not kept; use Eager(..., Summed())")
        return found

    @property
    def trace(self) -> Trace:
        """Loss, linearised regret and bound over the rounds."""
        history = np.array([*self._history, self._snapshot()])
        if len(self._history) and self._history[-1][: WIDTH - 4].tobytes() == history[-1][: WIDTH - 4].tobytes():
            history = history[:-1]
        return trace(self.learner, history, self.comparator)

    def plot(self, path: str | os.PathLike[str] | None = None, theirs: Vector | None = None) -> Figure:
        """Mean loss, and linearised regret under its bound, over the rounds; written to `path` if given.

        With `theirs`, the losses of a fixed choice that `against` tells, also the regret itself.
        """
        from lowregret.plot import plot_run

        return plot_run(self, path, theirs)

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _next_mark(self) -> int:
        """The round whose ledger the history keeps next."""
        early = -(-self.state.dimension // EARLY)
        return next_mark(max(self.state.rounds, early - 1)) if self.certify else NEVER

    def _at_mark(self) -> None:
        self._history.append(self._snapshot())

    def _snapshot(self) -> Vector:
        return snapshot(self.state, self.learner.rule)

    def _call(self, loop: Any, *args: Any) -> Any:
        return call(loop, self.compiled, *args)


class Ledger(Proof, Foresight):
    """A learner, its state, and the proof of how well it has done so far."""

    def __init__(
        self,
        learner: Learner,
        state: State,
        comparator: Domain | None = None,
        *,
        history: Vector | None = None,
        seen: int | None = None,
        uniform: bool = True,
        tally: Tally | None = None,
        certify: bool = True,
        compiled: bool = True,
    ) -> None:
        self.learner = learner
        self.state = state
        self.seen = seen  # features that occurred so far, in a run that grows with them
        self.comparator = comparator or natural_comparator(learner, self._coordinates)
        self.comparator.fits(self._coordinates)
        self.certify = certify
        self.compiled = compiled and compilable(learner)
        self.uniform = uniform  # all weights were 1
        self.tally = tally or Tally(learner.loss.classifies)  # what `risks` asks
        self.scores: Vector = np.empty(0)  # of the latest batch, each made before its row was learnt
        self._history = [] if history is None else list(history)

    @property
    def _coordinates(self) -> int:
        """How many weights comparators have."""
        return self.state.dimension

    def __str__(self) -> str:
        from lowregret.summary import summary

        return summary(self)
