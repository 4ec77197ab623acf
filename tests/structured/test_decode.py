"""Decoding finds what listing all structures finds, the first of equals included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret.errors import PartError
from lowregret.structured import Chain, Classes, LabelTree, Space
from lowregret.structured.rounds import Rounds, as_rounds, sequences
from lowregret.structured.scratch import FixedWeights, Scratch, collect
from tests.structured.naive import NaiveSpace, Structure, Vector
from tests.structured.problems import FEATURES, SPACES

whole = st.integers(-2, 2).map(float)  # few values, so that there are many ties, all of them exact


@st.composite
def cases(draw: st.DrawFn) -> tuple[Space, NaiveSpace, Vector, Vector, Structure]:
    """A space, weights, rows, and right labels."""
    space, naive = SPACES[draw(st.sampled_from(sorted(SPACES)))]
    n = 1 if space.single else draw(st.integers(1, 5))
    vector = st.lists(whole, min_size=naive.dimension, max_size=naive.dimension)
    rows = st.lists(st.lists(whole, min_size=FEATURES, max_size=FEATURES), min_size=n, max_size=n)
    label = st.integers(0, space.labels() - 1)
    y = draw(st.lists(label, min_size=n, max_size=n))
    return space, naive, np.array(draw(vector)), np.array(draw(rows)), tuple(y)


def prepared(space: Space, w: Vector, x: Vector, y: Structure) -> tuple[Rounds, Scratch]:
    data = as_rounds(sequences(x, y, lengths=[len(x)]), y)
    scratch = Scratch.of(space.room(len(x), x.size), w.size)
    space.score(FixedWeights(), w, data, 0, scratch)
    return data, scratch


def decoded(space: Space, data: Rounds, scratch: Scratch, margin: float) -> Structure:
    out = np.full(data.labels.size, -1)
    space.best(data, 0, margin, scratch, out, 0)
    return tuple(out.tolist())


@given(cases())
def test_the_best_structure_is_the_first_of_all_best(case: Any) -> None:
    space, naive, w, x, y = case
    data, scratch = prepared(space, w, x, y)
    assert decoded(space, data, scratch, 0.0) == naive.best(w, x)


@given(cases(), st.sampled_from([0.5, 1.0, 3.0]))
def test_loss_augmented_decoding_adds_the_cost(case: Any, margin: float) -> None:
    space, naive, w, x, y = case
    data, scratch = prepared(space, w, x, y)
    found = decoded(space, data, scratch, margin)
    assert found == naive.best(w, x, y, margin)
    assert space.cost(data, 0, np.array(found), 0, scratch) == naive.cost(y, found)


@given(cases())
def test_the_runner_up_is_the_best_structure_but_y(case: Any) -> None:
    space, naive, w, x, y = case
    data, scratch = prepared(space, w, x, y)
    decoded(space, data, scratch, 0.0)
    assert space.runner_up(data, 0, scratch) == naive.margin(w, x, y)


@given(cases(), st.randoms())
def test_differences_of_joint_features(case: Any, random: Any) -> None:
    space, naive, w, x, y = case
    data, scratch = prepared(space, w, x, y)
    other = random.choice(list(naive.structures(x)))
    space.difference(data, 0, np.array(other), 0, scratch)
    collect(scratch)
    row = scratch.row
    found = np.zeros(w.size)
    columns = scratch.touched[: scratch.ends[1]].astype(int)
    assert np.unique(columns).size == columns.size
    assert np.all(row.data[: scratch.ends[1]] != 0)
    found[columns] = row.data[: scratch.ends[1]]
    np.testing.assert_array_equal(found, naive.psi(x, other) - naive.psi(x, y))
    assert not np.any(scratch.pile)


def test_dimensions_and_blocks() -> None:
    for space, naive in SPACES.values():
        assert space.dimension(FEATURES) == naive.dimension
        blocks = space.blocks(np.arange(naive.dimension, dtype=float), FEATURES)
        assert sum(block.size for block in blocks.values()) == naive.dimension
    blocks = Chain(2).blocks(np.arange(14.0), 3)
    assert blocks["emission"][1].tolist() == [2, 3]
    assert blocks["transition"].tolist() == [[6, 7], [8, 9]]
    assert (blocks["start"].tolist(), blocks["end"].tolist()) == ([10, 11], [12, 13])


def test_a_tree_from_paths() -> None:
    tree, names = LabelTree.of(["animal/cat", "plant", "animal/dog", "animal/cat/tiger"])
    assert names == ["plant", "animal/dog", "animal/cat/tiger"]
    assert tree.parents.tolist() == [-1, 0, -1, 0, 1]
    assert tree.depth == 3


@pytest.mark.parametrize("parents", [[], [0], [-1, 2, 0], [-2], [[-1]], ["a"]])
def test_a_tree_that_is_none_is_refused(parents: Any) -> None:
    with pytest.raises(PartError, match="parent"):
        LabelTree(parents)


@pytest.mark.parametrize("classes", [0, -1, 2.5, True, "3"])
def test_a_number_of_classes_that_is_none_is_refused(classes: Any) -> None:
    for space in (Chain, Classes):
        with pytest.raises(PartError, match="number of classes"):
            space(classes)
