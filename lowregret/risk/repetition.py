"""Do rows come again? A sample of rows, known again by fingerprints, and a test of the order in which they come.

Rows that are equal by chance are no offence: rows of few discrete features are drawn again and again. But if rows are
independent, or only exchangeable, then given *which* rows came and how often, every order of them is equally likely.
Data that are gone over twice, in the same order or shuffled anew, have a very special order: no row twice, then each
once more. Let row f come n_f times among n. Drawn from an urn of all of them, the next row is f with probability
r_f/Σr, r_f of its occurrences being left. For any forecaster q of the next row, given those before and all n_f,

    E = Π q(row)/(r_row/Σr)

has expectation ≤ 1 if all orders are equally likely: each factor has, given those before. Here q mixes forecasters: the
row that came after the last one before; the last row again; rows of which more is left than of all, each as likely as
much of it is left; new rows; the urn itself. E is looked at after 32·2^{j/4} rounds, j = 0, 1, …, with half the share
1/((j+1)(j+2)) of the risk of a false alarm, and whenever someone asks, after t rounds with half of 1/((t+1)(t+2)).

The sample: those rows are kept whose hash ends with as many zeros as the level says, the least level at which they are
at most CAPACITY. So the sample depends on which rows came, not on their order, and a repetition of some share of the
rows repeats the same share of the sample, on average. That most rows need not be read, the first zeros are those of a
glance, a hash of a few numbers of the row, as long as these tell rows apart: that is seen when the level rises. As this
may depend on the order, each number of such zeros, 0 … QUICK, has a share of the risk.

A hash is made of the entries of a row, of which dense rows have more, the zeros. So rows are looked at in the form of
those that came first: sparse rows as dense ones, whose missing entries are 0, or dense rows without their zeros.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from lowregret.compile.call import call
from lowregret.compile.kernel import apart, kernel
from lowregret.rows import Dense, Rows, Sparse, without_zeros
from lowregret.stream.word import bits
from lowregret.types import Cells, Index, Vector

CAPACITY = 1024  # rows of the sample
FIRST = 32  # rounds before the first look
ROUNDS, LEVEL, GLANCES, FORM, SIZE = range(5)  # book[…]: rounds, the level, zeros that are a glance's, of the sample
UNKNOWN, SPARSE, DENSE = range(3)  # forms of rows: none yet, sparse, or dense with form − DENSE columns
CELLS = 1 << 20  # of dense rows that are made sparse at a time
QUICK = 6  # zeros that may be a glance's
SEVERAL = 16  # entries of a row that its fingerprint is made of
SEARCHED = 32  # zeros that are passed over for another entry
SURE, SHIFT, SHARE = 0.95, 0.01, 0.2  # how far a forecaster goes by its rule; how readily trust moves; at first

_ONE, _THREE, _UP, _QUICK_BITS = np.uint64(1), np.uint64(3), np.uint64(32), np.uint64(61)
_HALF, _DROPPED = np.uint64(1 << 28), np.uint64(29)  # of the 52 bits behind the point, 23 are kept
_ODD, _SPREAD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


def rounded(value: float) -> Index:
    """The leading bits of a number, as many as single precision has, so that a row stored in that is known again."""
    return np.uint64(bits(value + 0.0)) + _HALF >> _DROPPED  # −0 is 0


def mixed(h: Index, x: Rows, i: int, k: Index) -> Index:
    """A hash that goes on with entry k of row i."""
    h = (h ^ np.uint64(x.column(i, k)) * _SPREAD ^ rounded(x.value(i, k))) * _ODD
    return h ^ h >> _UP


def glance(x: Rows, y: float, i: int) -> Index:
    """A hash of the label of row i, its number of entries, the first one and the one in the middle."""
    begin, size = x.begin(i), x.end(i) - x.begin(i)
    h = (rounded(y) ^ size * _SPREAD) * _ODD
    return mixed(mixed(h ^ h >> _UP, x, i, begin), x, i, begin + (size >> _ONE)) if size > np.uint64(0) else h


def fingerprint(x: Rows, i: int, h: Index) -> Index:
    """The fingerprint of row i, whose glance is h: of SEVERAL entries, or all if there are fewer; then h's zeros.

    These are the first of as many stretches of the row, or a later one that is not 0: rows of zeros differ by others.
    A row is known again by the entries that are looked at: that others may be different makes no order more likely.
    """
    begin, size = x.begin(i), x.end(i) - x.begin(i)
    quick, entries = np.uint64(zeros(h >> _UP, QUICK)), min(size, np.uint64(SEVERAL))
    for k in range(np.uint64(0), entries):
        at = begin + k * size // entries
        end = min(at + np.uint64(SEARCHED), begin + (k + _ONE) * size // entries - _ONE)
        while at < end and x.value(i, at) == 0.0:
            at += _ONE
        h = mixed(h, x, i, at)
    return h >> _THREE | quick << _QUICK_BITS


def zeros(h: Index, most: int) -> int:
    """How many zeros a hash ends with, `most` at most."""
    found = 0
    while found < most and h & _ONE == np.uint64(0):
        h, found = h >> _ONE, found + 1
    return found


def reaches(found: Index, level: int, glances: int) -> bool:
    """Whether a fingerprint reaches the level."""
    return int(found >> _QUICK_BITS) >= glances and zeros(found, level - glances) >= level - glances


@kernel
def sample_rows(x: Rows, y: Vector, weights: Vector, prints: Cells, book: Cells, i: int, end: int, until: int) -> int:
    """Take rows i, i+1, … into the sample until `until` rounds were looked at; returns the first row not looked at."""
    rounds, below = book[ROUNDS], ones(book[GLANCES])
    while i < end and rounds < until:
        if weights.size == 0 or weights[i] != 0.0:
            rounds += 1
            h = glance(x, y[i], i)
            if h >> _UP & below == np.uint64(0):
                take(fingerprint(x, i, h), prints, book)
                below = ones(book[GLANCES])
        i += 1
    book[ROUNDS] = rounds
    return i


def ones(count: int) -> Index:
    """A number that ends with this many ones."""
    return (_ONE << np.uint64(count)) - _ONE


@apart
def take(found: Index, prints: Cells, book: Cells) -> None:
    """Take a row into the sample if it reaches the level, which is raised until there is room."""
    while book[SIZE] == prints.size and reaches(found, book[LEVEL], book[GLANCES]):
        more, kept = 0, 0
        for k in range(book[SIZE]):
            more += int(prints[k] >> _QUICK_BITS) > book[GLANCES]
        if book[LEVEL] == book[GLANCES] < QUICK and 3 * book[SIZE] <= 8 * more <= 5 * book[SIZE]:
            book[GLANCES] += 1
        book[LEVEL] += 1
        for k in range(book[SIZE]):
            if reaches(prints[k], book[LEVEL], book[GLANCES]):
                prints[kept] = prints[k]
                kept += 1
        book[SIZE] = kept
    if reaches(found, book[LEVEL], book[GLANCES]):
        prints[book[SIZE]] = found
        book[SIZE] += 1


@kernel
def gain(order: Cells, left: Cells, often: Cells, after: Cells) -> float:
    """ln E of an order of rows, order[t] being the number of a row, which is there often[row] times.

    `left` begins as a copy of `often`, and `after` with zeros: what came after each row.
    """
    total, size, fresh = 0.0, order.size, order.size
    trust = (SHARE, SHARE, SHARE, SHARE)  # in all but the urn
    for t in range(size):
        row, last, rest = order[t], order[max(t - 1, 0)], size - t
        next_one, behind = after[last] - 1, 0
        for k in range(left.size):
            behind += left[k] if is_behind(left[k], often[k], rest, size) else 0
        odds = (
            edge(row == next_one, left[next_one] if next_one >= 0 else 0, rest),
            edge(row == last, left[last] if t > 0 else 0, rest),
            edge(is_behind(left[row], often[row], rest, size), behind, rest),
            edge(left[row] == often[row], fresh, rest),
        )
        q = 1.0 - trust[0] - trust[1] - trust[2] - trust[3]
        for k in range(4):
            q += trust[k] * odds[k]
        total += math.log(q)
        trust = (
            moved(trust[0] * odds[0] / q),
            moved(trust[1] * odds[1] / q),
            moved(trust[2] * odds[2] / q),
            moved(trust[3] * odds[3] / q),
        )
        after[last] = row + 1 if t > 0 else 0
        fresh -= often[row] if left[row] == often[row] else 0
        left[row] -= 1
    return total


def edge(met: bool, favoured: int, rest: int) -> float:
    """How much likelier than by chance a row was by a forecast, true or not, of `favoured` ones among the rest."""
    if favoured == 0:
        return 1.0
    return 1.0 - SURE + (SURE * rest / favoured if met else 0.0)


def is_behind(left: int, often: int, rest: int, size: int) -> bool:
    """Whether a larger share of a row's occurrences is left than of all."""
    return left * size > often * rest


