"""The record of a run, from which its certificates, linearised regret, trace and picture follow."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from lowregret.certificate import Certificate, certificates, evidence, tightest
from lowregret.certificate.delay import late_certificates
from lowregret.certificate.trace import WIDTH, Trace, next_mark, trace
from lowregret.compile.call import compilable
from lowregret.domain import Domain
from lowregret.errors import PartError
from lowregret.risk.kept_trial import Trial, next_freeze
from lowregret.rows import Rows
from lowregret.state import State
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import rounded_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EARLY = 8  # the history begins when a look at all coordinates costs no more than this many per round so far
NEVER = 2**62  # more rounds than there will be


def next_snapshot(state: State) -> int:
    """The next round after which the history keeps the sums and counts."""
    early = -(-state.dimension // EARLY)
    return next_mark(max(state.rounds, early - 1))


class RunRecord:
    """The sums and counts of a run at the marks of its history; its methods make proofs of the run they are given.

    A run has a `learner`, a `comparator`, and the `books` and `snapshot` that proofs read.
    """

    def __init__(self, history: Any = ()) -> None:
        self.history: list[Vector] = list(history)

    # ---- proof -----------------------------------------------------------------------------------------------------

    def certificates(self, run: Any) -> list[Certificate]:
        """All certificates that speak of the learner, tightest first."""
        found = certificates(run.learner, run.books, run.comparator, run.met, run.late is not None)
        return found if run.late is None else late_certificates(run.learner, found, run.late.ledger, run.pending)

    def certificate(self, run: Any) -> Certificate:
        """The tightest certificate whose premises hold."""
        return tightest(run.certificates)

    def fixed_certificate(self, run: Any) -> Certificate:
        """The certificate against fixed predictors."""
        return self.certificate(run)

    def linear_regret(self, run: Any, comparator: Domain) -> float:
        """Σ⟨w_t,z_t⟩ + max_u⟨u,−Σz_t⟩ against a set of comparators, without a second pass over the rows: O(d)."""
        found = evidence(run.learner, run.books, comparator).linear_regret
        if found is None:
            raise PartError("Forgotten: the sum of sub-gradients was not kept; use ProjectedGradient(..., Summed())")
        return found + (0.0 if run.late is None else run.late.drift)

    def regret_at_most(self, run: Any) -> float | None:
        """The linearised regret with its rounding, by the theorem that knows least of it; None if it was not kept."""
        if run.rounds == 0:
            return 0.0
        known = [(not c.premises_hold, c.measured) for c in run.certificates if c.measured is not None]
        return min(
            (most for failed, most in known if not failed), default=max((most for _, most in known), default=None)
        )

    def trace(self, run: Any) -> Trace:
        """Loss, linearised regret and bound at the marks of the history, and now unless that is the last of them."""
        now, known = run.snapshot(), WIDTH - 4  # sums and counts, which norms follow
        if self.history and self.history[-1][:known].tobytes() == now[:known].tobytes():
            history = np.array(self.history)
        else:
            history = np.array([*self.history, now])
        return trace(run.learner, history, run.comparator, run.met, run.drifts(len(history)))

    def plot(self, run: Any, path: str | os.PathLike[str] | None, theirs: Vector | None) -> Figure:
        """Mean loss, and linearised regret under its bound, over the rounds."""
        from lowregret.show.plot import plot_run

        return plot_run(run, path, theirs)

    def brief(self, run: Any) -> list[str]:
        """The regret in a few words, where it costs O(d) at most."""
        rule = run.learner.rule
        if not (rule.keeps_sum() and compilable(run.comparator)):
            return []
        found = evidence(run.learner, run.books, run.comparator, run.met)
        if not all(premise.holds for premise in found.trusted):
            return []
        most = self.regret_at_most(run)
        return [f"{'weighted ' * rule.schedule().weighted()}regret ≤ {rounded_up(most, 4)}"] if most is not None else []

    # ---- while learning ----------------------------------------------------------------------------------------------

    def mark(self, run: Any) -> None:
        """Add the present sums and counts to the history."""
        self.history.append(run.snapshot())

    def see(self, run: Any, x: Rows, y: Any, w: Vector, begin: int, end: int, rounds: int) -> None:
        """Take note of rows begin, …, end − 1, learnt after this many rounds, if a record has use of them."""

    def drop_trial(self, run: Any) -> None:
        """Forget the model of a run that is on trial, and all that was found and kept for it."""
        run.trial, run.frozen = Trial(ended=0), None

    def next_pause(self, run: Any) -> int:
        """The next round after which `pause` must be called."""
        return next_freeze(run.rounds) if run.certify else NEVER

    def pause(self, run: Any) -> None:
        """Do the work of the record that is due after some rounds only; the run itself freezes models."""

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self, run: Any) -> tuple[dict[str, Any], Arrays]:
        """The description and arrays by which a file keeps the record."""
        return {}, {"history": np.array(self.history).reshape(-1, WIDTH)}

    def frozen_arrays(self, run: Any) -> Arrays:
        """The arrays by which a file keeps the run's model on trial, if there is one."""
        return {} if run.frozen is None else run.split("frozen", run.frozen)
