"""The base of runs on rows: a learner, its state and history, its figures, and the proof that follows from them."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np

from lowregret.certificate import Certificate, natural_comparator
from lowregret.certificate.trace import snapshot
from lowregret.compile.call import compilable
from lowregret.compile.signals import Unbroken, let_in
from lowregret.domain import Domain
from lowregret.learner.growth import split
from lowregret.learner.labels import name_label
from lowregret.learner.late import nobody
from lowregret.learner.linear import Learner
from lowregret.learner.validate import Place, numbers, require_bounded, settled
from lowregret.loss.verify import MetScores, first_met
from lowregret.risk.bounds import RiskEvidence, headline, risks
from lowregret.risk.kept_trial import Foretold, Kept, Trial, next_freeze
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.risk.statistics import Tally
from lowregret.rows import Features, Rows, highest
from lowregret.run import files as filed
from lowregret.run.careful import CarefulRun
from lowregret.run.expansion import Expansion
from lowregret.run.lags import settled_delay, with_delays
from lowregret.run.late import Late, Patient
from lowregret.run.outcome import NOTHING, Learnt, Steps, rows_played
from lowregret.run.predictor import Predictor
from lowregret.run.record import NEVER, RunRecord, next_snapshot
from lowregret.run.scoring import Scoring
from lowregret.state import MISTAKES, State
from lowregret.store.file import Arrays
from lowregret.stream.batch import Batch, Stream, is_stream, raise_faults
from lowregret.stream.places import Placed, Places, Ranks
from lowregret.types import Vector
from lowregret.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Names = Mapping[float, str] | None  # of labels


class RowRun(CarefulRun, Patient, Scoring):
    """A learner of rows, its state, and the proof of how well it has done so far."""

    learns: ClassVar[type]  # what its learner must be
    of_batch: ClassVar[tuple[str, ...]] = ("scores",)  # attributes that are arrays of the latest batch
    knows_outputs: bool = True  # whether a random or averaged iterate is one of all those counted

    def __init__(
        self,
        learner: Any,
        state: State,
        comparator: Domain | None = None,
        *,
        record: RunRecord | None = None,
        seen: int | None = None,
        places: Places | None = None,
        uniform: bool = True,
        tally: Tally | None = None,
        met: MetScores | None = None,
        trial: Trial | None = None,
        frozen: Any = None,
        expansion: Expansion | None = None,
        late: Late | None = None,
        certify: bool = True,
        compiled: bool = True,
    ) -> None:
        self.learner: Learner = learner
        self.state = state
        self.seen = seen  # features that occurred so far, in a run that grows with them
        self.places = places or Places() if seen is not None else None  # where they lie; None: at their columns
        self.comparator = comparator or natural_comparator(learner, self._coordinates)
        self.comparator.fits(self._coordinates)
        self.expansion = expansion  # what gives rows further columns
        self.late = late
        self.knows_outputs = self.knows_outputs and late is None  # answers find other iterates than those asked
        self.slots = self.no_slots = nobody()
        self.compiled = compiled and compilable(learner) and (expansion is None or compilable(expansion.part))
        self.certify = certify  # whether a history is kept, and frozen models are judged
        self.uniform = uniform  # all weights were 1
        self.met = met or first_met(learner.loss)  # scores and labels, if the loss is put to the test
        self.tally = tally or Tally(learner.loss.classifies)  # what `risks` asks
        self.trial, self.frozen = trial or Trial(), frozen  # what `kept` asks: the judgement, and the model on trial
        self.scores: Vector = np.empty(0)  # of the latest batch, each made before its row was learnt
        self.learnt = NOTHING  # of the latest batch
        self.record = record or RunRecord()  # what proofs follow from
        self._steps, self._reached = Steps(), 0  # the row of the batch that is learnt next
        self._unjudged = 0, 0  # row from which the frozen model is judged next, and the rounds before it

    # ---- learning ------------------------------------------------------------------------------------------------

    def learn(self, features: Features | Stream, labels: Any = None, weights: Any = None, *, delay: Any = None) -> Self:
        """Learn more rows. Splitting the rows over several calls changes nothing, not even the last bit.

        `delay`, of a run that was begun with one: another, or one for each row.
        """
        self.require_late(delay)
        labels, weights = settled(labels, "labels"), settled(weights, "weights", "numbers")
        delay = settled_delay(delay)
        if is_stream(features):
            for batch, delays in with_delays(raise_faults(features.batches()), delay):
                self.learn_batch(batch, delays)
            return self
        x = self._rows(features)
        w = np.empty(0) if weights is None else numbers(weights, "weights", x.shape[0])
        self._learn(x, self._labels(labels, x.shape[0]), w, "row {}".format, delay=delay)
        return self

    def learn_batch(self, batch: Batch, delay: Any = None) -> Learnt:
        """Learn the rows of a batch. If one cannot be learnt, those before it are, and `learnt` tells of them."""
        given = batch.rows, batch.labels, batch.weights, batch.place, batch.names
        return self._learn(*given, delay=self._lags(batch, delay), ranks=batch.ranks)

    def _learn(
        self, given: Rows, labels: Any, w: Vector, place: Place, names: Names = None, expanded: Rows | None = None,
        delay: Any = None, ranks: Ranks | None = None,
    ) -> Learnt:  # fmt: skip
        """Learn rows, expanded ones in their stead; whatever happens, the rows that are learnt are counted."""
        late = self.late is not None and self.late.playing
        with Unbroken(), self._alone() if expanded is None and not late else nullcontext():
            if self.late is not None and not late:
                return self.late.learn(self, given, labels, w, place, names, delay)
            if self.expansion is not None and expanded is None:
                return self.expansion.learn(self, given, labels, w, place, names)
            x = given if expanded is None else expanded
            self.learnt, self._reached, self._unjudged, self._steps = NOTHING, 0, (0, self.rounds), Steps()
            y = self._taken(labels, w, names)
            self.uniform &= bool(np.all(w == 1))
            if not late and self.tally.recognised(given, np.asarray(y, float)):
                self.end_trial()
            placed = self._placed(x, w, ranks)
            try:
                while self._reached < len(y):
                    marked = self._stretch(placed, y, w)
                    i = self._reached
                    if not (marked or i == len(y) or self._grow(placed, w, i)):
                        shown = self._numbered(x) if self.places is None else x
                        self._refuse(shown, name_label(labels[i], names), w, i, place(i))
            finally:
                self.learnt = self._told(y, self._reached)
                judge, count = partial(self._judge, placed.rows, y, w), partial(self._count, given, x, y, w)
                if self.late is not None:
                    count = partial(self.late.count, self, given, x, y, w)
                self._steps.add(judge, partial(self._settle, x, placed, self._reached), count)
                self._steps.finish()
            require_bounded(self.state)
            return self.learnt

    def _stretch(self, placed: Placed, y: Any, w: Vector) -> bool:
        """Learn rows up to the next mark or pause; returns whether one was reached."""
        mark, pause, rounds, begin = self._next_mark(), self.record.next_pause(self), self.rounds, self._reached
        end = placed.fitting(self._places)
        goal = min(mark, pause - rounds + self.state.rounds)  # a run may restart, and its state count afresh
        try:
            self._reached = self._advance(placed.rows, y[:end], w[:end], begin, goal)
        except BaseException:
            self._reached = begin + rows_played(w[begin:], self.rounds - rounds)  # the ledger knows how far it came
            raise
        finally:
            marked, paused = self.state.rounds == mark, self.rounds == pause
            if not (marked or paused) or self.rounds == next_freeze(self._unjudged[1]):  # it may grow, or be replaced
                self._steps.add(partial(self._judge, placed.rows, y, w))
            self._steps.add(*[self._pause] * paused, *[self._at_mark] * marked)
            self._steps.finish()
        let_in()
        return marked or paused

    @abstractmethod
    def _taken(self, labels: Any, w: Vector, names: Mapping[float, str] | None) -> Any:
        """The labels of a batch as they are learnt, with room made for what is predicted."""

    @abstractmethod
    def _grow(self, placed: Placed, w: Vector, i: int) -> bool:
        """Make room for row i if it could not be learnt for want of room; returns whether that was the case."""

    @abstractmethod
    def _refuse(self, x: Rows, label: Any, w: Vector, i: int, place: str) -> NoReturn:
        """Raise the error that says why row i could not be learnt; the state is as it was before that row."""

    @abstractmethod
    def _told(self, y: Any, done: int) -> Learnt:
        """The report on a batch of which the first `done` rows were learnt."""

    @abstractmethod
    def _count(self, given: Rows, x: Rows, y: Any, w: Vector) -> None:
        """Count the rows of the batch that were learnt: x, which were given as `given`."""

    @property
    @abstractmethod
    def slot_sizes(self) -> tuple[int, int]:
        """How many scores, and how many further numbers, are kept of a row that waits for its answer."""

    @property
    @abstractmethod
    def coded(self) -> int:
        """The number of classes that labels are codes of; 0 if they are numbers."""

    @abstractmethod
    def _labels(self, labels: Any, rows: int) -> Any:
        """The labels given, checked to be one for each row."""

    @property
    def weights(self) -> Vector:
        """The weights that the learner hands out, the bias last; of many classes a row for each feature: O(d).

        Those of `auto` are a linear model near its mixture, to be read: `predict` uses the mixture itself.
        """
        return self._by_column(self.placed_weights)

    @property
    @abstractmethod
    def placed_weights(self) -> Vector:
        """`weights` in the order in which the state keeps features, the bias last; 0 in unused places: O(d)."""

    # ---- figures ---------------------------------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """Number of weights: features, and the bias if there is one."""
        return self.features + (self.learner.bias > 0)

    @property
    def mistakes(self) -> int | None:
        """Number of rows predicted wrongly before they were learnt; None for regression."""
        return int(self.state.counts[MISTAKES]) if self.learner.loss.classifies else None

    @property
    def error(self) -> float | None:
        """Σ c·[wrong] / Σ c, c the importance of a row that was judged before it was learnt; None for regression."""
        return self.wrong / (self.weight or 1.0) if self.learner.loss.classifies else None

    @property
    def mean_loss(self) -> float:
        """Σ c·ℓ / Σ c, progressive: the loss per unit of importance weight, or per row if all weights are 1."""
        return self.loss / (self.weight or 1.0)

    @property
    def weight(self) -> float:
        """Σ c of the rows learnt: how many they are if all weights are 1."""
        return self.tally.weight

    @property
    def wrong(self) -> float:
        """Σ c of the rows predicted wrongly before they were learnt."""
        return self.tally.wrong

    @property
    def alike(self) -> bool:
        """Whether all rows that were learnt had importance weight 1; rows of weight 0 are not learnt."""
        return self.tally.alike

    # ---- proof -----------------------------------------------------------------------------------------------------

    @property
    def fixed_certificate(self) -> Certificate:
        """The certificate against fixed predictors."""
        return self.record.fixed_certificate(self)

    @property
    def forest_certificate(self) -> Certificate | None:
        """The certificate against fixed additive forests on the random partitions of the run, if it has any."""
        return None

    def risks(self, delta: float = 0.05) -> list[RiskCertificate]:
        """Bounds on loss or error of future rows, each with probability 1 − δ: the headline first, failed ones last."""
        return risks(RiskEvidence.of(self), delta)

    def risk(self, delta: float = 0.05) -> RiskCertificate | None:
        """The headline of `risks`, if its premises hold."""
        return headline(self.risks(delta))

    def plot(self, path: str | os.PathLike[str] | None = None, theirs: Vector | None = None) -> Figure:
        """Mean loss, and linearised regret under its bound; the regret too, with `theirs` as `against` tells them."""
        return self.record.plot(self, path, theirs)

    # ---- the model that is kept ------------------------------------------------------------------------------------

    @property
    def kept(self) -> Kept | None:
        """The loss and error of the model once it learns no more, on rows new to it; None before some 100 rounds.

        None also if rows come again, which models may know, or late answers in another order, maybe of one kind first.
        """
        return None if not self.orderly or self.trial.is_void(self.tally.repeated) else super().kept

    def predictor(self) -> Predictor:
        """The model as it is now, for prediction alone: a small file, which cannot be gone on with."""
        return Predictor.of_run(self)

    @abstractmethod
    def _freeze(self) -> None:
        """Make `frozen` the model as `predict` would use it now."""

    @abstractmethod
    def _foretold(self, x: Rows, y: Any, picked: Any, weights: Vector) -> Foretold:
        """Losses and mistakes of the frozen and of the live model on the picked rows, learnt since the freeze."""

    def _judge(self, x: Rows, y: Any, w: Vector) -> None:
        """Judge the frozen model by the rows learnt since it was judged last."""
        if self.frozen is not None:
            begin, rounds = self._unjudged
            self.record.see(self, x, y, w, begin, self._reached, rounds)
            self.trial.judge(w, begin, self._reached, rounds, partial(self._foretold, x, y))
        self._unjudged = self._reached, self.rounds

    def end_trial(self) -> None:
        """Judge frozen models no more, for the rows to come were learnt before."""
        if self.trial.ended is None and self.tally.shuffled:  # what was found so far is worth nothing
            self.record.drop_trial(self)
        self.trial.end(self.rounds)

    def _pause(self) -> None:
        self.record.pause(self)
        if self.rounds == next_freeze(self.rounds - 1) and self.trial.ended is None:
            self._freeze()
            self.trial.freeze()

    def _next_mark(self) -> int:
        """The round whose ledger the record keeps next."""
        return next_snapshot(self.state) if self.certify else NEVER

    def _at_mark(self) -> None:
        self.record.mark(self)
        if self.late is not None:
            self.late.mark()

    def snapshot(self) -> Vector:
        """The ledger as the record keeps it: O(d)."""
        return snapshot(self.state, self.learner.rule)

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        return filed.contents(self, *self._filed())

    def _filed(self) -> tuple[State, int]:
        """The state to be saved, and how many places it has room for."""
        return self.state, self._places

    def split(self, name: str, cells: Any) -> Arrays:
        """Arrays by which a file keeps cells: those of the features that were met, and those of the bias."""
        return split(name, cells, self._places, self._met, self.learner.bias > 0)

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        learner, comparator = filed.parts(path, description, cls.learns)
        return cls(learner, comparator=comparator, **cls._given(learner, description, arrays))

    @classmethod
    def _given(cls, learner: Any, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        """Arguments of the constructor other than learner and comparator, found in the `contents` of a file."""
        state = filed.proof_given(description, arrays)["state"]
        return filed.given(description, arrays, filed.with_room(state, arrays, description["room"]))

    # ---- inside ------------------------------------------------------------------------------------------------------

    @property
    def _places(self) -> int:
        """The number of features that the state has room for."""
        return self.state.dimension - (self.learner.bias > 0)

    @property
    def _coordinates(self) -> int:
        """The number of weights that comparators have."""
        return self.state.dimension

    def _placed(self, x: Rows, w: Vector, ranks: Ranks | None = None) -> Placed:
        """Rows that are to be learnt, their columns renumbered as the state numbers features."""
        if self.places is None:
            return Placed(self._numbered(x), np.zeros(x.shape[0], np.int64))
        return self.places.place(x, w, self.compiled, ranks)

    def _settle(self, x: Rows, placed: Placed, done: int) -> None:
        """Forget the features that only rows after the first `done` brought."""
        if self.places is not None and self.seen is not None:
            self.seen = max(self.seen, highest(x, done) if placed.new else 0)
            if done < x.shape[0]:
                self.places.forget_after(int(placed.needs[done - 1]) - 1 if done else placed.before)
            self.places.give_back(placed)

    def _facts(self) -> Iterator[str]:
        yield counted(self.rounds, "round")
        mean = f"{self.mean_loss:.4g} {'a round' if self.alike else 'per unit of weight'}"
        yield f"{type(self.learner.loss).__name__} loss {mean}"
        yield from self.record.brief(self)

    def __str__(self) -> str:
        from lowregret.show.text import summary

        return summary(self)
