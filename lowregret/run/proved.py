"""The base of runs whose state is a ledger: how far they are, and the proofs that their record makes of it."""

from __future__ import annotations

from typing import Any

from lowregret.certificate import Certificate
from lowregret.certificate.trace import Trace
from lowregret.compile.call import call
from lowregret.domain import Domain
from lowregret.run.record import RunRecord
from lowregret.state import TOTAL, State
from lowregret.store.file import Saved
from lowregret.types import Vector


class ProvedRun(Saved):
    """A learner, its state, and the record from which the proof follows of how well it has done so far."""

    learner: Any
    state: State
    comparator: Domain
    record: RunRecord
    compiled: bool
    late: Any = None  # rows that wait for their answers, in runs that can

    @property
    def rounds(self) -> int:
        """Rounds that were learnt: rows, unless a round is more than that."""
        return self.state.rounds

    @property
    def loss(self) -> float:
        """Σ f_t(w_t), progressive: each round is judged before it is learnt."""
        return float(self.state.sums[TOTAL])

    @property
    def books(self) -> State:
        """The state as proofs read it: a row of the table for each weight that comparators have."""
        return self.state

    @property
    def certificates(self) -> list[Certificate]:
        """All certificates that speak of this learner, tightest first."""
        return self.record.certificates(self)

    @property
    def certificate(self) -> Certificate:
        """The tightest certificate whose premises hold."""
        return self.record.certificate(self)

    def linear_regret(self, comparator: Domain | None = None) -> float:
        """Σ⟨w_t,z_t⟩ + max_u⟨u,−Σz_t⟩ against any set of comparators, at any time, without a second pass: O(d)."""
        return self.record.linear_regret(self, comparator or self.comparator)

    def drifts(self, marks: int) -> Vector | None:
        """The cost of late answers in regret, at the first marks of the history; None if answers come at once."""
        return None if self.late is None else self.late.drifts(marks)

    @property
    def trace(self) -> Trace:
        """Loss, linearised regret and bound over the rounds."""
        return self.record.trace(self)

    def _call(self, loop: Any, *args: Any) -> Any:
        return call(loop, self.compiled, *args)

    def _of(self) -> str:
        return type(self.learner.rule).__name__
