"""The importance of features: the share of each in what the kept model makes of a row.

A row is judged with the features of another row in place of its own, and gets its own back one by one, in random
order. Each time the loss falls, or rises, and that is put down to the feature that came back:

    gain_j = E[ℓ(f(z with x in the features before j), y) − ℓ(f(z with x in those features and j), y)]
    Σ_j gain_j = E ℓ(f(z), y) − E ℓ(f(x), y)        share_j = gain_j / Σ gain

over rows (x, y), other rows z and orders, f the model that `predict` uses. These are the Shapley values of the fall of
the loss (Covert, Lundberg & Lee, NeurIPS 2020): features that tell only together share what they tell, a feature that
the model does not use has exactly 0, and nothing is asked of the model but scores.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lowregret.compile.random import hash_number, key_of
from lowregret.rows import Sparse
from lowregret.types import Vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCORED = 1 << 14  # rows that are scored at most, once there are enough
TURNS = 8  # in which rows get other partners and orders
ENOUGH = 64  # rows that are looked at whatever it costs
ENTRIES = 1 << 18  # of rows that are scored at a time
SURE = 2.0  # standard errors by which the loss must fall before shares are told

Names: TypeAlias = Sequence[str] | Mapping[int, str] | None  # of columns; those of one name come back together
Losses: TypeAlias = Callable[[Sparse, Any], Vector]  # of rows that were made of others, and of which


@dataclass(frozen=True)
class Importance:
    """The worth of features to the kept model, on rows that it was tried on, the most important first."""

    features: Any  # columns of rows
    names: tuple[str, ...]
    gains: Vector  # by how much the mean loss falls through each feature
    errors: Vector  # standard errors of the gains
    loss: float  # mean loss of the kept model on the rows
    without: float  # with the features of other rows in place of their own
    error: float  # standard error of the difference
    rows: int
    frozen: int | None  # rounds after which the model was frozen that was tried on rows after them; None: on given ones

    @property
    def total(self) -> float:
        """The fall of the mean loss that features are credited with: the sum of the gains."""
        return self.without - self.loss

    @property
    def tells(self) -> bool:
        """Whether the loss falls by more than chance explains."""
        return self.total > SURE * self.error

    @property
    def shares(self) -> Vector:
        """Gains over their sum; all 0 if the loss does not fall by more than chance explains."""
        return self.gains / self.total if self.tells else np.zeros(self.gains.size)

    def to_json(self) -> dict[str, float]:
        """The share of each feature by name."""
        return dict(zip(self.names, self.shares.tolist(), strict=True))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Bars of the most important features."""
        from lowregret.show.meaning import plot_importance

        return plot_importance(self, path)


class Players:
    """Features that come back together, such as those of one column of a table: each has a number and a name."""

    def __init__(self, columns: Any, names: Names = None) -> None:
        self._columns = columns
        called = [name_in(names, column) for column in columns.tolist()]
        first = {name: k for k, name in reversed(list(enumerate(called)))}
        leaders, self._owners = np.unique(np.array([first[name] for name in called], int), return_inverse=True)
        self.features, self.names = columns[leaders], tuple(called[k] for k in leaders.tolist())

    def of(self, columns: Any) -> Any:
        """The number of each column's player."""
        return self._owners[np.searchsorted(self._columns, columns)]


def name_in(names: Names, column: int) -> str:
    """The name of a column, which is its number if none was given."""
    if names is None or (isinstance(names, Mapping) and column not in names):
        return str(column)
    return str(names[column])


def importance_of(x: Sparse, w: Vector, losses: Losses, names: Names, seed: int, frozen: int | None) -> Importance:
    """The importance of features on rows of these weights, which have no zeros: O(rows · entries) rows are scored."""
    players = Players(np.unique(x.indices), names)
    told, each = _walked(x, w / w.max(), losses, players, seed)  # whose sums neither overflow nor vanish
    many, means = len(players.names), each @ told
    errors = np.sqrt(np.square(each) @ np.square(told - means))
    best = np.argsort(-means[:many], kind="stable")
    return Importance(
        features=players.features[best],
        names=tuple(players.names[k] for k in best.tolist()),
        gains=means[best],
        errors=errors[best],
        loss=float(means[many + 1]),
        without=float(means[many]),
        error=float(errors[-1]),
        rows=len(told),
        frozen=frozen,
    )


