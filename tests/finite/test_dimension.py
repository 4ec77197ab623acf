"""Both dimensions: known values, the textbook's recursion, laws, witnesses, and bounds when time is up."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lowregret.compile.call import call
from lowregret.finite import Hypotheses, Littlestone, dimensions, make_hypotheses
from lowregret.finite import memo as memo_module
from lowregret.finite.memo import Memo
from lowregret.finite.search import Bracket, VapnikChervonenkis, distinct_columns
from lowregret.finite.shatter import OPEN, VERDICT, Stack, advance
from lowregret.finite.subsets import Subsets, advance_subsets
from lowregret.finite.witness import is_shattered_set, is_shattered_tree, tree_of
from tests.finite.naive import Matrix, everyone, ldim, log2, vcdim

matrices = arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 5)))


def both(matrix: Matrix) -> tuple[int, int]:
    found = dimensions(Hypotheses(matrix))
    assert found.exact
    assert found.verified
    return found.littlestone[0], found.vc[0]


@pytest.mark.parametrize(
    ("spec", "littlestone", "vc"),
    [
        *((f"thresholds:{n}", log2(n), min(n - 1, 1)) for n in (1, 2, 3, 4, 7, 8, 9, 100, 127, 128, 1000)),
        *((f"singletons:{n}", min(n - 1, 1), min(n - 1, 1)) for n in (1, 2, 3, 50)),  # E17: 0 for a single one
        *((f"cube:{k}", k, k) for k in (1, 2, 5, 8)),
        ("parities:4", 4, 4),  # 16 functions, and the unit vectors are shattered
        ("halfspaces:3", 5, 3),
    ],
)
def test_known_values(spec: str, littlestone: int, vc: int) -> None:
    found = dimensions(make_hypotheses(spec))
    assert (found.littlestone, found.vc) == ((littlestone,) * 2, (vc,) * 2)
    assert found.verified


def test_nobody_is_left() -> None:
    h = make_hypotheses("cube:3")
    assert Littlestone(h).of(h.everything & np.uint64(0)) == -1  # E20: declared


@settings(max_examples=150, deadline=None)
@given(matrices)
def test_the_textbooks_recursion(matrix: Matrix) -> None:
    distinct = np.unique(matrix, axis=0)
    assert both(matrix) == (ldim(distinct, everyone(distinct)), vcdim(distinct))


@pytest.mark.parametrize("seed", range(12))
def test_the_textbooks_recursion_on_more(seed: int) -> None:
    """Up to 60 hypotheses, sparse and dense, half of them with structure: rows are unions of a few."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((rng.integers(16, 60), 7)) < rng.choice([0.15, 0.3, 0.5])
    if seed % 2:
        matrix = (rng.random((60, 4)) < 0.4).astype(int) @ (rng.random((4, 9)) < 0.4) > 0
    distinct = np.unique(matrix, axis=0)
    known: dict[frozenset[int], int] = {}
    h = Hypotheses(distinct)
    assert both(matrix) == (ldim(distinct, everyone(distinct), known), vcdim(distinct))
    engine = Littlestone(h)
    for rows, value in list(known.items())[:: max(len(known) // 50, 1)]:
        mask = h.everything & np.uint64(0)
        for row in rows:
            mask[row // 64] |= np.uint64(1) << np.uint64(row % 64)
        assert engine.of(mask) == value


@settings(max_examples=40, deadline=None)
@given(matrices, st.randoms(use_true_random=False))
def test_laws(matrix: Matrix, random: object) -> None:
    rng = np.random.default_rng(random.randrange(10**6))  # type: ignore[attr-defined]
    littlestone, vc = both(matrix)
    assert vc <= littlestone <= log2(len(np.unique(matrix, axis=0)))  # THM-3.5
    flipped = matrix ^ (rng.random(matrix.shape[1]) < 0.5)
    shuffled = matrix[rng.permutation(len(matrix))][:, rng.permutation(matrix.shape[1])]
    repeated = np.vstack([np.hstack([matrix, matrix]), np.hstack([matrix, matrix])])
    for same in (flipped, shuffled, repeated):
        assert both(same) == (littlestone, vc)
    more_rows = np.vstack([matrix, rng.random((3, matrix.shape[1])) < 0.5])
    more_columns = np.hstack([matrix, rng.random((len(matrix), 2)) < 0.5])
    for larger in (more_rows, more_columns):
        assert both(larger)[0] >= littlestone
        assert both(larger)[1] >= vc


@pytest.mark.parametrize(
    ("kind", "largest"), [("random:60x10:seed=3:density=0.3", 1), ("lists:3", 1), ("lists:3", 1 << 12)]
)
def test_a_memo_that_forgets_nearly_everything_costs_only_time(
    monkeypatch: pytest.MonkeyPatch, kind: str, largest: int
) -> None:
    h = make_hypotheses(kind)
    before = dimensions(h)
    monkeypatch.setattr(memo_module, "LARGEST", largest)
    monkeypatch.setattr(Memo, "empty", partial(Memo.empty, size=1))
    after = dimensions(h)
    assert after.littlestone == before.littlestone
    assert after.verified


@pytest.mark.parametrize("seed", range(6))
def test_compiled_is_interpreted(seed: int) -> None:
    """Also in pieces of any length."""
    rng = np.random.default_rng(seed)
    h = Hypotheses(rng.random((40, 6)) < 0.4)
    columns, _ = distinct_columns(h)
    for k in (1, 2, 3, 4):
        told = []
        for compiled, budget in ((True, 1 << 40), (True, 1), (False, 50)):
            stack, memo = Stack.empty(6, h.words, len(columns)), Memo.empty(10, h.words)
            stack.begin(h.everything, k)
            subsets = Subsets.of(h.everything, len(h), len(columns), k)
            while stack.ledger[VERDICT] == OPEN:
                call(advance, compiled, columns, memo, stack, budget)
            while subsets.ledger[VERDICT] == OPEN:
                call(advance_subsets, compiled, columns, subsets, budget)
            told.append((stack.ledger.tolist(), subsets.ledger.tolist(), subsets.chosen))
        assert told[0] == told[1] == told[2]


def test_false_witnesses_are_found_out() -> None:
    h = make_hypotheses("thresholds:8")
    found = dimensions(h)
    assert found.tree == (3, 1, 5, 0, 2, 4, 6)
    assert found.verified
    assert not is_shattered_tree(h, (3, 1, 5, 0, 2, 4, 5))
    assert not is_shattered_tree(h, (3, 5, 1, 0, 2, 4, 6))
    assert not is_shattered_tree(h, (3, 1))
    assert not is_shattered_set(h, (0, 1))
    assert not is_shattered_set(make_hypotheses("cube:3"), (0, 0))
    assert is_shattered_tree(make_hypotheses("cube:3"), tree_of((2, 0, 1)))
    for wrong in ({"littlestone": (4, 4)}, {"vc": (2, 2)}, {"tree": found.tree[:3]}, {"shattered": ()}):
        assert not replace(found, **wrong).verified


def test_when_time_is_up_there_are_bounds_with_witnesses() -> None:
    h = make_hypotheses("random:500x100:seed=1")
    dimensions(make_hypotheses("cube:2"))  # compiles
    for limit in (0.0, 1.0):
        begin = time.monotonic()
        found = dimensions(h, limit)
        took = time.monotonic() - begin
        assert took <= 1.1 * limit + 0.3, "searching must stop in time"
        assert found.verified
        assert found.littlestone[0] <= 8 <= found.littlestone[1]
        assert found.vc[0] <= 7 <= found.vc[1]
        assert not found.exact


def test_ctrl_c_keeps_the_bounds() -> None:
    def impatient(trees: Bracket, sets: Bracket) -> None:
        if trees.low == 8 and sets.low == 7:
            raise KeyboardInterrupt

    found = dimensions(make_hypotheses("random:500x100:seed=1"), progress=impatient)
    assert found.interrupted
    assert (found.littlestone, found.vc) == ((8, 8), (7, 8))
    assert found.verified


def test_bounds_move_only_towards_each_other() -> None:
    seen: list[tuple[int, int, int, int]] = []
    h = make_hypotheses("random:300x40:seed=5:density=0.2")
    dimensions(h, progress=lambda t, s: seen.append((t.low, s.low, -t.high, -s.high)))
    assert all(a <= b for before, after in pairwise(seen) for a, b in zip(before, after, strict=True))


def test_columns_alike_are_one() -> None:
    h = Hypotheses([[0, 1, 0, 1, 1, 0], [1, 0, 1, 1, 1, 0], [1, 0, 0, 1, 0, 0]])
    assert distinct_columns(h)[1].tolist() == [0, 2, 4]
    assert VapnikChervonenkis(h).high == 1
