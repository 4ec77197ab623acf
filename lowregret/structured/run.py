"""Runs that learn structures or rankings, with the verbs of `LinearRun`."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lowregret.certificate import natural_comparator
from lowregret.certificate.trace import snapshot
from lowregret.convex.functions import Convex, QuadraticFunction, Sum
from lowregret.convex.leader import FollowTheLeader
from lowregret.convex.minimise import Solution, minimise
from lowregret.domain import Domain
from lowregret.errors import DataError, DivergedError
from lowregret.hindsight.fixed_comparator import exact_regret, importances
from lowregret.learner.linear import Linear, write_model, write_point
from lowregret.learner.validate import finite_numbers
from lowregret.risk.drawn import error_risks, independence
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.run import files as filed
from lowregret.run.proved import ProvedRun
from lowregret.run.record import RunRecord
from lowregret.state import MISTAKES, State
from lowregret.store.file import Arrays
from lowregret.structured.learner import Task
from lowregret.types import Vector
from lowregret.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class TaskRun(ProvedRun):
    """A learner of structures or rankings, its state, and the proof of how well it has done so far.

    `regret ≤ run.certificate.linear_regret ≤ run.certificate.bound`, at every moment.
    """

    learns = Task
    says: ClassVar[tuple[str, ...]] = ()  # arguments of the constructor that a file describes
    learner: Task
    met: ClassVar[None] = None  # its losses are maxima and sums, convex by themselves

    def __init__(
        self,
        learner: Task,
        state: State,
        comparator: Domain | None = None,
        *,
        record: RunRecord | None = None,
        figures: Vector | None = None,
        compiled: bool = True,
    ) -> None:
        self.learner, self.state, self.compiled = learner, state, compiled
        self.linear: Linear = learner.linear
        self.comparator = comparator or natural_comparator(self.linear, state.dimension)
        self.comparator.fits(state.dimension)
        self.record = record or RunRecord()  # what proofs follow from
        self.figures = np.zeros(2) if figures is None else figures  # sums of what each round was judged by

    @abstractmethod
    def learn(self, data: Any, labels: Any = None) -> Self:
        """Learn more rounds. Splitting them over several calls changes nothing, not even the last bit."""

    @abstractmethod
    def predict(self, data: Any) -> Any:
        """Predictions for new data by the learner's output (last or averaged iterate)."""

    @abstractmethod
    def losses(self, u: Any, data: Any, labels: Any = None, gradient: Vector | None = None) -> Vector:
        """f_t(u) of one fixed u in each round of the data; Σ c_t g_t is added to `gradient`."""

    # ---- figures ----------------------------------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """Number of weights."""
        return self.state.dimension

    @property
    def mistakes(self) -> int:
        """Rounds that were predicted wrongly before they were learnt."""
        return int(self.state.counts[MISTAKES])

    @property
    @abstractmethod
    def error(self) -> float:
        """The share that was predicted wrongly."""

    @property
    def weights(self) -> Vector:
        """The iterate the learner hands out (its `output`): O(d)."""
        w = np.empty(self.dimension)
        self._call(write_model, self.linear, self.state, w)
        return w

    @property
    def point(self) -> Vector:
        """The iterate that would be played next, w_{T+1}: O(d)."""
        w = np.empty(self.dimension)
        self._call(write_point, self.linear, self.state, w)
        return w

    # ---- proof ------------------------------------------------------------------------------------------------------

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Mean loss, and linearised regret under its bound, over the rounds; written to `path` if given."""
        return self.record.plot(self, path, None)

    def snapshot(self) -> Vector:
        """The ledger as the record keeps it: O(d)."""
        return snapshot(self.state, self.linear.rule)

    def regret(self, u: Any, data: Any, labels: Any = None) -> float:
        """The exact regret Σ c_t(f_t(w_t) − f_t(u)) against one fixed u, given the rounds that were learnt.

        It is what the certificate bounds: a ridge is part of f_t, and where the schedule weighs the rounds by c_t ≠ 1,
        the weighted mean is taken.
        """
        fixed = finite_numbers(u, "u", self.dimension)
        theirs = self.losses(fixed, data, labels)
        self._require_all(theirs.size)
        loss = float(np.sum(importances(self.linear, self.rounds) * theirs))
        return exact_regret(self.linear, self.state, fixed, loss)

    def hindsight(
        self, data: Any, labels: Any = None, *, comparator: Domain | None = None, tolerance: float = 1e-6
    ) -> Solution:
        """The best fixed u of the comparators on the rounds that were learnt, Σ c_t f_t(u), and a gap.

        Cutting planes (see `minimise`): a pass over the data each. No comparator has less than value − gap.
        """
        self._require_all(self.losses(np.zeros(self.dimension), data, labels).size)
        total = Sum(self.dimension, [_Hindsight(self, data, labels)])
        kappa = self.linear.ridge * self.linear.rule.schedule().total_importance(self.rounds)
        if kappa > 0:
            total.add(QuadraticFunction(np.zeros(self.dimension), kappa))
        where = comparator or self.comparator
        return minimise(FollowTheLeader(where), total, where.projection(self.point), tolerance)

    def risks(self, delta: float = 0.05, *, independent: bool = False) -> list[RiskCertificate]:
        """Bounds for rounds yet to come, of a model drawn from the run: the share predicted wrongly; independence is
        your word.
        """
        found, regret = self.certificate, None
        if found.measure == "regret" and self.linear.ridge == 0:
            regret = found.measured
        return error_risks(self.mistakes, self.rounds, delta, (independence(independent),), regret)

    def __str__(self) -> str:
        from lowregret.show.text import describe

        rounds = max(self.rounds, 1)
        head = f"{counted(self.rounds, 'round')}, {counted(self.dimension, 'weight')}"
        loss = (
            f"loss       {self.loss:.6g} in all, {self.loss / rounds:.4g} per round, each judged before it was learnt"
        )
        return "\n".join([head, loss, *self._said(), *describe(self.certificate, rounds)])

    @abstractmethod
    def _said(self) -> list[str]:
        """Lines about how good the predictions were."""

    # ---- files ------------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = filed.proof_contents(self)
        return description | {name: getattr(self, name) for name in self.says}, arrays | {"figures": self.figures}

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        learner, comparator = filed.parts(path, description, cls.learns)
        given = filed.proof_given(description, arrays) | {name: description[name] for name in cls.says}
        return cls(learner, comparator=comparator, figures=arrays["figures"], **given)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _facts(self) -> Iterator[str]:
        yield counted(self.rounds, "round")
        yield f"{type(self.learner.loss).__name__} loss {self.loss / max(self.rounds, 1):.4g} a round"
        yield from self.record.brief(self)

    def _require_all(self, rounds: int) -> None:
        if rounds != self.rounds:
            raise DataError(f"give the {counted(self.rounds, 'round')} that were learnt; got {rounds}")


class _Hindsight(Convex):
    """Σ c_t f_t over the rounds of a run, by passes over its data."""

    run: Any
    data: Any
    labels: Any

    def value(self, w: Vector) -> float:
        run: TaskRun = self.run
        return float(np.sum(importances(run.linear, run.rounds) * run.losses(w, self.data, self.labels)))

    def subgradient(self, w: Vector) -> Vector:
        gradient = np.zeros(w.size)
        self.run.losses(w, self.data, self.labels, gradient)
        return gradient


def diverged_error(place: str) -> DivergedError:
    """The scores of a round left the range of numbers."""
    return DivergedError(
        f"{place}: the loss left the range of numbers although the features are finite: the weights diverged "
        "(use a smaller step, a bounded domain or scaled features)"
    )
