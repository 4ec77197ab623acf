"""Label trees: classes that are leaves of a hierarchy, and learn together with their relatives."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.kernel import apart
from lowregret.structured.rounds import Rounds
from lowregret.structured.scratch import Scratch, ScratchSize, add_row, block_scores, row_length
from lowregret.structured.space import Space
from lowregret.types import Cells, Vector


class LabelTree(Space):
    """Leaves of a forest: ψ(x, ℓ) = x in the blocks of ℓ and of all its ancestors; γ is the distance in the tree.

    `parents[n]` is the parent of node n, −1 at the top; parents come before their children, and the labels 0, 1, … are
    the leaves in the order of their nodes. The distance counts the edges between two leaves, through a root above the
    top where need be. Weights [feature][node]; O(nnz·nodes + leaves·depth) a round.
    """

    single: ClassVar[bool] = True
    parents: Any

    def check(self) -> None:
        parents = np.array(self.parents, ndmin=1)
        self.require(
            parents.ndim == 1 and parents.size > 0 and parents.dtype.kind in "iu",
            f"parents must be a vector of integers such as [-1, -1, 0, 0, 1, 1], got {self.parents!r}",
        )
        late = np.flatnonzero((parents >= np.arange(parents.size)) | (parents < -1))
        self.require(
            late.size == 0,
            f"the parent of node {late[:1]} must be a node before it, or -1; sort parents before children",
        )
        parents = parents.astype(np.int64)
        parents.flags.writeable = False
        object.__setattr__(self, "parents", parents)

    @classmethod
    def of(cls, paths: Iterable[str]) -> tuple[LabelTree, list[str]]:
        """The tree with the leaves of paths such as "animal/cat", and the leaves in the order of their labels."""
        parents: list[int] = []
        node: dict[str, int] = {}
        for path in paths:
            parent, name = -1, ""
            for step in path.split("/"):
                name = f"{name}/{step}" if name else step
                if name not in node:
                    node[name] = len(parents)
                    parents.append(parent)
                parent = node[name]
        tree = cls(parents)
        names = list(node)
        return tree, [names[n] for n in tree.leaves.tolist()]

    @property
    def leaves(self) -> Any:
        """The node of each label."""
        return np.setdiff1d(np.arange(self.parents.size), self.parents)

    @property
    def depth(self) -> int:
        """Nodes on the longest path."""
        depths = np.zeros(self.parents.size, np.int64)
        for n, parent in enumerate(self.parents.tolist()):
            depths[n] = 1 + (depths[parent] if parent >= 0 else 0)
        return int(depths.max())

    def labels(self) -> int:
        return int(self.leaves.size)

    def dimension(self, features: int) -> int:
        return features * int(self.parents.size)

    def room(self, longest: int, nonzeros: int) -> ScratchSize:
        """The scratch needed: by node, as integers, whether it is a leaf and how far it is above y."""
        return ScratchSize(self.parents.size, 2 * self.parents.size, 1, 2 * self.depth * nonzeros)

    def blocks(self, weights: Vector, features: int) -> dict[str, Vector]:
        return {"nodes": weights.reshape(features, self.parents.size)}

    # ---- compiled ---------------------------------------------------------------------------------------------------

    def extent(self, data: Rounds, t: int) -> float:
        """‖x‖₂ for each node, of which a path has some."""
        return float(self.parents.size) * row_length(data.rows, t)

    def score(self, reader: Any, s: Any, data: Rounds, t: int, scratch: Scratch) -> float:
        """Σ over the path to each node; nodes that have children are marked."""
        nodes = self.parents.size
        nothing = block_scores(reader, s, data.rows, t, nodes, scratch.floats, np.uint64(0))
        for n in range(nodes):
            scratch.integers[n] = 1
            if self.parents[n] >= 0:
                scratch.floats[n] += scratch.floats[self.parents[n]]
                scratch.integers[self.parents[n]] = 0
                nothing += 0.0 * scratch.floats[n]
        return nothing

    def node(self, label: int, scratch: Scratch) -> int:
        """The leaf with this label."""
        seen = 0
        for n in range(self.parents.size):
            if scratch.integers[n] == 1:
                if seen == label:
                    return n
                seen += 1
        return -1

    def mark(self, leaf: int, scratch: Scratch) -> int:
        """Write how far each ancestor is above this leaf, −1 for other nodes; returns how far the common root is."""
        nodes = self.parents.size
        for n in range(nodes):
            scratch.integers[nodes + n] = -1
        up, n = 0, leaf
        while n >= 0:
            scratch.integers[nodes + n] = up
            up += 1
            n = self.parents[n]
        return up

    def distance(self, leaf: int, root: int, scratch: Scratch) -> float:
        """Edges between a leaf and the marked one."""
        up, n = 0, leaf
        while n >= 0 and scratch.integers[self.parents.size + n] < 0:
            up += 1
            n = self.parents[n]
        return float(up + (scratch.integers[self.parents.size + n] if n >= 0 else root))

    @apart
    def best(self, data: Rounds, t: int, margin: float, scratch: Scratch, out: Cells, at: int) -> None:
        mine = self.node(data.labels[t], scratch) if margin != 0.0 else -1
        root = self.mark(mine, scratch) if margin != 0.0 else 0
        own = scratch.floats[mine] if margin != 0.0 else 0.0
        label, top = 0, -math.inf
        for n in range(self.parents.size):
            if scratch.integers[n] == 1:
                value = scratch.floats[n] - own
                if margin != 0.0:
                    value += margin * self.distance(n, root, scratch)
                if value > top:
                    out[at] = label
                    top = value
                label += 1

    def cost(self, data: Rounds, t: int, made: Cells, at: int, scratch: Scratch) -> float:
        root = self.mark(self.node(data.labels[t], scratch), scratch)
        return self.distance(self.node(made[at], scratch), root, scratch)

    @apart
    def difference(self, data: Rounds, t: int, made: Cells, at: int, scratch: Scratch) -> None:
        """Ancestors that both share cancel."""
        mine, theirs = self.node(data.labels[t], scratch), self.node(made[at], scratch)
        nodes = self.parents.size
        self.mark(mine, scratch)
        while theirs >= 0 and scratch.integers[nodes + theirs] < 0:
            add_row(scratch, data.rows, t, nodes, theirs, 1.0)
            theirs = self.parents[theirs]
        while mine != theirs:
            add_row(scratch, data.rows, t, nodes, mine, -1.0)
            mine = self.parents[mine]

    def runner_up(self, data: Rounds, t: int, scratch: Scratch) -> float:
        mine = self.node(data.labels[t], scratch)
        least = math.inf
        for n in range(self.parents.size):
            if scratch.integers[n] == 1 and n != mine:
                least = min(least, scratch.floats[mine] - scratch.floats[n])
        return least
