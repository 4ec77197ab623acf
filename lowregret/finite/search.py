"""The Littlestone and the VC dimension of a class, between bounds that close in, with a witness of the lower one."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from lowregret.errors import DataError
from lowregret.finite.hypotheses import Hypotheses, Mask, require_hypotheses, size_of
from lowregret.finite.memo import Memo
from lowregret.finite.shatter import LARGEST, NO, OPEN, VERDICT, VISITED, WITNESS, WORK, YES, Stack, advance
from lowregret.finite.subsets import Subsets, advance_subsets

SLICE = 4_000_000  # words looked at between two looks at the clock: some milliseconds
PATIENCE = 4  # turns in which the search from above works once: in the end the one from below decides


class Bracket(ABC):
    """low ≤ dimension ≤ high. Two searches close in: is it low + 1 at least, is it high? Each stops now and then.

    Refuting a large k is easier than a small one, so that both bounds move early.
    """

    def __init__(self, hypotheses: Hypotheses) -> None:
        require_hypotheses(hypotheses)
        if max(len(hypotheses), hypotheses.points) >= LARGEST:
            raise DataError(f"{hypotheses} is too large: at most {LARGEST - 1:,} hypotheses and points")
        self.hypotheses = hypotheses
        self.columns, self.points = distinct_columns(hypotheses)
        self.low, self.high = 0, len(hypotheses).bit_length() - 1
        self.looked_at = 0  # version spaces, or sets of points
        self._asked: set[int] = set()

    def searches(self) -> list[Iterator[None]]:
        """Two searches, from below and from above, that work while asked for the next item and end when low = high."""
        return [self._search(lambda: self.low + 1, 1), self._search(lambda: self.high, PATIENCE)]

    def _search(self, candidate: Callable[[], int], turns: int) -> Iterator[None]:
        """Settle one candidate after the other, one step of work in every `turns` turns."""
        while self.low < self.high:
            k = candidate()
            if k in self._asked:  # by the other search
                yield
                continue
            self._asked.add(k)
            for _ in self.settle(k):
                yield from itertools.repeat(None, turns)
            self._asked.discard(k)

    def is_open(self, k: int) -> bool:
        """Whether it is not known if the dimension is k at least."""
        return self.low < k <= self.high

    @abstractmethod
    def settle(self, k: int) -> Iterator[None]:
        """Find out whether the dimension is k at least, and move a bound; give up once it is known otherwise."""


class Littlestone(Bracket):
    """Ldim(H) by ALG-LDIM, with a shattered tree of depth `low` in heap order: place i leads to 2i + 1 + label.

    Ldim(V) ≥ k is decided by compiled search (see `shatter`), O((2m)^k) at worst and far less as a rule.
    """

    def __init__(self, hypotheses: Hypotheses) -> None:
        super().__init__(hypotheses)
        self.tree: tuple[int, ...] = ()
        self._memo = Memo.empty(len(hypotheses), hypotheses.words)
        self._stack = self._new_stack()
        self._known: dict[bytes, int] = {}

    def of(self, mask: Mask) -> int:
        """Ldim(V) of a version space; −1 of the empty one."""
        code = mask.tobytes()
        if code not in self._known:
            size, k = size_of(mask), 0
            while size >> (k + 1) and self._decided(self._stack, mask, k + 1) >= 0:
                k += 1
            self._known[code] = k if size else -1
        return self._known[code]

    def settle(self, k: int) -> Iterator[None]:
        stack = self._new_stack()
        stack.begin(self.hypotheses.everything, k)
        while self.is_open(k) and stack.ledger[VERDICT] == OPEN:
            before = int(stack.ledger[VISITED])
            self._memo = self._memo.with_room(len(self.hypotheses))
            advance(self.columns, self._memo, stack, SLICE)
            self.looked_at += int(stack.ledger[VISITED]) - before
            yield
        if not self.is_open(k):
            return
        if stack.ledger[VERDICT] == NO:
            self.high = k - 1
            return
        while k < self.high and self._is_easy(stack, k + 1):
            k += 1
        found: list[int] = []
        yield from self._grow(stack, k, found)
        self.adopt(tuple(found))

    def _is_easy(self, stack: Stack, k: int) -> bool:
        """Whether Ldim(H) ≥ k is seen in one slice: then a tree of depth k − 1 need not be made."""
        stack.begin(self.hypotheses.everything, k)
        advance(self.columns, self._memo, stack, SLICE)
        return bool(stack.ledger[VERDICT] == YES)

    def adopt(self, tree: tuple[int, ...]) -> None:
        """Take a shattered tree as the witness of a lower bound, if it is deeper than the one at hand."""
        if len(tree) > len(self.tree):
            self.tree, self.low = tree, (len(tree) + 1).bit_length() - 1

    def _grow(self, stack: Stack, depth: int, found: list[int]) -> Iterator[None]:
        """The points of a shattered tree, in heap order: a search for each, which mostly finds the answer known."""
        h, spaces, work = self.hypotheses, [self.hypotheses.everything], 0
        for i in range((1 << depth) - 1):
            x = int(self.points[self._decided(stack, spaces[i], depth - (i + 1).bit_length() + 1)])
            found.append(x)
            spaces += [h.agreeing(spaces[i], x, 0), h.agreeing(spaces[i], x, 1)]
            work += int(stack.ledger[WORK]) + SLICE // 500
            if work > SLICE:
                work = 0
                yield

    def _decided(self, stack: Stack, mask: Mask, k: int) -> int:
        """A column that shows Ldim(V) ≥ k, or −1."""
        stack.begin(mask, k)
        while stack.ledger[VERDICT] == OPEN:
            advance(self.columns, self._memo, stack, SLICE)
            self._memo = self._memo.with_room(len(self.hypotheses))
        return -1 if stack.ledger[VERDICT] == NO else int(stack.ledger[WITNESS])

    def _new_stack(self) -> Stack:
        return Stack.empty(self.high + 1, self.hypotheses.words, len(self.columns))


class VapnikChervonenkis(Bracket):
    """VCdim(H) by ALG-VCDIM, with `shattered`, a set of `low` points that shows all 2^low patterns."""

    def __init__(self, hypotheses: Hypotheses) -> None:
        super().__init__(hypotheses)
        self.high = min(self.high, len(self.columns))
        self.shattered: tuple[int, ...] = ()

    def settle(self, k: int) -> Iterator[None]:
        h = self.hypotheses
        s = Subsets.of(h.everything, len(h), len(self.columns), k)
        while self.is_open(k) and s.ledger[VERDICT] == OPEN:
            before = int(s.ledger[VISITED])
            advance_subsets(self.columns, s, SLICE)
            self.looked_at += int(s.ledger[VISITED]) - before
            yield
        if not self.is_open(k):
            return
        if s.ledger[VERDICT] == NO:
            self.high = k - 1
        else:
            self.low, self.shattered = k, tuple(int(self.points[column]) for column in s.chosen)


def distinct_columns(h: Hypotheses) -> tuple[Mask, NDArray[np.intp]]:
    """The columns, without constant ones and without repetitions up to complement; and which points they are."""
    turned = h.columns[:, :1] & np.uint64(1) != 0
    canonical = np.where(turned, ~h.columns & h.everything, h.columns)
    _, first = np.unique(canonical.view(f"V{8 * h.words}"), return_index=True)
    points = np.sort(first[canonical[first].any(axis=1)])
    return np.ascontiguousarray(h.columns[points]), points
