"""Games of labelled rows: x_t is shown, a label predicted, y_t revealed. For half-spaces, and for files."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

import lowregret.game.hard_sequences as sequences
from lowregret.domain import Domain, L2Ball
from lowregret.errors import DataError
from lowregret.game.environment import Answer, Environment
from lowregret.loss import Hinge, Loss
from lowregret.rows import Sparse
from lowregret.stream.batch import raise_faults
from lowregret.stream.names import Met
from lowregret.stream.read import detect, read
from lowregret.types import Vector


class RowGame(Environment):
    """Rows with labels. The regret is against the ball of a radius, under the hinge loss."""

    radius: float = 1.0

    @property
    def domain(self) -> Domain:
        return L2Ball(self.radius)

    @property
    def loss(self) -> Loss:
        return Hinge()

    @property
    def binary(self) -> bool:
        """Whether all features lie in [0, 1]."""
        return False

    @property
    def oblivious(self) -> bool:
        """Whether the labels were fixed before the game."""
        return True

    @abstractmethod
    def rows(self, rounds: int, seed: int) -> tuple[Any, Vector]:
        """Features, one row a round, and labels ±1 (if the labels are not fixed: anything)."""

    def rival(self, x: Any, y: Vector) -> Vector | None:
        """The u against which mistakes are counted; None: the best of the ball on the rounds with a mistake."""
        return None

    def label(self, x: Vector, w: Vector, y: float) -> float:
        """The label of a row for whom plays w; y is the one fixed beforehand."""
        return y

    def begin(self, rounds: int, seed: int) -> Answer:
        x, y = self.rows(rounds, seed)
        return lambda t, w: (x[t - 1], self.label(x[t - 1], w, float(y[t - 1])))


class MadeRows(RowGame):
    """Rows of d features."""

    d: int = 5

    @property
    def dimension(self) -> int:
        return self.d


class Halfspace(MadeRows):
    """rows on two sides of a plane, a margin γ between them

    PERC-MARGIN: however long the game, the Perceptron makes at most (R‖u‖/γ)² mistakes.
    """

    d: int = 10
    margin: float = 0.1
    radius: float = 10.0

    def rows(self, rounds: int, seed: int) -> tuple[Any, Vector]:
        return sequences.separable(rounds, np.eye(self.d)[0], self.margin, np.random.default_rng(seed))

    def rival(self, x: Any, y: Vector) -> Vector | None:
        return np.eye(self.d)[0] / self.margin


class Orthonormal(MadeRows):
    """x = e_1, e_2, …, all labelled +1: as many mistakes as dimensions (E02)

    PERC-OBS, PERC-ROOT, THM-3.9 are met exactly at u = ½·1; the source's F + b√(F + b²) is exceeded.
    """

    d: int = 64

    def rows(self, rounds: int, seed: int) -> tuple[Any, Vector]:
        return np.eye(self.d)[np.arange(rounds) % self.d], np.ones(rounds)

    def rival(self, x: Any, y: Vector) -> Vector | None:
        return np.full(self.d, 0.5)


class Disjunction(MadeRows):
    """0/1 rows, labelled +1 iff one of the first k features is on: few of many matter

    THM-3.10: Winnow makes at most 8k ln d mistakes, the Perceptron's bound grows with d.
    """

    d: int = 40
    k: int = 2

    @property
    def binary(self) -> bool:
        return True

    def rows(self, rounds: int, seed: int) -> tuple[Any, Vector]:
        return sequences.disjunction(rounds, self.d, self.k, np.random.default_rng(seed), share=0.1)

    def rival(self, x: Any, y: Vector) -> Vector | None:
        return np.where(np.arange(self.d) < self.k, 1.0, 0.0)


class Contrary(MadeRows):
    """every label is the opposite of the prediction: all rounds are mistakes

    PERC-OBS: there is no escape, only the proof that no fixed u does much better.
    """

    d: int = 3

    @property
    def oblivious(self) -> bool:
        return False

    def rows(self, rounds: int, seed: int) -> tuple[Any, Vector]:
        return np.random.default_rng(seed).normal(size=(rounds, self.d)), np.ones(rounds)

    def label(self, x: Vector, w: Vector, y: float) -> float:
        return -1.0 if float(w @ x) > 0 else 1.0


class Replay(RowGame):
    """the rows of a file, in order (`--data FILE`): what the theorems say of real data

    Any format that `read` knows; labels ±1, or two classes of which `positive` becomes +1. All bounds hold, as on every
    sequence.
    """

    data: str = ""
    target: str = ""
    positive: str = ""

    def check(self) -> None:
        self.require(bool(self.data), "there is nothing to replay: say --data FILE, or Replay(data=…)")

    @cached_property
    def held(self) -> tuple[Any, Vector]:
        """All rows and labels."""
        return _read_all(self.data, self.target, self.positive)

    @property
    def dimension(self) -> int:
        return int(self.held[0].shape[1])

    @property
    def length(self) -> int | None:
        return int(self.held[1].size)

    def rows(self, rounds: int, seed: int) -> tuple[Any, Vector]:
        return self.held[0][:rounds], self.held[1][:rounds]


def _read_all(data: str, target: str, positive: str) -> tuple[Any, Vector]:
    """All rows of a file in memory, labels ±1."""
    form = detect(data)
    options: dict[str, Any] = {name: value for name, value in (("target", target), ("positive", positive)) if value}
    parts, labels, met = [], [], Met()
    for batch in raise_faults(read(data, format=form, **options).batches(), ""):
        parts.append(_matrix(batch.rows))
        labels.append(np.array(batch.labels))
        met = batch.met
    if not parts or not sum(part.shape[0] for part in parts):
        raise DataError(f"there are no rows in {data}")
    y = np.concatenate(labels)
    wrong = np.flatnonzero(~np.isin(y, (-1.0, 1.0)))
    if wrong.size:
        raise DataError(
            f"{data}: row {int(wrong[0]) + 1} has the label {y[wrong[0]]:g}: games of rows need labels −1 and +1; "
            "say which class is +1 with --positive"
        )
    if positive and not np.any(y == 1):
        raise DataError(
            f"{data}: no label is --positive {positive}; there are {', '.join(met.labels)}: name one of them"
        )
    width = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize((part.shape[0], width))
    return sp.csr_array(sp.vstack(parts)), y


def _matrix(rows: Sparse) -> Any:
    shape = (rows.indptr.size - 1, int(rows.indices.max(initial=0)) + 1)
    return sp.csr_array((rows.data.copy(), rows.indices.astype(np.int64), rows.indptr.astype(np.int64)), shape)