def moved(trust: float) -> float:
    """Trust, of which a little is shared among all forecasters."""
    return (1.0 - SHIFT) * trust + SHIFT * SHARE


def evidence(prints: Any, compiled: bool) -> float:
    """ln E against exchangeable rows, of the fingerprints of a sample in the order in which they came."""
    names, inverse, often = np.unique(prints, return_inverse=True, return_counts=True)
    if names.size == prints.size:
        return 0.0
    memory = often.copy(), often, np.zeros(names.size, np.int64)
    return float(call(gain, compiled, np.ascontiguousarray(inverse.reshape(-1)), *memory))


class Spread(Rows):
    """Sparse rows seen as dense ones of some width: entries that they lack are 0."""

    rows: Sparse
    width: int

    def begin(self, i: int) -> Index:
        return np.uint64(0)

    def end(self, i: int) -> Index:
        return np.uint64(self.width)

    def column(self, i: int, k: Index) -> Index:
        return k

    def value(self, i: int, k: Index) -> float:
        """The entry of column k, found by bisection."""
        low, end = self.rows.begin(i), self.rows.end(i)
        high = end
        while low < high:
            middle = low + high >> _ONE
            if np.uint64(self.rows.column(i, middle)) < k:
                low = middle + _ONE
            else:
                high = middle
        return self.rows.value(i, low) if low < end and np.uint64(self.rows.column(i, low)) == k else 0.0

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape[0], self.width


