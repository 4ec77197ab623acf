"""The run of a learner of many classes: `MulticlassRun`, with the main methods of `LinearRun`.

    run = train(Multiclass(Softmax(), AdaGrad(0.5)), X, ["cat", "dog", "cat", …])
    run.predict(X), run.predict_proba(X), run.error, run.confusion.recall, run.certificate

Classes are named by whole numbers or texts. They may be given beforehand, or are met as the rows go by: then f_t
depends on the classes met up to row t, its own included, and a row of a class not met before counts as a mistake.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.certificate.multiclass_mistakes import Margins, class_mistake_bounds, require_margin
from lowregret.certificate.trace import snapshot
from lowregret.compile.call import call
from lowregret.domain import Domain, Reals
from lowregret.errors import DataError, DivergedError, PartError
from lowregret.learner.growth import FIRST, Shape, Together, double_room
from lowregret.learner.labels import ClassNames, one_label_each
from lowregret.learner.layout import filed, more_lanes, plain, restored, stride, summed
from lowregret.learner.linear import write_model, write_point
from lowregret.learner.multiclass import NONE, Multiclass, Room, judge_classes, learn_classes, longest, score_classes
from lowregret.learner.multiclass_simd import at_work
from lowregret.learner.validate import (
    numbers,
    real_numbers,
    require_cheap,
    require_finite,
    require_moderate,
    require_visible,
    require_weight,
    settled,
)
from lowregret.loss import PerceptronLoss
from lowregret.mirror import Euclidean
from lowregret.risk.bounds import RiskEvidence, shared_premises
from lowregret.risk.class_statistics import ClassTally
from lowregret.risk.kept_trial import Foretold
from lowregret.risk.online_to_batch import RiskCertificate, prop_3
from lowregret.risk.promised import ASSUMED
from lowregret.rows import OUTSIDE, Features, Rows, mean_size
from lowregret.rule import MirrorDescent
from lowregret.run.base import RowRun
from lowregret.run.confusion import Confusion
from lowregret.run.files import given, proof_given, with_room
from lowregret.run.models import ClassModel, FixedModel
from lowregret.run.outcome import Learnt
from lowregret.run.schema_classes import ClassSchema
from lowregret.state import DIMENSION, ENERGY, LARGEST, State
from lowregret.step import Constant
from lowregret.store.file import Arrays
from lowregret.stream.places import Placed
from lowregret.types import Vector

if TYPE_CHECKING:
    from lowregret.hindsight.fixed_comparator_classes import ClassesGivenAgain

AT_ONCE = 1 << 22  # cells of rows that are learnt before signals are let in: well below a second
BASE_CELLS = 16  # that a class costs in a row without entries
LANES = 4  # classes that there is room for in the beginning, where they are not given


class MulticlassRun(RowRun):
    """A learner of many classes, its state, and the proof of how well it has done so far.

    `regret ≤ run.certificate.linear_regret ≤ run.certificate.bound`, at every moment; fixed choices are matrices with a
    row for each feature (the bias last) and a column for each class.
    """

    kind = "class-run"
    schema = ClassSchema(Multiclass)
    learns: ClassVar[type] = Multiclass
    of_batch: ClassVar[tuple[str, ...]] = ("codes", "guesses", "scores")
    learner: Multiclass
    classes: ClassNames
    tally: ClassTally

    def __init__(
        self,
        learner: Any,
        state: State,
        classes: ClassNames,
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
        self._known = np.array([(len(classes) if classes.fixed else 0) if known is None else known])
        self.confusion = confusion or Confusion()  # of all rows that were learnt
        self.codes = self.guesses = np.empty(0, np.int64)  # of the latest batch, guessed before its rows were learnt
        self._room = self._new_room(0)  # for the batch at hand
        self._frozen_known = frozen_known  # classes met when the model on trial was frozen

    @property
    def linear(self) -> Multiclass:
        """The linear learner whose fixed predictors the regret compares with."""
        return self.learner

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def _taken(self, labels: Any, w: Vector, names: Mapping[float, str] | None) -> Any:
        self.codes = self.classes.encode(labels, w != 0 if w.size else None, names)
        try:
            self.confusion.require_room(len(self.classes))
        except DataError:
            self.classes.forget_after(len(self.classes) if self.classes.fixed else int(self._known[0]))
            raise
        self.guesses = np.full(self.codes.size, NONE)
        self._room = self._new_room(self.codes.size)
        return self.codes

    def _pass(self, x: Rows, y: Any, w: Vector, i: int, goal: int, limit: float) -> int:
        given = self._worker, self.state, x, y, w, self._room, self.slots, self.guesses, i, goal, limit
        return int(call(learn_classes, self.compiled, *given))

    def _rows_at_once(self, x: Rows) -> int:
        """O(classes · entries) a row: the fewer rows, the more classes there are."""
        return max(1, int(AT_ONCE // (self.lanes * (BASE_CELLS + mean_size(x)))))

    def _carried(self) -> Sequence[Any]:
        return *super()._carried(), self._known

    def _told(self, y: Any, done: int) -> Learnt:
        """The report on the batch; names that only rows after the first `done` brought are forgotten."""
        if not self.classes.fixed:
            self.classes.forget_after(int(self._known[0]))
        guesses = self.guesses[:done]
        self.scores = self._room.scores[:done, : len(self.classes)] if self.keep_scores else np.empty(0)
        return Learnt(done, y[:done], guesses, self.scores if self.keep_scores else guesses)

    @property
    def slot_sizes(self) -> tuple[int, int]:
        return self._stride, 2

    @property
    def coded(self) -> int:
        return int(self._known[0])

    def _count(self, given: Rows, x: Rows, y: Any, w: Vector) -> None:
        done = self.learnt.done
        self.confusion.see(len(self.classes), y[:done], self.guesses[:done], w[:done])
        if done:
            self.tally.judge(given, y.astype(float), w, self.guesses.astype(float), done, self.compiled)
            if self.met is not None:
                far = math.sqrt(call(longest, self.compiled, self.learner, x, x.shape[0]))
                self.met = self.met.wider(self._room.scores[:, : self._known[0]], longest=far)

    @property
    def _model(self) -> FixedModel:
        self._require_classes()
        return ClassModel(self.learner, self.placed_weights)

    @property
    def point(self) -> Vector:
        """The iterate that would be played next, w_{T+1}: O(d)."""
        return self._by_column(self._matrix(write_point))

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """Number of weights: features and bias, times classes."""
        return (self.features + (self.learner.bias > 0)) * len(self.classes)

    @property
    def books(self) -> State:
        """The state as proofs read it: cells of the features and classes that were met."""
        return plain(self._worker, self.state, self._stride, self._shape)

    def regret(self, u: Any, features: Features, labels: Any, weights: Any = None) -> float:
        """The exact regret Σ c_t(f_t(w_t) − f_t(u)) against one fixed matrix u, given the rows that were learnt."""
        fixed = self._flat(u)
        return self._given_again(features, labels, weights).regret(fixed)

    def mistake_certificates(self, u: Any, features: Features, labels: Any, margin: float = 1.0) -> list[Certificate]:
        """MC-OBS, PERC-ROOT and THM-14.2 of the Perceptron against a matrix u, on the rows of one call of `learn`.

        That these are the rows that were learnt, in their order, is your word.
        """
        told = self._perceptron_margins(u, features, labels, margin)
        energy, largest = float(self.state.sums[ENERGY]), float(np.sqrt(self.state.sums[LARGEST]))
        return class_mistake_bounds(told, energy, largest, margin)

    def drawn_error(self, u: Any, features: Features, labels: Any, margin: float = 1.0) -> RiskCertificate:
        """PROP-3: the expected error of an iterate drawn from the Perceptron's run, with the rows' mean as E."""
        told = self._perceptron_margins(u, features, labels, margin)
        found = prop_3(float(np.mean(told.hinge(margin))), told.norm, told.widest, margin, self.state.rounds)
        wide = Premise(f"‖ψ(x,y) − ψ(x,ℓ)‖ ≤ {told.widest:.6g} {ASSUMED}", True, told.widest)
        return replace(found, premises=(*shared_premises(RiskEvidence.of(self)), wide, *found.premises))

    def _perceptron_margins(self, u: Any, features: Features, labels: Any, margin: Any) -> Margins:
        """The margins of u on the rows of one call of `learn`; refuses learners that no mistake bound speaks of."""
        self.require_prompt()
        require_margin(margin)
        match self.learner:
            case Multiclass(PerceptronLoss(), MirrorDescent(Euclidean(Reals()), Constant(1.0))) if self.uniform:
                fixed = self._flat(u)
                return self._given_again(features, labels, guessed=True).margins(fixed)
        raise PartError(
            "mistake bounds speak of zoo.mc_perceptron() on rows of weight 1: use `certificates` for others"
        )

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super().contents()
        classes = {"classes": self.classes.names, "fixed": self.classes.fixed}
        room = {"lanes": self.lanes, "known": int(self._known[0])}
        room["frozen_known"] = 0 if self.frozen is None else self._frozen_known
        confusion = {"confusion": self.confusion.counts, "confusion.sums": self.confusion.sums}
        return description | classes | room, arrays | confusion

    @classmethod
    def _given(cls, learner: Any, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        lanes, met = description["lanes"], max(len(arrays["table"]), 1)
        kept: State = proof_given(description, arrays)["state"]
        counts = kept.counts.copy()
        counts[DIMENSION] = (met + len(arrays["table.bias"])) * lanes
        kept = with_room(kept._replace(counts=counts), arrays, met)
        return given(description, arrays, restored(at_work(learner), kept, lanes, description["room"])) | {
            "classes": ClassNames(description["classes"], description["fixed"]),
            "lanes": description["lanes"],
            "known": description["known"],
            "frozen_known": description["frozen_known"],
            "confusion": Confusion(arrays["confusion"], arrays["confusion.sums"]),
            "tally": ClassTally(arrays),
        }

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
        """The number of lanes that the table has for each feature."""
        return stride(self._worker, self.lanes)

    @property
    def _shape(self) -> tuple[int, int]:
        return max(self._met, 1), max(len(self.classes), 1)

    @property
    def _coordinates(self) -> int:
        return (self._shape[0] + (self.learner.bias > 0)) * self._shape[1]

    def snapshot(self) -> Vector:
        return snapshot(summed(self._worker, self.state, self.lanes), self.learner.rule)

    def _require_classes(self) -> None:
        if not len(self.classes):
            raise DataError("no row was learnt yet, so there is no class to predict: learn some, or name the classes")

    def _new_room(self, rows: int, before: Room | None = None) -> Room:
        """Memory for a batch, with the scores that `before` holds, if it is given."""
        kept = self.keep_scores or self.met is not None  # a loss of the user's own is tried at them
        room = Room.of(self._known, self._stride, rows if kept else 1)
        if before is not None:
            room.scores[:, : before.raw.size] = before.scores
        return room

    def _matrix(self, write: Any) -> Vector:
        w = np.empty(self.state.dimension)
        self._call(write, self._worker, self.state, w)
        return w.reshape(-1, self._stride)[:, : len(self.classes)]

    def _flat(self, u: Any) -> Vector:
        """The matrix u in the order of places, flat, with one more row for features that did not occur."""
        shape = self.features + (self.learner.bias > 0), len(self.classes)
        matrix = real_numbers(u, "u").copy()
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
        """Make room for the features or the class of row i if it lacks that; returns whether it did."""
        wide = i < placed.needs.size and placed.needs[i] > self._places
        new = self.codes[i] >= self.lanes and not (w.size and w[i] == 0)
        if not (wide or new):
            return False
        places = double_room(FIRST, int(placed.needs[i])) if wide else self._places
        before = self._places, self._stride
        lanes = stride(self._worker, more_lanes(self.lanes, int(self.codes[i]) + 1)) if new else self.lanes
        after = places, stride(self._worker, lanes)
        with Together() as together:
            state = together.refit_state(self.state, before, after, self.learner.bias > 0)
            take = self._regrown(before, after, together)
        self.state, self.lanes = state, lanes
        take()
        self._room = self._new_room(self.codes.size, self._room)
        if self.late is not None:
            self.slots = self.late.widen(self.slots, *self.slot_sizes)
        return True

    def _regrown(self, before: Shape, after: Shape, together: Together) -> Callable[[], None]:
        """Fit other arrays with cells for each of (features, lanes) to new ones; returns the step that takes them."""
        frozen = self.frozen
        if frozen is not None:
            frozen = together.refit(frozen, before, after, self.learner.bias > 0)
        return partial(setattr, self, "frozen", frozen)

    def _freeze(self) -> None:
        self.frozen, self._frozen_known = np.empty(self.state.dimension), int(self._known[0])
        self._call(write_model, self._worker, self.state, self.frozen)

    def _foretold(self, x: Rows, y: Any, picked: Any, weights: Vector) -> Foretold:
        """Losses of the frozen model over the classes it knows, and mistakes of both; the live model's loss is NaN."""
        scores, slopes = np.empty((picked.size, self._stride)), np.empty(self._stride)
        values, guesses, codes = np.empty(picked.size), np.empty(picked.size, np.int64), y[picked]
        self._call(score_classes, self.learner, self.frozen, x, picked, scores)
        judged = self.learner.loss, self._frozen_known, codes, scores, slopes, values, guesses
        self._call(judge_classes, *judged)
        return self._compared(values, guesses, codes, picked)

    def _compared(self, values: Vector, guesses: Any, codes: Any, picked: Any) -> Foretold:
        """Losses of the frozen model, where its guesses are wrong, and where those of the live model are."""
        return Foretold(values, guesses != codes, np.full(codes.size, np.nan), self.guesses[picked] != codes)

    def _refuse(self, x: Rows, label: Any, w: Vector, i: int, place: str) -> NoReturn:
        """Raise the error that says why row i could not be learnt; the state is as it was before that row."""
        require_weight(w, i, place)
        if self.codes[i] < 0 and not (w.size and w[i] == 0):
            raise DataError(f"{place}: {self.classes.refusal(label)}")
        if not x.inside(i):
            raise DataError(f"{place}: {OUTSIDE.format(x.shape[1])}")
        require_finite(x, i, place)
        require_moderate(x, i, None, w, place)
        require_visible(x, i, place)
        raise DivergedError(
            f"{place}: a score or the loss left the range of numbers although the row is finite: the weights diverged "
            "(use a smaller step, a bounded domain or scaled features)"
        )

    def _given_again(
        self, features: Features, labels: Any, weights: Any = None, guessed: bool = False
    ) -> ClassesGivenAgain:
        """The rows of the run, given once more; with the guesses made of them if they are needed."""
        from lowregret.hindsight.fixed_comparator_classes import ClassesGivenAgain, needs_guesses

        labels, weights = settled(labels, "labels"), settled(weights, "weights", "numbers")
        x = self._rows(features)
        codes = self.classes.encode(self._labels(labels, x.shape[0]), np.zeros(x.shape[0], bool))
        w = np.ones(codes.size) if weights is None else numbers(weights, "weights", x.shape[0])
        played = w != 0
        if np.count_nonzero(played) != self.state.rounds or np.any(codes[played] < 0):
            raise DataError(
                f"give the {self.state.rounds} rows that were learnt with their labels and weights; got "
                f"{np.count_nonzero(played)} of a weight other than 0"
            )
        guesses = codes
        if guessed or needs_guesses(self.learner):
            if codes.size != self.codes.size or not np.array_equal(codes[played], self.codes[played]):
                got = "rows of other labels" if codes.size == self.codes.size else str(codes.size)
                raise DataError(f"give all {self.state.rounds} rows of the run, learnt in one call; got {got}")
            guesses = self.guesses
        named = len(self.classes) if self.classes.fixed else 0
        fixed = self.linear, self.state, len(self.classes), named
        return ClassesGivenAgain(*fixed, self.located_again(x, w), codes, w, guesses, self.compiled)
