"""Spaces of your own, in plain Python: permutations, subsets, parse trees, whatever you can maximise over.

    class Subsets:
        dimension = 10                                  # number of weights

        def argmax(self, w, x, y=None):                 # the best structure; with y, of score + cost(y, ·)
            ...

        def psi(self, x, y):                            # joint features: {index: value}, (indices, values), or a vector
            ...

        def cost(self, y, other):                       # γ; left out, 1 where they differ
            ...

        def runner_up(self, w, x, y):                   # optional, for THM-14.2: the best structure other than y
            ...

A round costs what these cost, and O(dimension). Make it a `Part` with parameters of numbers to save runs with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.compile.call import compilable
from lowregret.compile.numerics import at_most
from lowregret.compile.turns import in_turn
from lowregret.domain import Domain
from lowregret.errors import DataError, PartError
from lowregret.hindsight.fixed_comparator import importances
from lowregret.learner.linear import write_point
from lowregret.learner.validate import finite_numbers, require_bounded
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.rows import Sparse
from lowregret.run.careful import whole
from lowregret.run.record import next_snapshot
from lowregret.structured.bounds import drawn_error, structured_certificates
from lowregret.structured.learner import Structured, Task, learn_gradient
from lowregret.structured.run import TaskRun, diverged_error
from lowregret.structured.schema import OwnSchema
from lowregret.types import Vector
from lowregret.words import percent

Entries = tuple[Any, Vector]
TRUSTED = Premise("argmax finds the best structure, however scores are rounded (assumed: nobody can check it)", True)

CLOSEST = Premise("runner_up finds the best structure other than y (assumed: nobody can check it)", True)


class OwnRun(TaskRun):
    """A `Structured` learner over a space in plain Python."""

    kind = "own-structured-run"
    schema = OwnSchema()
    learner: Structured

    def __init__(self, learner: Task, state: Any, comparator: Domain | None = None, **rest: Any) -> None:
        super().__init__(learner, state, comparator, **rest)
        self.compiled = self.compiled and compilable(self.linear)
        self.predictions: list[Any] = []  # of the latest `learn`, each made before its round was learnt

    @classmethod
    def begin(cls, learner: Structured, comparator: Domain | None, compiled: bool) -> Self:
        """A run before its first round."""
        d = learner.space.dimension
        if not isinstance(d, int) or d < 1:
            raise PartError(f"{type(learner.space).__name__}.dimension must be the number of weights, got {d!r}")
        return cls(learner, learner.linear.start(d), comparator, compiled=compiled)

    @property
    def space(self) -> Any:
        return self.learner.space

    def learn(self, data: Any, labels: Any = None) -> Self:
        """Learn pairs (x, y), or inputs and structures in two lists."""
        self.predictions = []
        for x, y in _pairs(data, labels):
            self._round(x, y, f"pair {len(self.predictions)}")
        require_bounded(self.state, "round")
        return self

    def predict(self, data: Iterable[Any]) -> list[Any]:
        """The best structure of each x, by the learner's output."""
        w = self.weights
        return [self.space.argmax(w, x) for x in data]

    @in_turn
    def _round(self, x: Any, y: Any, place: str) -> None:
        w = np.empty(self.dimension)
        self._call(write_point, self.linear, self.state, w)
        made = copy(self.space.argmax(w, x))  # which may be an array that it writes into again
        constant, (indices, values) = self._judge(w, x, y, made, place)
        row = Sparse(np.array([0, indices.size]), indices, values, self.dimension)
        wrong, mark = not same(made, y), next_snapshot(self.state)
        with whole(self.linear, self.state):
            if not self._call(learn_gradient, self.linear, self.state, row, constant, wrong):
                raise diverged_error(place)
        self.predictions.append(made)
        self.figures += (float(wrong), 1.0)
        if self.rounds == mark:
            self.record.mark(self)

    def _judge(self, w: Vector, x: Any, y: Any, made: Any, place: str) -> tuple[float, Entries]:
        """margin·γ(y, ℓ̂), and ψ(x, ℓ̂) − ψ(x, y)."""
        margin = self.learner.margin
        rival = made if margin == 0 else self.space.argmax(w / margin, x, y)
        constant, entries, value, size = self._behind(w, x, y, rival, place)
        for other in (y,) if same(made, rival) else (y, made):
            *_, found, large = self._behind(w, x, y, other, place)
            if not at_most(found, value, size, large):
                raise PartError(
                    f"{place}: argmax did not find the best structure: {other!r} scores more by {found - value:.6g}"
                    + ("" if margin == 0 else " (with y given, cost(y, ·) must be added to the score)")
                )
        return constant, entries

    def _behind(self, w: Vector, x: Any, y: Any, other: Any, place: str) -> tuple[float, Entries, float, float]:
        """margin·γ(y, ℓ), ψ(x, ℓ) − ψ(x, y), the sum of the first and ⟨w, the second⟩, and the size of its terms."""
        if same(other, y):
            return 0.0, (np.zeros(0, np.uint64), np.zeros(0)), 0.0, 0.0
        constant = 0.0 if self.learner.margin == 0 else self.learner.margin * self._cost(y, other, place)
        indices, values = self._difference(x, other, y, place)
        size = max(constant, float(np.abs(w[indices]) @ np.abs(values)))
        return constant, (indices, values), constant + float(w[indices] @ values), size

    def _cost(self, y: Any, other: Any, place: str) -> float:
        cost = float(self.space.cost(y, other)) if hasattr(self.space, "cost") else 1.0
        if not 0 <= cost < np.inf:
            raise PartError(f"{place}: cost({y!r}, {other!r}) is {cost}: it must be a finite number ≥ 0")
        return cost

    def _difference(self, x: Any, more: Any, less: Any, place: str) -> Entries:
        """ψ(x, more) − ψ(x, less), each coordinate once."""
        (i, a), (j, b) = (self._entries(self.space.psi(x, ell), place) for ell in (more, less))
        indices, where = np.unique(np.concatenate([i, j]), return_inverse=True)
        values = np.bincount(where, np.concatenate([a, -b]), indices.size)
        return indices[values != 0].astype(np.uint64), values[values != 0]

    def _entries(self, psi: Any, place: str) -> tuple[Any, Vector]:
        if isinstance(psi, dict):
            psi = (list(psi), list(psi.values()))
        elif not isinstance(psi, tuple):
            dense = np.asarray(psi, float)
            psi = (np.flatnonzero(dense), dense[dense != 0]) if dense.size == self.dimension else ((), dense)
        indices, values = np.asarray(psi[0], np.int64).reshape(-1), np.asarray(psi[1], float).reshape(-1)
        if indices.size != values.size:
            raise PartError(f"{place}: psi gave {indices.size} indices and {values.size} values")
        if np.any((indices < 0) | (indices >= self.dimension)) or not np.all(np.isfinite(values)):
            raise PartError(f"{place}: psi must have finite values at 0 … {self.dimension - 1}, got {psi!r}")
        return indices, values

    # ---- results ----------------------------------------------------------------------------------------------------

    @property
    def certificates(self) -> list[Certificate]:
        """All certificates that speak of this learner, tightest first, as far as `argmax` is what it says."""
        return [replace(c, premises=(*c.premises, TRUSTED)) for c in super().certificates]

    @property
    def error(self) -> float:
        """Share of structures predicted wrongly before they were learnt."""
        return self.mistakes / max(self.rounds, 1)

    def losses(self, u: Any, data: Any, labels: Any = None, gradient: Vector | None = None) -> Vector:
        w = finite_numbers(u, "u", self.dimension)
        found, c = [], importances(self.linear, self.rounds)
        for t, (x, y) in enumerate(_pairs(data, labels)):
            constant, (indices, values) = self._judge(w, x, y, self.space.argmax(w, x), f"pair {t}")
            found.append(constant + float(w[indices] @ values))
            if gradient is not None:
                gradient[indices] += c[t] * values
        return np.array(found)

    def mistake_certificates(self, u: Any, data: Any, labels: Any = None) -> list[Certificate]:
        """MC-OBS and PERC-ROOT of the structured Perceptron against u; THM-14.2 if the space has `runner_up`."""
        w, pairs = finite_numbers(u, "u", self.dimension), list(_pairs(data, labels))
        if len(pairs) != len(self.predictions):
            raise DataError(f"give all {self.rounds} rounds of the run, learnt in one call")
        wrong = np.array([not same(made, y) for made, (_, y) in zip(self.predictions, pairs, strict=True)])
        products = [self._gain(w, x, y, made) for made, (x, y) in zip(self.predictions, pairs, strict=True)]
        margins = self._margins(w, pairs, self.predictions) if hasattr(self.space, "runner_up") else None
        found = structured_certificates(self.learner, self.state, np.array(products), margins, wrong, w)
        return [replace(c, premises=(*c.premises, CLOSEST)) if c.id == "THM-14.2" else c for c in found]

    def drawn_error(
        self, u: Any, data: Any, labels: Any = None, margin: float = 1.0, *, independent: bool = False
    ) -> RiskCertificate:
        """PROP-3: what the error of a model drawn from this run is at most in expectation, by a u and a sample.

        That rounds are independent is your word.
        """
        if not hasattr(self.space, "runner_up"):
            raise PartError(f"PROP-3 needs margins: give {type(self.space).__name__} a method runner_up(w, x, y)")
        w = finite_numbers(u, "u", self.dimension)
        margins = self._margins(w, list(_pairs(data, labels)))
        found = drawn_error(self.learner, self.state, margins, w, margin, independent)
        return replace(found, premises=(*found.premises, CLOSEST))

    def _margins(self, w: Vector, pairs: list[tuple[Any, Any]], made: list[Any] | None = None) -> Vector:
        """The margins of pairs, none of which is more than what y scores above another structure that is known."""
        known = made or [None] * len(pairs)
        return np.array([self._margin(w, x, y, k, t) for t, ((x, y), k) in enumerate(zip(pairs, known, strict=True))])

    def _margin(self, w: Vector, x: Any, y: Any, made: Any, t: int) -> float:
        found = self._gain(w, x, y, copy(self.space.runner_up(w, x, y)))
        for other in (made, copy(self.space.argmax(w, x))):
            if other is not None and not same(other, y):
                least, (indices, values) = self._gain(w, x, y, other), self._difference(x, y, other, "psi")
                if not at_most(found, least, float(np.abs(w[indices]) @ np.abs(values))):
                    raise PartError(
                        f"pair {t}: runner_up did not find the best structure other than y: {other!r} scores more by "
                        f"{found - least:.6g}"
                    )
        return found

    def _gain(self, w: Vector, x: Any, y: Any, other: Any) -> float:
        """⟨w, ψ(x, y) − ψ(x, other)⟩"""
        indices, values = self._difference(x, y, other, "psi")
        return float(w[indices] @ values)

    def _said(self) -> list[str]:
        return [f"error      {percent(self.error)} of the structures predicted wrongly"]


def same(a: Any, b: Any) -> bool:
    """Whether two structures are equal, arrays among them."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


def _pairs(data: Any, labels: Any) -> Iterable[tuple[Any, Any]]:
    if labels is None:
        try:
            return [(x, y) for x, y in data]
        except (TypeError, ValueError):
            raise DataError("expected pairs (x, y), or inputs and structures in two lists") from None
    if len(data) != len(labels):
        raise DataError(f"there are {len(data)} inputs and {len(labels)} structures: give one for each")
    return list(zip(data, labels, strict=True))
