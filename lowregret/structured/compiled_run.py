"""Runs on groups of rows, learnt in compiled loops: chains, label trees, classes, rankings."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from lowregret.certificate import Certificate
from lowregret.compile.call import compilable
from lowregret.compile.signals import let_in
from lowregret.compile.turns import in_turn
from lowregret.domain import Domain
from lowregret.errors import DataError
from lowregret.hindsight.fixed_comparator import importances
from lowregret.learner.validate import finite_numbers, require_bounded, require_cheap
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.rows import Sparse, as_rows
from lowregret.run.careful import whole
from lowregret.run.record import next_snapshot
from lowregret.structured.bounds import drawn_error, structured_certificates
from lowregret.structured.learner import (
    Ranking,
    Structured,
    Task,
    compare_rounds,
    decode_rounds,
    judge_rounds,
    learn_rounds,
)
from lowregret.structured.rounds import (
    Choices,
    Grouped,
    Rounds,
    Sequences,
    Whole,
    as_labels,
    as_rounds,
    choices,
    require_chosen,
    sequences,
)
from lowregret.structured.run import TaskRun, diverged_error
from lowregret.structured.schema import RankingSchema, StructuredSchema
from lowregret.structured.scratch import FixedWeights, Scratch
from lowregret.structured.space import Space, outside
from lowregret.types import Vector
from lowregret.words import percent


class GroupRun(TaskRun):
    """The base of runs on groups of rows."""

    says: ClassVar[tuple[str, ...]] = ("features",)

    def __init__(self, learner: Task, state: Any, comparator: Domain | None = None, **rest: Any) -> None:
        self.features: int = rest.pop("features")
        super().__init__(learner, state, comparator, **rest)
        self.compiled = self.compiled and compilable(learner)
        self._made: Whole = np.zeros(0, np.int64)  # of the latest batch, each made before its round was learnt

    @classmethod
    def begin(cls, learner: Task, features: int, comparator: Domain | None, compiled: bool) -> Self:
        """A run before its first round, for rows of this many features."""
        state = learner.linear.start(learner.dimension(features))
        return cls(learner, state, comparator, compiled=compiled, features=features)

    @in_turn
    def _learn(self, data: Rounds, made: Whole, what: str) -> Self:
        scratch = self._scratch(data)
        t, count = 0, data.count()
        self._made = made
        require_cheap(data.rows, self.linear.rule)
        while t < count:
            mark = next_snapshot(self.state)
            args = (self.learner, self.linear, self.state, data, scratch, scratch.row, made, self.figures)
            with whole(self.linear, (*self.state, self.figures)):
                t = self._call(learn_rounds, *args, t, mark)
            if self.rounds == mark:
                self.record.mark(self)
            elif t < count:
                self._made = made[:0]
                raise diverged_error(f"{what} {t}")
            let_in()
        require_bounded(self.state, "round")
        return self

    def _losses(self, fixed: Vector, data: Rounds, made: Whole, gradient: Vector | None) -> Vector:
        found, c, pile = np.empty(data.count()), np.empty(0), np.empty(0)
        if gradient is not None:
            self._require_all(data.count())
            if gradient.shape != (self.dimension,) or gradient.dtype != np.float64:
                raise DataError(f"gradient must be {self.dimension} numbers in float64, to which others are added")
            c, pile = importances(self.linear, self.rounds), np.zeros(self.dimension)
        self._call(judge_rounds, self.learner, FixedWeights(), fixed, data, self._scratch(data), made, c, found, pile)
        if gradient is not None:
            gradient += pile
        return found

    def _scratch(self, data: Rounds) -> Scratch:
        """Room for the longest round of the data, and the one with most entries."""
        longest = int(np.max(np.diff(data.offsets)))
        rows = data.rows
        entries = np.diff(rows.indptr[data.offsets]) if isinstance(rows, Sparse) else [longest * data.features]
        return Scratch.of(self.learner.room(longest, int(np.max(entries))), self.dimension)

    def _rounds(self, data: Grouped, labels: Any) -> Rounds:
        found = as_rounds(data, labels)
        if found.features != self.features:
            raise DataError(f"the rows have {found.features} features, the learner {self.features}")
        return found


class StructuredRun(GroupRun):
    """A `Structured` learner over one of the compiled spaces. Labels may be names; then predictions are names too."""

    kind = "structured-run"
    schema = StructuredSchema()
    says = ("features", "names")
    learner: Structured

    def __init__(self, learner: Task, state: Any, comparator: Domain | None = None, **rest: Any) -> None:
        self.names: list[str] | None = rest.pop("names", None)  # in the order in which they were met
        super().__init__(learner, state, comparator, **rest)

    # ---- learning and predicting ------------------------------------------------------------------------------------

    def learn(self, data: Any, labels: Any = None) -> Self:
        """Learn sequences (for `Chain`), or rows with one label each (`Classes`, `LabelTree`)."""
        grouped = self._group(data, labels)
        codes, names = self._encode(grouped.labels, meet=True)
        rounds = self._rounds(grouped, codes)
        self._require_labels(rounds)
        self.names = names
        return self._learn(rounds, np.zeros(rounds.labels.size, np.int64), "sequence")

    def predict(self, data: Any) -> Any:
        """A label for every row, by the learner's output (last or averaged iterate)."""
        grouped = self._group(data, None)
        rounds = self._rounds(grouped, np.full(grouped.features.shape[0], -1))
        made = np.zeros(rounds.labels.size, np.int64)
        self._call(decode_rounds, self.space, FixedWeights(), self.weights, rounds, self._scratch(rounds), made)
        return self._name(made)

    @property
    def predictions(self) -> Any:
        """The predictions of the latest `learn`, each made before its round was learnt."""
        return self._name(self._made)

    # ---- results ----------------------------------------------------------------------------------------------------

    @property
    def space(self) -> Space:
        return self.learner.space

    @property
    def blocks(self) -> dict[str, Vector]:
        """`weights` by what they mean, such as emission and transition."""
        return self.space.blocks(self.weights, self.features)

    @property
    def error(self) -> float:
        """Share of labels predicted wrongly before they were learnt; `mistakes` counts whole structures."""
        return float(self.figures[0] / max(self.figures[1], 1.0))

    def losses(self, u: Any, data: Any, labels: Any = None, gradient: Vector | None = None) -> Vector:
        fixed = finite_numbers(u, "u", self.dimension)
        grouped = self._group(data, labels)
        rounds = self._rounds(grouped, self._encode(grouped.labels, meet=False)[0])
        self._require_labels(rounds)
        return self._losses(fixed, rounds, np.zeros(rounds.labels.size, np.int64), gradient)

    def mistake_certificates(self, u: Any, data: Any, labels: Any = None) -> list[Certificate]:
        """MC-OBS, PERC-ROOT and THM-14.2 of the structured Perceptron against u, on the data of the one `learn`."""
        products, margins, wrong = self._compare(u, data, labels)
        return structured_certificates(self.learner, self.state, products, margins, wrong, u)

    def drawn_error(
        self, u: Any, data: Any, labels: Any = None, margin: float = 1.0, *, independent: bool = False
    ) -> RiskCertificate:
        """PROP-3: what the error of a model drawn from this run is at most in expectation, by a u and a sample.

        That rounds are independent is your word.
        """
        _, margins, _ = self._compare(u, data, labels)
        return drawn_error(self.learner, self.state, margins, np.asarray(u, float), margin, independent)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _compare(self, u: Any, data: Any, labels: Any) -> tuple[Vector, Vector, Any]:
        """⟨u, ψ(x, y) − ψ(x, ŷ)⟩, the margins of u, and which rounds of the latest `learn` were wrong."""
        fixed = finite_numbers(u, "u", self.dimension)
        grouped = self._group(data, labels)
        rounds = self._rounds(grouped, self._encode(grouped.labels, meet=False)[0])
        self._require_labels(rounds)
        made = self._made if self._made.size == rounds.labels.size else rounds.labels
        products, margins = np.empty(rounds.count()), np.empty(rounds.count())
        args = (self.space, FixedWeights(), fixed, rounds, self._scratch(rounds), made)
        self._call(compare_rounds, *args, products, margins)
        wrong = np.add.reduceat(made != rounds.labels, rounds.offsets[:-1]) > 0
        return products, margins, wrong

    def _group(self, data: Any, labels: Any) -> Sequences:
        """Sequences from what was given."""
        if isinstance(data, Sequences):
            if labels is not None:
                raise DataError("sequences bring their own labels: leave labels out")
            if self.space.single and len(data) != data.offsets[-1]:
                raise DataError(f"{self.space} takes one row at a time: give a matrix and labels")
            return data
        if not self.space.single:
            if labels is not None or hasattr(data, "shape"):
                raise DataError(f"{self.space} needs sequences: use sequences(X, y, lengths=...) or pairs (X, y)")
            return sequences(data)
        return sequences(data, labels, lengths=np.ones(as_rows(data).shape[0], np.int64))

    def _encode(self, labels: Any, meet: bool) -> tuple[Whole, list[str] | None]:
        """Numbers of labels, and all names; names that are new get the next number if they are to be met."""
        if labels is None:
            raise DataError("there are no labels: give one for every row")
        if labels.dtype.kind == "i":
            if self.names is not None:
                raise DataError(f"labels were names before, such as {self.names[0]!r}: got the number {labels[0]}")
            return labels, None
        if self.names is None and (self.rounds or not meet):
            raise DataError(f"labels were numbers before: got the name {labels[0]!r}")
        found, first, codes = np.unique(labels, return_index=True, return_inverse=True)
        known = {name: k for k, name in enumerate(self.names or [])}
        for k in np.argsort(first, kind="stable").tolist():
            name = str(found[k])
            if name not in known and (not meet or len(known) == self.space.labels()):
                place = f"row {first[k]}: label {name!r}"
                raise DataError(f"{place} is new, and {self.space} has {len(known)} labels already: {list(known)}")
            known.setdefault(name, len(known))
        return np.array([known[str(name)] for name in found], np.int64)[codes], list(known)

    def _name(self, made: Whole) -> Any:
        if self.names is None:
            return made.copy()
        return np.array(self.names + ["?"] * (self.space.labels() - len(self.names)))[made]

    def _require_labels(self, rounds: Rounds) -> None:
        bad = outside(self.space, rounds.labels)
        if bad is not None:
            t = int(np.searchsorted(rounds.offsets, bad, side="right")) - 1
            place = f"row {t}" if self.space.single else f"sequence {t}, position {bad - rounds.offsets[t]}"
            raise DataError(
                f"{place}: label {rounds.labels[bad]}, but {type(self.space).__name__} has the labels "
                f"0 … {self.space.labels() - 1}"
            )

    def _said(self) -> list[str]:
        lines = [f"error      {percent(self.error)} of the labels predicted wrongly"]
        if not self.space.single:
            lines.append(f"           {percent(self.mistakes / max(self.rounds, 1))} of the sequences not wholly right")
        return lines


