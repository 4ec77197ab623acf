"""Training on rows in memory, and what comes of it: a `Run` with its certificate, trace, plot and file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from lowregret import store
from lowregret.certificate import Certificate, certificates, evidence, natural_comparator, tightest
from lowregret.certificate.mistakes import mistake_certificates, mistake_rounds
from lowregret.check import (
    call,
    compilable,
    finite_numbers,
    numbers,
    require_finite,
    require_label,
    require_narrow,
    require_rows,
    require_scores,
)
from lowregret.domain import Domain
from lowregret.error import DataError, DivergedError, PartError, StoreError
from lowregret.kernel_run import KernelRun
from lowregret.kernelised import KernelPerceptron
from lowregret.learner import Linear, learn_rows, loss_of, score_rows, write_model, write_point
from lowregret.loss import OnMistakes
from lowregret.rows import OUTSIDE, Features, Rows, as_rows
from lowregret.rule import Eager, Forgotten
from lowregret.spec import from_json, to_json
from lowregret.state import MASS, MISTAKES, RIDGE, TOTAL, WEIGHTED, State, Vector
from lowregret.trace import WIDTH, Trace, next_mark, snapshot, trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND = "run"
EARLY = 8  # the history begins when a look at all coordinates costs no more than this many per round so far
NEVER = 2**62  # more rounds than there will be


@overload
def train(
    learner: Linear,
    features: Features,
    labels: Any,
    weights: Any = None,
    *,
    comparator: Domain | None = None,
    certify: bool = True,
    compiled: bool = True,
) -> Run: ...


@overload
def train(learner: KernelPerceptron, features: Features, labels: Any, *, compiled: bool = True) -> KernelRun: ...


def train(
    learner: Linear | KernelPerceptron,
    features: Features,
    labels: Any,
    weights: Any = None,
    *,
    comparator: Domain | None = None,
    certify: bool = True,
    compiled: bool = True,
) -> Run | KernelRun:
    """Learn the rows once, in order, and return the run.

    `features`: a NumPy matrix, nested lists or a SciPy sparse matrix; `labels`: one number per row; `weights`: how much
    each row counts (0 = not at all). `comparator`: what the certificate compares with, by default the learner's own
    domain or the unit ball. `certify=False` keeps nothing for the certificate that the learner does not need itself:
    no history, and for eager rules no linearised regret, only the theorem's bound; that is a fifth faster.
    `compiled=False` runs the same code interpreted, for reading and debugging. Costs O(nnz) if the rule does.
    """
    if isinstance(learner, KernelPerceptron):
        if weights is not None or comparator is not None or not certify:
            raise PartError("KernelPerceptron takes neither weights nor a comparator nor certify: leave them out")
        checked = as_rows(features)
        return KernelRun(learner, learner.start(checked.shape[1]), compiled=compiled).learn(checked, labels)
    if not isinstance(learner, Linear):
        raise PartError(f"the learner must be a Linear or KernelPerceptron such as zoo.perceptron(), got {learner!r}")
    rows = as_rows(features, checked=False)
    if not certify and isinstance(learner.rule, Eager):
        learner = replace(learner, rule=replace(learner.rule, gradients=Forgotten()))
    run = Run(learner, learner.start(rows.shape[1]), comparator, certify=certify, compiled=compiled)
    return run.learn(rows, labels, weights)


class Run:
    """A learner, its state, and the proof of how well it has done so far.

    `regret ≤ run.certificate.linear_regret ≤ run.certificate.bound`, at every moment.
    """

    def __init__(
        self,
        learner: Linear,
        state: State,
        comparator: Domain | None = None,
        *,
        history: Vector | None = None,
        uniform: bool = True,
        certify: bool = True,
        compiled: bool = True,
    ) -> None:
        self.learner = learner
        self.state = state
        self.comparator = comparator or natural_comparator(learner, state.dimension)
        self.comparator.fits(state.dimension)
        self.certify = certify  # whether a history is kept
        self.compiled = compiled and compilable(learner)
        self.uniform = uniform  # all weights were 1
        self.scores: Vector = np.empty(0)  # of the latest batch, each made before its row was learnt
        self._history = [] if history is None else list(history)

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def learn(self, features: Features, labels: Any, weights: Any = None) -> Run:
        """Learn more rows. Splitting the rows over several calls changes nothing, not even the last bit."""
        x = self._rows(as_rows(features, checked=False))
        y = numbers(labels, "labels", x.shape[0])
        w = np.empty(0) if weights is None else numbers(weights, "weights", x.shape[0])
        self.uniform &= bool(np.all(w == 1))
        self.scores = np.empty(y.size)
        i = 0
        while i < y.size:
            mark = self._next_mark()
            i = self._call(learn_rows, self.learner, self.state, x, y, w, self.scores, i, mark)
            if self.state.rounds == mark:
                self._history.append(snapshot(self.state, self._kept))
            elif i < y.size:
                self.scores[i:] = np.nan
                self._refuse(x, y, w, i)
        if not np.isfinite(self.state.sums[MASS]):
            raise DivergedError("the weights overflowed in the last row: use a smaller step or scale the features")
        return self

    def predict(self, features: Features) -> Vector:
        """Scores ⟨w, x⟩ of rows with the learner's output (last or averaged iterate)."""
        x = self._rows(features)
        scores = np.empty(x.shape[0])
        self._call(score_rows, self.learner, self.weights, x, scores)
        require_scores(x, scores)
        return scores

    @property
    def weights(self) -> Vector:
        """The iterate the learner hands out (its `output`), the bias last: O(d)."""
        w = np.empty(self.state.dimension)
        self._call(write_model, self.learner, self.state, w)
        return w

    @property
    def point(self) -> Vector:
        """The iterate that would be played next, w_{T+1}: O(d)."""
        w = np.empty(self.state.dimension)
        self._call(write_point, self.learner, self.state, w)
        return w

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        return self.state.rounds

    @property
    def loss(self) -> float:
        """Σ ℓ_t(w_t), progressive: each row is judged before it is learnt."""
        return float(self.state.sums[TOTAL])

    @property
    def mistakes(self) -> int | None:
        """Number of rows predicted wrongly before they were learnt; None for regression."""
        return int(self.state.counts[MISTAKES]) if self.learner.loss.classifies else None

    @property
    def error(self) -> float | None:
        """Share of rows predicted wrongly before they were learnt; None for regression."""
        return None if self.mistakes is None else self.mistakes / max(self.rounds, 1)

    @property
    def certificates(self) -> list[Certificate]:
        """All certificates that speak of this learner, tightest first."""
        return certificates(self.learner, self.state, self.comparator)

    @property
    def certificate(self) -> Certificate:
        """The tightest certificate whose premises hold."""
        return tightest(self.certificates)

    def linear_regret(self, comparator: Domain | None = None) -> float:
        """Σ⟨w_t,z_t⟩ + max_u⟨u,−Σz_t⟩ against any set of comparators, at any time, without a second pass: O(d)."""
        found = evidence(self.learner, self.state, comparator or self.comparator).linear_regret
        if found is None:
            raise PartError("Forgotten: the sum of sub-gradients was not kept; use Eager(..., Summed())")
        return found

    def regret(self, u: Any, features: Features, labels: Any, weights: Any = None) -> float:
        """The exact regret Σ c_t(f_t(w_t) − f_t(u)) against one fixed u, given the rows that were learnt: O(nnz).

        It is what the certificate bounds: a ridge is part of f_t, and where the schedule weighs the rounds by c_t ≠ 1,
        the weighted mean is taken.
        """
        x = self._rows(features)
        y = numbers(labels, "labels", x.shape[0])
        w = np.ones(y.size) if weights is None else numbers(weights, "weights", x.shape[0]).copy()
        fixed = finite_numbers(u, "u", self.state.dimension)
        learner = self._weigh(y, w)
        sums, step = self.state.sums, self.learner.rule.schedule()
        importance = step.total_importance(self.rounds)
        mine = sums[WEIGHTED] if step.weighted() else sums[TOTAL]
        regret = float(mine) - float(self._call(loss_of, learner, fixed, x, y, w))
        regret += self.learner.ridge / 2 * (float(sums[RIDGE]) - importance * float(fixed @ fixed))
        return regret / max(importance, 1.0) if step.weighted() else regret

    def mistake_certificates(self, u: Any, features: Features, labels: Any) -> list[Certificate]:
        """Mistake bounds of the Perceptron and Winnow against u, on the rows of the latest `learn`."""
        x = self._rows(features)
        y = numbers(labels, "labels", x.shape[0])
        if not self.uniform:
            raise PartError("mistake bounds need importance weights of 1")
        fixed = finite_numbers(u, "u", self.state.dimension)
        return mistake_certificates(self.learner, self.state, x, y, self._own_scores(y, y.size), fixed)

    @property
    def trace(self) -> Trace:
        """Loss, linearised regret and bound over the rounds."""
        history = np.array([*self._history, snapshot(self.state, self._kept)])
        if len(self._history) and self._history[-1][: WIDTH - 4].tobytes() == history[-1][: WIDTH - 4].tobytes():
            history = history[:-1]
        return trace(self.learner, history, self.comparator)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Mean loss, and linearised regret under its bound, over the rounds; written to `path` if given."""
        from lowregret.plot import plot_run

        return plot_run(self, path)

    def __str__(self) -> str:
        from lowregret.summary import summary

        return summary(self)

    # ---- files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the run, so that `load` continues it to the last bit. Saving changes nothing."""
        description = {
            "learner": to_json(self.learner),
            "comparator": to_json(self.comparator),
            "uniform": self.uniform,
            "certify": self.certify,
            "compiled": self.compiled,
        }
        arrays = self.state._asdict() | {"history": np.array(self._history).reshape(-1, WIDTH)}
        store.write(path, KIND, description, arrays)
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Run:
        """Read a run written by `save`."""
        description, arrays = store.read(path, KIND)
        history = arrays.pop("history")
        learner, comparator = from_json(description["learner"]), from_json(description["comparator"])
        if not (isinstance(learner, Linear) and isinstance(comparator, Domain)):
            raise StoreError(f"{path} holds a {type(learner).__name__} against a {type(comparator).__name__}")
        return cls(
            learner,
            State(**arrays),
            comparator,
            history=history,
            uniform=description["uniform"],
            certify=description["certify"],
            compiled=description["compiled"],
        )

    # ---- inside ------------------------------------------------------------------------------------------------------

    @property
    def _kept(self) -> bool:
        rule = self.learner.rule
        return not isinstance(rule, Eager) or rule.gradients.kept()

    def _next_mark(self) -> int:
        """The round whose ledger the history keeps next."""
        early = -(-self.state.dimension // EARLY)
        return next_mark(max(self.state.rounds, early - 1)) if self.certify else NEVER

    def _call(self, loop: Any, *args: Any) -> Any:
        return call(loop, self.compiled, *args)

    def _rows(self, features: Features) -> Rows:
        x = as_rows(features)
        require_rows(x, self.state.dimension - (self.learner.bias > 0))
        if self.learner.rule.costs_dimension():
            require_narrow(x, self.learner.rule, "use L2Ball, Box or Reals, or Entropy with a Constant step")
        return x

    def _weigh(self, y: Vector, w: Vector) -> Linear:
        """Multiply w by c_t, or by 0 where f_t is 0 for want of a mistake; returns the learner with the loss left."""
        played, learner, step = w != 0, self.learner, self.learner.rule.schedule()
        rounds = int(np.count_nonzero(played))
        if rounds != self.rounds:
            raise DataError(f"give the {self.rounds} rows that were learnt; got {rounds}")
        for i in np.flatnonzero(played).tolist():
            self._require_label(y, i)
        if step.weighted():
            w[played] *= np.diff([step.total_importance(t) for t in range(rounds + 1)])
        if isinstance(learner.loss, OnMistakes):
            scores = self._own_scores(y, rounds)
            w[played] *= mistake_rounds(learner.loss, self.state, y[played], scores[played], self.compiled)
            learner = replace(learner, loss=learner.loss.loss)
        return learner

    def _own_scores(self, y: Vector, rounds: int) -> Vector:
        """The scores made while learning, if all rows were learnt in one call."""
        if rounds != self.rounds or y.size != self.scores.size:
            raise DataError(f"give all {self.rounds} rows of the run, learnt in one call; got {y.size}")
        return self.scores

    def _require_label(self, y: Vector, i: int) -> None:
        loss = self.learner.loss
        require_label(y[i], i, loss.accepts(y[i]), type(loss).__name__, loss.labels)

    def _refuse(self, x: Rows, y: Vector, w: Vector, i: int) -> None:
        """Say why row i could not be learnt; the state is as it was before that row."""
        if w.size and not 0 <= w[i] < np.inf:
            raise DataError(f"row {i}: weight {w[i]} is not a finite number ≥ 0")
        if not (w.size and w[i] == 0):
            self._require_label(y, i)
        if not x.inside(i):
            raise DataError(f"row {i}: {OUTSIDE.format(x.shape[1])}")
        require_finite(x, i)
        raise DivergedError(
            f"row {i}: the score or loss left the range of numbers although the row is finite: the weights diverged "
            "(use a smaller step, a bounded domain or scaled features) or the loss is not defined there"
        )
