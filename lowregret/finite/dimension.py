"""How hard a class is to learn: its Littlestone dimension (mistakes of the best learner) and its VC dimension."""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lowregret.finite.hypotheses import Hypotheses
from lowregret.finite.search import Littlestone, VapnikChervonenkis
from lowregret.finite.shatter import advance
from lowregret.finite.subsets import advance_subsets
from lowregret.finite.witness import draw_tree, is_shattered_set, is_shattered_tree, tree_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST_TURNS = 3  # some milliseconds each: enough for bounds that say something
Progress = Callable[[Littlestone, VapnikChervonenkis], None]


@dataclass(frozen=True)
class Dimensions:
    """Both dimensions as intervals [low, high], with witnesses of the lower bounds.

    `tree`: points of a shattered tree in heap order, root first: after label y at place i comes place 2i + 1 + y, and
    every one of the 2^depth paths is realised by a hypothesis. `shattered`: points on which the hypotheses show all
    patterns. Points are columns, counted from 0. `interrupted`: the search was broken off by Ctrl-C.
    """

    hypotheses: Hypotheses
    littlestone: tuple[int, int]
    vc: tuple[int, int]
    tree: tuple[int, ...]
    shattered: tuple[int, ...]
    interrupted: bool = False

    @property
    def exact(self) -> bool:
        """Whether both are known."""
        return self.littlestone[0] == self.littlestone[1] and self.vc[0] == self.vc[1]

    @property
    def verified(self) -> bool:
        """Whether the witnesses are what they should be, by plain Python over the matrix."""
        h, sizes = self.hypotheses, (1 << self.littlestone[0], 1 << self.vc[0])
        right_sizes = sizes == (len(self.tree) + 1, 1 << len(self.shattered))
        return right_sizes and is_shattered_tree(h, self.tree) and is_shattered_set(h, self.shattered)

    def draw(self) -> str:
        """The tree as text."""
        return "\n".join(draw_tree(self.hypotheses, self.tree))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The tree as a picture. Needs matplotlib."""
        from lowregret.finite.plot import plot_tree

        return plot_tree(self, path)

    def to_json(self) -> dict[str, Any]:
        """The public form."""
        return {
            "hypotheses": len(self.hypotheses),
            "points": self.hypotheses.points,
            "littlestone": list(self.littlestone),
            "vc": list(self.vc),
            "tree": list(self.tree),
            "shattered": list(self.shattered),
            "verified": self.verified,
        }


def dimensions(hypotheses: Hypotheses, seconds: float | None = None, progress: Progress | None = None) -> Dimensions:
    """Both dimensions, exactly, or as closely as they are known after this time.

    The searches take turns of a few milliseconds, and share what they find: VCdim ≤ Ldim ≤ ⌊log2 n⌋ (THM-3.5).
    `progress` is called after each turn. Compiling, which happens once, does not count.
    """
    get_ready()
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    trees, sets = Littlestone(hypotheses), VapnikChervonenkis(hypotheses)
    interrupted = False
    try:
        _take_turns(trees, sets, deadline, progress)
    except KeyboardInterrupt:
        interrupted = True
    found = (trees.low, trees.high), (sets.low, sets.high), trees.tree, sets.shattered
    return Dimensions(hypotheses, *found, interrupted)


def _take_turns(trees: Littlestone, sets: VapnikChervonenkis, deadline: float, progress: Progress | None) -> None:
    """Let all searches work in turn until they end or time is up."""
    searches = trees.searches() + sets.searches()
    for turn in itertools.count(1):
        for search in list(searches):
            try:
                next(search)
            except StopIteration:
                searches.remove(search)
            if sets.low > trees.low:
                trees.adopt(tree_of(sets.shattered))
            sets.high = min(sets.high, trees.high)
            if progress:
                progress(trees, sets)
        if not searches or (turn >= LEAST_TURNS and time.monotonic() >= deadline):
            return


def get_ready() -> float:
    """Load the compiled searches from the cache, or compile them; returns the seconds that compiling took."""
    begin, kernels = time.monotonic(), (advance, advance_subsets)
    before = [_compilations(kernel) for kernel in kernels]
    smallest = Hypotheses([[0], [1]])
    _take_turns(Littlestone(smallest), VapnikChervonenkis(smallest), math.inf, None)
    compiled = before != [_compilations(kernel) for kernel in kernels]
    return time.monotonic() - begin if compiled else 0.0


def _compilations(kernel: Any) -> int:
    """How often a kernel was not in the cache."""
    return sum(kernel.stats.cache_misses.values()) if hasattr(kernel, "stats") else 0
