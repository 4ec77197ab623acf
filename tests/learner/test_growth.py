"""Runs that do not know their features in advance equal runs that do, to the last bit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lowregret import zoo
from lowregret.domain import L2Ball
from lowregret.errors import DataError, PartError
from lowregret.learner.growth import FIRST, resize
from lowregret.learner.linear import Linear
from lowregret.loss import Hinge, Logistic
from lowregret.output import Average, Random
from lowregret.rows import Sparse, as_rows
from lowregret.rule import ProjectedGradient
from lowregret.run.begin import begin
from lowregret.run.linear import LinearRun
from lowregret.step import InverseSqrt
from lowregret.stream.batch import Batch
from lowregret.stream.batch import Stream as StreamProtocol
from lowregret.train import train

LEARNERS = {
    "ogd": zoo.ogd(Hinge()),
    "lazy": zoo.ogd_lazy(Hinge(), 0.1, 3.0),
    "pnorm": zoo.pnorm(Logistic(), 0.05, 4.0),
    "averaged with bias": Linear(Hinge(), ProjectedGradient(L2Ball(2.0), InverseSqrt(0.3)), Average(), bias=1.0),
    "drawn with bias": Linear(Hinge(), ProjectedGradient(L2Ball(2.0), InverseSqrt(0.3)), Random(4), bias=1.0),
    "ridge": zoo.ogd_sc(Hinge(), 0.01),
}
EVERY = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS.keys())


@dataclass
class Pieces:
    """A matrix as a stream, cut at these rows."""

    x: Any
    y: Any
    cuts: tuple[int, ...] = ()
    fault: str | None = None

    @property
    def size(self) -> int:
        return 0

    def batches(self) -> Iterator[Batch]:
        edges = [0, *sorted(self.cuts), self.x.shape[0]]
        for a, b in itertools.pairwise(edges):
            rows = as_rows(self.x[a:b])
            assert isinstance(rows, Sparse)
            yield Batch(rows, self.y[a:b], np.empty(0), np.arange(a + 1, b + 1), "memory")
        if self.fault:
            empty = as_rows(self.x[:0])
            assert isinstance(empty, Sparse)
            yield Batch(empty, self.y[:0], np.empty(0), np.arange(0), "memory", fault=self.fault)


def sparse(rows: int, features: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = sp.random(rows, features, 5 / features, "csr", rng=rng)
    return x, np.where(rng.random(rows) < 0.5, 1.0, -1.0)


@EVERY
def test_growing_is_knowing_in_advance(learner: Linear) -> None:
    x, y = sparse(300, 5 * FIRST, 1)
    known = train(learner, x, y, compiled=False)
    grown = train(learner, Pieces(x, y, (7, 100)), compiled=False)
    assert isinstance(Pieces(x, y), StreamProtocol)
    features = int(x.indices.max()) + 1
    assert grown.features == features
    expected = resize(known.weights, features, learner.bias > 0)
    assert grown.weights.tobytes() == expected.tobytes()
    assert grown.state.sums.tobytes() == known.state.sums.tobytes()
    assert grown.certificate.bound == known.certificate.bound
    assert grown.linear_regret() == pytest.approx(known.linear_regret(), rel=1e-12)
    np.testing.assert_array_equal(grown.decision_function(x), known.decision_function(x))


@cache
def unbroken() -> tuple[Any, Any, Any]:
    """Rows, their labels, and a run on all of them at once."""
    x, y = sparse(120, 3 * FIRST, 2)
    return x, y, train(LEARNERS["averaged with bias"], Pieces(x, y), compiled=False)


@given(st.sets(st.integers(0, 120), max_size=6))
def test_cuts_change_nothing(cuts: set[int]) -> None:
    x, y, whole = unbroken()
    cut = train(LEARNERS["averaged with bias"], Pieces(x, y, tuple(cuts)), compiled=False)
    assert [a.tobytes() for a in whole.state] == [a.tobytes() for a in cut.state]
    assert np.array(whole.record.history).tobytes() == np.array(cut.record.history).tobytes()


def test_a_resumed_run_goes_on_growing(tmp_path: Path) -> None:
    x, y = sparse(200, 4 * FIRST, 3)
    learner = LEARNERS["averaged with bias"]
    whole = train(learner, Pieces(x, y), compiled=False)
    first = train(learner, Pieces(x[:50], y[:50]), compiled=False)
    resumed = LinearRun.load(first.save(tmp_path / "run.lr")).learn(Pieces(x[50:], y[50:]))
    assert [a.tobytes() for a in whole.state] == [a.tobytes() for a in resumed.state]
    assert resumed.features == whole.features


def test_rows_in_memory_may_have_any_number_of_features() -> None:
    x, y = sparse(60, 2 * FIRST, 4)
    run = begin(LEARNERS["ogd"], None, compiled=False).learn(x, y)
    assert run.decision_function(sp.csr_matrix((1, 10 * FIRST))).tolist() == [0.0]
    assert run.decision_function(x[:, :5]).shape == (60,)
    u = np.zeros(run.dimension)
    assert run.regret(u, x, y) == pytest.approx(run.loss - 60.0)


def test_a_start_that_depends_on_the_dimension_is_refused() -> None:
    x, y = sparse(10, 20, 5)
    with pytest.raises(PartError, match="dimension"):
        train(zoo.eg(Hinge(), 0.1), Pieces(x, y))
    run = train(zoo.eg(Hinge(), 0.1), Pieces(x, y), dimension=20, compiled=False)
    assert run.weights.tobytes() == train(zoo.eg(Hinge(), 0.1), x, y, compiled=False).weights.tobytes()
    with pytest.raises(DataError, match=r"memory:1: .* columns"):
        train(zoo.eg(Hinge(), 0.1), Pieces(sp.csr_matrix(np.eye(20)[::-1]), y), dimension=10, compiled=False)


def test_a_fault_comes_after_the_rows_before_it() -> None:
    x, y = sparse(10, 20, 6)
    run = begin(LEARNERS["ogd"], None, compiled=False)
    with pytest.raises(DataError, match="memory:11: nonsense"):
        run.learn(Pieces(x, y, fault="memory:11: nonsense"))
    assert run.rounds == 10


def test_a_bad_label_names_its_place() -> None:
    x, y = sparse(10, 20, 7)
    y[4] = 3.0
    run = begin(LEARNERS["ogd"], None, compiled=False)
    with pytest.raises(DataError, match="memory:5: label 3 does not fit Hinge"):
        run.learn(Pieces(x, y, (2,)))
    assert run.rounds == 4


def test_labels_beside_a_stream_are_refused() -> None:
    x, y = sparse(10, 20, 8)
    with pytest.raises(DataError, match="its own labels"):
        train(LEARNERS["ogd"], Pieces(x, y), y)
    with pytest.raises(DataError, match="dimension"):
        train(LEARNERS["ogd"], x, y, dimension=3)


@given(st.integers(1, 8), st.integers(1, 8), st.booleans())
def test_resizing_keeps_weights_and_bias(before: int, after: int, bias: bool) -> None:
    w = np.arange(1.0, before + bias + 1)
    found = resize(w, after, bias)
    assert found.size == after + bias
    kept = min(before, after)
    assert found[:kept].tolist() == w[:kept].tolist()
    assert not np.any(found[kept:after])
    assert not bias or found[-1] == w[-1]