def _walked(x: Sparse, w: Vector, losses: Losses, players: Players, seed: int) -> tuple[Vector, Vector]:
    """For each row that was looked at: its gains, its losses with another's features and its own, their difference.

    Also what share of the weight it has.
    """
    key, walks, n, spent = key_of(seed), Walks(x, players), x.shape[0], 0
    gains, ends, counted = np.zeros((n, len(players.names))), np.zeros((n, 2)), np.zeros(n)
    for turn in range(TURNS):
        if turn and spent * (turn + 1) > SCORED * turn:
            break
        order, done = np.argsort(_hash(key, turn, np.arange(n)), kind="stable"), 0
        for piece in walks.pieces(order, _partners(order, w), _hash(key, turn, n)):
            values = losses(piece.rows, piece.owners)
            fall = values[piece.steps - 1] - values[piece.steps]
            np.add.at(gains, (piece.owners[piece.steps], piece.players), fall)
            ends[piece.walkers] += np.column_stack([values[piece.first], values[piece.last]])
            counted[piece.walkers] += 1
            done, spent = done + piece.walkers.size, spent + len(values)
            if not turn and done >= ENOUGH and spent > SCORED:
                break
    seen = counted > 0
    gains, ends = (found[seen] / counted[seen, None] for found in (gains, ends))
    return np.column_stack([gains, ends, ends[:, 0] - ends[:, 1]]), w[seen] / w[seen].sum()


@dataclass(frozen=True)
class Stretch:
    """Rows on their way from another row's features to their own; a step is a row that has one player's more."""

    rows: Sparse
    owners: Any  # of the sample's rows, which each of them is the made-up form of
    steps: Any  # which of them are steps
    players: Any  # whose features came back
    walkers: Any  # the sample's rows that are on their way
    first: Any  # where each of them begins
    last: Any  # and ends


class Walks:
    """The ways of rows from others' features to their own."""

    def __init__(self, x: Sparse, players: Players) -> None:
        self.x, self.players = x, players

    def pieces(self, order: Any, partners: Any, key: Any) -> Iterator[Stretch]:
        """The ways of rows, many at a time; which player comes back when depends on the row's number and the key."""
        ways: list[Any] = []
        entries = 0
        for i, j in zip(order.tolist(), partners.tolist(), strict=True):
            way = self._way(i, j, key)
            ways.append((i, *way))
            entries += way[1].size
            if entries >= ENTRIES:
                yield self._piece(ways)
                ways, entries = [], 0
        if ways:
            yield self._piece(ways)

    def _way(self, i: int, j: int, key: Any) -> tuple[Any, Any, Any]:
        """The columns of row i or row j, a matrix with a row for each step, and the player that each step brings."""
        (mine, own), (theirs, other) = self._entries(i), self._entries(j)
        columns = np.union1d(mine, theirs)
        values = np.zeros((2, columns.size))
        values[0, np.searchsorted(columns, theirs)], values[1, np.searchsorted(columns, mine)] = other, own
        moving = np.flatnonzero(values[0] != values[1])
        who, which = np.unique(self.players.of(columns[moving]), return_inverse=True)
        turns = np.argsort(_hash(key, i, self.players.features[who]), kind="stable")
        when = np.zeros(columns.size, np.int64)
        when[moving] = np.argsort(turns)[which] + 1
        back = when <= np.arange(who.size + 1)[:, None]
        return columns, np.where(back, values[1], values[0]), who[turns]

    def _entries(self, i: int) -> tuple[Any, Any]:
        begin, end = int(self.x.indptr[i]), int(self.x.indptr[i + 1])
        return self.x.indices[begin:end], self.x.data[begin:end]

    def _piece(self, ways: list[Any]) -> Stretch:
        sizes = np.array([len(values) for _, _, values, _ in ways])
        walkers, last = np.array([way[0] for way in ways]), np.cumsum(sizes) - 1
        counts = np.concatenate([np.count_nonzero(values, axis=1) for _, _, values, _ in ways])
        indices = np.concatenate([np.broadcast_to(way[1], way[2].shape)[way[2] != 0] for way in ways])
        data = np.concatenate([values[values != 0] for _, _, values, _ in ways])
        rows = Sparse(np.append(0, np.cumsum(counts)), indices.astype(np.uint32), data, self.x.columns)
        first = last - sizes + 1
        steps = np.setdiff1d(np.arange(sizes.sum()), first, assume_unique=True)
        players = np.concatenate([who for *_, who in ways])
        return Stretch(rows, np.repeat(walkers, sizes), steps, players, walkers, first, last)


def _hash(key: Any, *numbers: Any) -> Any:
    """Numbers that look random, settled by a key and other numbers, the last of which may be an array."""
    with np.errstate(over="ignore"):
        for number in numbers:
            key = hash_number(key, np.asarray(number).astype(np.uint64))
    return key


def _partners(order: Any, w: Vector) -> Any:
    """For each row of a random order another one, each as often as its weight says: half of the weight further on."""
    ends, half = np.cumsum(w[order]), w.sum() / 2
    middle = ends - w[order] / 2
    ahead = np.where(middle + half < ends[-1], middle + half, middle - half)
    return order[np.minimum(np.searchsorted(ends, ahead, side="right"), order.size - 1)]
