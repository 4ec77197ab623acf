"""The importance of features: the share of each in what the kept model makes of a row.

A row is judged with the features of another row in place of its own, and gets its own back one by one, in random
order. Each time the loss falls, or rises, and that is put down to the feature that came back:

    gain_j = E[ℓ(f(z with x in the features before j), y) − ℓ(f(z with x in those features and j), y)]
    Σ_j gain_j = E ℓ(f(z), y) − E ℓ(f(x), y)        share_j = gain_j / Σ gain

over rows (x, y), other rows z and orders, f the model that `predict` uses. These are the Shapley values of the fall of
the loss (Covert, Lundberg & Lee, NeurIPS 2020): features that tell only together share what they tell, a feature that
the model does not use has exactly 0, and nothing is asked of the model but scores.

A row counts twice, by its own losses and by the features that it lends. With d_i(z) the gain of row i from the features
of z, θ the mean gain, and u_k the share of row k in both, the standard error is √Σ_k e_k²/(1 − 2u_k + Σu²) with

    e_k = w_k(d_k − θ) + Σ_{i : z_i = k} w_i(d_i(k) − θ)

whose square is right on average for means of independent numbers, whatever their weights. It is itself uncertain where
rows are few, or some outweigh the others: shares are told if Student's t, with as many degrees of freedom as the
weights leave, is as unlikely as two standard errors of a normal distribution, and never of less than the worth of three
rows, 1/Σu² < 3: two rows have one pair, of which nobody knows how it varies.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from lowregret.compile.numerics import EPSILON, TOLERANCE
from lowregret.compile.random import hash_number, key_of
from lowregret.rows import Sparse
from lowregret.types import Vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCORED = 1 << 14  # rows that are scored at most, once there are enough
TURNS = 8  # in which rows get other partners and orders
ENOUGH = 64  # rows that are looked at whatever it costs
ENTRIES = 1 << 18  # of rows that are scored at a time
SURE = 0.977249868051821  # Φ(2): the chance that the loss does not seem to fall by so much, if it does not
FEWEST = 3  # rows of equal weight
SLIGHT = 1e-30  # least squared share of the other rows

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
    sure: float  # standard errors by which the loss must fall before shares are told: 2 if there are many rows
    rows: int
    frozen: int | None  # rounds after which the model was frozen that was tried on rows after them; None: on given ones

    @property
    def total(self) -> float:
        """The fall of the mean loss that features are credited with: the sum of the gains."""
        return self.without - self.loss

    @property
    def tells(self) -> bool:
        """Whether the loss falls by more than chance explains."""
        return self.total > self.sure * self.error

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
    walked = _walked(x, w / w.max(), losses, players, seed)  # whose sums neither overflow nor vanish
    many, (means, errors) = len(players.names), walked.settled()
    loss, without = float(means[many + 1]), float(means[many])
    best = np.argsort(-means[:many], kind="stable")
    return Importance(
        features=players.features[best],
        names=tuple(players.names[k] for k in best.tolist()),
        gains=means[best],
        errors=errors[best],
        loss=loss,
        without=without,
        error=max(float(errors[-1]), len(w) * EPSILON * (abs(loss) + abs(without))),
        sure=_asked(walked.shares),
        rows=walked.rows,
        frozen=frozen,
    )


class Walked(NamedTuple):
    """The gains of rows, their losses with another's features and with their own, and the fall, a column each."""

    own: Any  # of each row, times its share of the weight
    lent: Any  # of those rows that had its features, likewise
    weights: Vector  # the share of each row in the weight of all
    masses: Vector  # and of those that had its features
    rows: int  # that were looked at

    @property
    def shares(self) -> Vector:
        """The share of each row in the means, by its losses and by its features."""
        return (self.weights + self.masses) / 2

    def settled(self) -> tuple[Vector, Vector]:
        """The mean of each column, and its standard error."""
        means, u = self.own.sum(axis=0), self.shares
        each = self.own + self.lent - np.outer(self.weights + self.masses, means)
        size = abs(each).max(axis=0)  # of losses whose squares may be no numbers
        each /= np.where(size > 0, size, 1.0)
        return means, size * np.sqrt((np.square(each) / _spread(u)[:, None]).sum(axis=0))


