"""Linear chains: a label for every row of a sequence, decoded by Viterbi's algorithm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.compile.kernel import apart
from lowregret.structured.rounds import Rounds
from lowregret.structured.scratch import Scratch, ScratchSize, add, add_row, block_scores, row_length
from lowregret.structured.space import Space, require_labels, wrong_places
from lowregret.types import Cells, Index, Vector


class Chain(Space):
    """Labels ℓ_1 … ℓ_n for n rows; γ(y, ℓ) counts the places where they differ (Hamming).

    ⟨w, ψ(x, ℓ)⟩ = Σ_i ⟨E[ℓ_i], x_i⟩ + Σ_i T[ℓ_i, ℓ_{i+1}] + start[ℓ_1] + end[ℓ_n], the last two only with `ends`. The
    weights are E [feature][class], T [from][to], start, end. Decoding costs O(nnz·K + nK²), memory O(nK).

    In the scratch: unary scores n×K (0 for the best of a place), best scores of suffixes n×K, T K×K, start K, end K;
    and, as integers, for each place and label the best label that follows.
    """

    classes: int
    ends: bool = True

    def check(self) -> None:
        require_labels(self, self.classes)

    def labels(self) -> int:
        return self.classes

    def dimension(self, features: int) -> int:
        return self.classes * (features + self.classes + (2 if self.ends else 0))

    def room(self, longest: int, nonzeros: int) -> ScratchSize:
        k = self.classes
        return ScratchSize(k * (2 * longest + k + 2), k * longest, longest, 2 * (nonzeros + longest + 1))

    def blocks(self, weights: Vector, features: int) -> dict[str, Vector]:
        k = self.classes
        emission, transition, rest = np.split(weights, [features * k, (features + k) * k])
        found = {"emission": emission.reshape(features, k), "transition": transition.reshape(k, k)}
        return found | ({"start": rest[:k], "end": rest[k:]} if self.ends else {})

    # ---- compiled ---------------------------------------------------------------------------------------------------

    def score(self, reader: Any, s: Any, data: Rounds, t: int, scratch: Scratch) -> float:
        begin, n, nothing = data.begin(t), data.end(t) - data.begin(t), 0.0
        k = np.uint64(self.classes)
        for i in range(n):
            nothing += block_scores(reader, s, data.rows, begin + i, self.classes, scratch.floats, np.uint64(i) * k)
            nothing += self.centre(scratch, np.uint64(i) * k)
        scale = reader.scale(s)
        source, target = np.uint64(data.features) * k, np.uint64(2 * n) * k
        read = k * k + (k + k if self.ends else np.uint64(0))
        for j in range(read):
            scratch.floats[target + np.uint64(j)] = scale * reader.raw(s, source + np.uint64(j))
        if not self.ends:
            for j in range(k + k):
                scratch.floats[target + read + np.uint64(j)] = 0.0
        return nothing

    def extent(self, data: Rounds, t: int) -> float:
        """Σ‖x_i‖₂, and 1 for each transition and either end."""
        total = float(data.end(t) - data.begin(t) + 1)
        for i in range(data.begin(t), data.end(t)):
            total += row_length(data.rows, i)
        return total

    def centre(self, scratch: Scratch, here: Index) -> float:
        """Take the best score of a place off all of its scores: transitions and margins are lost beside large ones."""
        top, nothing = -math.inf, 0.0
        for c in range(self.classes):
            top = max(top, scratch.floats[here + np.uint64(c)])
        for c in range(self.classes):
            scratch.floats[here + np.uint64(c)] -= top
            nothing += 0.0 * scratch.floats[here + np.uint64(c)]
        return nothing

    def best(self, data: Rounds, t: int, margin: float, scratch: Scratch, out: Cells, at: int) -> None:
        """Viterbi from the end, so that following the pointers gives the first of all best sequences."""
        begin, n = data.begin(t), data.end(t) - data.begin(t)
        self.suffixes(data, begin, n, margin, scratch)
        k = self.classes
        value, start = n * k, 2 * n * k + k * k
        found, top = 0, -math.inf
        for c in range(k):
            here = scratch.floats[start + c] + scratch.floats[value + c]
            if here > top:
                found, top = c, here
        out[at] = found
        for i in range(n - 1):
            found = scratch.integers[i * k + found]
            out[at + i + 1] = found

    @apart
    def suffixes(self, data: Rounds, begin: int, n: int, margin: float, scratch: Scratch) -> None:
        """Write the best score from each place and label on, itself included, and the label that comes next."""
        k = np.uint64(self.classes)
        value, moves = np.uint64(n) * k, np.uint64(2 * n) * k
        ends = moves + k * k + k
        for back in range(n):
            i = n - 1 - back
            y = data.labels[begin + i] if margin != 0.0 else -1
            here = np.uint64(i) * k
            after = value + here + k
            for label in range(self.classes):
                c = np.uint64(label)
                top, follows = scratch.floats[ends + c], 0
                if back > 0:
                    row = moves + c * k
                    top = -math.inf
                    for d in range(self.classes):
                        candidate = scratch.floats[row + np.uint64(d)] + scratch.floats[after + np.uint64(d)]
                        if candidate > top:
                            top, follows = candidate, d
                scratch.integers[here + c] = follows
                unary = scratch.floats[here + c] + (margin if label != y else 0.0)
                scratch.floats[value + here + c] = unary + top

    def cost(self, data: Rounds, t: int, made: Cells, at: int, scratch: Scratch) -> float:
        return float(wrong_places(data, t, made, at))

    @apart
    def difference(self, data: Rounds, t: int, made: Cells, at: int, scratch: Scratch) -> None:
        """Only where the two differ, so that what is common cancels without rounding."""
        begin, n = data.begin(t), data.end(t) - data.begin(t)
        k, y = self.classes, data.labels
        moves = data.features * k
        for i in range(n):
            theirs, mine = made[at + i], y[begin + i]
            if theirs != mine:
                add_row(scratch, data.rows, begin + i, k, theirs, 1.0)
                add_row(scratch, data.rows, begin + i, k, mine, -1.0)
            if i + 1 < n and (theirs != mine or made[at + i + 1] != y[begin + i + 1]):
                add(scratch, np.uint64(moves + theirs * k + made[at + i + 1]), 1.0)
                add(scratch, np.uint64(moves + mine * k + y[begin + i + 1]), -1.0)
        if self.ends:
            self.swap(scratch, moves + k * k, made[at], y[begin])
            self.swap(scratch, moves + k * k + k, made[at + n - 1], y[begin + n - 1])

    def swap(self, scratch: Scratch, block: int, theirs: int, mine: int) -> None:
        """One label of a block for another."""
        if theirs != mine:
            add(scratch, np.uint64(block + theirs), 1.0)
            add(scratch, np.uint64(block + mine), -1.0)

    def runner_up(self, data: Rounds, t: int, scratch: Scratch) -> float:
        """O(nK): at one place the sequence leaves y for the first time, and goes on as well as it can from there.

        Going backwards, `own` is what the rest of y scores, `rival` what the best other rest with the same label here.
        """
        begin, n, k = data.begin(t), data.end(t) - data.begin(t), self.classes
        value, moves, start = n * k, 2 * n * k, 2 * n * k + k * k
        own = rival = -math.inf
        for back in range(n + 1):
            i = n - 1 - back  # the place before the one that is left; −1 is the start
            y = data.labels[begin + i] if i >= 0 else 0
            row = moves + y * k if i >= 0 else start
            if back == 0:
                own, rival = scratch.floats[start + k + y], -math.inf
            else:
                follows = data.labels[begin + i + 1]
                left = -math.inf
                for c in range(k):
                    if c != follows:
                        left = max(left, scratch.floats[row + c] + scratch.floats[value + (i + 1) * k + c])
                own, rival = scratch.floats[row + follows] + own, max(left, scratch.floats[row + follows] + rival)
            if i >= 0:
                own, rival = own + scratch.floats[i * k + y], rival + scratch.floats[i * k + y]
        return own - rival
