"""Rows that come again: what the test computes, how often it cries wolf, and what it must see."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lowregret import Hinge, Square, train, zoo
from lowregret.risk import repetition
from lowregret.risk.bounds import ONCE, headline
from lowregret.risk.repetition import (
    CAPACITY,
    GLANCES,
    LEVEL,
    Repetition,
    evidence,
    next_look,
    reaches,
)
from lowregret.rows import as_rows
from lowregret.run.begin import begin
from lowregret.store.kinds import load
from lowregret.stream.read import read
from tests.risk.test_bounds import source

NONE = np.empty(0)


def sampled(X: Any, y: Any, step: int | None = None, compiled: bool = True) -> Repetition:
    found, step = Repetition(), step or len(y)
    for a in range(0, len(y), step):
        part = np.ascontiguousarray(y[a : a + step])
        found.see(as_rows(X[a : a + step]), part, NONE, part.size, compiled)
    return found


@pytest.mark.parametrize(
    "counts", [(1, 1, 1, 1), (2, 2, 2), (1, 1, 2, 2), (3, 3), (5, 1, 1), (2, 1, 1, 1, 1), (2, 2, 2, 1)]
)
def test_evidence_has_mean_1_at_most_over_all_orders(counts: tuple[int, ...]) -> None:
    rows = [row for row, count in enumerate(counts) for _ in range(count)]
    found = [evidence(np.array(order, np.uint64), False) for order in set(permutations(rows))]
    mean = math.fsum(map(math.exp, found)) / len(found)
    assert 0.9 < mean <= 1 + 1e-12
    assert max(counts) == 1 or max(found) > 0.5


def test_looks_come_at_fixed_rounds_whatever_the_batches() -> None:
    wanted = [round(32 * 2 ** (j / 4)) for j in range(90)]
    rounds = 0
    found: list[int] = []
    while len(found) < 90:
        j, rounds = next_look(rounds)
        assert j == len(found)
        found.append(rounds)
    assert found == wanted
    for t in (0, 1, 31, 32, 33, 37, 38, 10**6):
        j, after = next_look(t)
        assert after == wanted[j] > t
        assert j == 0 or wanted[j - 1] <= t


# ---- the sample ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [100, 3000, 40_000])
def test_the_sample_depends_on_which_rows_came_and_not_on_their_order(rows: int) -> None:
    rng = np.random.default_rng(rows)
    X, y = rng.integers(0, 9, size=(rows, 6)).astype(float), rng.normal(size=rows).round(1)
    one, p = sampled(X, y), rng.permutation(rows)
    other = sampled(X[p], y[p])
    assert sorted(one.prints[: one.size]) == sorted(other.prints[: other.size])
    assert one.book.tolist() == other.book.tolist()
    assert all(reaches(found, one.book[LEVEL], one.book[GLANCES]) for found in one.prints[: one.size])
    assert min(rows, CAPACITY // 4) <= one.size <= CAPACITY


@pytest.mark.parametrize("wide", [3, 40])
def test_compiled_is_interpreted_and_batches_change_nothing(wide: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, wide)), np.sign(rng.normal(size=1500))
    X, y = np.tile(X, (2, 1)), np.tile(y, 2)
    whole = sampled(sp.csr_array(X), y)
    for other in (sampled(sp.csr_array(X), y, compiled=False), sampled(sp.csr_array(X), y, 7)):
        assert other.prints.tobytes() == whole.prints.tobytes()
        assert other.book.tolist() == whole.book.tolist()
        assert other.against == whole.against


# ---- what is no offence ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("atoms", [2, 30, 300, 3000, 10**9])
def test_rows_that_are_equal_by_chance_are_not_suspected(atoms: int) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        share = rng.dirichlet(np.full(min(atoms, 5000), 0.3)) if seed % 2 else None
        drawn = rng.choice(min(atoms, 5000), 1500, p=share) if share is not None else rng.integers(0, atoms, 1500)
        found = sampled(drawn[:, None].astype(float), np.where(drawn % 2, 1.0, -1.0))
        assert found.against < math.log(10)


@pytest.mark.parametrize("name", ["a9a.svm.gz", "farm_ads.svm.gz"])
def test_real_data_with_equal_rows_are_not_suspected_but_their_second_pass_is(name: str, data_file: Any) -> None:
    rows = read(data_file(name))
    run = train(zoo.ogd(Hinge()), rows)
    found = run.tally.repetition
    assert found.size > CAPACITY // 4
    assert np.unique(found.prints[: found.size]).size < found.size
    assert not run.tally.repeated
    run.learn(rows)
    assert found.against > math.log(1e6)


# ---- what must be seen -----------------------------------------------------------------------------------------------


def epochs(n: int, times: float, rng: np.random.Generator | None) -> Any:
    turns = [np.arange(n) if rng is None else rng.permutation(n) for _ in range(math.ceil(times))]
    return np.concatenate(turns)[: int(times * n)]


@pytest.mark.parametrize("n", [100, 700, 20_000])
@pytest.mark.parametrize("times", [1.5, 2, 3, 10])
@pytest.mark.parametrize("shuffled", [False, True])
def test_another_pass_is_seen(n: int, times: float, shuffled: bool) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 20)), np.sign(rng.normal(size=n))
    p = epochs(n, times, rng if shuffled else None)
    assert sampled(X[p], y[p]).against > math.log(1e6)


def test_every_row_twice_and_natural_copies_twice() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 3)), np.sign(rng.normal(size=500))
    assert sampled(np.repeat(X, 2, axis=0), np.repeat(y, 2)).against > math.log(1e6)
    drawn = np.where(rng.random(3000) < 0.5, rng.normal(size=3000), rng.integers(0, 400, 3000))  # half of them unique
    once, p = sampled(drawn[:, None], np.ones(3000)), rng.permutation(3000)
    assert once.against < math.log(10)
    twice = np.concatenate([drawn, drawn[p]])
    assert sampled(twice[:, None], np.ones(6000)).against > math.log(1e3)


@pytest.mark.parametrize("seed", range(24))
def test_no_risk_is_claimed_where_data_are_gone_over_again(seed: int) -> None:
    """Tiled rows in one call, in small batches, and in epochs that are shuffled anew."""
    rng = np.random.default_rng(seed)
    X, y = source(rng, 300)
    p = epochs(300, 5, rng if seed % 3 == 2 else None)
    run = begin(zoo.ogd(Hinge()), 4)
    step = 7 if seed % 3 == 1 else p.size
    for a in range(0, p.size, step):
        run.learn(X[p[a : a + step]], y[p[a : a + step]])
    assert ONCE in {premise.name for premise in run.risks()[0].premises if not premise.holds}
    assert headline(run.risks()) is None
    assert run.tally.repeated
    assert run.kept is None
    assert run.predictor().kept is None
    assert "kept       unknown: rows came again" in str(run)


@pytest.mark.parametrize("learner", [zoo.ogd(Square(), 1e-3), zoo.mc_perceptron(), zoo.auto()], ids=repr)
def test_rows_of_an_earlier_session_are_known_again(learner: Any, tmp_path: Path) -> None:
    X, y = source(np.random.default_rng(1), 600)
    p = np.random.default_rng(2).permutation(600)
    first = train(learner, X, y)
    assert not first.tally.repeated
    second = load(first.save(tmp_path / "run")).learn(X[p], y[p])
    assert second.tally.repeated
    whole = first.learn(X[p], y[p])
    assert second.save(tmp_path / "one").read_bytes() == whole.save(tmp_path / "other").read_bytes()


def test_rows_of_weight_0_are_not_sampled() -> None:
    X, y = source(np.random.default_rng(1), 300)
    weights = np.tile([1.0, 0.0], 150)
    some, only = train(zoo.ogd(Hinge()), X, y, weights), train(zoo.ogd(Hinge()), X[::2], y[::2])
    assert some.tally.repetition.prints.tobytes() == only.tally.repetition.prints.tobytes()


def memorised(rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
    """Rows with coins for labels, dense and mostly 0: half of new ones are predicted wrongly, old ones are known."""
    X = np.zeros((rows, 600))
    for row in X:
        row[rng.choice(600, 20, replace=False)] = rng.normal(size=20)
    return X, rng.choice([-1.0, 1.0], rows)


@pytest.mark.parametrize("rows", [1448, 1722])
def test_rows_that_come_again_between_two_looks_are_noticed_when_someone_asks(rows: int) -> None:
    rng = np.random.default_rng(rows)
    X, y = memorised(rng, rows)
    run = train(zoo.perceptron(), X, y)
    assert run.risk() is not None
    p = rng.permutation(rows)[: next_look(rows)[1] - rows - 1]
    run.learn(X[p], y[p])
    assert run.risk() is None
    assert run.tally.repeated
    assert run.kept is None


@pytest.mark.parametrize("change", [lambda X: X.astype(np.float32), lambda X: X * (1 + 1e-12)], ids=["float32", "near"])
def test_rows_whose_last_digits_differ_are_known_again(change: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = memorised(rng, 1000)
    run = train(zoo.perceptron(), X, y).learn(change(X), y)
    assert ONCE in {premise.name for premise in run.risks()[0].premises if not premise.holds}


def test_dense_rows_that_are_mostly_0_are_told_apart() -> None:
    X, y = memorised(np.random.default_rng(0), 600)
    found = sampled(X, y)
    assert np.unique(found.prints[: found.size]).size > 0.9 * found.size
    assert found.size > 500


def test_what_is_kept_is_not_told_of_rows_that_came_again_in_another_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X, y = memorised(rng, 512)
    assert train(zoo.perceptron(), X, y).kept is not None
    p = np.concatenate([np.arange(512), *(rng.permutation(512) for _ in range(4))])
    run = train(zoo.perceptron(), X[p], y[p])
    assert run.kept is None
    assert run.predictor().kept is None
    run = load(run.save(tmp_path / "run")).learn(X, y)  # in the order of the first time, which ends the trial
    assert run.kept is None
    assert load(run.save(tmp_path / "run")).kept is None


def mostly_zero(rng: np.random.Generator, rows: int, columns: int) -> Any:
    X = np.where(rng.random((rows, columns)) < 0.2, rng.normal(size=(rows, columns)).round(1), 0.0)
    X[rng.random((rows, columns)) < 0.1] = -0.0
    return X


@pytest.mark.sampled(3)
@pytest.mark.parametrize("columns", [1, 3, 40, 700])
@pytest.mark.parametrize("dense_first", [True, False])
def test_a_row_has_one_fingerprint_dense_or_sparse(columns: int, dense_first: bool) -> None:
    rng = np.random.default_rng(columns)
    X, y = mostly_zero(rng, 300, columns), rng.normal(size=300)
    forms = [as_rows(X), as_rows(sp.csr_array(X.astype(np.float32)))]
    first, second = forms if dense_first else forms[::-1]
    for compiled in (True, False):
        found = Repetition()
        found.see(first, y, NONE, 300, compiled)
        found.see(second, y, NONE, 299, compiled)
        assert np.array_equal(found.prints[:300][:299], found.prints[300:599])


@pytest.mark.parametrize("dense_first", [True, False])
def test_copies_in_another_form_are_known_again_after_loading_too(dense_first: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = mostly_zero(rng, 600, 30), np.sign(rng.normal(size=600))
    p = rng.permutation(600)
    forms = [X, sp.csr_array(X)]
    first, second = forms if dense_first else forms[::-1]
    run = train(zoo.ogd(Square(), 1e-3), first, y)
    assert not run.tally.repeated
    kept = load(run.save(tmp_path / "run"))
    for again in (run, kept):
        assert again.learn(second[p], y[p]).tally.repeated


def test_dense_rows_are_made_sparse_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = mostly_zero(np.random.default_rng(0), 200, 9), np.arange(200.0)
    sparse = sampled(sp.csr_array(X), y)
    monkeypatch.setattr(repetition, "CELLS", 60)
    sparse.see(as_rows(X), y, NONE, 200, True)
    assert np.array_equal(sparse.prints[:200], sparse.prints[200:400])
