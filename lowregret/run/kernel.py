"""The run of a learner in kernel form: `KernelRun`, with the main methods of `LinearRun`."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lowregret.certificate import Certificate, Evidence, Premise, evaluate, tightest
from lowregret.certificate.mistakes import Told, perceptron_bounds
from lowregret.certificate.rounding import EXTRA
from lowregret.certificate.trace import Trace, next_mark
from lowregret.compile.altered import is_own
from lowregret.compile.call import call, compilable
from lowregret.compile.numerics import EPSILON, TOLERANCE
from lowregret.compile.signals import let_in
from lowregret.compile.spec import from_json, to_json
from lowregret.compile.turns import in_turn
from lowregret.domain import L2Ball
from lowregret.errors import DataError, DivergedError, PartError, StoreError
from lowregret.learner.kernel_perceptron import (
    CAPACITY,
    KernelPerceptron,
    Polynomial,
    Support,
    learn_kernel_rows,
    score_kernel_rows,
    spread_row,
)
from lowregret.learner.validate import (
    finite_numbers,
    numbers,
    require_finite,
    require_label,
    require_moderate,
    require_narrow,
    require_rows,
    require_scores,
    settled,
)
from lowregret.risk.drawn import error_risks, independence
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.rows import Features, Rows, as_rows
from lowregret.run.schema import KernelSchema
from lowregret.state import (
    COUNTS,
    DIMENSION,
    ENERGY,
    FIRST_RATE,
    LARGEST,
    LAST_RATE,
    LINEAR,
    MASS,
    MISTAKES,
    ROUNDS,
    STEPPED,
    SUMS,
    TOTAL,
)
from lowregret.store.file import Arrays, Saved
from lowregret.types import Vector
from lowregret.words import percent
from lowregret.zoo import perceptron

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAFE = 4.0  # times rounding is what no kernel of the user's own, however computed, is blamed for
TRIED = 32  # rows of the support on which a kernel of the user's own is tried


class KernelRun(Saved):
    """A learner in kernel form, its support set, and the proof of how well it has done so far."""

    kind = "kernel-run"
    schema = KernelSchema()
    comparator = L2Ball(1.0)  # u in the space of the kernel

    def __init__(
        self, learner: KernelPerceptron, support: Support, *, history: Any = (), compiled: bool = True
    ) -> None:
        self.learner = learner
        self.support = support
        self.compiled = compiled and compilable(learner)
        self.history: list[Vector] = list(history)  # ledgers at the marks of the trace
        self.scores: Vector = np.empty(0)  # of the latest batch, each made before its row was learnt

    # ---- learning and predicting ---------------------------------------------------------------------------------

    @in_turn
    def learn(self, features: Features, labels: Any) -> Self:
        """Learn more rows. Splitting the rows over several calls changes nothing, not even the last bit."""
        labels = settled(labels, "labels")
        x = self._rows(features)
        y = numbers(labels, "labels", x.shape[0])
        self.scores = np.full(y.size, np.nan)
        row, i = np.zeros(self.support.dimension), 0
        if y.size and not self.compiled:
            self._require_number(x, row)
        while i < y.size:
            mark = next_mark(self.rounds)
            end = i + mark - self.rounds
            i = self._call(learn_kernel_rows, self.learner, self.support, x, y[:end], self.scores, row, i)
            if self.rounds == mark:
                self.history.append(self._ledger())
            elif self.support.full:
                self.support = self.support.resized(max(2 * self.support.size, CAPACITY))
            elif i < y.size:
                self._refuse(x, y, i)
            let_in()
        return self

    def decision_function(self, features: Features) -> Vector:
        """Scores Σ_{i∈M} y_i K(x_i, x) of rows: O(|M|) kernels each."""
        return self._scores(self.support, self._rows(features))

    def predict(self, features: Features) -> Vector:
        """−1 or +1 for each row: the sign of its score, +1 if that is 0."""
        return np.where(self.decision_function(features) >= 0, 1.0, -1.0)

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        """The number of rows that were learnt."""
        return int(self.support.counts[ROUNDS])

    @property
    def mistakes(self) -> int:
        """|M|, the number of rows predicted wrongly before they were learnt: the size of the support set."""
        return self.support.size

    @property
    def loss(self) -> float:
        """Σ_{t∈M} [1 − y_t p_t]₊, progressive: each row is judged before it is learnt."""
        return float(self.support.sums[TOTAL])

    @property
    def mean_loss(self) -> float:
        """The progressive loss per row."""
        return self.loss / max(self.rounds, 1)

    @property
    def error(self) -> float:
        """Share of rows predicted wrongly before they were learnt."""
        return self.mistakes / max(self.rounds, 1)

    @property
    def certificates(self) -> list[Certificate]:
        """All certificates that speak of the Perceptron, against all u of norm ≤ 1 in the kernel's space."""
        ledger = self._ledger()
        return self._trusted(evaluate(self._evidence(ledger)), self._refuted(ledger))

    def _trusted(self, found: list[Certificate], refuted: str) -> list[Certificate]:
        """The certificates with the premise that a kernel of the user's own is one, tried on rows of the support.

        `refuted` is a square below 0 that was met elsewhere, in words.
        """
        if not is_own(self.learner.kernel):
            return found
        rows = self.support.rows[: self.support.size]
        picked = rows[np.unique(np.linspace(0, len(rows) - 1, TRIED).astype(int))] if len(rows) else rows
        gram = np.array([[float(self.learner.kernel.value(a, b)) for b in picked] for a in picked]).reshape(
            len(picked), -1
        )
        values = np.linalg.eigvalsh((gram + gram.T) / 2) if gram.size else np.zeros(1)
        uneven = float(np.max(np.abs(gram - gram.T), initial=0.0))
        size = TOLERANCE * float(np.max(np.abs(gram), initial=0.0)) * max(len(picked), 1)
        holds = bool(values[0] >= -size and uneven <= size)
        name, seen = "the kernel is symmetric and positive semi-definite", refuted or float(values[0])
        premise = Premise(name, holds and not refuted, seen)
        return [replace(c, premises=(*c.premises, premise)) for c in found]

    @property
    def certificate(self) -> Certificate:
        """The tightest certificate whose premises hold."""
        return tightest(self.certificates)

    @property
    def trace(self) -> Trace:
        """Loss, linearised regret and bound over the rounds."""
        history = [*self.history, self._ledger()]
        if len(history) > 1 and np.array_equal(history[-1], history[-2]):
            history.pop()
        found = [self._trusted(evaluate(self._evidence(row)), self._refuted(row))[0] for row in history]
        return Trace(
            np.array([row[SUMS + ROUNDS] for row in history], np.int64),
            np.array([row[TOTAL] for row in history]),
            np.array([c.linear_regret for c in found]),
            np.array([c.promised if c.premises_hold else np.nan for c in found]),
            found[-1].id,
        )

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Mean loss, and linearised regret under its bound, over the rounds; written to `path` if given."""
        from lowregret.show.plot import plot_run

        return plot_run(self, path)

    def mistake_certificates(self, alpha: Any, features: Features, labels: Any) -> list[Certificate]:
        """Mistake bounds of the Perceptron against u = Σ_i α_i K(x_i, ·), x_i the rows of the latest `learn`.

        u(x) = Σ_i α_i K(x_i, x) takes the place of ⟨u, x⟩, αᵀKα of ‖u‖² and K(x, x) of ‖x‖². Every α_i ≠ 0 costs as
        many kernels as there are rows. Labels are held against the mistakes made; that the features are those of the
        same rows is your word.
        """
        labels, alpha = settled(labels, "labels"), settled(alpha, "alpha")
        x = self._rows(features)
        y = numbers(labels, "labels", x.shape[0])
        if y.size != self.rounds or self.scores.size != y.size:
            raise DataError(f"give all {self.rounds} rows of the run, learnt in one call; got {y.size}")
        coefficients = finite_numbers(alpha, "alpha", x.shape[0])
        of_u = self._scores(self._combination(x, coefficients), x)
        square, size = float(coefficients @ of_u), self._size(x, coefficients)
        if square < -1e-9 * size * size:
            raise PartError(f"{self.learner.kernel} is not positive semi-definite: αᵀKα = {square:.6g} < 0")
        wrong = y * self.scores <= 0
        if np.count_nonzero(wrong) != self.mistakes:
            raise DataError("these are not the labels that were learnt: they do not fit the mistakes made")
        f = float(np.sum(np.maximum(1 - y * of_u, 0.0)[wrong]))
        energy, largest = float(self.support.sums[ENERGY]), math.sqrt(self.support.sums[LARGEST])
        norm, margin = math.sqrt(max(square, 0.0)), float(np.min(y * of_u))
        told = Told(self.mistakes, f, norm, energy, largest, margin, size)
        operations = self._operations + y.size
        refuted = self._refuted(self._ledger())
        if square < -SAFE * EPSILON * operations * size * size:
            refuted = f"αᵀKα = {square:.6g} < 0"
        return self._trusted(perceptron_bounds(told, self.rounds, operations), refuted)

    def risks(self, delta: float = 0.05, *, independent: bool = False) -> list[RiskCertificate]:
        """Bounds on the error of rows yet to come, of a model drawn from the run; independent rows are your word."""
        return error_risks(self.mistakes, self.rounds, delta, (independence(independent),))

    def __str__(self) -> str:
        from lowregret.show.text import kernel_summary

        return kernel_summary(self)

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description = {"learner": to_json(self.learner), "compiled": self.compiled}
        history = {"history": np.array(self.history).reshape(-1, SUMS + COUNTS)}
        return description, self.support.resized(self.support.size)._asdict() | history

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        learner = from_json(description["learner"])
        if not isinstance(learner, KernelPerceptron):
            raise StoreError(f"{path} holds a {type(learner).__name__}, not a KernelPerceptron")
        support, history = Support(*(arrays[name] for name in Support._fields)), arrays.get("history", ())
        return cls(learner, support, history=history, compiled=description["compiled"])

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _ledger(self) -> Vector:
        """Sums and counts as they are now."""
        return np.concatenate([self.support.sums, self.support.counts.astype(float)])

    def _evidence(self, ledger: Vector) -> Evidence:
        """The ledger as theorems on mirror descent with η = 1 see it.

        θ = Σ_{t∈M} y_t φ(x_t) grows in round t ∈ M by ‖θ_{t+1}‖² − ‖θ_t‖² = 2 y_t p_t + K(x_t, x_t), and TOTAL is
        Σ_{t∈M} (1 − y_t p_t): so Σ⟨w_t, z_t⟩ = TOTAL − |M|.
        """
        sums, counts = ledger[:SUMS].copy(), ledger[SUMS:].astype(np.int64)
        sums[LINEAR] = sums[TOTAL] - counts[MISTAKES]
        square, off = self._length(ledger)
        sums[MASS] = max(square, 0.0) + off
        sums[STEPPED], sums[FIRST_RATE], sums[LAST_RATE] = sums[ENERGY], 1.0, 1.0
        counts[DIMENSION] = self._operations  # of which rounding goes by
        height = self.comparator.radius * math.sqrt(sums[MASS])
        return Evidence(perceptron(), self.comparator, sums, counts, height)

    def _length(self, ledger: Vector) -> tuple[float, float]:
        """‖θ‖² = Σ_{t∈M} K(x_t, x_t) − 2(TOTAL − |M|), and by how much that may be off.

        It is a difference of larger numbers: each p_t is a sum of up to |M| kernels, and Σ_sΣ_t|K(x_s, x_t)| is at most
        |M|·Σ_{t∈M} K(x_t, x_t).
        """
        made, energy, total = int(ledger[SUMS + MISTAKES]), float(ledger[ENERGY]), float(ledger[TOTAL])
        terms = (2 * made + 1) * energy + 2 * (total + made)
        return energy - 2 * (total - made), EPSILON * (made + self._operations + EXTRA) * terms

    def _refuted(self, ledger: Vector) -> str:
        """That ‖θ‖² is below 0, if so, by more than rounding: no kernel has such a sum."""
        square, off = self._length(ledger)
        least = -SAFE * off - TOLERANCE * float(ledger[ENERGY])
        return f"‖Σ y_t φ(x_t)‖² = {square:.6g} < 0" if square < least else ""

    @property
    def _operations(self) -> int:
        """How many roundings a value of the kernel is made of: those of ⟨a, b⟩ count as often as it is multiplied."""
        d, kernel = self.support.dimension, self.learner.kernel
        return kernel.degree * (d + 2) if isinstance(kernel, Polynomial) else d

    def _of(self) -> str:
        return type(self.learner.kernel).__name__

    def _facts(self) -> Iterator[str]:
        yield from super()._facts()
        yield f"error {percent(self.error)}"

    def _call(self, loop: Any, *args: Any) -> Any:
        return call(loop, self.compiled, *args)

    def _require_number(self, x: Rows, row: Vector) -> None:
        """Refuse a kernel whose value of the first row and itself is no number, where no compiler does."""
        with np.errstate(all="ignore"):
            found: Any = self.learner.kernel.value(row, row) if self._call(spread_row, x, 0, row) else 0.0
        if not isinstance(found, (Real, np.bool_)):
            raise PartError(f"{type(self.learner.kernel).__name__}.value must give a number, got {found!r}")

    def _rows(self, features: Features) -> Rows:
        x = as_rows(features)
        require_rows(x, self.support.dimension)
        require_narrow(x, self.learner, "use zoo.perceptron(), or hash the features to fewer")
        return x

    def _scores(self, support: Support, x: Rows) -> Vector:
        scores = np.empty(x.shape[0])
        self._call(score_kernel_rows, self.learner, support, x, scores, np.zeros(support.dimension))
        require_scores(x, scores)
        return scores

    def _combination(self, x: Rows, coefficients: Vector) -> Support:
        """Σ_i α_i K(x_i, ·), without the terms that are 0."""
        used = np.flatnonzero(coefficients)
        rows = np.zeros((used.size, self.support.dimension))
        for k, i in enumerate(used.tolist()):
            spread_row(x, i, rows[k])
        return Support.of(rows, coefficients[used])

    def _size(self, x: Rows, coefficients: Vector) -> float:
        """Σ_i|α_i|√K(x_i, x_i), so that |α_i K(x_i, x)| sum up to no more than this times √K(x, x)."""
        total = 0.0
        for i in np.flatnonzero(coefficients).tolist():
            row = np.zeros(self.support.dimension)
            spread_row(x, i, row)
            square = call(self.learner.kernel.value, False, row, row)
            total += abs(float(coefficients[i])) * math.sqrt(max(square, 0.0))
        return total

    def _refuse(self, x: Rows, y: Vector, i: int) -> None:
        """Raise the error that says why row i could not be learnt; the support set is as it was before that row."""
        require_label(y[i], f"row {i}", abs(y[i]) == 1, "the Perceptron", "-1 or +1")
        require_finite(x, i, f"row {i}")
        row = np.zeros(self.support.dimension)
        spread_row(x, i, row)
        square = call(self.learner.kernel.value, False, row, row)
        if square < 0:
            raise PartError(f"row {i}: {self.learner.kernel} is not positive semi-definite: K(x, x) = {square:.6g} < 0")
        require_moderate(x, i, None, np.empty(0), f"row {i}")
        raise DivergedError(
            f"row {i}: the score left the range of numbers although the row is finite: scale the features"
        )