class RankingRun(GroupRun):
    """A `Ranking` learner."""

    kind = "ranking-run"
    schema = RankingSchema()
    learner: Ranking

    def learn(self, data: Any, labels: Any = None) -> Self:
        """Learn from lists of items of which one was chosen: `choices(...)`, or pairs (items, chosen)."""
        rounds = self._rounds(*self._read(data, labels))
        return self._learn(rounds, np.zeros(rounds.count(), np.int64), "list")

    def predict(self, data: Any) -> Vector:
        """⟨w, ψ_j⟩ of every item, by the learner's output: the higher, the further ahead."""
        rows = data.features if isinstance(data, Choices) else data
        if as_rows(rows).shape[1] != self.features:
            raise DataError(f"the items have {as_rows(rows).shape[1]} features, the learner {self.features}")
        return np.asarray(rows @ self.weights)

    def rank(self, items: Any) -> Any:
        """Numbers of the items of one list, best first."""
        return np.argsort(-self.predict(items), kind="stable")

    @property
    def positions(self) -> Whole:
        """Where the chosen items of the latest `learn` stood, 1 being first, tied items before them."""
        return self._made.copy()

    @property
    def mean_position(self) -> float:
        return float(self.figures[0] / max(self.rounds, 1))

    @property
    def mean_reciprocal_rank(self) -> float:
        return float(self.figures[1] / max(self.rounds, 1))

    @property
    def error(self) -> float:
        """Share of lists whose chosen item did not come first."""
        return self.mistakes / max(self.rounds, 1)

    def losses(self, u: Any, data: Any, labels: Any = None, gradient: Vector | None = None) -> Vector:
        fixed = finite_numbers(u, "u", self.dimension)
        rounds = self._rounds(*self._read(data, labels))
        return self._losses(fixed, rounds, np.zeros(rounds.count(), np.int64), gradient)

    def _read(self, data: Any, labels: Any) -> tuple[Choices, Whole]:
        if not isinstance(data, Choices):
            if labels is not None:
                raise DataError("say which items were shown together: choices(X, chosen, lengths=...)")
            data = choices(data)
        if data.chosen is None:
            raise DataError("these lists do not say which item was chosen")
        chosen = as_labels(data.chosen, len(data), "lists")
        require_chosen(chosen, data.lengths)
        return data, chosen

    def _said(self) -> list[str]:
        return [
            f"position   {self.mean_position:.4g} of the chosen item on average, 1 being first",
            f"           mean reciprocal rank {self.mean_reciprocal_rank:.4g}, "
            f"first in {percent(1 - self.error)} of lists",
        ]
