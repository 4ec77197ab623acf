"""What is counted for the risk certificates equals what a plain loop over all rounds finds."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lowregret import zoo
from lowregret.learner.linear import Linear
from lowregret.loss import Hinge, Square
from lowregret.output import Average, Random, WeightedAverage
from lowregret.risk.extremes import extremes_evidence
from lowregret.risk.statistics import (
    BLOCK,
    LARGEST_LABEL,
    LONGEST_ROW,
    SPREAD,
    SQUARED_WEIGHTS,
    WEIGHTED,
    WEIGHTS,
    Tally,
)
from lowregret.rule import PerCoordinate
from lowregret.run.begin import begin
from lowregret.run.linear import LinearRun
from lowregret.run.multiclass import MulticlassRun
from lowregret.state import LONGEST
from lowregret.train import train
from tests.compositions import COMPOSITIONS, Composition, rows_for
from tests.risk.test_independence import measured
from tests.running import iterates, labelled

LEARNERS = {
    "last": zoo.ogd(Hinge()),
    "average": zoo.ogd(Hinge(), output=Average()),
    "weighted": zoo.ogd_eager(Hinge(), 0.1, 2.0, WeightedAverage()),
    "drawn": zoo.ogd_sqrt(Hinge(), 0.5, output=Random(3)),
}
EVERY = pytest.mark.parametrize("name", LEARNERS)


def sample(n: int, seed: int = 0) -> tuple[Any, Any]:
    rows = rows_for("margin", n, 5, seed)
    return rows.X, rows.y


def predictions(losses: Any) -> Any:
    """The mean before each round's block."""
    means = [np.mean(losses[:k]) if k else 0.0 for k in range(0, len(losses), BLOCK)]
    return np.repeat(means, BLOCK)[: len(losses)]


def bits(run: LinearRun) -> list[bytes]:
    return [array.tobytes() for array in run.tally.arrays().values()]


@EVERY
@pytest.mark.parametrize("n", [1, 63, 64, 65, 300])
def test_against_a_plain_loop(name: str, n: int) -> None:
    learner, (X, y) = LEARNERS[name], sample(n)
    run = train(learner, X, y, compiled=False)
    p, tally = run.scores, run.tally
    wrong = ((p >= 0) != (y > 0)).astype(float)
    assert tally.mistakes == wrong.sum()
    assert tally.mistake_spread == pytest.approx(np.sum((wrong - predictions(wrong)) ** 2))
    assert tally.dependence == pytest.approx(measured((y > 0).astype(int).tolist()), abs=1e-9)
    if name == "last":
        return
    f = np.maximum(1 - y * p, 0)
    c = np.arange(2.0, n + 2) if name == "weighted" else np.ones(n)
    expected = [c @ f, c.sum(), c @ c, np.sum((c * (f - predictions(f))) ** 2)]
    np.testing.assert_allclose(tally.sums[[WEIGHTED, WEIGHTS, SQUARED_WEIGHTS, SPREAD]], expected, rtol=1e-9)
    assert tally.sums[LONGEST_ROW] == pytest.approx(np.max(np.sum(X**2, axis=1)))
    assert tally.sums[LARGEST_LABEL] == 1


@given(st.sets(st.integers(1, 199), max_size=5))
def test_batches_change_no_bit(cuts: set[int]) -> None:
    X, y = sample(200)
    x, run = sp.csr_matrix(X), begin(LEARNERS["average"], 5)
    edges = [0, *sorted(cuts), 200]
    for a, b in pairwise(edges):
        run.learn(x[a:b], y[a:b])
    assert bits(run) == bits(train(LEARNERS["average"], x, y))


@EVERY
def test_compiled_is_interpreted_and_resumed_is_unbroken(name: str, tmp_path: Path) -> None:
    X, y = sample(700)
    whole = train(LEARNERS[name], sp.csr_matrix(X), y)
    assert bits(whole) == bits(train(LEARNERS[name], sp.csr_matrix(X), y, compiled=False))
    first = train(LEARNERS[name], sp.csr_matrix(X[:333]), y[:333])
    resumed = LinearRun.load(first.save(tmp_path / "run")).learn(sp.csr_matrix(X[333:]), y[333:])
    assert bits(resumed) == bits(whole)
    assert [c.bound for c in resumed.risks()] == [c.bound for c in whole.risks()]


