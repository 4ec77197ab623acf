"""How long blocks are by themselves: as long as staleness costs little, decided alike whatever threads and batches."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lowregret import Logistic, train, zoo
from lowregret.certificate.blocks import AGAIN, BLOCK, BOOK, LOST, PATIENCE, PROBED, STALE
from lowregret.run import notes
from lowregret.run.begin import begin
from lowregret.run.block_size import FIRST, LITTLE, LONGEST_BLOCK, PROBE, BlockSize, period
from lowregret.run.blocks import BlockRun
from lowregret.types import Vector
from tests.run.test_blocks import bits, eager, matrix

__all__ = ["eager"]  # a fixture

RNG = np.random.default_rng(5)
ROWS = 6000
SPARSE: Any = sp.random_array((ROWS, 400), density=0.02, rng=RNG, format="csr")
SIGNS = np.where(SPARSE @ RNG.normal(size=400) + RNG.normal(size=ROWS) > 0, 1.0, -1.0)
LEARNER = zoo.adagrad(Logistic(), 0.05)


def book(block: int = 1) -> Vector:
    ledger = np.zeros(BOOK)
    ledger[BLOCK], ledger[PATIENCE] = block, 1
    return ledger


@given(st.integers(0, 1 << 40), st.integers(0, 6), st.booleans())
def test_sizes_change_where_all_of_them_end(rounds: int, power: int, later: bool) -> None:
    ledger = book(1 << power)
    ledger[AGAIN] = rounds + 1 if later else 0
    size = BlockSize(ledger, measured=True)
    until = size.until(rounds)
    assert rounds < until
    assert until % LONGEST_BLOCK == 0
    assert all(size.now(t) == size.now(rounds) for t in (rounds, (rounds + until) // 2, until - 1))
    assert size.now(rounds) <= LONGEST_BLOCK
    assert period(rounds) & period(rounds) - 1 == 0
    assert size.now(rounds) == size.settled or size.probing(rounds)
    assert BlockSize(ledger, measured=False).now(rounds) == 1 << power


@pytest.mark.parametrize(("stale", "block", "wanted"), [(0, 4, 8), (LITTLE / 4, 4, 4), (LITTLE / 2, 4, 2), (1, 4, 1)])
def test_blocks_are_as_long_as_costs_little(stale: float, block: int, wanted: int) -> None:
    ledger = book(block)
    ledger[STALE], ledger[LOST], ledger[PROBED] = stale * 100, 100, PROBE
    BlockSize(ledger, measured=True).decide(FIRST + PROBE, 100.0)
    assert ledger[BLOCK] == wanted
    assert (ledger[AGAIN] > 0) == (wanted < block)


def test_a_calm_probe_lets_nothing_grow_and_failures_make_patient() -> None:
    ledger = book()
    size = BlockSize(ledger, measured=True)
    ledger[LOST], ledger[PROBED] = 1.0, PROBE
    size.decide(FIRST + PROBE, float(FIRST + PROBE))
    assert ledger[BLOCK] == 1
    waited = []
    for _ in range(4):
        rounds = int(ledger[AGAIN]) + PROBE
        ledger[STALE], ledger[LOST] = 1.0, 1.0
        size.decide(rounds, 0.0)
        waited.append((ledger[AGAIN] - rounds) / period(rounds))
    assert waited == [2, 4, 8, 16]


def naive(x: Any, y: Vector, eta: float, sizes: Callable[[int], int]) -> tuple[Vector, Vector, Vector]:
    """AdaGrad in blocks of given sizes: scores, what they would have been after the rows before, and losses."""
    w, squares, decided = np.zeros(x.shape[1]), np.zeros(x.shape[1]), np.zeros(x.shape[1])
    scores, fresh = np.zeros(len(y)), np.zeros(len(y))
    for t, (row, label) in enumerate(zip(x, y, strict=True)):
        decided = w.copy() if t % sizes(t) == 0 else decided
        scores[t], fresh[t] = row @ decided, row @ w
        z = -label / (1 + np.exp(label * scores[t])) * row
        squares += z * z
        w -= np.where(z != 0, eta * z / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)
    return scores, fresh, np.logaddexp(0, -y * scores)


def test_probes_find_what_the_transcription_finds() -> None:
    rows = FIRST + PROBE - 1
    run = begin(LEARNER, 400, learners=2).learn(SPARSE[:rows], SIGNS[:rows])
    assert isinstance(run, BlockRun)
    dense, signs = SPARSE[:rows].toarray(), SIGNS[:rows]
    scores, fresh, losses = naive(dense, signs, 0.05, lambda t: 1 if t < FIRST else 2)
    np.testing.assert_allclose(run.scores, scores, atol=1e-12)
    slopes = -signs / (1 + np.exp(signs * scores))
    assert run.ledger[STALE] == pytest.approx(np.abs(slopes * (scores - fresh))[FIRST:].sum())
    assert run.ledger[LOST] == pytest.approx(losses[FIRST:].sum())
    assert run.ledger[PROBED] == PROBE - 1
    assert run.block == 1
    assert run.learn(SPARSE[rows : rows + 1], SIGNS[rows : rows + 1]).block == 2


def test_neither_threads_nor_batches_nor_files_change_a_bit(eager: list[int]) -> None:
    found = []
    for learners, cuts in ((1, (0, ROWS)), (2, (0, 1100, 1111, 3000, ROWS)), (4, (0, 1024, 1029, 2100, ROWS))):
        run: Any = begin(LEARNER, 400, learners=learners)
        for first, last in pairwise(cuts):
            run.learn(SPARSE[first:last], SIGNS[first:last])
            run = BlockRun.of("a file", *run.contents())
        found.append((bits(run.weights), bits(run.ledger), repr(run.certificates), run.loss))
    assert eager
    assert found[0] == found[1] == found[2]
    assert run.block >= 4
    assert run.loss == pytest.approx(train(LEARNER, SPARSE, SIGNS).loss, rel=1e-3)


def test_rows_that_are_alike_are_learnt_one_by_one() -> None:
    x = np.repeat(RNG.normal(size=(ROWS // 20, 6)), 20, axis=0)
    y = np.repeat(np.where(RNG.random(ROWS // 20) < 0.5, 1.0, -1.0), 20)
    learner = zoo.adagrad(Logistic(), 0.5)
    plain, run, blocks = (
        train(learner, x, y),
        train(learner, x, y, learners=2),
        train(learner, x, y, learners=2, block=8),
    )
    assert isinstance(run, BlockRun)
    assert run.block == 1
    assert run.loss < 1.01 * plain.loss < 1.05 * plain.loss < blocks.loss
    assert "one by one" in notes.cores(2, 1, None, alike=True)[0]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["a9a.svm.gz", "enron_spam.svm.gz"])
def test_real_rows_lose_less_than_a_hundredth(name: str, data_file: Callable[[str], Path]) -> None:
    x, y = matrix(data_file(name))
    for learner in (zoo.adagrad(Logistic(), 0.1), zoo.ogd(Logistic())):
        plain, run = train(learner, x, y), train(learner, x, y, learners=2)
        assert run.loss < 1.01 * plain.loss
