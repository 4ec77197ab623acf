"""What runs on rows share: a learner, its state and history, and the proof that follows from them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from lowregret.certificate import natural_comparator
from lowregret.compile.call import compilable
from lowregret.domain import Domain
from lowregret.learner.growth import joined, split
from lowregret.learner.linear import Learner
from lowregret.learner.places import Placed, Places
from lowregret.learner.validate import Place, numbers, require_rows
from lowregret.risk.bounds import Foresight
from lowregret.risk.kept import Foretold, Kept, Trial, next_freeze
from lowregret.risk.statistics import Tally
from lowregret.rows import Features, Rows, Sparse, as_rows, highest
from lowregret.run.proof import NEVER, Proof
from lowregret.state import State
from lowregret.store.file import Arrays
from lowregret.stream.batch import Batch, Stream, raise_faults
from lowregret.types import Vector

if TYPE_CHECKING:
    pass

BY_FEATURE = ("table", "lag")  # arrays of a state with cells for each feature
KEPT = ("seen", "uniform", "certify")  # attributes of a ledger that its file describes as they are


class Ledger(Proof, Foresight):
    """A learner, its state, and the proof of how well it has done so far."""

    def __init__(
        self,
        learner: Learner,
        state: State,
        comparator: Domain | None = None,
        *,
        history: Vector | None = None,
        seen: int | None = None,
        places: Places | None = None,
        uniform: bool = True,
        tally: Tally | None = None,
        trial: Trial | None = None,
        frozen: Any = None,
        certify: bool = True,
        compiled: bool = True,
    ) -> None:
        self.learner, self.state = learner, state
        self.seen = seen  # features that occurred so far, in a run that grows with them
        self.places = places or Places() if seen is not None else None  # where they lie; None: at their columns
        u = comparator or natural_comparator(learner, self._coordinates)
        super().__init__(learner, state, u, history=history, compiled=compiled and compilable(learner))
        self.certify = certify
        self.uniform = uniform  # all weights were 1
        self.tally = tally or Tally(learner.loss.classifies)  # what `risks` asks
        self.trial, self.frozen = trial or Trial(), frozen  # what `kept` asks: the judgement, and the model on trial
        self.scores: Vector = np.empty(0)  # of the latest batch, each made before its row was learnt

    # ---- learning ------------------------------------------------------------------------------------------------

    def learn(self, features: Features | Stream, labels: Any = None, weights: Any = None) -> Self:
        """Learn more rows. Splitting the rows over several calls changes nothing, not even the last bit."""
        if isinstance(features, Stream):
            for batch in raise_faults(features.batches()):
                self.learn_batch(batch)
            return self
        x = self._rows(as_rows(features, checked=False))
        y = self._labels(labels, x.shape[0])
        w = np.empty(0) if weights is None else numbers(weights, "weights", x.shape[0])
        self._learn(x, y, w, "row {}".format)
        return self

    @abstractmethod
    def learn_batch(self, batch: Batch) -> None:
        """Learn the rows of a batch."""

    @abstractmethod
    def _learn(self, x: Rows, y: Any, w: Vector, place: Place) -> None:
        """Learn rows; those before one that is refused are learnt."""

    @abstractmethod
    def _labels(self, labels: Any, rows: int) -> Any:
        """A label for each row."""

    def _rows(self, features: Features) -> Rows:
        x = as_rows(features)
        if isinstance(features, Sparse) and self.seen is None and x.shape[1] < self.features:
            x = replace(features, columns=self.features)  # rows of a stream know their highest column, not how many
        require_rows(x, x.shape[1] if self.seen is not None else self.features)
        return x

    def located(self, x: Rows) -> Rows:
        """Rows to be judged, not learnt, whose columns are as the state counts features."""
        if self.places is not None:
            return self.places.find(x, self._places, self.compiled)
        return replace(x, columns=self._places) if isinstance(x, Sparse) and x.columns != self._places else x

    @property
    @abstractmethod
    def placed_weights(self) -> Vector:
        """`weights` as the state counts features, the bias last; 0 where no feature lies yet: O(d)."""

    @property
    def met_weights(self) -> tuple[Any, Vector]:
        """The columns that have weights, in order, `features` standing for the bias; and those weights: O(d)."""
        w, bias = self.placed_weights, self.learner.bias > 0
        columns = np.arange(self.features) if self.places is None else self.places.columns.astype(np.int64)
        order = np.argsort(columns)
        kept = np.concatenate([order, np.arange(len(w) - bias, len(w))])
        return np.append(columns[order], [self.features] * bias), w[kept]

    # ---- the model that is kept ------------------------------------------------------------------------------------

    @property
    def kept(self) -> Kept | None:
        """What the model loses once it is kept and learns no more, measured on rows that were new to it.

        None where too few rows were judged: before some 100 rounds, or with certify=False.
        """
        return self.trial.kept(self.rounds, bool(self.learner.loss.classifies))

    @abstractmethod
    def _freeze(self) -> None:
        """Make `frozen` the model as `predict` would use it now."""

    @abstractmethod
    def _foretold(self, x: Rows, y: Any, picked: Any, weights: Vector) -> Foretold:
        """What the frozen model lost on the picked rows, which were learnt since, and what the live one did."""

    def _stretch(self, learn: Callable[[int, int], int], x: Rows, y: Any, w: Vector, i: int) -> tuple[int, bool]:
        """Learn rows from i on until a model is frozen, by `learn(row, rounds)`, and judge the one before by them.

        Returns the first row that was not learnt, and whether that is because a model was frozen.
        """
        begin, rounds, last = i, self.rounds, False
        while not last:
            mark, pause = self._next_mark(), self._next_pause()
            i = learn(i, min(mark, pause - self.rounds + self.state.rounds))  # a run may restart its state
            marked, paused = self.state.rounds == mark, self.rounds == pause
            last = self.rounds == next_freeze(rounds) or i == len(y) or not (marked or paused)
            if last:
                self.trial.judge(w, begin, i, rounds, lambda *picked: self._foretold(x, y, *picked))
            if paused:
                self._pause()
            if marked:
                self._at_mark()
        return i, marked or paused

    def _next_pause(self) -> int:
        """The round after which something is done that is not done after every one."""
        return next_freeze(self.rounds) if self.certify else NEVER

    def _pause(self) -> None:
        if self.rounds == next_freeze(self.rounds - 1) and self.trial.ended is None:
            self.trial.freeze()
            self._freeze()

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super().contents()
        description |= {name: getattr(self, name) for name in KEPT}
        description |= {"room": self._places, "ended": self.trial.ended}
        state, places = self._filed()
        for name in BY_FEATURE:
            arrays |= split(name, getattr(state, name), places, min(self._met, places), self.learner.bias > 0)
        if self.places is not None:
            arrays["columns"] = self.places.columns
        return description, arrays | self.tally.arrays() | {"trial": self.trial.records} | self._frozen_arrays()

    def _frozen_arrays(self) -> Arrays:
        return {} if self.frozen is None else self._split("frozen", self.frozen)

    def _split(self, name: str, cells: Any) -> Arrays:
        """What a file keeps of cells for each feature and the bias."""
        return split(name, cells, self._places, self._met, self.learner.bias > 0)

    @classmethod
    def _given(cls, learner: Any, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        given = super()._given(learner, description, arrays) | {name: description[name] for name in KEPT}
        return given | {
            "state": cls._restored(learner, given["state"], description, arrays),
            "places": Places(arrays["columns"]) if "columns" in arrays else None,
            "trial": Trial(arrays["trial"], description["ended"]),
            "frozen": joined("frozen", arrays, description["room"]) if "frozen" in arrays else None,
        }

    @classmethod
    def _restored(cls, learner: Any, state: State, description: dict[str, Any], arrays: Arrays) -> State:
        """The state with cells for all features that there is room for."""
        return state._replace(**{name: joined(name, arrays, description["room"]) for name in BY_FEATURE})

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _filed(self) -> tuple[State, int]:
        """The state to be saved, and how many places it has room for."""
        return self.state, self._places

    @property
    def _places(self) -> int:
        """Features that there is room for."""
        return self.state.dimension - (self.learner.bias > 0)

    @property
    def _met(self) -> int:
        """Features that have a place."""
        return self._places if self.places is None else len(self.places)

    def _placed(self, x: Rows, w: Vector) -> Placed:
        """Rows to be learnt, whose columns are as the state counts features."""
        if self.places is None:
            return Placed(self.located(x), np.zeros(x.shape[0], np.int64))
        return self.places.place(x, w, self.compiled)

    def _refused(self, x: Rows) -> Rows:
        """Rows of which one was refused, for errors that name its columns."""
        return x if self.places is not None else self.located(x)

    def _settle(self, x: Rows, placed: Placed, done: int) -> None:
        """So many of the rows were learnt: what the others brought is forgotten."""
        if self.places is not None and self.seen is not None:
            self.seen = max(self.seen, highest(x, done))
            if done < x.shape[0]:
                self.places.forget_after(int(placed.needs[done - 1]) - 1 if done else placed.before)

    def _by_column(self, w: Vector) -> Vector:
        """Numbers of places, the bias last, as those of columns."""
        return w if self.places is None else self.places.by_column(w, self.features, self.learner.bias > 0)

    def _by_place(self, u: Vector, room: int) -> Vector:
        """Numbers of columns, the bias last, as those of so many places, more than there are."""
        return u if self.places is None else self.places.by_place(u, room, self.learner.bias > 0)

    def _mean_loss(self) -> str:
        return f"{self.mean_loss:.4g} {'a round' if self.alike else 'per unit of weight'}"

    def __str__(self) -> str:
        from lowregret.show.text import summary

        return summary(self)


class Packed(NamedTuple):
    """A run as what it would save."""

    kind: type[Ledger]
    description: dict[str, Any]
    arrays: Arrays


def packed(value: Any) -> Any:
    """What travels in a pickle instead of a run; anything else as it is."""
    return Packed(type(value), *value.to_file()) if isinstance(value, Ledger) else value


def unpacked(value: Any, path: str) -> Any:
    """The run again, with arrays of its own: those that joblib reads from `path` cannot be written to."""
    if not isinstance(value, Packed):
        return value
    arrays = {name: np.array(array) for name, array in value.arrays.items()}
    return value.kind.from_file(path, value.description, arrays)