def test_labels_of_a_regression_become_bits_by_the_mean_of_the_first_block() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(500, 3)), rng.normal(size=500) * 30 + 7
    tally = train(zoo.ogd(Square(), 1e-3), X, y, compiled=False).tally
    expected = (y[BLOCK:] > y[:BLOCK].mean()).astype(int).tolist()
    both = [measured(expected), extremes_evidence(tally.frames)]
    assert tally.dependence == pytest.approx(math.log(np.mean(np.exp(both))), abs=1e-9)
    assert train(zoo.ogd(Square(), 1e-3), X[:50], y[:50], compiled=False).tally.dependence == 0.0


def test_rows_of_weight_0_are_no_rounds() -> None:
    X, y = sample(300)
    weights = np.where(np.arange(300) % 3 == 0, 0.0, 1.0)
    some = train(LEARNERS["average"], X, y, weights, compiled=False)
    only = train(LEARNERS["average"], X[weights > 0], y[weights > 0], compiled=False)
    assert some.tally.sums.tobytes() == only.tally.sums.tobytes()
    assert some.tally.alike
    assert not train(LEARNERS["average"], X, y, weights + 0.5, compiled=False).tally.alike


@pytest.mark.parametrize("step", [20, 64, 300])
def test_a_second_pass_is_noticed(step: int) -> None:
    X, y = sample(300)
    run = begin(LEARNERS["last"], 5, compiled=False)
    for turn in range(2):
        for a in range(0, 300, step):
            run.learn(X[a : a + step], y[a : a + step])
        assert run.tally.repeated == (turn == 1)


def test_what_a_file_without_counts_leaves_unsaid() -> None:
    empty = Tally(True, {"table": np.zeros(3)})
    assert (empty.rounds, empty.repeated, empty.alike, empty.dependence) == (0, False, True, 0.0)


@pytest.mark.parametrize("composition", COMPOSITIONS, ids=lambda c: c.name)
def test_no_iterate_is_longer_than_the_rule_says(composition: Composition) -> None:
    """LONGEST is at least every ‖w_t‖², and exact for Euclidean rules; inf where a rule cannot tell."""
    rows = rows_for(composition.task, 80, 5, 3)
    X, y, _ = rows.counted
    learner = composition.learner(5)
    learner = Linear(learner.loss, learner.rule, Average(), learner.ridge, learner.bias)
    run = train(learner, X, y, compiled=False)
    longest = max(float(w @ w) for w in iterates(learner, labelled(X, y))[:-1])
    told = float(run.state.sums[LONGEST])
    assert longest <= told * (1 + 1e-9)
    if composition.name.startswith(("ogd", "eager", "ridge", "svm")):
        assert told == pytest.approx(longest)
    assert math.isfinite(told) or composition.name.startswith("lazy") or isinstance(learner.rule, PerCoordinate)


@pytest.mark.parametrize("learner", [zoo.ogd(Hinge()), zoo.perceptron(), zoo.mc_perceptron()])
def test_figures_are_per_unit_of_weight(learner: Any) -> None:
    X, y = sample(150)
    c = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], 150)
    run = train(learner, X, y, c, compiled=False)
    if isinstance(run, MulticlassRun):
        wrong = run.guesses != run.codes
    else:
        wrong = np.array([learner.loss.wrong(p, label) for p, label in zip(run.scores, y, strict=True)])
    assert run.weight == c.sum()
    assert run.error == pytest.approx(c @ wrong / c.sum())
    assert run.mean_loss == pytest.approx(run.loss / c.sum())
    assert run.mistakes == np.count_nonzero(wrong[c > 0])
    for words in (f"{run.mean_loss:.4g} per unit of weight", f"{run.error:.2%} of the weight predicted wrongly"):
        assert words in str(run)
    assert "per unit of weight" in repr(run)
    plain = train(learner, X, y, (c > 0).astype(float), compiled=False)
    assert (plain.weight, plain.error) == (plain.rounds, plain.mistakes / plain.rounds)
    assert "of weight" not in str(plain)
