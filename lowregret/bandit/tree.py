"""A sum tree: n weights as leaves, every node the sum of its two children. Changing or drawing one costs O(log n).

tree[1] is the root, node k has the children 2k and 2k+1, leaf i is tree[half + i], half = len(tree)/2 a power of two.
A node is always computed from its children, never by adding differences, so that rounding does not accumulate.
"""

from __future__ import annotations

import numpy as np

from lowregret.types import Vector


def new_tree(leaves: int) -> Vector:
    """A tree of zeros with room for these many leaves."""
    return np.zeros(2 << (leaves - 1).bit_length())


def leaf(tree: Vector, i: int) -> float:
    """Weight i."""
    return tree[(tree.size >> 1) + i]


def put_leaf(tree: Vector, i: int, weight: float) -> None:
    """Set weight i: O(log n)."""
    k = (tree.size >> 1) + i
    tree[k] = weight
    while k > 1:
        k >>= 1
        tree[k] = tree[2 * k] + tree[2 * k + 1]


def build_tree(tree: Vector) -> None:
    """Compute all nodes from the leaves: O(n)."""
    for k in range((tree.size >> 1) - 1, 0, -1):
        tree[k] = tree[2 * k] + tree[2 * k + 1]


def draw_leaf(tree: Vector, u: float) -> int:
    """The leaf in which u·(sum of all) falls, u in [0, 1): never one of weight 0, if the sum is not 0. O(log n)."""
    rest, k, half = u * tree[1], 1, tree.size >> 1
    while k < half:
        k *= 2
        if rest >= tree[k] and tree[k + 1] > 0.0:
            rest -= tree[k]
            k += 1
    return k - half
