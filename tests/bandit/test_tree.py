"""The sum tree against cumulative sums."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lowregret.bandit.tree import build_tree, draw_leaf, leaf, new_tree, put_leaf

weights = st.lists(st.floats(0, 1e3) | st.just(0.0), min_size=1, max_size=40).filter(lambda w: sum(w) > 1e-3)


@given(weights, st.floats(0, 1, exclude_max=True))
def test_draws_where_the_cumulative_sum_says(w: list[float], u: float) -> None:
    tree = new_tree(len(w))
    for i, x in enumerate(w):
        put_leaf(tree, i, x)
    i = draw_leaf(tree, u)
    total, before = sum(w), sum(w[:i])
    assert w[i] > 0
    assert before - 1e-9 * total <= u * total <= before + w[i] + 1e-9 * total
    assert np.isclose(tree[1], total)


@given(weights, st.data())
def test_changing_one_weight_is_building_anew(w: list[float], data: st.DataObject) -> None:
    one, other = new_tree(len(w)), new_tree(len(w))
    for i, x in enumerate(w):
        put_leaf(one, i, x)
    i = data.draw(st.integers(0, len(w) - 1))
    put_leaf(one, i, 7.0)
    w[i] = 7.0
    other[other.size >> 1 :][: len(w)] = w
    build_tree(other)
    assert np.array_equal(one, other)
    assert leaf(one, i) == 7.0


def test_an_end_never_falls_on_nothing() -> None:
    tree = new_tree(5)  # room for eight
    put_leaf(tree, 2, 1e-320)
    for u in (0.0, 0.5, 1 - 2**-53):
        assert draw_leaf(tree, u) == 2
