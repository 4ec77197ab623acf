"""Witnesses of dimensions: checked in plain Python, independent of the searches that found them, and drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lowregret.finite.hypotheses import Hypotheses

DRAWN = 4  # depth to which a tree is drawn


def depth_of(tree: Sequence[int]) -> int:
    """The depth of a complete tree of this many points."""
    return (len(tree) + 1).bit_length() - 1


def is_shattered_tree(h: Hypotheses, tree: Sequence[int]) -> bool:
    """Whether every root-leaf path is realised by some hypothesis: O(n·depth)."""
    if len(tree) + 1 != 1 << depth_of(tree):
        return False
    return all(leaves(h, tree))


def is_shattered_set(h: Hypotheses, points: Sequence[int]) -> bool:
    """Whether the hypotheses show all patterns on these points: O(n·k)."""
    patterns = {tuple(bool(row[x]) for x in points) for row in h.matrix}
    return len(set(points)) == len(points) and len(patterns) == 1 << len(points)


def tree_of(points: Sequence[int]) -> tuple[int, ...]:
    """A shattered set as a shattered tree: the same point in all places of a level."""
    return tuple(x for level, x in enumerate(points) for _ in range(1 << level))


def leaves(h: Hypotheses, tree: Sequence[int]) -> list[list[int]]:
    """The hypotheses that end in each leaf of a tree, from left to right: O(n·depth)."""
    spaces = [list(range(len(h)))]
    for i, x in enumerate(tree):
        rows, spaces[i] = spaces[i], []
        spaces += [[row for row in rows if not h.matrix[row, x]], [row for row in rows if h.matrix[row, x]]]
    return spaces[len(tree) :]


def draw_tree(h: Hypotheses, tree: Sequence[int]) -> list[str]:
    """The tree as lines of text, down to a depth of 4; at a leaf, a hypothesis that is realised there."""
    return list(_branches(h, tree, leaves(h, tree), 0, "", ""))


def _branches(
    h: Hypotheses, tree: Sequence[int], ends: list[list[int]], i: int, lead: str, indent: str
) -> Iterator[str]:
    if i >= len(tree):
        rows = ends[i - len(tree)]
        yield lead + (f"h{h.numbers[rows[0]]}" if rows else "nobody")
        return
    if i + 1 >= 1 << DRAWN:
        yield f"{lead}…"
        return
    yield f"{lead}x{h.names[tree[i]]}"
    yield from _branches(h, tree, ends, 2 * i + 1, f"{indent}├─0─ ", f"{indent}│    ")
    yield from _branches(h, tree, ends, 2 * i + 2, f"{indent}└─1─ ", f"{indent}     ")