def _spread(u: Vector) -> Vector:
    """1 − 2u_k + Σu² = (1 − u_k)² + Σ_{j≠k} u_j²: the mean square of a number less the mean, if that is u_k of it."""
    return np.maximum(np.square(1 - u) + (np.square(u).sum() - np.square(u)), SLIGHT)


def _asked(u: Vector) -> float:
    """The quantile of Student's t that is as unlikely as 2 standard errors, by the shares of rows in a mean.

    Its degrees of freedom are Satterthwaite's, (tr A)²/tr A² of the quadratic form A that the squared error is: n − 1
    for equal shares. Infinite if the rows are not worth `FEWEST` of equal shares.
    """
    from scipy.special import stdtrit

    c, s = np.square(u) / _spread(u), float(np.square(u).sum())
    zeroth, first, second = (float(c @ u**k) for k in range(3))
    squared = (
        2 * (zeroth * second + first**2) + s * zeroth * (s * zeroth - 4 * first) + float(c**2 @ (1 + 2 * s - 4 * u))
    )
    return float(stdtrit(s**2 / squared, SURE)) if FEWEST * s < 1 + TOLERANCE else math.inf


def _walked(x: Sparse, w: Vector, losses: Losses, players: Players, seed: int) -> Walked:
    """Rows on their ways, in as many turns as can be paid for."""
    key, walks, n, spent, turns = key_of(seed), Walks(x, players), x.shape[0], 0, 0
    many = len(players.names)
    own, lent, counted, masses = np.zeros((n, many + 3)), np.zeros((n, many + 3)), np.zeros(n), np.zeros(n)
    for turn in range(TURNS):
        if turn and spent * (turn + 1) > SCORED * turn:
            break
        order, done, turns = np.argsort(_hash(key, turn, np.arange(n)), kind="stable"), 0, turn + 1
        for piece in walks.pieces(order, _partners(order, w), _hash(key, turn, n)):
            values = losses(piece.rows, piece.owners)
            told = piece.told(values, many)
            np.add.at(own, piece.walkers, told * w[piece.walkers, None])
            np.add.at(lent, piece.lenders, told * w[piece.walkers, None])
            np.add.at(masses, piece.lenders, w[piece.walkers])
            counted[piece.walkers] += 1
            done, spent = done + piece.walkers.size, spent + len(values)
            if not turn and done >= ENOUGH and spent > SCORED:
                break
    seen = np.where(counted > 0, w, 0.0)
    total = seen.sum()
    scale = turns * total
    return Walked(own / scale, lent / scale, seen / total, masses / scale, int(np.count_nonzero(counted)))


@dataclass(frozen=True)
class Stretch:
    """Rows on their way from another row's features to their own; a step is a row that has one player's more."""

    rows: Sparse
    owners: Any  # of the sample's rows, which each of them is the made-up form of
    steps: Any  # which of them are steps
    players: Any  # whose features came back
    walkers: Any  # the sample's rows that are on their way
    lenders: Any  # those whose features each of them begins with
    first: Any  # where each of them begins
    last: Any  # and ends

    def told(self, values: Vector, many: int) -> Any:
        """The gains of this many players by each walker, its first and its last loss and their difference."""
        told = np.zeros((self.walkers.size, many + 3))
        whose = np.repeat(np.arange(self.walkers.size), self.last - self.first)
        told[whose, self.players] = values[self.steps - 1] - values[self.steps]
        told[:, many], told[:, many + 1] = values[self.first], values[self.last]
        told[:, many + 2] = told[:, many] - told[:, many + 1]
        return told


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
            ways.append((i, j, *way))
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
        sizes = np.array([len(values) for *_, values, _ in ways])
        walkers, lenders = (np.array([way[k] for way in ways]) for k in range(2))
        last = np.cumsum(sizes) - 1
        counts = np.concatenate([np.count_nonzero(values, axis=1) for *_, values, _ in ways])
        indices = np.concatenate([np.broadcast_to(way[2], way[3].shape)[way[3] != 0] for way in ways])
        data = np.concatenate([values[values != 0] for *_, values, _ in ways])
        rows = Sparse(np.append(0, np.cumsum(counts)), indices.astype(np.uint32), data, self.x.columns)
        first = last - sizes + 1
        steps = np.setdiff1d(np.arange(sizes.sum()), first, assume_unique=True)
        players = np.concatenate([who for *_, who in ways])
        return Stretch(rows, np.repeat(walkers, sizes), steps, players, walkers, lenders, first, last)


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
