"""Training on rows in memory, and what comes of it: a `Run` with its certificate, trace, plot and file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lowregret import store
from lowregret.certificate import Certificate, certificates, evidence, natural_comparator, tightest
from lowregret.certificate.mistakes import mistake_certificates
from lowregret.domain import Domain
from lowregret.error import DataError, DivergedError, PartError
from lowregret.learner import Linear, learn_rows, loss_of, score_rows, write_model, write_point
from lowregret.part import Part
from lowregret.rows import Features, Rows, Sparse, as_rows, describe_entry
from lowregret.rule import Eager
from lowregret.spec import from_json, to_json
from lowregret.state import MASS, MISTAKES, TOTAL, State, Vector
from lowregret.trace import WIDTH, Trace, next_mark, snapshot, trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND = "run"
WHOLE_LIMIT = 10_000  # coordinates up to which O(d) work per sparse row is accepted


def train(
    learner: Linear,
    features: Features,
    labels: Any,
    weights: Any = None,
    *,
    comparator: Domain | None = None,
    compiled: bool = True,
) -> Run:
    """Learn the rows once, in order, and return the run.

    `features`: a NumPy matrix, nested lists or a SciPy sparse matrix; `labels`: one number per row; `weights`: how much
    each row counts (0 = not at all). `comparator`: what the certificate compares with, by default the learner's own
    domain or the unit ball. `compiled=False` runs the same code interpreted, for reading and debugging.
    Costs O(nnz) if the rule does.
    """
    rows = as_rows(features)
    run = Run(learner, learner.start(rows.shape[1]), comparator, compiled=compiled)
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
        compiled: bool = True,
    ) -> None:
        self.learner = learner
        self.state = state
        self.comparator = comparator or natural_comparator(learner, state.dimension)
        self.comparator.fits(state.dimension)
        self.compiled = compiled and _compilable(learner)
        self.uniform = uniform  # all weights were 1
        self.scores: Vector = np.empty(0)  # of the latest batch, each made before its row was learnt
        self._history = [] if history is None else list(history)

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def learn(self, features: Features, labels: Any, weights: Any = None) -> Run:
        """Learn more rows. Splitting the rows over several calls changes nothing, not even the last bit."""
        x = as_rows(features)
        y = _numbers(labels, "labels", x.shape[0])
        w = np.empty(0) if weights is None else _numbers(weights, "weights", x.shape[0])
        self._check(x)
        self.uniform &= bool(np.all(w == 1))
        self.scores = np.full(y.size, np.nan)
        loop = learn_rows if self.compiled else learn_rows.py_func  # type: ignore[attr-defined]
        i = 0
        while i < y.size:
            mark = next_mark(self.state.rounds)
            i = loop(self.learner, self.state, x, y, w, self.scores, i, mark)
            if self.state.rounds == mark:
                self._history.append(snapshot(self.state, self._kept))
            elif i < y.size:
                self._refuse(x, y, w, i)
        if not np.isfinite(self.state.sums[MASS]):
            raise DivergedError("the weights overflowed in the last row: use a smaller step or scale the features")
        return self

    def predict(self, features: Features) -> Vector:
        """Scores ⟨w, x⟩ of rows with the learner's output (last or averaged iterate)."""
        x = as_rows(features)
        self._check(x)
        scores = np.empty(x.shape[0])
        self._call(score_rows, self.learner, self.weights, x, scores)
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
    def error(self) -> float | None:
        """Share of rows predicted wrongly before they were learnt; None for regression."""
        return self.state.counts[MISTAKES] / max(self.rounds, 1) if self.learner.loss.classifies else None

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
        """The exact regret against one fixed u on the rows that were learnt: O(nnz)."""
        x = as_rows(features)
        y = _numbers(labels, "labels", x.shape[0])
        w = np.empty(0) if weights is None else _numbers(weights, "weights", x.shape[0])
        fixed = _numbers(u, "u", self.state.dimension)
        self._check(x)
        return self.loss - float(self._call(loss_of, self.learner, fixed, x, y, w))

    def mistake_certificates(self, u: Any, features: Features, labels: Any) -> list[Certificate]:
        """Mistake bounds of the Perceptron and Winnow against u, on the rows of the latest `learn`."""
        x = as_rows(features)
        y = _numbers(labels, "labels", x.shape[0])
        if not self.uniform:
            raise PartError("mistake bounds need importance weights of 1")
        if y.size != self.rounds or self.scores.size != y.size:
            raise DataError(f"give all {self.rounds} rows of the run, learnt in one call; got {y.size}")
        fixed = _numbers(u, "u", self.state.dimension)
        return mistake_certificates(self.learner, self.state, x, y, self.scores, fixed)

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
        assert isinstance(learner, Linear)
        assert isinstance(comparator, Domain)
        return cls(
            learner,
            State(**arrays),
            comparator,
            history=history,
            uniform=description["uniform"],
            compiled=description["compiled"],
        )

    # ---- inside ------------------------------------------------------------------------------------------------------

    @property
    def _kept(self) -> bool:
        rule = self.learner.rule
        return not isinstance(rule, Eager) or rule.gradients.kept()

    def _call(self, loop: Any, *args: Any) -> Any:
        return (loop if self.compiled else loop.py_func)(*args)

    def _check(self, x: Rows) -> None:
        rows, features = x.shape
        expected = self.state.dimension - (self.learner.bias > 0)
        if rows == 0:
            raise DataError("there are no rows")
        if features != expected:
            raise DataError(f"the rows have {features} features, the learner {expected}")
        if self.learner.rule.costs_dimension() and isinstance(x, Sparse) and features > WHOLE_LIMIT:
            raise PartError(
                f"{self.learner.rule} costs O(d) per row, too slow for {features} sparse features: "
                "use L2Ball, Box or Reals, or Entropy with a Constant step"
            )

    def _refuse(self, x: Rows, y: Vector, w: Vector, i: int) -> None:
        """Say why row i could not be learnt; the state is as it was before that row."""
        if w.size and not 0 <= w[i] < np.inf:
            raise DataError(f"row {i}: weight {w[i]} is not a number ≥ 0")
        if not self.learner.loss.accepts(y[i]):
            name = type(self.learner.loss).__name__
            raise DataError(f"row {i}: label {y[i]:g} does not fit {name}, which takes {self.learner.loss.labels}")
        entry = describe_entry(x, i)
        if entry is not None:
            raise DataError(f"row {i}: {entry}; remove or repair the row")
        raise DivergedError(
            f"row {i}: the score or loss left the range of numbers although the row is finite: the weights diverged "
            "(use a smaller step, a bounded domain or scaled features) or the loss is not defined there"
        )


def _compilable(part: Part) -> bool:
    return part.compilable and all(_compilable(v) for v in part.parameters.values() if isinstance(v, Part))


def _numbers(values: Any, what: str, size: int) -> Vector:
    """A float64 vector of the right length."""
    try:
        vector = np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} must be numbers: {error}") from None
    if vector.shape != (size,):
        raise DataError(f"{what} must be a vector of {size} numbers, got shape {vector.shape}")
    return vector
