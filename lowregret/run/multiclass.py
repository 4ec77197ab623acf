"""What comes of training with many classes: a `MulticlassRun`, with the verbs of `LinearRun`.

    run = train(Multiclass(Softmax(), AdaGrad(0.5)), X, ["cat", "dog", "cat", …])
    run.predict(X), run.predict_proba(X), run.error, run.confusion.recall, run.certificate

Classes are named by whole numbers or texts. They may be given beforehand, or are met as the rows go by. Then f_t speaks
of the classes met up to row t, its own among them; a row of a class that was not met before counts as a mistake.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NoReturn

import numpy as np

from lowregret.certificate import Certificate
from lowregret.certificate.classes import class_mistake_bounds
from lowregret.certificate.trace import snapshot
from lowregret.domain import Domain, Reals
from lowregret.errors import DataError, DivergedError, PartError
from lowregret.hindsight.against_classes import LearntClasses, needs_guesses
from lowregret.learner.growth import FIRST, Shape, doubled, joined, refit, relaid, require_zeros
from lowregret.learner.labels import Classes, name_label, one_label_each
from lowregret.learner.layout import begun, filed, more_lanes, plain, restored, stride, summed
from lowregret.learner.linear import write_model, write_point
from lowregret.learner.multiclass import NONE, Multiclass, Room, judge_classes, learn_classes, score_classes
from lowregret.learner.multiclass_simd import at_work
from lowregret.learner.places import Placed
from lowregret.learner.validate import Place, numbers, require_bounded, require_cheap, require_finite, require_weight
from lowregret.loss import PerceptronLoss
from lowregret.mirror import Euclidean
from lowregret.risk.class_statistics import ClassTally
from lowregret.risk.kept import Foretold
from lowregret.risk.online_to_batch import RiskCertificate, prop_3
from lowregret.rows import EVERY, OUTSIDE, Features, Rows
from lowregret.rule import Forgotten, MirrorDescent, ProjectedGradient
from lowregret.run.base import BY_FEATURE, Ledger
from lowregret.run.confusion import Confusion
from lowregret.run.schema_classes import ClassSchema
from lowregret.state import DIMENSION, ENERGY, LARGEST, State
from lowregret.step import Constant
from lowregret.store.file import Arrays
from lowregret.stream.batch import Batch
from lowregret.types import Vector

LANES = 4  # classes that there is room for in the beginning, where they are not given


def start_classes(
    learner: Multiclass,
    features: int | None,
    classes: Sequence[Any] | None = None,
    comparator: Domain | None = None,
    *,
    certify: bool = True,
    compiled: bool = True,
) -> MulticlassRun:
    """A run before its first row, for this many features and these classes; None: those that there turn out to be."""
    names = Classes(classes)
    learner.loss.fits(len(names) if names.fixed else None)
    if not certify and isinstance(learner.rule, ProjectedGradient):
        learner = replace(learner, rule=replace(learner.rule, gradients=Forgotten()))
    lanes = len(names) if names.fixed else LANES
    if not names.fixed:
        require_zeros(learner.start(1, 1), learner.rule, "classes", "name them: classes=[…] (--classes A,B,…)")
    seen = None
    if features is None:
        require_zeros(learner.start(1, 1), learner.rule, "features", "give it as dimension (--dimension N)")
        features, seen = FIRST, 0
    state = begun(at_work(learner), features, lanes)
    return MulticlassRun(learner, state, names, comparator, seen=seen, certify=certify, compiled=compiled)


class MulticlassRun(Ledger):
    """A learner of many classes, its state, and the proof of how well it has done so far.

    `regret ≤ run.certificate.linear_regret ≤ run.certificate.bound`, at every moment; fixed choices are matrices with a
    row for each feature (the bias last) and a column for each class.
    """

    kind = "class-run"
    schema = ClassSchema(Multiclass)
    learns: ClassVar[type] = Multiclass
    learner: Multiclass
    tally: ClassTally

    def __init__(
        self,
        learner: Multiclass,
        state: State,
        classes: Classes,
        comparator: Domain | None = None,
        *,
        lanes: int | None = None,
        known: int | None = None,
        frozen_known: int = 0,
        confusion: Confusion | None = None,
        tally: ClassTally | None = None,
        **ledger: Any,
    ) -> None:
        self.classes, self._worker = classes, at_work(learner)
        lanes = lanes or (len(classes) if classes.fixed else LANES)
        self.lanes = lanes if classes.fixed else stride(self._worker, lanes)  # classes that there is room for
        super().__init__(learner, state, comparator, tally=tally or ClassTally(), **ledger)
        self.confusion = confusion or Confusion()  # of all rows that were learnt
        self.keep_scores = False  # whether `scores` are kept: a row for each row of the latest batch
        self.codes = self.guesses = np.empty(0, np.int64)  # of the latest batch, guessed before its rows were learnt
        self.done = 0  # rows of the latest batch that were learnt, all unless one was refused
        self._frozen_known = frozen_known  # classes met when the model on trial was frozen
        self._known = np.array([(len(classes) if classes.fixed else 0) if known is None else known])

    @property
    def linear(self) -> Multiclass:
        """The linear learner whose fixed predictors the regret compares with."""
        return self.learner

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def learn_batch(self, batch: Batch) -> None:
        """Learn the rows of a batch; `guesses` and `codes` are theirs until the next one."""
        self._learn(batch.rows, batch.labels, batch.weights, batch.place, batch.names)

    def _learn(self, x: Rows, labels: Any, w: Vector, place: Place, names: Mapping[float, str] | None = None) -> None:
        self.codes = self.classes.encode(labels, w != 0 if w.size else None, names)
        self.guesses = np.full(self.codes.size, NONE)
        self.uniform &= bool(np.all(w == 1))
        self.done, size = 0, self.codes.size
        if self.tally.recognised(x, self.codes.astype(float)):
            self.trial.end(self.rounds)
        placed, room = self._placed(x, w), self._room(size)
        try:
            while self.done < size:
                learn = partial(self._pass, placed.rows, self.codes[: placed.fitting(self._places)], w, room)
                self.done, paused = self._stretch(learn, placed.rows, self.codes, w, self.done)
                i = self.done
                if paused or i == size:
                    continue
                if self._grow(placed, w, i):
                    room = self._room(size, room)
                else:
                    self._refuse(self._refused(x), name_label(labels[i], names), w, i, place(i))
        finally:
            self._settle(x, placed, self.done)
            self._count(x, w, room)
        require_bounded(self.state)

    def _pass(self, x: Rows, codes: Any, w: Vector, room: Room, i: int, mark: int) -> int:
        """Learn rows from i on until `mark` rounds are done; returns the first row not learnt."""
        given = self._worker, self.state, x, codes, w, room, self.guesses, i, mark
        return int(self._call(learn_classes, *given))

    def predict(self, features: Features) -> Any:
        """The class of each row, by name, with the learner's output (last or averaged iterate)."""
        return self.classes.decode(np.argmax(self.decision_function(features), axis=1))

    def predict_proba(self, features: Features) -> Vector:
        """The chance of each class, a column each in the order of `classes.names`: of `Softmax` and logistic losses."""
        return self.learner.loss.probabilities(self.decision_function(features))

    def decision_function(self, features: Features) -> Vector:
        """Scores ⟨w_ℓ, x⟩ of rows, a column for each class: O(nnz · classes)."""
        x = self._rows(features)
        scores = np.empty((x.shape[0], self._need_classes()))
        self._call(score_classes, self.learner, self.placed_weights.ravel(), self.located(x), EVERY, scores)
        for i in np.flatnonzero(~np.isfinite(scores).all(axis=1)).tolist():
            require_finite(x, i, f"row {i}")
            raise DivergedError(f"row {i}: a score left the range of numbers although the row is finite")
        return scores

    @property
    def weights(self) -> Vector:
        """The iterate the learner hands out (its `output`), a row for each feature, the bias last: O(d)."""
        return self._by_column(self.placed_weights)

    @property
    def point(self) -> Vector:
        """The iterate that would be played next, w_{T+1}: O(d)."""
        return self._by_column(self._matrix(write_point))

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def features(self) -> int:
        """How many features there are, or were so far."""
        return self._places if self.seen is None else self.seen

    @property
    def dimension(self) -> int:
        """Number of weights: features and bias, times classes."""
        return (self.features + (self.learner.bias > 0)) * len(self.classes)

    @property
    def books(self) -> State:
        """The state as proofs read it: of the features and classes that were met."""
        return plain(self._worker, self.state, self._stride, self._shape)

    def regret(self, u: Any, features: Features, labels: Any, weights: Any = None) -> float:
        """The exact regret Σ c_t(f_t(w_t) − f_t(u)) against one fixed matrix u, given the rows that were learnt."""
        return self._learnt(features, labels, weights).regret(self._flat(u))

    def mistake_certificates(self, u: Any, features: Features, labels: Any, margin: float = 1.0) -> list[Certificate]:
        """MC-OBS, PERC-ROOT and THM-14.2 of the Perceptron against a matrix u, on the rows of one call of `learn`."""
        match self.learner:
            case Multiclass(PerceptronLoss(), MirrorDescent(Euclidean(Reals()), Constant(1.0))) if self.uniform:
                told = self._learnt(features, labels, guessed=True).margins(self._flat(u))
                energy, largest = float(self.state.sums[ENERGY]), float(np.sqrt(self.state.sums[LARGEST]))
                return class_mistake_bounds(told, energy, largest, margin)
        raise PartError(
            "mistake bounds speak of zoo.mc_perceptron() on rows of weight 1: use `certificates` for others"
        )

    def drawn_error(self, u: Any, features: Features, labels: Any, margin: float = 1.0) -> RiskCertificate:
        """PROP-3: the expected error of an iterate drawn from the Perceptron's run, with the rows' mean as E."""
        told = self._learnt(features, labels, guessed=True).margins(self._flat(u))
        return prop_3(float(np.mean(told.hinge(margin))), told.norm, told.widest, margin, self.state.rounds)

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super().contents()
        classes = {"classes": self.classes.names, "fixed": self.classes.fixed}
        room = {"lanes": self.lanes, "known": int(self._known[0]), "frozen_known": self._frozen_known}
        confusion = {"confusion": self.confusion.counts, "confusion.sums": self.confusion.sums}
        return description | classes | room, arrays | confusion

    @classmethod
    def _given(cls, learner: Any, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        given = super()._given(learner, description, arrays)
        return given | {
            "classes": Classes(description["classes"], description["fixed"]),
            "lanes": description["lanes"],
            "known": description["known"],
            "frozen_known": description["frozen_known"],
            "confusion": Confusion(arrays["confusion"], arrays["confusion.sums"]),
            "tally": ClassTally(arrays),
        }

    @classmethod
    def _restored(cls, learner: Any, state: State, description: dict[str, Any], arrays: Arrays) -> State:
        met, lanes, counts = max(len(arrays["table"]), 1), description["lanes"], state.counts.copy()
        kept = {name: joined(name, arrays, met) for name in BY_FEATURE}
        counts[DIMENSION] = (met + len(arrays["table.bias"])) * lanes
        return restored(at_work(learner), state._replace(counts=counts, **kept), lanes, description["room"])

    # ---- inside ------------------------------------------------------------------------------------------------------

    @property
    def placed_weights(self) -> Vector:
        return self._matrix(write_model)

    def _filed(self) -> tuple[State, int]:
        return filed(self._worker, self.state, self.lanes, self._met)

    @property
    def _places(self) -> int:
        return self.state.dimension // self._stride - (self.learner.bias > 0)

    @property
    def _stride(self) -> int:
        """Lanes of the table."""
        return stride(self._worker, self.lanes)

    @property
    def _shape(self) -> tuple[int, int]:
        return max(self._met, 1), max(len(self.classes), 1)

    @property
    def _coordinates(self) -> int:
        return (self._shape[0] + (self.learner.bias > 0)) * self._shape[1]

    def _snapshot(self) -> Vector:
        return snapshot(summed(self._worker, self.state, self.lanes), self.learner.rule)

    def _need_classes(self) -> int:
        if not len(self.classes):
            raise DataError("no row was learnt yet, so there is no class to predict: learn some, or name the classes")
        return len(self.classes)

    def _room(self, rows: int, before: Room | None = None) -> Room:
        """Memory for a batch, with the scores that there are."""
        room = Room.of(self._known, self._stride, rows if self.keep_scores else 1)
        if before is not None:
            room.scores[:, : before.raw.size] = before.scores
        return room

    def _count(self, x: Rows, w: Vector, room: Room) -> None:
        """Count the rows that were learnt; the names of others were taken up too soon."""
        done = self.done
        if not self.classes.fixed:
            self.classes.forget_after(int(self._known[0]))
        self.scores = room.scores[:done, : len(self.classes)] if self.keep_scores else np.empty(0)
        codes, guesses = self.codes[:done], self.guesses[:done]
        self.confusion.see(len(self.classes), codes, guesses, w[:done])
        if done:
            self.tally.judge(x, self.codes.astype(float), w, self.guesses.astype(float), done, self.compiled)

    def _matrix(self, write: Any) -> Vector:
        w = np.empty(self.state.dimension)
        self._call(write, self._worker, self.state, w)
        return w.reshape(-1, self._stride)[:, : len(self.classes)]

    def _flat(self, u: Any) -> Vector:
        """A matrix of weights by place, a row more than there are features, for those that did not occur."""
        shape = self.features + (self.learner.bias > 0), len(self.classes)
        matrix = np.array(u, float)
        if matrix.shape != shape or not np.isfinite(matrix).all():
            raise DataError(
                f"u must be a matrix of {shape[0]} rows (features) and {shape[1]} columns (classes), finite"
            )
        return self._by_place(matrix, self._met + 1).ravel()

    def _rows(self, features: Features) -> Rows:
        x = super()._rows(features)
        require_cheap(x, self.learner.rule)
        return x

    def _labels(self, labels: Any, rows: int) -> Any:
        return one_label_each(labels, rows)

    def _grow(self, placed: Placed, w: Vector, i: int) -> bool:
        """Make room for row i if that is what it lacks: features, a lane, or both."""
        wide = i < placed.needs.size and placed.needs[i] > self._places
        new = self.codes[i] >= self.lanes and not (w.size and w[i] == 0)
        if not (wide or new):
            return False
        places = doubled(FIRST, int(placed.needs[i])) if wide else self._places
        before = self._places, self._stride
        self.lanes = stride(self._worker, more_lanes(self.lanes, int(self.codes[i]) + 1)) if new else self.lanes
        self.state = relaid(self.state, before, (places, self._stride), self.learner.bias > 0)
        self._regrow(before)
        return True

    def _regrow(self, before: Shape) -> None:
        """Give the frozen model the room of the state, which had (features, lanes) before."""
        if self.frozen is not None:
            self.frozen = refit(self.frozen, before, (self._places, self._stride), self.learner.bias > 0)

    def _freeze(self) -> None:
        self.frozen, self._frozen_known = np.empty(self.state.dimension), int(self._known[0])
        self._call(write_model, self._worker, self.state, self.frozen)

    def _foretold(self, x: Rows, y: Any, picked: Any, weights: Vector) -> Foretold:
        """Scores of the classes known when the model was frozen; the loss of the live model is not known any more."""
        scores, slopes = np.empty((picked.size, self._stride)), np.empty(self._stride)
        values, guesses, codes = np.empty(picked.size), np.empty(picked.size, np.int64), y[picked]
        self._call(score_classes, self.learner, self.frozen, x, picked, scores)
        judged = self.learner.loss, self._frozen_known, codes, scores, slopes, values, guesses
        self._call(judge_classes, *judged)
        return self._told(values, guesses, codes, picked)

    def _told(self, values: Vector, guesses: Any, codes: Any, picked: Any) -> Foretold:
        return Foretold(values, guesses != codes, np.full(codes.size, np.nan), self.guesses[picked] != codes)

    def _refuse(self, x: Rows, label: Any, w: Vector, i: int, place: str) -> NoReturn:
        """Say why row i could not be learnt; nothing of it was."""
        require_weight(w, i, place)
        if self.codes[i] < 0 and not (w.size and w[i] == 0):
            raise DataError(f"{place}: {self.classes.refusal(label)}")
        if not x.inside(i):
            raise DataError(f"{place}: {OUTSIDE.format(x.shape[1])}")
        require_finite(x, i, place)
        raise DivergedError(
            f"{place}: a score or the loss left the range of numbers although the row is finite: the weights diverged "
            "(use a smaller step, a bounded domain or scaled features)"
        )

    def _learnt(self, features: Features, labels: Any, weights: Any = None, guessed: bool = False) -> LearntClasses:
        """The rows of the run, given once more; if need be, with what was guessed."""
        x = self._rows(features)
        codes = self.classes.encode(self._labels(labels, x.shape[0]), np.zeros(x.shape[0], bool))
        w = np.ones(codes.size) if weights is None else numbers(weights, "weights", x.shape[0])
        if not np.all(w) or codes.size != self.state.rounds or np.any(codes < 0):
            raise DataError(
                f"give the {self.state.rounds} rows that were learnt with their labels, without those of weight 0; "
                f"got {codes.size} rows"
            )
        guesses = codes
        if guessed or needs_guesses(self.learner):
            if not np.array_equal(codes, self.codes):
                raise DataError(f"give all {self.state.rounds} rows of the run, learnt in one call; got {codes.size}")
            guesses = self.guesses
        named = len(self.classes) if self.classes.fixed else 0
        fixed = self.linear, self.state, len(self.classes), named
        return LearntClasses(*fixed, self.located(x), codes, w, guesses, self.compiled)
