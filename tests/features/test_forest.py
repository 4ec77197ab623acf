"""Forests: grown on ranks, walked down as a naive walk does, and never out of bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from lowregret.errors import PartError, StoreError
from lowregret.features import Forest, Partitions, aims_of, grow_forest
from lowregret.features.forest import BLOCK, COARSE, child_of, cut_of, feature_of
from lowregret.features.schema import PREFIX, STORED, forest_arrays, forest_demands
from lowregret.rows import as_rows
from lowregret.store.schema import Schema

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(200, 5)), 1)
X[:, 4] = RNG.random(200) < 0.1
Y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)


def forest(trees: int = 7, leaves: int = 50, seed: int = 0, compiled: bool = True, x: Any = X) -> Forest:
    return grow_forest(x, aims_of(Y, 0), trees, leaves, seed, compiled)


def naive_cells(f: Forest, row: Any) -> list[int]:
    """The cells of a row: down each tree by comparing values, one node after the other."""
    edges = np.split(f.edges, f.ends[1:-1].astype(int))
    coarse, fine = [], []
    for root in f.roots:
        at, depth, rough = int(root), 0, None
        while int(child_of(f.nodes[at])) != at:
            if depth == COARSE:
                rough = at
            j = int(feature_of(f.nodes[at]))
            exceeds = row[j] > edges[j][int(cut_of(f.nodes[at]))]
            at, depth = int(child_of(f.nodes[at])) + exceeds, depth + 1
        coarse.append(int(f.coarse[at if rough is None else rough]))
        fine.append(int(f.cells[at]))
    return coarse + fine


def cells(f: Forest, x: Any, compiled: bool = True) -> Any:
    rows = f.rows(as_rows(x), np.arange(x.shape[0]), compiled)
    return np.array([rows.indices[a : a + 2 * f.trees] for a in rows.indptr[:-1]], int)


def test_rows_lie_where_a_naive_walk_leads_them() -> None:
    f, new = forest(), np.round(np.random.default_rng(1).normal(size=(83, 5)), 1)
    many = np.random.default_rng(2).normal(size=(BLOCK + 9, 5))
    assert cells(f, new).tolist() == [naive_cells(f, row) for row in new]
    assert cells(f, many).tolist() == [naive_cells(f, row) for row in many]
    assert np.array_equal(cells(f, new), cells(f, new, compiled=False))
    assert np.array_equal(cells(f, new), cells(f, csr_array(new)))


def test_a_row_has_its_cells_and_then_its_features() -> None:
    f = forest()
    rows = f.rows(as_rows(X), np.array([3, 150]), True)
    assert rows.columns == f.width + 5 == f.columns
    for n, i in enumerate((3, 150)):
        entries = slice(rows.indptr[n], rows.indptr[n + 1])
        columns, values = rows.indices[entries], rows.data[entries]
        assert np.all(np.diff(columns.astype(int)) > 0)
        assert np.array_equal(values, [*[1.0] * 14, *X[i]])
        assert np.array_equal(columns[14:], f.width + np.arange(5))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([np.exp, np.arctan, lambda v: v**3 - 7, lambda v: 1e6 * v]))
def test_growing_functions_of_features_change_nothing(seed: int, bend: Any) -> None:
    f, g = forest(3, 40, seed), forest(3, 40, seed, x=bend(X))
    assert np.array_equal(f.nodes, g.nodes)
    new = np.round(np.random.default_rng(seed).normal(size=(40, 5)), 1)
    assert np.array_equal(cells(f, new), cells(g, bend(new)))


def test_a_seed_settles_the_forest() -> None:
    assert np.array_equal(forest(seed=5).nodes, forest(seed=5, compiled=False).nodes)
    assert not np.array_equal(forest(seed=5).nodes, forest(seed=6).nodes)


@pytest.mark.parametrize("leaves", [1, 2, 17, 4096])
def test_leaves_keep_within_the_budget(leaves: int) -> None:
    f = forest(3, leaves)
    each = [int(np.sum(child_of(f.nodes) == np.arange(len(f.nodes)))) / 3]
    assert each[0] <= min(leaves, 200)
    assert f.width <= 3 * (min(leaves, 200) + 2**COARSE)


def test_classes_share_the_budget() -> None:
    few, many = Partitions(trees=2, cells=400), np.arange(200) % 20
    one, other = few.grow(X, Y, 0, True), few.grow(X, many, 20, True)
    leaves = [np.sum(child_of(f.nodes) == np.arange(len(f.nodes))) for f in (one, other)]
    assert leaves[0] > 300
    assert leaves[1] <= 20


def test_splits_tell_of_labels() -> None:
    """The first split is on the one feature that matters far more often than chance would have it."""
    label = np.where(X[:, 2] > 0, 1.0, -1.0)
    f = grow_forest(X, aims_of(label, 0), 200, 2, 0, True)
    firsts = feature_of(f.nodes[f.roots])
    assert np.mean(firsts == 2) > 0.4


def test_led_trees_find_features_that_tell_something_only_together() -> None:
    """Of twelve features two make a checkerboard, so that neither tells anything by itself."""
    rng = np.random.default_rng(1)
    x = rng.random((1000, 12))
    label = np.where((3 * x[:, [2, 7]]).astype(int).sum(axis=1) % 2, 1.0, -1.0)
    f = grow_forest(x, aims_of(label, 0), 40, 1000, 0, True)
    whose, inner = (
        np.searchsorted(f.roots, np.arange(len(f.nodes)), "right") - 1,
        child_of(f.nodes) != np.arange(len(f.nodes)),
    )
    asked = np.isin(feature_of(f.nodes), (2, 7))
    wild, led = (np.mean(asked[inner & (whose % 2 == kind) & (whose >= 20)]) for kind in (0, 1))
    assert wild < 0.4
    assert led > 0.7


def test_no_feature_is_led_to_where_labels_are_noise() -> None:
    rng = np.random.default_rng(2)
    f = grow_forest(rng.random((1000, 10)), aims_of(rng.normal(size=1000), 0), 64, 1000, 0, True)
    inner = child_of(f.nodes) != np.arange(len(f.nodes))
    asked = np.bincount(feature_of(f.nodes[inner]).astype(int), minlength=10)
    assert asked.max() < 3 * asked.min()


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_units_of_labels_do_not_matter(scale: float, shift: float) -> None:
    """Splits go by labels less their mean, in units of the largest."""
    aims = aims_of(scale * (Y + shift), 0)
    assert np.isfinite(aims).all()
    np.testing.assert_array_equal(aims, aims_of(Y, 0))


def test_rows_that_are_all_alike_are_one_leaf() -> None:
    f = grow_forest(np.ones((9, 2)), aims_of(np.ones(9), 0), 3, 8, 0, True)
    assert len(f.nodes) == 3
    assert cells(f, np.zeros((2, 2))).tolist() == [[0, 1, 2, 3, 4, 5]] * 2


def test_numbers_that_are_none_end_the_rows() -> None:
    x = X[:10].copy()
    x[4, 1] = np.nan
    assert forest().rows(as_rows(x), np.arange(10), True).shape[0] == 4
    x[2, 0] = 1e200
    assert forest().rows(as_rows(x), np.arange(10), True).shape[0] == 2


@pytest.mark.parametrize("power", [-1000, -600, 600, 1000])
def test_the_unit_of_labels_changes_nothing(power: int) -> None:
    label = np.round(X[:, 0] * X[:, 1], 1)
    one, other = (grow_forest(X, aims_of(y, 0), 3, 50, 0, True) for y in (label, np.ldexp(label, power)))
    assert np.array_equal(one.nodes, other.nodes)


@pytest.mark.parametrize(
    "given",
    [
        *({"trees": -1}, {"trees": 2.5}, {"trees": "3"}, {"trees": True}, {"trees": 4097}),
        *({"cells": 0}, {"cells": 2.5}, {"cells": 10**30}, {"cells": np.nan}),
        *({"seed": 0.5}, {"seed": 2**63}, {"alone": 2}, {"trees": 0, "alone": True}),
    ],
    ids=str,
)
def test_partitions_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(PartError):
        Partitions(**given)


class Alone(Schema):
    def arrays(self, told: Any, present: Any) -> Any:
        return forest_arrays()

    def demands(self, told: Any, arrays: Any) -> Any:
        yield from forest_demands(arrays)


def test_changed_forests_are_refused_or_walked_within_bounds() -> None:
    rng, f = np.random.default_rng(0), forest(3, 20)
    refused = 0
    for _ in range(300):
        arrays = {f"{PREFIX}{name}": getattr(f, name).copy() for name in STORED}
        array = arrays[f"{PREFIX}{STORED[rng.integers(4)]}"]
        odd = [0, 1, 2**16 - 1, 2**32, 2**63, int(rng.integers(2**62))][rng.integers(6)]
        array[rng.integers(array.size)] = odd if array.dtype != float else float(odd)
        if rng.random() < 0.2:
            array = array[:-1]
        try:
            _, checked = Alone().checked("file", {"slots": {}}, arrays)
        except StoreError:
            refused += 1
            continue
        g = Forest.stored(*(checked[f"{PREFIX}{name}"] for name in STORED))
        assert cells(g, X[:9]).max() < g.width
    assert refused > 100