def form_of(x: Rows) -> int:
    """The form of rows; UNKNOWN of a user's own, which may be any."""
    return DENSE + x.shape[1] if isinstance(x, Dense) else SPARSE if isinstance(x, Sparse) else UNKNOWN


def in_form(x: Rows, end: int, form: int) -> Iterator[tuple[Rows, int, int]]:
    """The first `end` rows of a batch in some form, in pieces: rows, which they are of the batch, and up to which."""
    if form >= DENSE and isinstance(x, Sparse):
        yield Spread(x, form - DENSE), 0, end
    elif form == SPARSE and isinstance(x, Dense):
        step = max(CELLS // max(x.shape[1], 1), 1)
        for begin in range(0, end, step):
            stop = min(begin + step, end)
            yield without_zeros(x, begin, stop), begin, stop
    else:
        yield x, 0, end


class Repetition:
    """The sample of a run's rows, and the evidence that they came again."""

    def __init__(self, arrays: dict[str, Any] | None = None) -> None:
        told = arrays or {}
        self.prints = np.zeros(CAPACITY, np.uint64)
        found = told.get("tally.prints", np.empty(0, np.uint64))
        self.prints[: found.size] = found
        self.book = np.zeros(SIZE + 1, np.int64)
        self.book[SIZE] = found.size
        self.book[:SIZE] = told.get("tally.sampled", 0)
        self.looked = float(told["tally.order"][0]) if "tally.order" in told else 0.0  # the most of ln E at a look
        self._asked = 0, 0.0  # rounds when someone asked last, and ln E then
        self._compiled = True

    def see(self, x: Rows, y: Vector, weights: Vector, end: int, compiled: bool) -> None:
        """Sample the first `end` rows of a batch, which were learnt."""
        self._compiled = compiled
        if self.book[FORM] == UNKNOWN and end:
            self.book[FORM] = form_of(x)
        for rows, begin, stop in in_form(x, end, int(self.book[FORM])):
            self._see(rows, y[begin:stop], weights[begin:stop])

    def _see(self, x: Rows, y: Vector, weights: Vector) -> None:
        """Sample rows that are in the form of the sample."""
        i, end, compiled = 0, y.size, self._compiled
        while i < end:
            look, until = next_look(int(self.book[ROUNDS]))
            i = int(call(sample_rows, compiled, x, y, weights, self.prints, self.book, i, end, until))
            if self.book[ROUNDS] == until:
                self.looked = max(self.looked, self._evidence(look))

    def _evidence(self, number: int) -> float:
        """ln E now, less the price of the look or question that has this number."""
        price = math.log(2 * (number + 1) * (number + 2) * (QUICK + 1))
        return evidence(self.prints[: self.size], self._compiled) - price

    @property
    def against(self) -> float:
        """The most that ln E was at a look, or is now."""
        rounds = int(self.book[ROUNDS])
        if self._asked[0] != rounds:
            self._asked = rounds, self._evidence(rounds)
        return max(self.looked, self._asked[1])

    @property
    def size(self) -> int:
        """The number of rows in the sample."""
        return int(self.book[SIZE])

    def arrays(self) -> dict[str, Any]:
        """The arrays that a file must keep to go on."""
        order = np.array([self.looked])
        return {"tally.prints": self.prints[: self.size], "tally.sampled": self.book[:SIZE], "tally.order": order}


def next_look(rounds: int) -> tuple[int, int]:
    """The number j of the next look, and the rounds after which it is taken."""
    j = max(math.floor(4 * math.log2(max(rounds, 1) / FIRST)) - 1, 0)
    while round(FIRST * 2 ** (j / 4)) <= rounds:
        j += 1
    return j, round(FIRST * 2 ** (j / 4))
